#include "model/engine/flow.hpp"

#include <cassert>

#include <simgrid/kernel/routing/NetZoneImpl.hpp>
#include <simgrid/simix.hpp>

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

// Nothing is computed, so the speed of hosts is of no consequence; SimGrid wants one.
constexpr double kHostSpeed = 1e9;
constexpr double kOpenRate = 1e15;
// Bytes per second on a link that rests. Not zero, for SimGrid skips links that have nothing to give, as if they
// limited nobody. In a second a thousandth of a byte passes, whose time is far below SimGrid's precision.
constexpr double kRateAtRest = 1e-3;

/// A zone beside the platform that `root` is. SimGrid takes no more links into the platform's own zones once the
/// simulation runs. It does not destroy this zone either; like the engine, it lives as long as the process.
s4u::NetZone* zone_of_links(const s4u::NetZone& root) {
  static s4u::NetZone* const zone = s4u::create_star_zone("links");
  zone->get_impl()->set_network_model(root.get_impl()->get_network_model());
  return zone;
}

}  // namespace

FlowNetwork::FlowNetwork()
    : zone_(s4u::create_star_zone("machine")),
      links_(zone_of_links(*zone_)),
      home_(zone_->create_host("home", kHostSpeed)),
      mailbox_(s4u::Mailbox::by_name("flows")) {}

s4u::Link* FlowNetwork::add_link(const std::string& name, Rate rate) {
  return links_->create_link(name, rate.bytes_per_second())->set_latency(0);
}

s4u::Link* FlowNetwork::add_open_link(const std::string& name) {
  return add_link(name, Rate{kOpenRate})->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
}

std::unique_ptr<Flow> FlowNetwork::prepare(std::function<void()> ended) {
  // The actor will send a message to itself. SimGrid knows the two sides by the actor that makes them.
  std::unique_ptr<Flow> flow(new Flow(std::move(ended)));
  flow->put_ = mailbox_->put_init();
  flow->put_->set_src_data(flow.get(), sizeof(void*));
  flow->get_ = mailbox_->get_init();
  flow->get_->set_dst_data(&flow->nothing_, sizeof flow->nothing_);
  // SimGrid calls this when the message has arrived, in order to copy the data.
  flow->get_->set_copy_data_callback([](auto*, void* payload, std::size_t) { static_cast<Flow*>(payload)->ended_(); });
  return flow;
}

void FlowNetwork::start(Flow& flow, const Course& course, Bytes size) {
  assert(!course.links.empty() && size > Bytes{});
  flow.put_->set_payload_size(size.count());
  if (course.limit) flow.put_->set_rate(course.limit->bytes_per_second());
  // All in one step of the simulation, for whoever starts a flow next sets the route anew.
  simgrid::kernel::actor::simcall_answered([&] {
    auto* here = home_->get_netpoint();
    zone_->add_route(here, here, nullptr, nullptr, course.links, false);
    // SimGrid limits a flow for ever to the least rate of its links in this moment.
    const auto set_resting = [&](bool slowed) {
      if (resting_.empty()) return;
      for (const s4u::LinkInRoute& crossed : course.links) {
        const auto found = resting_.find(crossed.get_link());
        if (found != resting_.end()) set_slowed(found->second, slowed);
      }
    };
    set_resting(false);
    flow.put_->start();
    flow.get_->start();
    set_resting(true);
  });
}

void FlowNetwork::rest(s4u::Link& link) {
  // In one step of the simulation, as all that follows, for a flow may start beside it.
  simgrid::kernel::actor::simcall_answered([&] {
    const auto [place, is_new] = resting_.emplace(&link, Resting{&link, link.get_bandwidth(), false});
    if (is_new && link.is_used()) set_slowed(place->second, true);
  });
}

void FlowNetwork::go_on(s4u::Link& link) {
  simgrid::kernel::actor::simcall_answered([&] {
    if (auto resting = resting_.extract(&link)) set_slowed(resting.mapped(), false);
  });
}

void FlowNetwork::set_slowed(Resting& resting, bool slowed) {
  if (resting.slowed == slowed) return;
  resting.slowed = slowed;
  resting.link->set_bandwidth(slowed ? kRateAtRest : resting.rate);
}

void Flow::close() {
  // Returns at once, and takes the message off the actor's list of activities.
  get_->wait();
}

}  // namespace twinlink::model
