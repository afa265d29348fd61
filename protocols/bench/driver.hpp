// The measuring driver: the same code measures on the simulator's clock and on the host's.
#pragma once

#include <vector>

#include "protocols/bench/results.hpp"
#include "protocols/protocol.hpp"

namespace twinlink::bench {

/// How often each size is run. Warm-up rounds are not counted.
struct Repeats {
  int warmup = 0;
  int iterations = 1;
};

struct Plan {
  Pattern pattern = Pattern::pingpong;
  std::vector<Bytes> sizes{};    ///< ascending
  int window = 64;               ///< messages in flight for bandwidth and bidirectional
  Repeats small{};               ///< up to and including `large_from` - 1
  Repeats large{};               ///< from `large_from`
  Bytes large_from{8192};        ///< as in the OSU benchmarks
  bool verify = true;            ///< compare payloads byte for byte before and after the timed rounds of every size
  bool keep_samples = false;     ///< store each round's time
  Settings settings{};
  RankId first{0};               ///< the sender of the first message
  RankId second{1};
};

/// Sizes from `begin` to `end`, each `factor` times the one before; `end` is included if it is reached. A UsageError
/// for a factor below 2 or an empty range.
std::vector<Bytes> size_sweep(Bytes begin, Bytes end, int factor);

/// Runs `plan` with `protocol`; every rank of the job calls it with the same arguments, and ranks other than
/// plan.first and plan.second return at once with an empty series. The series is complete on plan.first; on
/// plan.second only its own checks have been made. A payload that did not arrive as sent is a CheckError.
Series measure(Rank& rank, const Protocol& protocol, const Plan& plan);

/// Pattern::copy: device to host memory of `kind` and back, on plan.first alone.
Series measure_copy(Rank& rank, Memory kind, Locality locality, const Plan& plan);

/// A wrong payload or an exchange that was not delivered: names rank, protocol, size and what was found.
class CheckError : public Error {
 public:
  using Error::Error;
};

}  // namespace twinlink::bench
