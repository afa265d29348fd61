#include "model/engine/flows/flow.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <string>
#include <utility>

#include "model/engine/flows/simgrid_versions.hpp"

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

class Flow {
 public:
  enum class State { idle, free, news, shared };

  explicit Flow(FlowNetwork& network) : timer(network.clock_, [this, &network] { network.end(*this); }) {}

  [[nodiscard]] bool rests() const {
    return std::ranges::any_of(links, [](const SharedLink* link) { return link->rests; });
  }
  /// Free, and at its end but for SimGrid's precision.
  [[nodiscard]] bool is_over(Seconds now) const { return reached(timer.when(), now); }

  State state = State::idle;
  std::uint64_t number = 0;
  FlowListener* listener = nullptr;
  std::vector<SharedLink*> links{};
  std::optional<Rate> limit{};
  double bytes = 0;
  Seconds began{};
  double remaining = 0;  ///< of the bytes, at `since`
  double rate = 0;       ///< bytes per second if it is not held up
  Seconds since{};
  Timer timer;  ///< of its end, while it moves freely
  versions::Transfer* transfer = nullptr;
};

FlowNetwork::FlowNetwork(s4u::Engine& engine, Clock& clock, bool exact, std::function<void()> woken)
    : clock_(clock),
      exact_(exact),
      woken_(std::move(woken)),
      zone_(versions::add_zone(engine, "machine")),
      zone_of_links_(versions::add_zone_of_links(*zone_, "links")),
      home_(versions::add_host(*zone_, "home", kHostSpeed)),
      carrier_(std::make_unique<versions::Carrier>(*home_,
                                                   [this](versions::Transfer& transfer) { return load(transfer); })) {}

FlowNetwork::~FlowNetwork() = default;

void FlowNetwork::add_actor(const std::function<void()>& code) { versions::add_actor("ranks", *home_, code); }

// ---- links ----------------------------------------------------------------------------------------------------------

SharedLink& FlowNetwork::add_link(Rate rate) {
  return links_.emplace_back(SharedLink{.rate = rate.bytes_per_second()});
}

SharedLink& FlowNetwork::add_open_link() { return links_.emplace_back(SharedLink{.rate = kOpenRate, .open = true}); }

s4u::Link& FlowNetwork::inner(SharedLink& link) {
  if (link.inner == nullptr) {
    const std::string name = std::to_string(++inner_links_);  // nobody reads it
    link.inner = versions::add_link(*zone_of_links_, name, link.rate)->set_latency(0);
    if (link.open) link.inner->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
  }
  return *link.inner;
}

double SharedLink::possible(Seconds from, Seconds to) const {
  double bytes = 0;
  for (const Earlier& before : earlier) {
    if (before.until <= from) continue;
    const Seconds until = std::min(before.until, to);
    bytes += before.rate * (until - from).value();
    from = until;
  }
  return bytes + rate * (to - from).value();
}

void FlowNetwork::set_rate(SharedLink& link, Rate rate) {
  link.earlier.push_back({clock_.now(), link.rate});
  link.rate = std::max(rate.bytes_per_second(), kRateAtRest);
  if (!link.has_room()) share_all_of(link);
  if (link.inner != nullptr && !link.slowed) {
    versions::in_one_step([&] { versions::set_bandwidth(*link.inner, link.rate); });
  }
}

void FlowNetwork::rest(SharedLink& link) {
  if (link.rests) return;
  for (Flow* flow : link.free) settle(*flow);
  link.rests = true;
  for (Flow* flow : link.free) flow->timer.clear();
  const bool in_simgrid = std::cmp_greater(link.crossing, link.free.size());
  if (in_simgrid && link.inner != nullptr) versions::in_one_step([&] { set_slowed(link, true); });
}

void FlowNetwork::go_on(SharedLink& link) {
  if (!link.rests) return;
  for (Flow* flow : link.free) settle(*flow);
  link.rests = false;
  for (Flow* flow : link.free) go_free(*flow);
  if (link.slowed) versions::in_one_step([&] { set_slowed(link, false); });
}

void FlowNetwork::set_slowed(SharedLink& link, bool slowed) {
  if (link.slowed == slowed) return;
  link.slowed = slowed;
  versions::set_bandwidth(*link.inner, slowed ? kRateAtRest : link.rate);
}

// ---- flows ----------------------------------------------------------------------------------------------------------

Flow& FlowNetwork::take(FlowListener& listener) {
  if (free_.empty()) {
    flows_.push_back(std::make_unique<Flow>(*this));
    free_.push_back(flows_.back().get());
  }
  Flow& flow = *free_.back();
  free_.pop_back();
  flow.number = ++started_;
  flow.listener = &listener;
  return flow;
}

void FlowNetwork::give_back(Flow& flow) {
  flow.state = Flow::State::idle;
  flow.number = 0;
  free_.push_back(&flow);
}

FlowId FlowNetwork::start(const FlowRoute& route, Bytes size, FlowListener& listener) {
  assert(!route.links.empty() && size > Bytes{});
  Flow& flow = take(listener);
  flow.links.assign(route.links.begin(), route.links.end());
  flow.limit = route.limit;
  flow.bytes = flow.remaining = static_cast<double>(size.count());
  flow.began = flow.since = clock_.now();
  flow.rate = route.limit ? route.limit->bytes_per_second() : kOpenRate;
  bool shares = exact_;
  for (const SharedLink* link : route.links) flow.rate = std::min(flow.rate, link->rate);
  for (SharedLink* link : route.links) {
    ++link->crossing;
    link->carried += flow.remaining;
    link->load += flow.rate;
    if (!link->has_room()) make_room(*link);
    shares = shares || !link->has_room();
  }
  if (shares) {
    for (SharedLink* link : route.links) {
      if (!link->has_room()) share_all_of(*link);
    }
    share(flow);
  } else {
    flow.state = Flow::State::free;
    for (SharedLink* link : flow.links) link->free.push_back(&flow);
    go_free(flow);
  }
  return {&flow, flow.number};
}

/// What has ended but for its timer crosses nothing any more.
void FlowNetwork::make_room(SharedLink& link) {
  const std::vector<Flow*> crossing = link.free;
  for (Flow* flow : crossing) {
    if (flow->is_over(clock_.now())) leave_links(*flow);
  }
}

void FlowNetwork::share_all_of(SharedLink& link) {
  const std::vector<Flow*> crossing = link.free;
  for (Flow* flow : crossing) {
    settle(*flow);
    share(*flow);
  }
}

/// What has moved so far has moved.
void FlowNetwork::settle(Flow& flow) {
  if (!flow.rests()) flow.remaining -= flow.rate * (clock_.now() - flow.since).value();
  flow.remaining = std::max(flow.remaining, 0.0);
  flow.since = clock_.now();
}

/// What remains moves by itself, now.
void FlowNetwork::go_free(Flow& flow) {
  if (!flow.rests()) flow.timer.set(flow.since + Seconds{flow.remaining / flow.rate});
}

/// What remains is SimGrid's. It still crosses its links.
void FlowNetwork::share(Flow& flow) {
  if (flow.state == Flow::State::free) {
    for (SharedLink* link : flow.links) std::erase(link->free, &flow);
  }
  flow.timer.clear();
  flow.state = Flow::State::news;
  ++in_simgrid_;
  news_.push_back(&flow);
}

void FlowNetwork::leave_links(Flow& flow) {
  const bool is_free = flow.state == Flow::State::free;
  if (observer_ && !flow.links.empty()) {
    const double limit = flow.limit ? flow.limit->bytes_per_second() : std::numeric_limits<double>::infinity();
    observer_({flow.number, {flow.links.begin(), flow.links.end()}, limit, flow.bytes, flow.began, clock_.now()});
  }
  for (SharedLink* link : flow.links) {
    link->load = --link->crossing == 0 ? 0 : link->load - flow.rate;
    if (is_free) std::erase(link->free, &flow);
  }
  flow.links.clear();
  if (flow.state == Flow::State::news || flow.state == Flow::State::shared) --in_simgrid_;
}

void FlowNetwork::end(Flow& flow) {
  leave_links(flow);
  if (flow.state == Flow::State::shared) carrier_->put_down(*flow.transfer);
  FlowListener& listener = *flow.listener;
  give_back(flow);
  listener.flow_has_ended();
}

/// By SimGrid, from where nothing must be started.
void FlowNetwork::end_shared(FlowId flow) {
  ended_.push_back(flow);
  clock_.advance(Seconds{s4u::Engine::get_clock()});
  woken_();
}

void FlowNetwork::hear_simgrid() {
  for (const FlowId& id : std::exchange(ended_, {})) {
    if (id.flow->number == id.number) end(*id.flow);
  }
}

void FlowNetwork::drop(FlowId id) {
  if (id.flow == nullptr || id.flow->number != id.number) return;
  Flow& flow = *id.flow;
  leave_links(flow);
  flow.timer.clear();
  const Flow::State state = flow.state;
  give_back(flow);
  if (state == Flow::State::news) std::erase(news_, &flow);
  if (state != Flow::State::shared) return;
  flow.transfer->cancel();
  carrier_->put_down(*flow.transfer);
}

void FlowNetwork::tell_simgrid() {
  while (told_ < news_.size()) {
    ++told_;
    carrier_->carry();
  }
}

/// Starts the next flow in SimGrid, all in one step of the simulation, for whoever starts a flow next sets the route
/// anew.
bool FlowNetwork::load(versions::Transfer& transfer) {
  --told_;
  if (news_.empty()) return false;
  Flow& flow = *news_.front();
  news_.pop_front();
  flow.state = Flow::State::shared;
  flow.transfer = &transfer;
  versions::in_one_step([&] {
    route_.clear();
    for (SharedLink* link : flow.links) route_.emplace_back(&inner(*link));
    versions::set_route(*zone_, *home_, route_);
    // SimGrid limits a flow for ever to the least rate of its links in this moment.
    for (SharedLink* link : flow.links) set_slowed(*link, false);
    transfer.start(*home_, *flow.links.front()->inner, flow.limit, flow.remaining,
                   [this, id = FlowId{&flow, flow.number}] { end_shared(id); });
    for (SharedLink* link : flow.links) set_slowed(*link, link->rests);
  });
  return true;
}

}  // namespace twinlink::model
