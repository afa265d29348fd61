#include "model/study/watch/timeline.hpp"

#include <map>
#include <utility>

namespace twinlink::model {

void Timeline::watch(SimulationOptions& options) {
  if (options.link_use == nullptr) options.link_use = &own_link_use_;
  link_use_ = options.link_use;
  options.observer = [this, next = std::move(options.observer)](const OpReport& report) {
    if (next) next(report);
    if (reports_.size() < bench::kMostInTimeline) {
      reports_.push_back(report);
    } else {
      ++left_out_;
    }
  };
  options.on_flow = [this, next = std::move(options.on_flow)](const FlowRecord& flow) {
    if (next) next(flow);
    if (flows_.size() < bench::kMostInTimeline) flows_.push_back(flow);
  };
}

void Timeline::rank_ends(std::size_t ranks) {
  if (++ended_ == ranks) links_ = (*link_use_)();
}

std::string Timeline::text(const std::vector<Place>& places) const {
  std::map<const SharedLink*, const LinkUse*> known;
  for (const LinkUse& link : links_) known.emplace(link.link, &link);
  std::map<std::uint64_t, std::size_t> carried;
  for (std::size_t i = 0; i < reports_.size(); ++i) {
    for (const std::uint64_t flow : reports_[i].flows) carried.emplace(flow, i);
  }
  std::vector<bench::LinkSlice> slices;
  for (const FlowRecord& flow : flows_) {
    const auto operation = carried.find(flow.number);
    if (operation == carried.end()) continue;
    for (const SharedLink* link : flow.links) {
      const auto use = known.find(link);
      if (use != known.end()) slices.push_back({use->second->name, operation->second, flow.began, flow.ended});
    }
  }
  std::vector<std::string> names;
  for (const Place& place : places) names.push_back(to_string(place));
  return bench::timeline_text(reports_, names, slices);
}

}  // namespace twinlink::model
