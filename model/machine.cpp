#include "model/machine.hpp"

#include <simgrid/version.h>

#include <array>
#include <optional>
#include <set>
#include <utility>

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

// Nothing is computed, so the speed of hosts is of no consequence; SimGrid wants one.
constexpr double kHostSpeed = 1e9;
// For costs without a rate of their own.
constexpr double kUnlimited = 1e15;
const std::string kMessageLimit = "message";

/// The name of a location in one use of it, within its node's zone.
std::string host_of(const Topology& topology, const End& end) {
  const std::string& name = topology.name(end.location);
  if (end.memory == Memory::device) return end.kernel ? name + ".kernel" : name;
  return name + (end.memory == Memory::pageable ? ".pageable" : ".pinned");
}
std::string message_host_of(const Topology& topology, Location memory) { return topology.name(memory) + ".message"; }

s4u::Link* make_link(s4u::NetZone& zone, const std::string& name, Rate rate) {
  return zone.create_link(name, rate.bytes_per_second())->set_latency(0);
}

/// Limits every flow that crosses it by itself.
s4u::Link* make_limit(s4u::NetZone& zone, const std::string& name, const std::optional<Sourced<Rate>>& rate) {
  s4u::Link* link = make_link(zone, name, rate ? rate->value : Rate{kUnlimited});
  return link->set_sharing_policy(s4u::Link::SharingPolicy::FATPIPE);
}

std::string node_name(int node) { return "node" + std::to_string(node); }

}  // namespace

std::span<const SimGridSetting> simgrid_settings() {
  static const std::array<SimGridSetting, 5> settings{{
      {"network/model", "CM02"},       // bandwidth shared evenly, no TCP window, no factors
      {"network/TCP-gamma", "0"},      // no cap by window size over latency
      {"network/crosstraffic", "no"},  // acknowledgements take no bandwidth
      {"surf/precision", "1e-12"},     // picoseconds; the default of 10 us is longer than most messages
      {"network/optim", "Lazy"},       // "Full" is over thirty times slower with messages of unequal size
  }};
  return settings;
}

std::string simgrid_version() {
  int major = 0;
  int minor = 0;
  int patch = 0;
  sg_version_get(&major, &minor, &patch);
  return std::to_string(major) + "." + std::to_string(minor);
}

/// The links of one node: each direction of each link of the platform, and one limit per entry of the cost table.
struct Machine::NodeLinks {
  struct Directions {
    s4u::Link* forward;
    s4u::Link* backward;
    s4u::Link* total;  ///< or nullptr
  };
  struct Adapter {
    s4u::Link* out;
    s4u::Link* in;
    s4u::Link* duplex;  ///< or nullptr
    s4u::Link* limit;
    struct Rdma {
      s4u::Link* read;
      s4u::Link* write;
    };
    std::map<std::size_t, Rdma> rdma;  ///< by GPU, where there are limits
  };
  std::vector<Directions> links;
  std::map<std::string, s4u::Link*> limits;  ///< by entry of the cost table
  std::map<std::string, Adapter> adapters;   ///< by adapter; empty without a fabric

  [[nodiscard]] std::vector<s4u::LinkInRoute> of(const Route& route) const {
    std::vector<s4u::LinkInRoute> result;
    std::set<const s4u::Link*> seen;  // the way through host memory may cross a link's total twice
    for (const Hop& hop : route) {
      const Directions& link = links[hop.link];
      for (s4u::Link* l : {hop.forward ? link.forward : link.backward, link.total}) {
        if (l != nullptr && seen.insert(l).second) result.emplace_back(l);
      }
    }
    return result;
  }
};

Machine::Machine(const Topology& topology, std::span<const Place> places) : topology_(topology) {
  auto* root = s4u::create_full_zone("machine");
  home_ = root->create_host("actors", kHostSpeed);
  s4u::Link* home_link = make_link(*root, "actors", Rate{kUnlimited});
  root->add_route(home_->get_netpoint(), home_->get_netpoint(), nullptr, nullptr, {s4u::LinkInRoute(home_link)}, false);

  std::map<int, NodeLinks> links;
  for (const Place& place : places) {
    topology.require(place);
    if (!links.contains(place.node)) links.emplace(place.node, make_links(place.node, *root));
  }
  for (const auto& [node, of_node] : links) nodes_[node].local = build_local_zone(node, of_node, *root);
  if (topology.platform().fabric) {
    auto* fabric = s4u::create_star_zone("fabric")->set_parent(root);
    for (const auto& [node, of_node] : links) {
      for (const std::string& nic : topology.platform().node.nics) {
        nodes_[node].by_nic[nic] = build_nic(node, nic, of_node, *fabric);
      }
    }
    fabric->seal();
  }
  root->seal();
}

std::vector<Location> Machine::locations() const {
  std::vector<Location> all;
  for (std::size_t i = 0; i < topology_.platform().node.memories.size(); ++i) {
    all.push_back({Location::Kind::memory, i});
  }
  for (std::size_t i = 0; i < topology_.platform().node.gpus.size(); ++i) all.push_back({Location::Kind::gpu, i});
  return all;
}

Machine::NodeLinks Machine::make_links(int node, s4u::NetZone& root) const {
  const Platform& platform = topology_.platform();
  const std::string prefix = node_name(node) + "/";
  NodeLinks made;
  for (const Link& link : platform.node.links) {
    const std::string name = prefix + link.name;
    made.links.push_back({make_link(root, name + "/forward", link.forward.value),
                          make_link(root, name + "/backward", link.backward.value),
                          link.total ? make_link(root, name + "/total", link.total->value) : nullptr});
  }
  const auto add_limit = [&](const std::string& entry, const std::optional<Sourced<Rate>>& rate) {
    made.limits[entry] = make_limit(root, prefix + "limit " + entry, rate);
  };
  for (const auto& [copy_class, cost] : platform.copies) add_limit(std::string(to_string(copy_class)), cost.rate);
  for (const StagedPeer& staged : platform.staged_peers) add_limit(staged_name(staged), staged.cost.rate);
  add_limit(kMessageLimit, platform.intra_node.rate);
  if (!platform.fabric) return made;
  for (const std::string& nic : platform.node.nics) {
    const std::string name = prefix + nic;
    const auto& duplex = platform.fabric->duplex;
    made.adapters[nic] = {make_link(root, name + "/out", platform.fabric->link.value),
                          make_link(root, name + "/in", platform.fabric->link.value),
                          duplex ? make_link(root, name + "/duplex", duplex->value) : nullptr,
                          make_limit(root, name + "/limit", platform.network ? platform.network->rate : std::nullopt),
                          {}};
    for (std::size_t gpu = 0; gpu < platform.node.gpus.size(); ++gpu) {
      const RdmaLimits* limits = topology_.rdma_limits(gpu, nic);
      if (limits == nullptr) continue;
      const std::string between = name + "/rdma " + platform.node.gpus[gpu].name;
      made.adapters[nic].rdma[gpu] = {make_link(root, between + " read", limits->read.value),
                                      make_link(root, between + " write", limits->write.value)};
    }
  }
  return made;
}

/// The zone of one node's own traffic, while it is built.
class Machine::LocalZone {
 public:
  LocalZone(const Topology& topology, const NodeLinks& links, s4u::NetZone& root, const std::string& prefix)
      : topology_(topology), links_(links), prefix_(prefix), zone_(s4u::create_full_zone(prefix)->set_parent(&root)) {}

  void add_host(const std::string& name) { hosts_[name] = zone_->create_host(prefix_ + "/" + name, kHostSpeed); }

  /// The way of a copy, limited by the copy's own rate. What the platform has no cost for is never asked for.
  void add_copy_route(End from, End to) {
    const CopyCost cost = topology_.find_copy_cost(from, to);
    if (cost.cost == nullptr) return;
    add_route(host_of(topology_, from), host_of(topology_, to), topology_.copy_route(from.location, to.location),
              cost.name);
  }
  void add_message_route(Location from, Location to) {
    add_route(message_host_of(topology_, from), message_host_of(topology_, to), topology_.copy_route(from, to),
              kMessageLimit);
  }

  HostByName seal() {
    zone_->seal();
    return std::move(hosts_);
  }

 private:
  void add_route(const std::string& from, const std::string& to, const Route& way, const std::string& limit) {
    std::vector<s4u::LinkInRoute> route = links_.of(way);
    route.emplace_back(links_.limits.at(limit));
    zone_->add_route(hosts_.at(from)->get_netpoint(), hosts_.at(to)->get_netpoint(), nullptr, nullptr, route, false);
  }

  const Topology& topology_;
  const NodeLinks& links_;
  std::string prefix_;
  s4u::NetZone* zone_;
  HostByName hosts_;
};

Machine::HostByName Machine::build_local_zone(int node, const NodeLinks& links, s4u::NetZone& root) const {
  LocalZone zone(topology_, links, root, node_name(node));
  std::vector<End> ends;
  std::vector<Location> memories;
  for (const Location location : locations()) {
    if (location.kind == Location::Kind::gpu) {
      ends.push_back({location, Memory::device});
      ends.push_back({location, Memory::device, true});
    } else {
      ends.push_back({location, Memory::pinned});
      ends.push_back({location, Memory::pageable});
      memories.push_back(location);
    }
  }
  for (const End& end : ends) zone.add_host(host_of(topology_, end));
  for (const Location memory : memories) zone.add_host(message_host_of(topology_, memory));
  for (const End& from : ends) {
    for (const End& to : ends) zone.add_copy_route(from, to);
  }
  for (const Location from : memories) {
    for (const Location to : memories) zone.add_message_route(from, to);
  }
  return zone.seal();
}

/// The node's memories and GPUs as the fabric sees them through one adapter.
Machine::HostByName Machine::build_nic(int node, const std::string& nic, const NodeLinks& links,
                                       s4u::NetZone& fabric) const {
  const NodeLinks::Adapter& adapter = links.adapters.at(nic);
  HostByName hosts;
  for (const Location location : locations()) {
    const std::string& name = topology_.name(location);
    auto* host = fabric.create_host(node_name(node) + "/" + nic + "/" + name, kHostSpeed);
    hosts[name] = host;
    std::vector<s4u::LinkInRoute> up = links.of(topology_.to_nic_route(location, nic));
    std::vector<s4u::LinkInRoute> down = links.of(topology_.from_nic_route(nic, location));
    up.emplace_back(adapter.limit);
    up.emplace_back(adapter.out);
    down.emplace_back(adapter.in);
    if (location.kind == Location::Kind::gpu && adapter.rdma.contains(location.index)) {
      up.emplace_back(adapter.rdma.at(location.index).read);
      down.emplace_back(adapter.rdma.at(location.index).write);
    }
    if (adapter.duplex != nullptr) {
      up.emplace_back(adapter.duplex);
      down.emplace_back(adapter.duplex);
    }
    fabric.add_route(host->get_netpoint(), nullptr, nullptr, nullptr, up, false);
    fabric.add_route(nullptr, host->get_netpoint(), nullptr, nullptr, down, false);
  }
  return hosts;
}

s4u::CommPtr Machine::copy(int node, End from, End to, Bytes size) const {
  const HostByName& hosts = nodes_.at(node).local;
  return s4u::Comm::sendto_async(hosts.at(host_of(topology_, from)), hosts.at(host_of(topology_, to)), size.count());
}

s4u::CommPtr Machine::message(int node, Location from, Location to, Bytes size) const {
  const HostByName& hosts = nodes_.at(node).local;
  return s4u::Comm::sendto_async(hosts.at(message_host_of(topology_, from)), hosts.at(message_host_of(topology_, to)),
                                 size.count());
}

s4u::CommPtr Machine::transfer(Site from, const std::string& from_nic, Site to, const std::string& to_nic,
                               Bytes size) const {
  return s4u::Comm::sendto_async(nodes_.at(from.node).by_nic.at(from_nic).at(topology_.name(from.location)),
                                 nodes_.at(to.node).by_nic.at(to_nic).at(topology_.name(to.location)), size.count());
}

}  // namespace twinlink::model
