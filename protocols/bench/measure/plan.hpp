// What a run of one pair of ranks is to measure.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "protocols/bench/results/results.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "protocols/core/rank.hpp"

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

}  // namespace twinlink::bench
