#include "protocols/bench/measure/sweep.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <fmt/format.h>

namespace twinlink::bench {
namespace {

Point make_point(const Plan& plan, Bytes size, double directions, Rounds one_way_us) {
  Point point{.size = size, .verified = plan.verify};
  if (plan.keep_samples) point.samples_us = one_way_us.times_us;
  point.time_us = summarize(std::move(one_way_us));
  if (point.time_us.median > 0) {
    point.bandwidth_MBps = directions * static_cast<double>(size.count()) / point.time_us.median;
  }
  return point;
}

}  // namespace

void check_plan(const Rank& rank, const Plan& plan, bool has_peer) {
  if (plan.sizes.empty() || !std::ranges::is_sorted(plan.sizes)) {
    throw UsageError("the message sizes must ascend, and there must be one");
  }
  if (plan.window < 1 || plan.window > kMaxWindow) {
    throw UsageError(fmt::format("a window of {} messages: 1 to {} are possible", plan.window, kMaxWindow));
  }
  if (plan.facts.buffers < 1 || plan.facts.buffers > kMaxBuffers) {
    throw UsageError(fmt::format("{} buffers in turn: 1 to {} are possible", plan.facts.buffers, kMaxBuffers));
  }
  check_repeats(plan.small);
  check_repeats(plan.large);
  check_passes(plan.passes);
  for (const RankId id : {plan.first, plan.second}) {
    if (id.value >= 0 && id.value < rank.ranks()) continue;
    if (!has_peer && id == plan.second) continue;
    throw UsageError(fmt::format("there is no rank {} in a job of {}", id.value, rank.ranks()));
  }
  if (has_peer && plan.first == plan.second) throw UsageError("a message needs two different ranks");
}

const Repeats& repeats_of(const Plan& plan, Bytes size) { return size < plan.large_from ? plan.small : plan.large; }

std::optional<double> CpuTime::on_each(double messages) const {
  const auto end = rank_.cpu_time();
  return end && start_ ? std::optional((*end - *start_).microseconds() / messages) : std::nullopt;
}

void sweep(const Plan& plan, bool telling, Series& series, double directions,
           const std::function<Rounds(Bytes)>& measure_size, const std::function<void(Point&)>& tell) {
  std::vector<std::vector<Rounds>> one_way_us(plan.sizes.size());
  for (int pass = 1; pass <= plan.passes; ++pass) {
    for (std::size_t i = 0; i < plan.sizes.size(); ++i) {
      one_way_us[i].push_back(measure_size(plan.sizes[i]));
      if (pass < plan.passes) continue;
      series.points.push_back(make_point(plan, plan.sizes[i], directions, merge_passes(one_way_us[i])));
      tell(series.points.back());
      if (telling && plan.on_point) plan.on_point(series);
    }
  }
}

}  // namespace twinlink::bench
