// The measuring driver: the same code measures on the simulator's clock and on the host's.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

/// Another pair of ranks that runs at the same time as those of a plan, on the same sizes and with the same pattern.
struct Companion {
  RankId first{};
  RankId second{};
  std::string protocol{};
  Settings settings{};
  RunFacts facts{};
};

struct Plan {
  Pattern pattern = Pattern::pingpong;
  std::vector<Bytes> sizes{};  ///< ascending; without the gaps of a layout
  int window = 1;              ///< messages of one exchange for bandwidth and bidirectional
  Repeats small{};             ///< up to and including `large_from` - 1
  Repeats large{};             ///< from `large_from`
  Bytes large_from{8192};      ///< as in the OSU benchmarks
  Seconds budget{};            ///< rounds of one size are cut to fit, but not below kFewestRounds; zero: never cut
  int passes = 1;              ///< over all sizes; what they say of each: merge_passes()
  bool verify = true;          ///< compare payloads byte for byte before and after the timed rounds of every size
  bool keep_samples = false;   ///< store each round's time
  Settings settings{};
  std::string preset{};  ///< where the settings come from; stored, and nothing else
  RunFacts facts{};
  RankId first{0};  ///< the sender of the first message
  RankId second{1};
  /// Told on plan.first of the series so far, after each size of the last pass; may be empty.
  std::function<void(const Series&)> on_point{};
  /// Told on plan.first when a round more begins and ends, after the timed ones of each size, which is like them; may
  /// be empty, and then there is none.
  std::function<void(bool begins, RankId rank, Seconds now)> on_round{};
  std::vector<Companion> beside{};  ///< other pairs, whose plans name this one in turn; empty: alone
};

/// Messages of one exchange where nobody says how many, as in the OSU benchmarks; and the most.
inline constexpr int kDefaultWindow = 64;
inline constexpr int kMaxWindow = 4096;
/// The most that plan.facts.buffers may be.
inline constexpr int kMaxBuffers = 1024;
/// The messages of a window have places of their own in the message buffer as long as they fit into this much memory;
/// beyond that they share places in turn, as all messages of a window do in the OSU benchmarks.
inline constexpr Bytes kMaxWindowMemory = 1_GiB;

/// Sizes from `begin` to `end`, each `factor` times the one before; `end` is included if it is reached. A UsageError
/// for a factor below 2 or an empty range.
std::vector<Bytes> size_sweep(Bytes begin, Bytes end, int factor);

/// Runs `plan` with `protocol`; every rank of the job calls it with the same arguments, but those of another pair
/// beside it with that pair's. Ranks other than plan.first and plan.second return at once with an empty series. The
/// series is complete on plan.first; on plan.second only its own checks have been made. A payload that did not arrive
/// as sent and an exchange that was not delivered are a CheckError; a plan that makes no sense is a UsageError.
Series measure(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

/// The same for plan.facts.one_process: copies between two GPUs that one process drives. On plan.first alone; other
/// ranks return at once. A UsageError for a protocol or options that are more than such a copy.
Series measure_in_one_process(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

/// Pattern::copy: device to host memory of `kind` and back, on plan.first alone. Other ranks return at once.
Series measure_copy(MeasuredRank& rank, Memory kind, Locality locality, const Plan& plan);

}  // namespace twinlink::bench
