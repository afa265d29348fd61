#include "model/engine/flows/simgrid_flows.hpp"

#include <string>
#include <utility>

#include "model/engine/flows/simgrid_versions.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;

SimGridFlows::SimGridFlows(s4u::NetZone& zone, s4u::Host& home, Clock& clock, std::function<void()> woken)
    : clock_(clock),
      woken_(std::move(woken)),
      zone_(zone),
      home_(home),
      zone_of_links_(versions::add_zone_of_links(zone, "links")),
      carrier_(
          std::make_unique<versions::Carrier>(home, [this](versions::Transfer& transfer) { return load(transfer); })),
      flows_(clock, {}) {}

SimGridFlows::~SimGridFlows() = default;

s4u::Link& SimGridFlows::inner(SharedLink& link) {
  if (link.inner == nullptr) {
    const std::string name = std::to_string(++inner_links_);  // nobody reads it
    link.inner = versions::add_link(*zone_of_links_, name, link.rate)->set_latency(0);
    if (link.open) link.inner->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
  }
  return *link.inner;
}

void SimGridFlows::set_rate(SharedLink& link, Rate rate) {
  change_rate(link, rate, clock_.now());
  if (link.inner != nullptr && !link.slowed) {
    versions::in_one_step([&] { versions::set_bandwidth(*link.inner, link.rate); });
  }
}

/// SimGrid skips links that have nothing to give, as if they limited nobody, so these have next to nothing.
void SimGridFlows::rest(SharedLink& link) {
  if (std::exchange(link.rests, true)) return;
  if (!link.crossing.empty() && link.inner != nullptr) versions::in_one_step([&] { set_slowed(link, true); });
}

void SimGridFlows::go_on(SharedLink& link) {
  if (!std::exchange(link.rests, false)) return;
  if (link.slowed) versions::in_one_step([&] { set_slowed(link, false); });
}

void SimGridFlows::set_slowed(SharedLink& link, bool slowed) {
  if (link.slowed == slowed) return;
  link.slowed = slowed;
  versions::set_bandwidth(*link.inner, slowed ? kRateAtRest : link.rate);
}

FlowId SimGridFlows::start(const FlowRoute& route, Bytes size, FlowListener& listener) {
  Flow& flow = flows_.take(listener);
  flow.enter(route, size, clock_.now());
  flow.waits = true;
  ++count_;
  news_.push_back(&flow);
  return {&flow, flow.number};
}

void SimGridFlows::leave(Flow& flow) {
  if (is_observed()) tell(flow.record(clock_.now()));
  flow.leave();
  --count_;
}

/// By SimGrid, from where nothing must be started.
void SimGridFlows::end_in_simgrid(FlowId flow) {
  ended_.push_back(flow);
  clock_.advance(on_grain(Seconds{s4u::Engine::get_clock()}));
  woken_();
}

void SimGridFlows::hear_simgrid() {
  for (const FlowId& id : std::exchange(ended_, {})) {
    Flow& flow = *id.flow;
    if (flow.number != id.number) continue;
    leave(flow);
    carrier_->put_down(*flow.transfer);
    FlowListener& listener = *flow.listener;
    flows_.give_back(flow);
    listener.flow_has_ended();
  }
}

void SimGridFlows::drop(FlowId id) {
  if (id.flow == nullptr || id.flow->number != id.number) return;
  Flow& flow = *id.flow;
  leave(flow);
  flows_.give_back(flow);
  if (flow.waits) {
    std::erase(news_, &flow);
    return;
  }
  flow.transfer->cancel();
  carrier_->put_down(*flow.transfer);
}

double SimGridFlows::left(FlowId id) const { return id.flow->waits ? id.flow->bytes : id.flow->transfer->left(); }

void SimGridFlows::tell_simgrid() {
  while (told_ < news_.size()) {
    ++told_;
    carrier_->carry();
  }
}

/// Starts the next flow in SimGrid, all in one step of the simulation, for whoever starts a flow next sets the route
/// anew.
bool SimGridFlows::load(versions::Transfer& transfer) {
  --told_;
  if (news_.empty()) return false;
  Flow& flow = *news_.front();
  news_.pop_front();
  flow.waits = false;
  flow.transfer = &transfer;
  versions::in_one_step([&] {
    route_.clear();
    for (const Flow::Leg& leg : flow.legs) route_.emplace_back(&inner(*leg.link));
    versions::set_route(zone_, home_, route_);
    // SimGrid limits a flow for ever to the least rate of its links in this moment.
    for (const Flow::Leg& leg : flow.legs) set_slowed(*leg.link, false);
    transfer.start(home_, *flow.legs.front().link->inner, flow.limit, flow.bytes,
                   [this, id = FlowId{&flow, flow.number}] { end_in_simgrid(id); });
    for (const Flow::Leg& leg : flow.legs) set_slowed(*leg.link, leg.link->rests);
  });
  return true;
}

}  // namespace twinlink::model
