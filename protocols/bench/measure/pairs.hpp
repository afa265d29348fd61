// Measurements of several pairs of ranks: all ordered pairs of a job one after the other, to find one that is slower
// than those like it; or some pairs at once, as osu_mbw_mr does: what each gets while the others run, and all together.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
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
/// the job calls it with the same arguments; rank 0 gets all series, the others nothing.
PairSeries measure_all_pairs(MeasuredRank& rank, const Protocol& protocol, const Plan& plan);

/// What one of the pairs runs.
struct PairPlan {
  const Protocol* protocol = nullptr;  ///< not null
  Plan plan{};
};

/// Tells every plan of the others that run beside it. A UsageError for a rank that is in two pairs, or twice in one.
void put_side_by_side(std::span<PairPlan> pairs);

/// Runs all plans at once, which put_side_by_side() has told of each other and which have the same sizes, pattern and
/// repeats. Every rank of the job calls it with the same arguments; those of no pair idle. Rank 0 gets the series in
/// the order of the plans, the others nothing. Errors as of measure().
std::vector<Series> measure_at_once(MeasuredRank& rank, std::span<const PairPlan> pairs);

/// The file of a pair, of those that are counted from 0: FILE.json, FILE-2.json, FILE-3.json. Empty for no file.
std::filesystem::path file_of_pair(const std::filesystem::path& file, std::size_t pair);

}  // namespace twinlink::bench
