#include "model/study/watch/link_shares.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string_view>
#include <utility>

namespace twinlink::model {
namespace {

/// A flow that is so near to a rate has reached it.
constexpr double kReached = 1 - 1e-6;
constexpr double kBusy = 0.5;

/// What a link carries over time, where each flow moves evenly.
class Load {
 public:
  void add(const FlowRecord& flow) {
    const double rate = flow.bytes / (flow.ended - flow.began).value();
    steps_[flow.began.value()] += rate;
    steps_[flow.ended.value()] -= rate;
  }
  /// No more flows come.
  void close() {
    double carried = 0;
    double rate = 0;
    for (const auto& [time, change] : steps_) {
      if (!points_.empty()) carried += rate * (time - points_.back().time);
      rate += change;
      points_.push_back({time, carried, rate});
    }
  }
  /// Bytes between two times.
  [[nodiscard]] double carried(Seconds from, Seconds to) const { return until(to.value()) - until(from.value()); }

 private:
  struct Point {
    double time;
    double carried;
    double rate;
  };
  [[nodiscard]] double until(double time) const {
    const auto next = std::ranges::upper_bound(points_, time, {}, &Point::time);
    if (next == points_.begin()) return 0;
    const Point& point = *std::prev(next);
    return point.carried + point.rate * (time - point.time);
  }

  std::map<double, double> steps_{};  ///< changes of the rate
  std::vector<Point> points_{};
};

/// In which any of the intervals goes on.
Seconds time_of_any(std::vector<std::pair<Seconds, Seconds>>& intervals) {
  std::ranges::sort(intervals);
  Seconds all{};
  Seconds until{};
  for (const auto& [from, to] : intervals) {
    if (to <= until) continue;
    all += to - std::max(from, until);
    until = to;
  }
  return all;
}

/// "node 3 gpu12-switch forward" is of "gpu*-switch forward".
std::string level_name(std::string_view name) {
  constexpr std::string_view kNode = "node ";
  constexpr std::string_view kDigits = "0123456789";
  if (name.starts_with(kNode)) name.remove_prefix(std::min(name.size(), name.find(' ', kNode.size()) + 1));
  std::string level;
  for (std::size_t i = 0; i < name.size(); ++i) {
    if (kDigits.find(name[i]) == std::string_view::npos) {
      level += name[i];
    } else if (i == 0 || kDigits.find(name[i - 1]) == std::string_view::npos) {
      level += '*';
    }
  }
  return level;
}

}  // namespace

std::vector<LinkLevel> levels_of(const std::vector<LinkShare>& links) {
  std::map<std::string, LinkLevel> by_name;
  std::map<std::string, double> possible;  // bytes that they could have carried
  for (const LinkShare& link : links) {
    LinkLevel& level = by_name[level_name(link.name)];
    ++level.links;
    level.bytes += link.bytes;
    level.busiest = std::max(level.busiest, link.utilisation);
    level.bottleneck = std::max(level.bottleneck, link.bottleneck);
    if (link.utilisation > 0) possible[level_name(link.name)] += link.bytes / link.utilisation;
  }
  std::vector<LinkLevel> levels;
  for (auto& [name, level] : by_name) {
    level.name = name;
    if (possible[name] > 0) level.utilisation = level.bytes / possible[name];
    levels.push_back(std::move(level));
  }
  std::ranges::stable_sort(levels, std::greater(), &LinkLevel::busiest);
  return levels;
}

Bottlenecks bottlenecks_of(const std::vector<FlowRecord>& flows) {
  std::unordered_map<const SharedLink*, Load> loads;
  for (const FlowRecord& flow : flows) {
    if (flow.ended <= flow.began) continue;
    for (const SharedLink* link : flow.links) {
      if (!link->open) loads[link].add(flow);
    }
  }
  for (auto& [link, load] : loads) load.close();
  Bottlenecks all;
  for (const FlowRecord& flow : flows) {
    const double time = (flow.ended - flow.began).value();
    if (time <= 0 || flow.bytes / time >= flow.limit * kReached) continue;
    const SharedLink* busiest = nullptr;
    double most = kBusy;
    for (const SharedLink* link : flow.links) {
      if (link->open) continue;
      const double busy = loads[link].carried(flow.began, flow.ended) / link->possible(flow.began, flow.ended);
      if (busy <= most * (1 + 1e-9)) continue;  // of links of one rate the first one
      most = busy;
      busiest = link;
    }
    if (busiest != nullptr) all.emplace(flow.number, busiest);
  }
  return all;
}

std::vector<LinkShare> link_shares(const std::vector<LinkUse>& before, const std::vector<LinkUse>& use,
                                   const std::vector<FlowRecord>& flows, const Bottlenecks& held_by, Seconds began,
                                   Seconds ended) {
  std::unordered_map<const SharedLink*, double> carried;
  for (const LinkUse& link : before) carried[link.link] = link.carried;
  std::unordered_map<const SharedLink*, std::vector<std::pair<Seconds, Seconds>>> held;
  for (const FlowRecord& flow : flows) {
    const auto link = held_by.find(flow.number);
    if (link != held_by.end()) held[link->second].emplace_back(flow.began, flow.ended);
  }
  std::vector<LinkShare> all;
  for (const LinkUse& link : use) {
    const double bytes = link.carried - carried[link.link];
    if (bytes <= 0) continue;
    const double possible = link.link->possible(began, ended);
    all.push_back({link.name, bytes, possible > 0 ? bytes / possible : 0, time_of_any(held[link.link])});
  }
  std::ranges::stable_sort(all, std::greater(), [](const LinkShare& link) {
    return std::pair(std::round(link.utilisation * 1e6), link.bottleneck);  // not in the order of rounding errors
  });
  return all;
}

}  // namespace twinlink::model
