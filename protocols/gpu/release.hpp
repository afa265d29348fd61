// Release: what a release of NCCL has in tables, by which its rule chooses. Read from platforms/parts/ccl/.
#pragma once

#include <array>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"
#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

/// By line format: LL, LL128, Simple.
template <class T>
struct ByFormat {
  std::array<T, 3> of{};

  [[nodiscard]] const T& at(LineFormat format) const {
    return of[format == LineFormat::ll ? 0 : format == LineFormat::ll128 ? 1 : 2];
  }
};

/// Of rings and of trees.
struct Latencies {
  ByFormat<Seconds> ring{};
  ByFormat<Seconds> tree{};
};

/// By generation of the GPUs (Volta and older, Ampere, Hopper, Blackwell), and by one node, two, or more.
using Limits = std::array<std::array<Rate, 3>, 4>;

/// From a compute capability on.
template <class T>
using ByCapability = std::map<int, T>;

struct Release {
  std::string name{};  ///< "nccl-2.28"
  int oldest = 0;      ///< GPUs that it runs on, by capability

  // Latencies: of a collective, and of each hop by what it crosses.
  Latencies base{};
  Latencies over_links{};
  Latencies over_pcie{};
  Latencies over_network{};
  /// What a proxy takes for each step of a ring over several nodes: of AMD's CPUs, and of others. Thrice for Simple.
  Seconds network_overhead_amd{};
  Seconds network_overhead{};
  bool all_nodes_left = false;      ///< an all-reduce crosses between nodes twice for each of them, not for all but one
  bool tree_latency_alone = false;  ///< with one rank a node, hops between nodes take what those of a tree take

  // Bandwidths.
  Limits ll{};          ///< of all channels; between nodes row 1 is for AMD's CPUs, and row 0 for all others
  Limits ring_ll128{};  ///< of a channel, as those below
  Limits tree_ll128{};
  Limits tree{};
  std::array<std::array<double, 23>, 3> tree_share{};  ///< by format as ByFormat, and doublings from 64 B

  double alone_ll128 = 0.92;  ///< what a ring of LL128 gets of its channels with one rank a node
  ByFormat<Bytes> worth{};    ///< bytes for which a collective gets one more channel; of LL in a ring for each rank
  bool in_cells = false;      ///< a channel has a whole number of them
  Bytes most_by_ll{};         ///< of a message, for each of its channels
  bool ll_by_most = false;    ///< for as many as it may have, and not for as many as it has
  /// Of a message between nodes, for each of whose channels an adapter has as much; zero: it has two, and where ranks
  /// are many, one.
  Rate message_channel{};
  int most_channels = 64;

  // What a switch that adds up takes, and a hop between such; what it gets of a GPU's links by generation, zero: it
  // does not; a channel of the trees between two nodes, or more; channels, where one switch joins all GPUs, or several
  // do.
  Seconds switched{};
  Seconds switch_hop{};
  std::array<double, 4> switch_share{};
  double switch_flat = 0;  ///< in place of that: what a collective gets of what all heads carry
  ByCapability<std::array<Rate, 2>> switch_tree{};
  ByCapability<int> switch_channels{};
  ByCapability<int> switch_channels_between{};

  // What parallel trees take: at all, for each doubling of the nodes, and for each rank; what they get of the channels,
  // zero: there are none.
  std::array<Seconds, 3> pat{};
  double pat_share = 0;

  // What it takes a machine for.
  ByCapability<Rate> link{};      ///< one link of a GPU
  Rate pcie{};                    ///< a slot of generation 3 with 16 lanes
  std::map<Cpu, Rate> sockets{};  ///< between two CPUs
  Rate unknown_adapter{};
  /// Of a channel that it looks for, from the fastest on.
  ByCapability<std::vector<Rate>> speeds_within{};
  ByCapability<std::vector<Rate>> speeds_between{};

  // Where it lets bytes go by themselves.
  Level p2p = Level::pxb;          ///< the farthest GPUs that meet in device memory
  std::map<Cpu, Level> p2p_on{};   ///< where the CPUs are these
  Level p2p_two_amd = Level::pxb;  ///< of two in a node with AMD's CPUs
  Level gdr = Level::pxb;          ///< the farthest adapter that reaches device memory
  Level ll128 = Level::pxb;        ///< the farthest adapter with which LL128 is on
  std::vector<int> ll128_on{};     ///< by capability, the only GPUs with which it is; empty: those from Volta on
  int ll128_mixed = 0;             ///< the capability from which on GPUs of several have it; 0: none
  bool c2c_is_near = false;        ///< an adapter by coherent links is near enough; else it is as far as by PCIe
};

}  // namespace twinlink::gpu
