#include "model/engine/flows/max_min_flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace twinlink::model {

void MaxMinFlows::touch(SharedLink& link) {
  if (!std::exchange(link.changed, true)) changed_.push_back(&link);
}

FlowId MaxMinFlows::start(const FlowRoute& route, Bytes size, FlowListener& listener) {
  Flow& flow = flows_.take(listener);
  flow.enter(route, size, clock_.now());
  flow.most = route.rate_alone();
  bool free = true;
  for (SharedLink* link : route.links) {
    link->load += flow.most;
    if (link->has_room()) continue;
    free = false;
    touch(*link);
  }
  flow.rate = 0;
  if (free && !flow.rests()) move(flow, flow.most);
  return {&flow, flow.number};
}

void MaxMinFlows::leave(Flow& flow) {
  if (is_observed() && !flow.legs.empty()) tell(flow.record(clock_.now()));
  for (const Flow::Leg& leg : flow.legs) {
    SharedLink& link = *leg.link;
    if (!link.has_room()) touch(link);
    link.load = link.crossing.size() == 1 ? 0 : link.load - flow.most;
  }
  flow.leave();
  flow.timer.clear();
}

void MaxMinFlows::end(Flow& flow) {
  leave(flow);
  FlowListener& listener = *flow.listener;
  flows_.give_back(flow);
  listener.flow_has_ended();
}

void MaxMinFlows::drop(FlowId id) {
  if (id.flow == nullptr || id.flow->number != id.number) return;
  leave(*id.flow);
  flows_.give_back(*id.flow);
}

void MaxMinFlows::set_rate(SharedLink& link, Rate rate) {
  change_rate(link, rate, clock_.now());
  touch(link);
  for (const SharedLink::Crossing& crossing : link.crossing) {
    Flow& flow = *crossing.flow;
    const double most = std::min(flow.most, link.rate);
    for (const Flow::Leg& leg : flow.legs) {
      if (!leg.link->has_room()) touch(*leg.link);
      leg.link->load += most - flow.most;
    }
    flow.most = most;
  }
}

void MaxMinFlows::rest(SharedLink& link) {
  if (std::exchange(link.rests, true)) return;
  if (!link.crossing.empty()) touch(link);
}

void MaxMinFlows::go_on(SharedLink& link) {
  if (!std::exchange(link.rests, false)) return;
  if (!link.crossing.empty()) touch(link);
}

/// What has moved so far has moved at the rate until now.
void MaxMinFlows::move(Flow& flow, double rate) {
  const Seconds now = clock_.now();
  flow.remaining = left({&flow, flow.number});
  flow.since = now;
  flow.rate = rate;
  if (rate > 0) {
    flow.timer.set(now + Seconds{flow.remaining / rate});
  } else {
    flow.timer.clear();
  }
}

double MaxMinFlows::left(FlowId id) const {
  const Flow& flow = *id.flow;
  return std::max(flow.remaining - flow.rate * (clock_.now() - flow.since).value(), 0.0);
}

void MaxMinFlows::share() {
  if (changed_.empty()) return;
  collect();
  fill();
  // A rate that differs in its last digits was worked out in another order.
  constexpr double kSame = 1e-14;
  for (Flow* flow : concerned_) {
    if (std::abs(flow->next - flow->rate) > kSame * flow->rate) move(*flow, flow->next);
  }
}

/// All flows that the changed links concern: those that cross them, and whom links without room join to these.
void MaxMinFlows::collect() {
  ++workings_;
  concerned_.clear();
  full_.clear();
  met_.assign(changed_.begin(), changed_.end());
  for (SharedLink* link : std::exchange(changed_, {})) {
    link->changed = false;
    link->visited = workings_;
  }
  for (std::size_t i = 0; i < met_.size(); ++i) {
    SharedLink& link = *met_[i];
    if (!link.has_room()) {
      link.left = link.rate;
      link.unsettled = static_cast<int>(link.crossing.size());
      full_.push_back(&link);
    }
    for (const SharedLink::Crossing& crossing : link.crossing) {
      Flow& flow = *crossing.flow;
      if (std::exchange(flow.visited, workings_) == workings_) continue;
      flow.next = -1;
      concerned_.push_back(&flow);
      for (const Flow::Leg& leg : flow.legs) {
        if (leg.link->has_room() || std::exchange(leg.link->visited, workings_) == workings_) continue;
        met_.push_back(leg.link);
      }
    }
  }
}

/// All rates grow together from nothing. A flow whose rate is all that it can have, or that meets a link which has
/// nothing left, stays there.
void MaxMinFlows::fill() {
  candidates_.clear();
  for (Flow* flow : concerned_) {
    if (flow->rests()) give(*flow, 0);
  }
  for (std::size_t i = 0; i < full_.size(); ++i) {
    if (full_[i]->unsettled > 0) candidates_.push_back({full_[i]->left / full_[i]->unsettled, i});
  }
  std::ranges::make_heap(candidates_, later);
  unsettled_.clear();
  for (Flow* flow : concerned_) {
    if (flow->next < 0) unsettled_.push_back(flow);
  }
  while (!unsettled_.empty()) {
    double least = kOpenRate;
    for (const Flow* flow : unsettled_) least = std::min(least, flow->most);
    for (SharedLink* link = tightest(); link != nullptr && candidates_.front().part < least; link = tightest()) {
      const double part = candidates_.front().part;
      for (const SharedLink::Crossing& crossing : link->crossing) {
        if (crossing.flow->next < 0) give(*crossing.flow, part);
      }
    }
    for (Flow* flow : unsettled_) {
      if (flow->next < 0 && flow->most <= least) give(*flow, flow->most);
    }
    std::erase_if(unsettled_, [](const Flow* flow) { return flow->next >= 0; });
  }
}

/// The link that gives each of those whose rate is not known yet the least, at the heap's top. Parts only grow.
SharedLink* MaxMinFlows::tightest() {
  while (!candidates_.empty()) {
    Candidate top = candidates_.front();
    SharedLink& link = *full_[top.number];
    const double part = link.unsettled > 0 ? std::max(link.left, 0.0) / link.unsettled : top.part;
    if (link.unsettled > 0 && part <= top.part) return &link;
    std::ranges::pop_heap(candidates_, later);
    candidates_.pop_back();
    if (link.unsettled == 0) continue;
    top.part = part;
    candidates_.push_back(top);
    std::ranges::push_heap(candidates_, later);
  }
  return nullptr;
}

void MaxMinFlows::give(Flow& flow, double rate) {
  flow.next = rate;
  for (const Flow::Leg& leg : flow.legs) {
    if (leg.link->has_room()) continue;
    leg.link->left -= rate;
    --leg.link->unsettled;
  }
}

}  // namespace twinlink::model
