// Advice: from simulated times to which protocol wins at which size, and with which chunk and depth. Pure: nothing is
// simulated here.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

/// How a message is cut up: the two settings that advice chooses.
struct Tuning {
  std::optional<Bytes> chunk{};  ///< zero: the whole message; empty: not set, as in Settings
  std::optional<int> depth{};    ///< likewise

  friend bool operator==(const Tuning&, const Tuning&) = default;
};

/// Which tunings are tried.
struct SearchSpace {
  /// Zero: the whole message; a chunk that is not smaller than a message means the same. Empty: not set.
  std::vector<std::optional<Bytes>> chunks{};
  std::vector<std::optional<int>> depths{};  ///< ascending, what is not set first; there is one
  /// Tried also where there are fewer pieces, for a protocol may refuse others.
  std::optional<int> own_depth{};
  std::uint64_t most_pieces = 0;  ///< of one exchange; chunks that would cut finer are not tried
};

/// What is tried around a protocol's `own` settings unless the user says otherwise: whole messages, powers of two from
/// 4 KiB to below `largest`, depths 1, 2, 4, 8 and 16, and its own chunk and depth. Not more than 256 pieces: while it
/// fills, a pipeline loses the time of a piece or two, and beyond 256 pieces that is less than the margin.
SearchSpace default_search(Bytes largest, const Tuning& own);

/// What of `space` differs at one size: no chunk that is as long as the message but the whole message, and no depth
/// beyond the number of pieces. `window` messages are exchanged at once.
std::vector<Tuning> tunings_at(Bytes size, int window, const SearchSpace& space);

/// Who is compared: a protocol with its defaults, with the options of one of its presets, or with other choices of its
/// options.
struct Variant {
  std::string protocol{};
  std::string preset{};                          ///< empty: the defaults
  std::map<std::string, std::string> options{};  ///< what differs from the defaults, by name

  friend bool operator==(const Variant&, const Variant&) = default;
};
/// "cuda-ipc", "cuda-ipc openmpi-5", "gpudirect-v2 engine=kernel-push".
std::string to_string(const Variant& variant);

/// One simulated time.
struct Sample {
  Tuning tuning{};
  double time_us = 0;  ///< one-way, positive
  std::string path{};  ///< the way that the bytes took
};

/// A protocol with all that was simulated of it.
struct Contestant {
  Variant who{};
  Bytes
      whole{};  ///< the chunk that stands for whole messages: zero, or not less than any size where zero says otherwise
  std::map<Bytes, std::vector<Sample>> samples{};  ///< by size, in no order; every size has one at least
  /// It chooses by itself: other options are advised where they lead by more than the model errs.
  bool library = false;
};

/// Has a message that was cut up another time than a whole one, at any size? Where none has, cutting means nothing to
/// the protocol: it cuts as it likes, or not at all.
bool chunks_matter(const Contestant& contestant);

/// A setting that is this much slower than the fastest still counts as equal to it; then the simpler one is chosen.
/// What the simulation leaves out of the numbers is larger.
inline constexpr double kTieMargin = 0.01;

/// The sample within `margin` of the fastest that has the largest chunk, and then the least depth.
/// `samples` is not empty.
const Sample& simplest_of_fastest(std::span<const Sample> samples, double margin = kTieMargin);

/// One protocol at one size.
struct Choice {
  Variant who{};          ///< the first of its variants that is within the margin
  Sample best{};          ///< and the tuning to use: the simplest within the margin
  double fastest_us = 0;  ///< the least time of all variants and tunings; ranks and crossovers go by it, so that no
                          ///< margin decides them
};

struct SizeAdvice {
  Bytes size{};
  std::vector<Choice> ranking{};  ///< protocols, the fastest first; equal ones in the order of the contestants
};

/// By how much the ranking's `place` (1: the runner-up) is slower than the winner: 0.12 is 12 %.
double slower_by(const SizeAdvice& advice, std::size_t place);

/// Another protocol wins from some size on.
struct Takeover {
  std::string from{};  ///< a protocol, whatever its variant
  std::string to{};
  Bytes after{};  ///< the last size at which `from` wins
  Bytes by{};     ///< the next size, at which `to` wins
  std::optional<double>
      at{};  ///< in between, as bench::crossing(); empty if one of them has no time at one of the sizes
};

/// The one tuning of a protocol for all sizes: what a program with a single setting should be given.
struct SingleTuning {
  Variant who{};
  Tuning tuning{};
  double loss = 0;  ///< how much slower than the best tuning of every size, as a geometric mean: 0.03 is 3 %
  std::vector<Bytes> missing{};  ///< sizes whose time was extrapolated; the loss holds once they have been simulated
};

/// Which single tunings may be chosen.
struct SingleSearch {
  std::vector<std::optional<int>> depths{};  ///< empty: all that were simulated
  Bytes finest_chunk{};  ///< no finer one, for simulating it at the largest size would take too long
};

/// The tuning with the least geometric mean of the times of all sizes; the simplest within `margin` of it. Chunks are
/// those that were simulated. A size at which a chunk was not tried, for it gives too many pieces, counts with a time
/// that grows linearly as it did between the two largest sizes before: the pipeline is full. Nothing if there is no
/// tuning with times for all sizes.
std::optional<SingleTuning> best_single_tuning(const Contestant& contestant, const SingleSearch& search,
                                               double margin = kTieMargin);

/// A single tuning in the names that the users of a library know.
struct LibraryAdvice {
  SingleTuning tuning{};
  bool fixed_depth = false;          ///< the library has no name for the depth: it is the preset's
  std::vector<std::string> lines{};  ///< to be pasted: "MV2_CUDA_BLOCK_SIZE=65536"
};

/// What a contestant that runs `preset` can be given by the names of the preset's library. Nothing without a name for
/// the chunk, and where whole messages are best, for which libraries have no setting.
std::optional<LibraryAdvice> advice_in_aliases(std::span<const Alias> aliases, const Preset& preset,
                                               const Contestant& contestant, Bytes finest_chunk);

struct Advice {
  std::vector<SizeAdvice> sizes{};    ///< ascending
  std::vector<Takeover> takeovers{};  ///< ascending
};

enum class Ranks {
  protocols,  ///< each once, with its best variant
  variants    ///< each for itself
};

/// Contestants come in the order in which equal ones are preferred, the variants of one protocol side by side.
Advice make_advice(std::span<const Contestant> contestants, Ranks ranks = Ranks::protocols, double margin = kTieMargin);

}  // namespace twinlink::model
