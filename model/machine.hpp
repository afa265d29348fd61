// Machine: a platform as SimGrid sees it. Links carry bandwidth and no latency: latency is SimRank's, sharing is
// SimGrid's.
//
// SimGrid's world: every node has one zone for the traffic inside it. One star zone is the fabric; a node's memories
// and GPUs appear there once per network adapter, as seen through it. So every transfer is one SimGrid communication
// between two hosts. Few zones and links made before them, because SimGrid 3.32 searches all zones for every new link.
//
// A copy's own rate is a link too, one that limits every flow on it by itself (a "fat pipe"): SimGrid 3.32 ignores the
// rate of communications between hosts. Therefore a memory is several hosts, one for each way in which it is used.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include <simgrid/s4u.hpp>

#include "model/topology.hpp"
#include "protocols/path.hpp"

namespace twinlink::model {

/// A memory or GPU of one node of the machine.
struct Site {
  int node = 0;
  Location location{};
};

/// The settings that make SimGrid's network model fit PCI Express and InfiniBand. Its defaults are made for TCP over
/// wide-area networks: with them a 100 ns link costs 1.3 us, and bandwidths are 10 to 60 % off.
struct SimGridSetting {
  std::string name;
  std::string value;
};
std::span<const SimGridSetting> simgrid_settings();
/// Of the library that runs: "3.32".
std::string simgrid_version();

class Machine {
 public:
  /// Builds the nodes that `places` name, in the one Engine of this process, which must not have a platform yet.
  Machine(const Topology& topology, std::span<const Place> places);

  /// Each of these starts to move `size` bytes from now on. The caller waits for it.
  [[nodiscard]] simgrid::s4u::CommPtr copy(int node, End from, End to, Bytes size) const;
  /// A message within a node, from host memory to host memory.
  [[nodiscard]] simgrid::s4u::CommPtr message(int node, Location from, Location to, Bytes size) const;
  /// A message through the adapters `from_nic` and `to_nic`: between two nodes, or in loopback within one.
  [[nodiscard]] simgrid::s4u::CommPtr transfer(Site from, const std::string& from_nic, Site to,
                                               const std::string& to_nic, Bytes size) const;
  /// Where all actors live; nothing is computed and nothing flows there.
  [[nodiscard]] simgrid::s4u::Host* actors_home() const { return home_; }

 private:
  using HostByName = std::map<std::string, simgrid::s4u::Host*>;
  struct NodeHosts {
    HostByName local;
    std::map<std::string, HostByName> by_nic;
  };
  struct NodeLinks;
  class LocalZone;

  [[nodiscard]] NodeLinks make_links(int node, simgrid::s4u::NetZone& root) const;
  [[nodiscard]] HostByName build_local_zone(int node, const NodeLinks& links, simgrid::s4u::NetZone& root) const;
  [[nodiscard]] HostByName build_nic(int node, const std::string& nic, const NodeLinks& links,
                                     simgrid::s4u::NetZone& fabric) const;
  [[nodiscard]] std::vector<Location> locations() const;

  const Topology& topology_;
  std::map<int, NodeHosts> nodes_;
  simgrid::s4u::Host* home_ = nullptr;
};

}  // namespace twinlink::model
