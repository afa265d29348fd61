// What flows have round full links, where packets choose among ways: adaptive routing of a dragonfly.
//
// A detour takes two links for one, so it has only what the flows that cross these themselves leave: their rates are
// worked out first, as if there were no detours. From there all who are held up by links with detours alone grow at one
// speed, spread evenly over the detours that have something left, until those are full too, or the flow's adapters. So
// no flow is slower than by its minimal way, and no link carries more than its rate.
#include <algorithm>
#include <limits>
#include <utility>

#include "model/engine/flows/max_min_flows.hpp"

namespace twinlink::model {

void MaxMinFlows::add_detours(SharedLink& link, std::vector<std::array<SharedLink*, 2>> detours) {
  const auto join = [&](SharedLink& one) {
    if (std::exchange(one.joins_detours, true)) return;
    one.round = static_cast<std::uint32_t>(rounds_.size());
    rounds_.push_back({.link = &one});
  };
  join(link);
  for (const auto& [there, on] : detours) {
    join(*there);
    join(*on);
  }
  link.detours = std::move(detours);
}

void MaxMinFlows::settle_detours() {
  const Seconds now = clock_.now();
  const double time = (now - std::exchange(settled_, now)).value();
  if (time <= 0) return;
  for (const Round& round : rounds_) round.link->carried += round.link->net * time;
}

/// Those whom nothing holds up but links with detours.
void MaxMinFlows::begin_to_grow() {
  growing_.clear();
  narrow_.clear();
  for (Round& round : rounds_) {
    round = {.link = round.link, .left = round.link->rate};
    for (const std::uint32_t place : round.link->places) round.left -= states_[place].next;
  }
  const auto holds_up = [&](std::uint32_t number) {
    const SaturatedLink& full = saturated_[number];
    return full.link->detours.empty() && full.left <= full.link->rate * kNothing;
  };
  for (const Round& round : rounds_) {
    if (is_open(round) || round.link->detours.empty()) continue;
    for (const std::uint32_t place : round.link->places) {
      FlowState& state = states_[place];
      const double more = state.most - state.next;
      if (state.grows || state.at_rest > 0 || more <= state.most * kNothing) continue;
      if (std::ranges::any_of(state.full, holds_up)) continue;
      state.grows = true;
      growing_.emplace_back(more, place);
      for (const Flow::Leg& leg : flows_.at(place).legs) {
        if (leg.link->joins_detours) {
          ++rounds_[leg.link->round].growing;
        } else if (leg.link->full && saturated_[leg.link->number].unsettled++ == 0) {
          narrow_.push_back(leg.link->number);
        }
      }
    }
  }
  std::ranges::sort(growing_, std::greater());
}

/// What each link loses while all grow by one.
void MaxMinFlows::set_speeds() {
  for (Round& round : rounds_) round.speed = round.open = 0;
  for (Round& round : rounds_) {
    if (round.growing == 0) continue;
    if (is_open(round)) {
      round.speed += round.growing;
      continue;
    }
    const auto leads = [&](const auto& detour) {
      return is_open(rounds_[detour[0]->round]) && is_open(rounds_[detour[1]->round]);
    };
    round.open = static_cast<int>(std::ranges::count_if(round.link->detours, leads));
    for (const auto& detour : round.link->detours) {
      if (!leads(detour)) continue;
      const double each = static_cast<double>(round.growing) / round.open;
      for (const SharedLink* link : detour) rounds_[link->round].speed += each;
    }
  }
}

/// Until a link is full or a flow has all that it can have.
double MaxMinFlows::next_step(double grown) const {
  double step = growing_.back().first - grown;
  for (const Round& round : rounds_) {
    if (round.speed > 0) step = std::min(step, round.left / round.speed);
  }
  for (const std::uint32_t number : narrow_) {
    const SaturatedLink& full = saturated_[number];
    if (full.unsettled > 0) step = std::min(step, full.left / full.unsettled);
  }
  return std::max(step, 0.0);
}

void MaxMinFlows::grow(double step) {
  for (Round& round : rounds_) {
    round.left -= round.speed * step;
    round.net += (round.speed - round.growing) * step;
    if (!is_open(round)) round.left = 0;
  }
  for (const std::uint32_t number : narrow_) saturated_[number].left -= saturated_[number].unsettled * step;
}

void MaxMinFlows::stop_growing(std::uint32_t place, double grown) {
  FlowState& state = states_[place];
  if (!std::exchange(state.grows, false)) return;
  state.next = std::min(state.next + grown, state.most);
  for (const Flow::Leg& leg : flows_.at(place).legs) {
    if (leg.link->joins_detours) {
      --rounds_[leg.link->round].growing;
    } else if (leg.link->full) {
      --saturated_[leg.link->number].unsettled;
    }
  }
}

void MaxMinFlows::go_round() {
  settle_detours();
  begin_to_grow();
  double grown = 0;
  while (true) {
    while (!growing_.empty() && !states_[growing_.back().second].grows) growing_.pop_back();
    if (growing_.empty()) break;
    set_speeds();
    bool stopped = false;
    for (Round& round : rounds_) {
      if (round.growing == 0 || round.open > 0 || is_open(round)) continue;
      stopped = true;
      for (const std::uint32_t place : round.link->places) stop_growing(place, grown);
    }
    if (stopped) continue;
    const double step = next_step(grown);
    grow(step);
    grown += step;
    while (!growing_.empty() && growing_.back().first <= grown * (1 + kNothing)) {
      stop_growing(growing_.back().second, grown);
      growing_.pop_back();
    }
    for (const std::uint32_t number : narrow_) {
      const SaturatedLink& full = saturated_[number];
      if (full.unsettled == 0 || full.left > full.link->rate * kNothing) continue;
      for (const std::uint32_t place : full.link->places) stop_growing(place, grown);
    }
  }
  for (const Round& round : rounds_) round.link->net = round.net;
}

}  // namespace twinlink::model
