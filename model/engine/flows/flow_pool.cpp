#include "model/engine/flows/flow_pool.hpp"

#include <cassert>
#include <limits>

namespace twinlink::model {

void Flow::enter(const FlowRoute& route, Bytes size, Seconds now) {
  assert(!route.links.empty() && size > Bytes{});
  limit = route.limit;
  bytes = remaining = static_cast<double>(size.count());
  began = since = now;
  for (SharedLink* link : route.links) {
    legs.push_back({.link = link, .place = link->crossing.size()});
    link->crossing.push_back({this, legs.size() - 1});
    link->places.push_back(place);
    link->carried += bytes;
  }
}

void Flow::leave() {
  for (const Leg& leg : legs) {
    std::vector<SharedLink::Crossing>& crossing = leg.link->crossing;
    const SharedLink::Crossing last = crossing.back();
    crossing[leg.place] = last;
    leg.link->places[leg.place] = last.flow->place;
    last.flow->legs[last.leg].place = leg.place;
    crossing.pop_back();
    leg.link->places.pop_back();
  }
  legs.clear();
}

FlowRecord Flow::record(Seconds now) const {
  FlowRecord record{.number = number,
                    .limit = limit ? limit->bytes_per_second() : std::numeric_limits<double>::infinity(),
                    .bytes = bytes,
                    .began = began,
                    .ended = now};
  for (const Leg& leg : legs) record.links.push_back(leg.link);
  return record;
}

Flow& FlowPool::take(FlowListener& listener) {
  if (free_.empty()) {
    flows_.push_back(std::make_unique<Flow>(clock_, static_cast<std::uint32_t>(flows_.size()), ended_));
    free_.push_back(flows_.back().get());
  }
  Flow& flow = *free_.back();
  free_.pop_back();
  flow.number = ++started_;
  flow.listener = &listener;
  return flow;
}

void FlowPool::give_back(Flow& flow) {
  flow.number = 0;
  free_.push_back(&flow);
}

}  // namespace twinlink::model
