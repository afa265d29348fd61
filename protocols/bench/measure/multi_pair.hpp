// Several pairs of ranks measured at once, as osu_mbw_mr does: what each gets while the others run, and all together.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <span>
#include <vector>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

/// What one of the pairs runs.
struct PairPlan {
  const Protocol* protocol = nullptr;  ///< not null
  Plan plan{};
};

/// Tells every plan of the others that run beside it. A UsageError for a rank that is in two pairs, or twice in one.
void put_side_by_side(std::span<PairPlan> pairs);

/// Runs all plans at once, which put_side_by_side() has told of each other and which have the same sizes, pattern and
/// repeats. Every rank of the job calls it with the same arguments; those of no pair idle. Rank 0 gets the series in
/// the order of the plans, the others nothing. `patience`: how long rank 0 waits for them. Errors as of measure().
std::vector<Series> measure_at_once(MeasuredRank& rank, std::span<const PairPlan> pairs);

/// The file of a pair, of those that are counted from 0: FILE.json, FILE-2.json, FILE-3.json. Empty for no file.
std::filesystem::path file_of_pair(const std::filesystem::path& file, std::size_t pair);

}  // namespace twinlink::bench
