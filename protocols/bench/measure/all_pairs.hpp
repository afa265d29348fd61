// All ordered pairs of a job's ranks, one after the other: where one of them is slower than those like it.
#pragma once

#include <string>
#include <vector>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

struct PairSeries {
  std::vector<Series> series{};      ///< by sender, then receiver; those that the protocol can serve
  std::vector<std::string> notes{};  ///< the others: "0/0 to 1/0: the GPUs are on different nodes"
};

/// Is there a rank before `later` on the same GPU? The first stands for all of them.
bool repeats_a_place(const Rank& rank, RankId later);

/// Runs `plan`, whose two ranks do not matter, between every two ranks each way, while the others idle. Every rank of
/// the job calls it with the same arguments; rank 0 gets all series, the others nothing. `patience`: how long a rank
/// waits for its turn.
PairSeries measure_all_pairs(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

}  // namespace twinlink::bench
