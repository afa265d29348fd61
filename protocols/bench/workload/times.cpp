#include "protocols/bench/workload/times.hpp"

#include <algorithm>
#include <map>

namespace twinlink::bench {
namespace {

int most_often_slowest(const Times& times) {
  const auto slowest = times.of([](const std::vector<double>& ranks) {
    return static_cast<double>(std::ranges::max_element(ranks) - ranks.begin());
  });
  std::map<double, int> count;
  for (const double rank : slowest) ++count[rank];
  return static_cast<int>(std::ranges::max_element(count, {}, [](const auto& entry) { return entry.second; })->first);
}

}  // namespace

std::vector<double> Times::of(const std::function<double(const std::vector<double>&)>& which) const {
  std::vector<double> all;
  for (std::size_t i = 0; i < by_rank.front().size(); ++i) {
    std::vector<double> ranks;
    for (const auto& times : by_rank) ranks.push_back(times[i]);
    all.push_back(which(ranks));
  }
  return all;
}

double slowest(const std::vector<double>& ranks) { return std::ranges::max(ranks); }

void take_times(WorkloadPoint& point, const Times& times) {
  point.time_us = summarize(times.of(slowest));
  point.fastest_us =
      summarize(times.of([](const std::vector<double>& ranks) { return std::ranges::min(ranks); })).median;
  point.slowest_rank = most_often_slowest(times);
}

}  // namespace twinlink::bench
