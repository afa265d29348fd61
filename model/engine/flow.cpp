#include "model/engine/flow.hpp"

#include <algorithm>
#include <cassert>

#include "model/engine/simgrid_versions.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

// Nothing is computed, so the speed of hosts is of no consequence; SimGrid wants one.
constexpr double kHostSpeed = 1e9;
constexpr double kOpenRate = 1e15;
// Bytes per second on a link that rests. Not zero, for SimGrid skips links that have nothing to give, as if they
// limited nobody. In a second a thousandth of a byte passes, whose time is far below SimGrid's precision.
constexpr double kRateAtRest = 1e-3;

}  // namespace

FlowNetwork::FlowNetwork(s4u::Engine& engine)
    : zone_(versions::add_zone(engine, "machine")),
      links_(versions::add_zone_of_links(*zone_, "links")),
      home_(versions::add_host(*zone_, "home", kHostSpeed)),
      mailbox_(s4u::Mailbox::by_name("flows")) {}

void FlowNetwork::add_actor(const std::string& name, const std::function<void()>& code) {
  versions::add_actor(name, *home_, code);
}

s4u::Link* FlowNetwork::add_link(const std::string& name, Rate rate) {
  return versions::add_link(*links_, name, rate.bytes_per_second())->set_latency(0);
}

s4u::Link* FlowNetwork::add_open_link(const std::string& name) {
  return add_link(name, Rate{kOpenRate})->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
}

std::unique_ptr<Flow> FlowNetwork::prepare(std::function<void()> ended) {
  return std::make_unique<versions::Transfer>(*mailbox_, std::move(ended));
}

void FlowNetwork::start(Flow& flow, const FlowRoute& route, Bytes size) {
  assert(!route.links.empty() && size > Bytes{});
  // All in one step of the simulation, for whoever starts a flow next sets the route anew.
  versions::in_one_step([&] {
    route_.clear();
    for (const s4u::Link* link : route.links) route_.emplace_back(link);
    versions::set_route(*zone_, *home_, route_);
    // SimGrid limits a flow for ever to the least rate of its links in this moment.
    const auto set_resting = [&](bool slowed) {
      if (resting_.empty()) return;
      for (const s4u::Link* link : route.links) {
        const auto found = resting_.find(link);
        if (found != resting_.end()) set_slowed(found->second, slowed);
      }
    };
    set_resting(false);
    static_cast<versions::Transfer&>(flow).start(*home_, *route.links.front(), route.limit, size);
    set_resting(true);
  });
}

void FlowNetwork::drop(std::unique_ptr<Flow> flow) {
  flow->cancel();
  dropped_.push_back(std::move(flow));
}

void FlowNetwork::set_rate(s4u::Link& link, Rate rate) {
  versions::in_one_step([&] { link.set_bandwidth(std::max(rate.bytes_per_second(), kRateAtRest)); });
}

void FlowNetwork::rest(s4u::Link& link) {
  // In one step of the simulation, as all that follows, for a flow may start beside it.
  versions::in_one_step([&] {
    const auto [place, is_new] = resting_.emplace(&link, Resting{&link, link.get_bandwidth(), false});
    if (is_new && link.is_used()) set_slowed(place->second, true);
  });
}

void FlowNetwork::go_on(s4u::Link& link) {
  versions::in_one_step([&] {
    if (auto resting = resting_.extract(&link)) set_slowed(resting.mapped(), false);
  });
}

void FlowNetwork::set_slowed(Resting& resting, bool slowed) {
  if (resting.slowed == slowed) return;
  resting.slowed = slowed;
  resting.link->set_bandwidth(slowed ? kRateAtRest : resting.rate);
}

}  // namespace twinlink::model
