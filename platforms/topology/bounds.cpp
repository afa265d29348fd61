#include "platforms/topology/bounds.hpp"

#include <algorithm>
#include <array>
#include <functional>
#include <iterator>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/fabric_links.hpp"
#include "protocols/workloads/schedule.hpp"

namespace twinlink::platforms {
namespace {

/// What lets bytes out of a part of the machine, and into it, in bytes per second.
struct Wires {
  double out = 0;
  double in = 0;
};

/// Parts of the machine side by side; each rank is in one.
struct Cut {
  std::string name{};
  std::vector<int> group_of{};  ///< of each rank
  std::vector<std::string> groups{};
  std::function<Wires(int group)> wires{};
};

/// Numbers groups in the order in which ranks come to them.
template <class Key>
class Groups {
 public:
  int add(const Key& key) {
    const auto [found, is_new] = index_.try_emplace(key, static_cast<int>(keys_.size()));
    if (is_new) keys_.push_back(key);
    return found->second;
  }
  [[nodiscard]] const std::vector<Key>& keys() const { return keys_; }

 private:
  std::map<Key, int> index_{};
  std::vector<Key> keys_{};
};

template <class KeyOf, class Name>
auto cut(std::string name, const std::vector<Place>& places, const KeyOf& key_of, const Name& name_of) {
  using Key = decltype(key_of(places.front()));
  Groups<Key> groups;
  Cut made{.name = std::move(name)};
  for (const Place& place : places) made.group_of.push_back(groups.add(key_of(place)));
  for (const Key& key : groups.keys()) made.groups.push_back(name_of(key));
  return std::pair(std::move(made), groups.keys());
}

double rate(Rate rate) { return rate.bytes_per_second(); }

void cut_gpus(std::vector<Cut>& cuts, const Topology& topology, const std::vector<Place>& places) {
  auto [made, keys] = cut(
      "gpu", places, [](const Place& place) { return std::pair(place.node, place.gpu); },
      [](const auto& key) { return fmt::format("{}/{}", key.first, key.second); });
  std::vector<std::size_t> gpus;
  for (const auto& [node, gpu] : keys) gpus.push_back(topology.gpu_of(Place{node, gpu, {}}));
  made.wires = [&topology, gpus](int group) {
    const std::string& name = topology.graph().gpus[gpus[static_cast<std::size_t>(group)]].name;
    Wires wires;
    for (const Link& link : topology.graph().links) {
      if (link.from != name && link.to != name) continue;
      const bool out = link.from == name;
      wires.out += rate(link_width(link, out));
      wires.in += rate(link_width(link, !out));
    }
    return wires;
  };
  cuts.push_back(std::move(made));
}

/// Nodes of a domain are one part: they have more than adapters between them.
void cut_nodes(std::vector<Cut>& cuts, const Topology& topology, const std::vector<Place>& places) {
  auto [made, keys] = cut(
      "adapters of node", places, [&](const Place& place) { return topology.copy_of(place.node); },
      [](int copy) { return std::to_string(copy); });
  std::map<int, int> node_of;  // one of each copy
  for (const Place& place : places) node_of.emplace(topology.copy_of(place.node), place.node);
  std::vector<int> nodes;
  for (const int copy : keys) nodes.push_back(node_of.at(copy));
  made.wires = [&topology, nodes](int group) {
    double sum = 0;
    for (const Nic& nic : topology.graph_of(nodes[static_cast<std::size_t>(group)]).nics) {
      sum += rate((nic.link ? *nic.link : topology.platform().fabric->link).value);
    }
    return Wires{sum, sum};
  };
  cuts.push_back(std::move(made));
}

/// Leaves that the same nodes hang on: one of a fat tree, one for each adapter of rails.
struct LeafGroup {
  const Fabric& fabric;
  TreePorts ports;
  int nics;

  /// What cable `second` up of each leaf of a group lets through, leaf by leaf.
  [[nodiscard]] double up(std::int64_t leaf, int second) const {
    return rate(fabric.switch_rate()) * left_of(fabric, CableFault::Cable::leaf, leaf, second);
  }
  [[nodiscard]] std::vector<std::int64_t> leaves(std::int64_t group) const {
    if (fabric.shape != FabricShape::rails) return {group};
    std::vector<std::int64_t> all;
    for (int nic = 0; nic < nics; ++nic) all.push_back(group * nics + nic);
    return all;
  }
};

/// Of two levels: through each switch above, what comes up to it from these leaves goes down to the other ones.
void cut_leaves(std::vector<Cut>& cuts, const Topology& topology, const std::vector<Place>& places) {
  const Fabric& fabric = *topology.platform().fabric;
  const int nics = topology.fabric_nics();
  const LeafGroup of{fabric, fabric.ports(nics), nics};
  auto [made, keys] = cut(
      "leaves", places, [&](const Place& place) { return std::int64_t{place.node / fabric.size[0]}; },
      [](std::int64_t group) { return std::to_string(group); });
  const bool one_pod = std::ranges::all_of(
      keys, [&](std::int64_t group) { return group / fabric.size[1] == keys.front() / fabric.size[1]; });
  // By cable up of a leaf: of all leaves with ranks together. Pods differ in their switches, so there only what goes
  // up.
  std::vector<double> together(static_cast<std::size_t>(of.ports.up), 0);
  for (const std::int64_t group : keys) {
    for (const std::int64_t leaf : of.leaves(group)) {
      for (int second = 0; second < of.ports.up; ++second)
        together[static_cast<std::size_t>(second)] += of.up(leaf, second);
    }
  }
  made.wires = [of, keys = keys, together, one_pod](int group) {
    double sum = 0;
    for (int second = 0; second < of.ports.up; ++second) {
      double mine = 0;
      for (const std::int64_t leaf : of.leaves(keys[static_cast<std::size_t>(group)])) mine += of.up(leaf, second);
      const double others = together[static_cast<std::size_t>(second)] - mine;
      sum += one_pod ? std::min(mine, others) : mine;
    }
    return Wires{sum, sum};
  };
  cuts.push_back(std::move(made));

  if (fabric.size.size() < 3 || one_pod) return;
  auto [pods, pod_keys] = cut(
      "pod", places, [&](const Place& place) { return place.node / fabric.size[0] / fabric.size[1]; },
      [](int pod) { return std::to_string(pod); });
  pods.wires = [&fabric, nics, pod_keys = pod_keys](int group) {
    const double sum = rate(fabric_link_rate(
        fabric, nics, link_number(LinkKind::pod_up, pod_keys[static_cast<std::size_t>(group)], kAllLinks)));
    return Wires{sum, sum};
  };
  cuts.push_back(std::move(pods));
}

/// Where all are in one group: the first routers of those with ranks from all others of the group.
void cut_routers(std::vector<Cut>& cuts, const Fabric& fabric, const std::vector<Place>& places) {
  const auto router = [&](const Place& place) { return place.node / fabric.size[2]; };
  std::set<int> used;
  for (const Place& place : places) used.insert(router(place));
  const int begin = *used.begin() / fabric.size[1] * fabric.size[1];
  const int end = begin + fabric.size[1];
  for (auto first = std::next(used.begin()); first != used.end() && *used.rbegin() < end; ++first) {
    const std::set inside(used.begin(), first);
    double out = 0;  // what comes in has as many
    for (const int mine : inside) {
      for (int other = begin; other < end; ++other) {
        if (!inside.contains(other))
          out += rate(fabric_link_rate(fabric, 1, link_number(LinkKind::local, mine, other)));
      }
    }
    auto [made, keys] = cut(
        "routers", places, [&](const Place& place) { return inside.contains(router(place)); },
        [&, last = *first](bool in) { return fmt::format("{} {}", in ? "before" : "from", last); });
    made.wires = [out](int) { return Wires{out, out}; };
    cuts.push_back(std::move(made));
  }
}

/// Along each dimension, the first places of all lines from the others. All cables are alike but those that fail.
void cut_lines(std::vector<Cut>& cuts, const Fabric& fabric, const std::vector<Place>& places) {
  const double cable = rate(fabric.switch_rate());
  std::int64_t stride = 1;
  for (std::size_t dimension = 0; dimension + 1 < fabric.size.size(); stride *= fabric.size[dimension++]) {
    const std::int64_t count = fabric.size[dimension];
    const auto at = [=](std::int64_t router) { return router / stride % count; };
    std::set<std::int64_t> used;
    for (const Place& place : places) used.insert(at(place.node / fabric.nodes_of_router()));
    // Between two places in use the cut with the fewest cables is next to one of them.
    std::set<std::int64_t> ends;
    for (const std::int64_t place : used) {
      if (place != *used.rbegin()) ends.insert(place + 1);
      if (place != *used.begin()) ends.insert(place);
    }
    for (const std::int64_t end : ends) {
      const auto inside = [=](std::int64_t router) { return at(router) < end; };
      const std::int64_t lines = fabric.routers() / count;
      auto cables = static_cast<double>(lines * end * (count - end));
      for (const CableFault& fault : fabric.faults) {
        const bool crosses = fault.cable == CableFault::Cable::routers && inside(fault.a) != inside(fault.b);
        if (crosses) cables -= 1 - fault.share;
      }
      auto [made, keys] = cut(
          "routers", places, [&](const Place& place) { return inside(place.node / fabric.nodes_of_router()); },
          [&](bool in) { return fmt::format("{} {} of dimension {}", in ? "before" : "from", end, dimension); });
      made.wires = [out = cables * cable](int) { return Wires{out, out}; };  // what comes in has as many
      cuts.push_back(std::move(made));
    }
  }
}

void cut_groups(std::vector<Cut>& cuts, const Topology& topology, const std::vector<Place>& places) {
  const Fabric& fabric = *topology.platform().fabric;
  const int nodes = fabric.size[1] * fabric.size[2];
  cut_routers(cuts, fabric, places);
  auto [made, keys] = cut(
      "group", places, [&](const Place& place) { return place.node / nodes; },
      [](int group) { return std::to_string(group); });
  made.wires = [&fabric, keys = keys](int group) {
    const int mine = keys[static_cast<std::size_t>(group)];
    double sum = 0;
    for (int other = 0; other < fabric.size[0]; ++other) {
      if (other != mine) sum += rate(fabric_link_rate(fabric, 1, link_number(LinkKind::global, mine, other)));
    }
    return Wires{sum, sum};
  };
  cuts.push_back(std::move(made));
}

/// Along each dimension, half of the ring from each place on; the halves of a ring of two are its nodes.
void cut_torus(std::vector<Cut>& cuts, const Topology& topology, const std::vector<Place>& places) {
  const Fabric& fabric = *topology.platform().fabric;
  std::int64_t stride = 1;
  std::int64_t nodes = 1;
  for (const int length : fabric.size) nodes *= length;
  for (std::size_t dimension = 0; dimension < fabric.size.size(); ++dimension) {
    const std::int64_t length = fabric.size[dimension];
    for (std::int64_t begin = 0; 2 * begin < length; ++begin) {
      const auto inside = [=](std::int64_t node) {
        const std::int64_t at = (node / stride % length - begin + length) % length;
        return at < length / 2;
      };
      auto [made, keys] = cut(
          "half of the torus", places, [&](const Place& place) { return inside(place.node); },
          [&](bool in) {
            return fmt::format("{} of dimension {} from {} on", in ? "one" : "other", dimension, begin);
          });
      double out = 0;  // of one half; what comes in has as many
      for (std::int64_t node = 0; node < nodes; ++node) {
        if (!inside(node)) continue;
        for (const bool forward : {true, false}) {
          const std::int64_t next = torus_neighbour(fabric, node, dimension, forward);
          if (inside(next)) continue;
          const LinkKind kind = forward ? LinkKind::ring_forward : LinkKind::ring_backward;
          out += rate(fabric_link_rate(fabric, 1, link_number(kind, node, static_cast<std::int64_t>(dimension))));
        }
      }
      made.wires = [out](int) { return Wires{out, out}; };
      cuts.push_back(std::move(made));
    }
    stride *= length;
  }
}

std::vector<Cut> cuts_of(const Topology& topology, const std::vector<Place>& places, bool on_gpus) {
  std::vector<Cut> cuts;
  if (on_gpus) cut_gpus(cuts, topology, places);
  if (!topology.platform().fabric) return cuts;
  cut_nodes(cuts, topology, places);
  switch (topology.platform().fabric->shape) {
    case FabricShape::fat_tree:
    case FabricShape::rails:
      cut_leaves(cuts, topology, places);
      break;
    case FabricShape::dragonfly:
      cut_groups(cuts, topology, places);
      break;
    case FabricShape::torus:
      cut_torus(cuts, topology, places);
      break;
    case FabricShape::hyperx:
      cut_lines(cuts, *topology.platform().fabric, places);
      break;
    case FabricShape::one_switch:
    case FabricShape::rail_only:
      break;
  }
  return cuts;
}

}  // namespace

std::optional<Demand> Demand::of_collective(std::string_view name, int ranks, Bytes size) {
  static constexpr std::array kNames{std::pair{"all-reduce", Kind::all_reduce},
                                     std::pair{"all-gather", Kind::all_gather},
                                     std::pair{"reduce-scatter", Kind::reduce_scatter},
                                     std::pair{"all-to-all", Kind::all_to_all},
                                     std::pair{"broadcast", Kind::broadcast},
                                     std::pair{"reduce", Kind::reduce},
                                     std::pair{"gather", Kind::gather},
                                     std::pair{"scatter", Kind::scatter}};
  const auto* const found =
      std::ranges::find(kNames, name, [](const auto& each) { return std::string_view(each.first); });
  if (found == kNames.end()) return std::nullopt;
  constexpr std::uint64_t kElement = workloads::kElement.count();  // no rank has a part of one
  const std::uint64_t elements = size.count() / kElement;
  const std::uint64_t of_a_rank = elements / static_cast<std::uint64_t>(ranks);
  Demand demand;
  demand.kind_ = found->second;
  demand.ranks_ = ranks;
  demand.size_ = static_cast<double>(elements * kElement);
  demand.block_ = static_cast<double>(of_a_rank * kElement);
  return demand;
}

Demand Demand::of_messages(int ranks, std::vector<Message> messages) {
  Demand demand;
  demand.ranks_ = ranks;
  demand.messages_ = std::move(messages);
  return demand;
}

Demand::Crossing Demand::of_group(double inside, bool root) const {
  const double outside = ranks_ - inside;
  if (inside == 0 || outside == 0) return {};
  switch (kind_) {
    case Kind::all_reduce:  // each side must learn the other's sum
      return {size_, size_};
    case Kind::all_gather:
      return {inside * block_, outside * block_};
    case Kind::reduce_scatter:
      return {outside * block_, inside * block_};
    case Kind::all_to_all:
      return {inside * outside * block_, inside * outside * block_};
    case Kind::broadcast:
      return root ? Crossing{size_, 0} : Crossing{0, size_};
    case Kind::reduce:
      return root ? Crossing{0, size_} : Crossing{size_, 0};
    case Kind::gather:
      return root ? Crossing{0, outside * block_} : Crossing{inside * block_, 0};
    case Kind::scatter:
      return root ? Crossing{outside * block_, 0} : Crossing{0, inside * block_};
    case Kind::messages:
      break;
  }
  return {};
}

std::vector<Demand::Crossing> Demand::crossings(const std::vector<int>& group_of, int groups) const {
  std::vector<Crossing> all(static_cast<std::size_t>(groups));
  const auto group = [&](int rank) { return static_cast<std::size_t>(group_of[static_cast<std::size_t>(rank)]); };
  if (kind_ == Kind::messages) {
    for (const auto& [from, to, bytes] : messages_) {
      if (group(from) == group(to)) continue;
      all[group(from)].out += static_cast<double>(bytes.count());
      all[group(to)].in += static_cast<double>(bytes.count());
    }
    return all;
  }
  std::vector<double> inside(all.size(), 0);
  for (int rank = 0; rank < ranks_; ++rank) ++inside[group(rank)];
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = of_group(inside[i], i == group(0));
  return all;
}

Bound least_time(const Topology& topology, const std::vector<Place>& places, const Demand& demand, bool on_gpus) {
  Bound bound;
  for (const Cut& cut : cuts_of(topology, places, on_gpus)) {
    const int groups = static_cast<int>(cut.groups.size());
    if (groups < 2) continue;
    const std::vector<Demand::Crossing> crossings = demand.crossings(cut.group_of, groups);
    for (int group = 0; group < groups; ++group) {
      const Demand::Crossing& crossing = crossings[static_cast<std::size_t>(group)];
      const Wires wires = cut.wires(group);
      for (const auto& [bytes, by, way] : {std::tuple(crossing.out, wires.out, "out"), {crossing.in, wires.in, "in"}}) {
        if (bytes <= 0 || by <= 0) continue;
        const Seconds least{bytes / by};
        if (least <= bound.time) continue;
        bound = {least, fmt::format("{} {}, {}", cut.name, cut.groups[static_cast<std::size_t>(group)], way)};
      }
    }
  }
  return bound;
}

}  // namespace twinlink::platforms
