#include "model/engine/flows/max_min_flows.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace twinlink::model {

void MaxMinFlows::mark_changed(SharedLink& link) {
  if (!std::exchange(link.changed, true)) changed_.push_back(&link);
}

void MaxMinFlows::mark_all_changed(SharedLink& link) {
  if (link.crossing.empty() && !link.joins_detours) return;
  mark_changed(link);
  link.all_changed = true;
}

MaxMinFlows::SaturatedLink& MaxMinFlows::saturated(SharedLink& link) {
  if (link.number >= saturated_.size()) saturated_.resize(link.number + 1);
  return saturated_[link.number];
}

/// A way that crosses a link twice brings it twice what the others of its links let through: nothing limits it there.
void MaxMinFlows::enter_bottlenecks(Flow& flow, double most) {
  for (const Flow::Leg& leg : flow.legs) {
    leg.link->met_twice = std::exchange(leg.link->met, flow.number) == flow.number;
  }
  const auto add = [&](const Flow::Leg& leg, Bottleneck& side, const SharedLink*& tightest) {
    const std::uint32_t place = side.add(leg.link->met_twice ? nullptr : tightest, most);
    // The nearest of several. One with detours brings more than its rate.
    if (leg.link->detours.empty() && (tightest == nullptr || leg.link->rate <= tightest->rate)) tightest = leg.link;
    return place;
  };
  const SharedLink* before = nullptr;
  for (Flow::Leg& leg : flow.legs) leg.in_before = add(leg, leg.link->before, before);
  const SharedLink* behind = nullptr;
  for (std::size_t i = flow.legs.size(); i-- > 0;) {
    flow.legs[i].in_behind = add(flow.legs[i], flow.legs[i].link->behind, behind);
  }
}

void MaxMinFlows::note_full_links(const Flow& flow) {
  FlowState& state = states_[flow.place];
  state.full.clear();
  for (const Flow::Leg& leg : flow.legs) {
    if (leg.link->full) state.full.push_back(leg.link->number);
  }
}

FlowId MaxMinFlows::start(const FlowRoute& route, Bytes size, FlowListener& listener) {
  Flow& flow = flows_.take(listener);
  flow.enter(route, size, clock_.now());
  if (flow.place == states_.size()) states_.emplace_back();
  FlowState& state = states_[flow.place];
  state.most = route.rate_alone();
  state.at_rest = 0;
  state.joins_detours = false;
  enter_bottlenecks(flow, state.most);
  bool free = true;
  for (SharedLink* link : route.links) {
    link->load += state.most;
    if (link->rests) ++state.at_rest;
    if (link->joins_detours) {
      state.joins_detours = true;
      mark_changed(*link);
    }
    if (link->has_room()) continue;
    free = false;
    mark_changed(*link);
  }
  state.rate = 0;
  note_full_links(flow);
  if (!free) {
    begun_.push_back({&flow, flow.number});
  } else if (state.at_rest == 0) {
    move(flow, state.most);
  }
  return {&flow, flow.number};
}

void MaxMinFlows::leave(Flow& flow) {
  if (is_observed() && !flow.legs.empty()) tell(flow.record(clock_.now()));
  const double most = states_[flow.place].most;
  for (const Flow::Leg& leg : flow.legs) {
    SharedLink& link = *leg.link;
    if (link.joins_detours) settle_detours();
    if (!link.has_room() || link.joins_detours) mark_changed(link);
    link.load = link.crossing.size() == 1 ? 0 : link.load - most;
    link.before.remove(leg.in_before, most);
    link.behind.remove(leg.in_behind, most);
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
  mark_all_changed(link);
  for (const SharedLink::Crossing& crossing : link.crossing) {
    FlowState& state = states_[crossing.flow->place];
    const double most = link.detours.empty() ? std::min(state.most, link.rate) : state.most;
    for (const Flow::Leg& leg : crossing.flow->legs) {
      if (!leg.link->has_room()) mark_changed(*leg.link);
      leg.link->load += most - state.most;
      leg.link->before.change(leg.in_before, most - state.most);
      leg.link->behind.change(leg.in_behind, most - state.most);
    }
    state.most = most;
  }
}

void MaxMinFlows::rest(SharedLink& link) {
  if (std::exchange(link.rests, true)) return;
  for (const std::uint32_t place : link.places) ++states_[place].at_rest;
  mark_all_changed(link);
}

void MaxMinFlows::go_on(SharedLink& link) {
  if (!std::exchange(link.rests, false)) return;
  for (const std::uint32_t place : link.places) --states_[place].at_rest;
  mark_all_changed(link);
}

/// What has moved so far has moved at the rate until now.
void MaxMinFlows::move(Flow& flow, double rate) {
  const Seconds now = clock_.now();
  flow.remaining = left({&flow, flow.number});
  flow.since = now;
  states_[flow.place].rate = rate;
  if (rate > 0) {
    flow.timer.move(now + Seconds{flow.remaining / rate});
  } else {
    flow.timer.clear();
  }
}

double MaxMinFlows::left(FlowId id) const {
  const Flow& flow = *id.flow;
  return std::max(flow.remaining - rate(flow) * (clock_.now() - flow.since).value(), 0.0);
}

void MaxMinFlows::share() {
  if (changed_.empty() && begun_.empty()) return;
  collect();
  fill();
  if (round_changes_) go_round();
  // A rate that differs in its last digits was worked out in another order.
  constexpr double kSame = 1e-14;
  for (const std::uint32_t place : affected_) {
    const FlowState& state = states_[place];
    if (std::abs(state.next - state.rate) > kSame * state.rate) move(flows_.at(place), state.next);
  }
}

void MaxMinFlows::mark_affected(std::uint32_t place) {
  FlowState& state = states_[place];
  if (std::exchange(state.visited, workings_) == workings_) return;
  state.next = -1;
  affected_.push_back(place);
  round_changes_ = round_changes_ || state.joins_detours;
  for (const std::uint32_t number : state.full) {
    SaturatedLink& other = saturated_[number];
    if (std::exchange(other.visited, workings_) != workings_) met_.push_back(other.link);
  }
}

/// Whether it may limit somebody. Is the change of anybody's rate possible?
bool MaxMinFlows::settle_fullness(SharedLink& link) {
  link.changed = false;
  const bool was_full = std::exchange(link.full, !link.has_room() && !link.is_spared());
  if (was_full != link.full) {
    for (const SharedLink::Crossing& crossing : link.crossing) note_full_links(*crossing.flow);
  }
  return std::exchange(link.all_changed, false) || was_full || link.full;
}

void MaxMinFlows::meet(SharedLink& link) {
  SaturatedLink& met = saturated(link);
  if (std::exchange(met.visited, workings_) == workings_) return;
  met.link = &link;
  met_.push_back(&link);
}

/// Whom those links join to them that have been met, from the `next` of these on.
void MaxMinFlows::spread_from(std::size_t& next) {
  for (; next < met_.size(); ++next) {
    SharedLink& link = *met_[next];
    if (link.full && !link.places.empty()) {
      SaturatedLink& full = saturated_[link.number];
      full.left = link.rate;
      full.unsettled = static_cast<int>(link.places.size());
      candidates_.push_back({.met = static_cast<std::uint32_t>(next), .number = link.number});
    }
    for (const std::uint32_t place : link.places) mark_affected(place);
  }
}

/// Who goes round a link takes what the flows of others leave.
void MaxMinFlows::meet_rounds() {
  const auto matters = [](const Round& round) { return round.link->full || round.net != 0; };
  round_changes_ = std::ranges::any_of(rounds_, matters);
  if (!round_changes_) return;
  for (const Round& round : rounds_) {
    if (!round.link->crossing.empty()) meet(*round.link);
  }
}

/// All flows that what has changed concerns: those that have begun, those that cross changed links that may limit
/// somebody, and whom such links join to these.
void MaxMinFlows::collect() {
  ++workings_;
  affected_.clear();
  candidates_.clear();
  met_.clear();
  round_changes_ = false;
  for (SharedLink* link : changed_) {
    round_changes_ = round_changes_ || link->joins_detours;
    if (settle_fullness(*link)) meet(*link);
  }
  changed_.clear();
  std::size_t next = 0;
  spread_from(next);
  if (round_changes_) {
    meet_rounds();
    spread_from(next);
  }
  // Those that only spared links have held up.
  for (const FlowId& id : begun_) {
    if (id.flow->number == id.number) mark_affected(id.flow->place);
  }
  begun_.clear();
}

/// All rates grow together from nothing. A flow whose rate is all that it can have, or that meets a link which has
/// nothing left, stays there.
void MaxMinFlows::fill() {
  unsettled_.clear();
  for (const std::uint32_t place : affected_) {
    FlowState& state = states_[place];
    if (state.at_rest > 0) {
      give(state, 0);
    } else {
      unsettled_.push_back(place);
    }
  }
  std::erase_if(candidates_,
                [this](const Candidate& candidate) { return saturated_[candidate.number].unsettled == 0; });
  for (Candidate& candidate : candidates_) {
    const SaturatedLink& full = saturated_[candidate.number];
    candidate.part = full.left / full.unsettled;
  }
  std::ranges::make_heap(candidates_, Later{});
  while (!unsettled_.empty()) {
    double least = kOpenRate;
    for (const std::uint32_t place : unsettled_) least = std::min(least, states_[place].most);
    for (SharedLink* link = tightest(); link != nullptr && candidates_.front().part < least; link = tightest()) {
      const double part = candidates_.front().part;
      for (const std::uint32_t place : link->places) {
        if (states_[place].next < 0) give(states_[place], part);
      }
    }
    std::erase_if(unsettled_, [&](std::uint32_t place) {
      FlowState& state = states_[place];
      if (state.next < 0 && state.most <= least) give(state, state.most);
      return state.next >= 0;
    });
  }
}

/// The link that gives each of those whose rate is not known yet the least, at the heap's top. Parts only grow.
SharedLink* MaxMinFlows::tightest() {
  while (!candidates_.empty()) {
    Candidate& top = candidates_.front();
    const SaturatedLink& full = saturated_[top.number];
    const double part = full.unsettled > 0 ? std::max(full.left, 0.0) / full.unsettled : top.part;
    if (full.unsettled > 0 && part <= top.part) return full.link;
    if (full.unsettled > 0) {
      top.part = part;
      sift_down();
    } else {
      std::ranges::pop_heap(candidates_, Later{});
      candidates_.pop_back();
    }
  }
  return nullptr;
}

/// The top has another part, and goes down to where it belongs.
void MaxMinFlows::sift_down() {
  const Candidate sinking = candidates_.front();
  std::size_t at = 0;
  for (std::size_t below = 1; below < candidates_.size(); below = 2 * at + 1) {
    if (below + 1 < candidates_.size() && Later{}(candidates_[below], candidates_[below + 1])) ++below;
    if (!Later{}(sinking, candidates_[below])) break;
    candidates_[at] = candidates_[below];
    at = below;
  }
  candidates_[at] = sinking;
}

void MaxMinFlows::give(FlowState& state, double rate) {
  state.next = rate;
  for (const std::uint32_t number : state.full) {
    saturated_[number].left -= rate;
    --saturated_[number].unsettled;
  }
}

}  // namespace twinlink::model
