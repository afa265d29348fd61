#include "real/cli/timeline.hpp"

#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/measure/timeline.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::real {

JobTimeline::JobTimeline(MeasuredRank& rank, std::filesystem::path file) : rank_(rank), file_(std::move(file)) {
  if (!file_.empty()) recorded_.emplace(rank, bench::kMostInTimeline / static_cast<std::size_t>(rank.ranks()));
}

void JobTimeline::write(Seconds timeout) {
  if (!recorded_) return;
  const auto patience = bench::Patience::of_turn(timeout);
  const bench::GatheredReports all = bench::gather_reports(rank_, *recorded_, patience);
  if (rank_.id() != RankId{0}) return;
  std::vector<std::string> places;
  for (int rank = 0; rank < rank_.ranks(); ++rank) places.push_back(to_string(rank_.place(RankId{rank})));
  bench::write_file(file_, bench::timeline_text(all.reports, places, {}));
  if (all.left_out == 0) return;
  std::cerr << fmt::format("twinlink-real: note: {} has the first {} operations of each rank; {} of all are left out\n",
                           file_.string(), bench::kMostInTimeline / static_cast<std::size_t>(rank_.ranks()),
                           all.left_out);
}

}  // namespace twinlink::real
