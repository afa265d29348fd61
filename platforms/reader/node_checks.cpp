#include "platforms/reader/node_checks.hpp"

#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

using Hops = std::map<std::string_view, std::size_t>;

class NodeCheck {
 public:
  NodeCheck(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics)
      : platform_(platform), node_(platform.node), nodes_(nodes), diagnostics_(diagnostics) {
    for (const HostMemory& memory : node_.memories) memories_.push_back(memory.name);
  }

  void run() {
    check_counts();
    check_names();
    for (const Nic& nic : node_.nics) nics_.push_back(nic.name);
    for (const GpuType& type : platform_.gpu_types) types_.push_back(type.name);
    for (const Gpu& gpu : node_.gpus) check_references(gpu);
    for (const Link& link : node_.links) check_ends(link);
    if (sound_) check_forced_ways();
    // Without its links a node has no routes; saying so as well would not help.
    if (sound_) check_routes();
  }

 private:
  /// The place of the value at `path`, or as much of the path as the file has.
  [[nodiscard]] const Position& position(std::initializer_list<std::string_view> path) const {
    const YamlValue* here = &nodes_;
    for (const std::string_view key : path) {
      const YamlValue* next = here->find(key);
      if (next == nullptr) break;
      here = next;
    }
    return here->position;
  }

  void error(std::initializer_list<std::string_view> path, const std::string& message) {
    diagnostics_.error(position(path), message);
    sound_ = false;
  }

  /// Reports `name` if `candidates` lack it. An empty name has been reported by the reader.
  void require(const std::string& name, const std::vector<std::string>& candidates, const std::string& kind,
               std::initializer_list<std::string_view> path, const std::string& where) {
    if (std::ranges::find(candidates, name) != candidates.end()) return;
    sound_ = false;
    if (name.empty()) return;
    const std::string meant = closest(name, candidates);
    error(path, where + ": there is no " + kind + " '" + name + "'" +
                    (meant.empty() ? "" : "; did you mean '" + meant + "'?"));
  }

  void check_counts() {
    if (node_.memories.empty() && nodes_.find("memories") != nullptr) error({"memories"}, "a node needs a memory");
    if (node_.gpus.empty() && nodes_.find("gpus") != nullptr) error({"gpus"}, "a node needs a GPU");
    const std::int64_t count = platform_.nodes();
    if (count > kMostNodes) {
      return error({"count"}, std::to_string(count) + " nodes are more than the " + std::to_string(kMostNodes) +
                                  " that a platform may have");
    }
    if (count > 1 && !platform_.fabric) {
      error({"count"}, std::to_string(count) + " nodes need a 'fabric' that joins them");
    }
    const auto places = platform_.fabric ? platform_.fabric->nodes() : std::nullopt;
    if (places && count > *places) {
      error({"count"},
            std::to_string(count) + " nodes, and the fabric's 'size' has places for " + std::to_string(*places));
    }
    if (node_.domain > 1) check_domain();
    check_size();
  }

  /// What there are most of is what is too many.
  void check_size() {
    std::map<std::string_view, std::size_t> all;
    const auto add = [&](const Node& node) {
      all["memories"] += node.memories.size();
      all["hubs"] += node.hubs.size();
      all["nics"] += node.nics.size();
      all["gpus"] += node.gpus.size();
      all["links"] += node.links.size();
    };
    add(node_);
    for (const NodeKind& kind : platform_.kinds) add(kind.node);
    const std::size_t links = all.extract("links").mapped();
    if (links > kMostLinksOfParts) {
      error({"links"}, std::to_string(links) + " links are more than the " + std::to_string(kMostLinksOfParts) +
                           " that a platform may have");
    }
    std::size_t parts = 0;
    for (const auto& [key, count] : all) parts += count;
    if (parts <= kMostParts) return;
    const auto most = std::ranges::max_element(all, {}, [](const auto& entry) { return entry.second; });
    error({most->first}, std::to_string(parts) + " parts, of which " + std::to_string(most->second) + " are '" +
                             std::string(most->first) + "', are more than the " + std::to_string(kMostParts) +
                             " memories, hubs, nics and gpus that a platform may have");
  }

  void check_domain() {
    if (node_.count % node_.domain != 0) {
      error({"domain"},
            std::to_string(node_.count) + " nodes are no whole number of domains of " + std::to_string(node_.domain));
    }
    if (!platform_.kinds.empty()) error({"domain"}, "nodes of several kinds have no 'domain'");
    for (const auto& [key, size] : {std::pair("memories", node_.memories.size()), std::pair("gpus", node_.gpus.size()),
                                    std::pair("nics", node_.nics.size())}) {
      if (size % static_cast<std::size_t>(node_.domain) == 0) continue;
      error({key}, std::to_string(size) + " " + key + " cannot be dealt out evenly to the " +
                       std::to_string(node_.domain) + " nodes of a domain");
    }
  }

  /// Names are joined by '.' and '/' elsewhere: in the paths of --set, in the simulator's names of hosts and links.
  void check_name(const std::string& name, std::initializer_list<std::string_view> path) {
    if (name.find_first_of("./ \t") == std::string::npos) return;
    error(path, "the name '" + name + "' has a '.', a '/' or a space in it");
  }

  void check_names() {
    const auto add = [&](const std::string& name, std::initializer_list<std::string_view> path) {
      check_name(name, path);
      if (std::ranges::find(vertices_, name) != vertices_.end()) {
        error(path, "two parts of a node are named '" + name + "'");
      }
      vertices_.push_back(name);
    };
    for (const std::string& memory : memories_) add(memory, {"memories", memory});
    for (const Hub& hub : node_.hubs) add(hub.name, {"hubs", hub.name});
    for (const Nic& nic : node_.nics) add(nic.name, {"nics", nic.name});
    for (const Gpu& gpu : node_.gpus) add(gpu.name, {"gpus", gpu.name});
    for (const Link& link : node_.links) check_name(link.name, {"links", link.name});
  }

  void check_references(const Gpu& gpu) {
    const std::string where = "in GPU '" + gpu.name + "'";
    require(gpu.type, types_, "GPU type", {"gpus", gpu.name, "type"}, "'type' " + where);
    if (!gpu.memory_near.empty()) {
      require(gpu.memory_near, memories_, "memory", {"gpus", gpu.name, "memory_near"}, "'memory_near' " + where);
    }
    if (!gpu.nic.empty()) require(gpu.nic, nics_, "NIC", {"gpus", gpu.name, "nic"}, "'nic' " + where);
    std::set<std::string> seen{gpu.nic};
    for (const std::string& nic : gpu.more_nics) {
      require(nic, nics_, "NIC", {"gpus", gpu.name, "nic"}, "'nic' " + where);
      if (!seen.insert(nic).second) {
        error({"gpus", gpu.name, "nic"}, "'nic' " + where + ": '" + nic + "' is there twice");
      }
    }
    if (nics_.empty() && platform_.fabric) {
      error({"gpus", gpu.name}, "no adapter for GPU '" + gpu.name + "': the platform has a fabric and no 'nics'");
    }
  }

  void check_ends(const Link& link) {
    const std::string where = " in link '" + link.name + "'";
    require(link.from, vertices_, "memory, GPU, NIC or hub", {"links", link.name, "from"}, "'from'" + where);
    require(link.to, vertices_, "memory, GPU, NIC or hub", {"links", link.name, "to"}, "'to'" + where);
    if (!link.from.empty() && link.from == link.to) {
      error({"links", link.name, "to"}, "link '" + link.name + "' joins '" + link.from + "' to itself");
    }
  }

  void check_forced_ways() {
    std::vector<std::string> ends = memories_;
    ends.insert(ends.end(), nics_.begin(), nics_.end());
    for (const Gpu& gpu : node_.gpus) ends.push_back(gpu.name);
    std::map<std::pair<std::string, std::string>, std::string> known;
    for (const ForcedWay& way : node_.ways) {
      const bool others = std::exchange(sound_, true);
      check_forced_way(way, ends, known);
      sound_ = sound_ && others;
    }
  }

  void check_forced_way(const ForcedWay& way, const std::vector<std::string>& ends,
                        std::map<std::pair<std::string, std::string>, std::string>& known) {
    const std::string where = "way '" + way.name + "'";
    require(way.from, ends, "memory, GPU or NIC", {"ways", way.name, "from"}, "'from' in " + where);
    require(way.to, ends, "memory, GPU or NIC", {"ways", way.name, "to"}, "'to' in " + where);
    if (!sound_) return;
    if (way.from == way.to) return error({"ways", way.name, "to"}, where + " ends where it begins");
    const auto [place, is_new] = known.try_emplace({way.from, way.to}, way.name);
    if (!is_new) error({"ways", way.name}, where + " has the ends of way '" + place->second + "'");
    const FollowedWay followed = follow(node_, way);
    if (!followed.wrong.empty()) error({"ways", way.name, "via"}, "'via' in " + where + ": " + followed.wrong);
    if (sound_) check_forwarding(way, followed.route);
  }

  /// Between two GPUs nothing but peer traffic takes a way.
  void check_forwarding(const ForcedWay& way, const Route& route) {
    const auto is_gpu = [&](const std::string& name) {
      return std::ranges::find(node_.gpus, name, &Gpu::name) != node_.gpus.end();
    };
    if (!is_gpu(way.from) || !is_gpu(way.to) || node_.peers) return;
    const Ways ways(node_);
    for (const Hop& hop : route) {
      const Link& link = node_.links[hop.link];
      const std::string& next = hop.forward ? link.to : link.from;
      if (next == way.to || ways.forwards(next, Traffic::peers)) continue;
      error({"ways", way.name, "via"}, "'via' in way '" + way.name + "': '" + next +
                                           "' forwards nothing between GPUs, whose copies then go through the "
                                           "driver's buffer in host memory");
    }
  }

  /// Names whom a vertex does not reach, once.
  void check_ways(const Hops& hops, const std::string& from, const std::vector<std::string>& to,
                  std::initializer_list<std::string_view> path) {
    std::string missing;
    for (const std::string& other : to) {
      if (!hops.contains(other)) missing += (missing.empty() ? "'" : ", '") + other + "'";
    }
    if (!missing.empty()) error(path, "no route from '" + from + "' to " + missing);
  }

  /// Copies between GPUs that do not reach each other need the driver's fallback. Said once.
  void check_fallback(const Topology& topology) {
    for (std::size_t a = 0; a < node_.gpus.size() && !platform_.fallback; ++a) {
      for (std::size_t b = a + 1; b < node_.gpus.size(); ++b) {
        if (topology.part_with(a) != topology.part_with(b) || topology.peer_access(a, b)) continue;
        return error({"gpus"}, "there is no 'driver.fallback', which copies between '" + node_.gpus[a].name +
                                   "' and '" + node_.gpus[b].name + "' need: they do not reach each other's memory");
      }
    }
  }

  /// Routes within each node, and none to nodes of other kinds.
  void check_routes() {
    const Topology topology(platform_);
    for (std::size_t i = 0; i < static_cast<std::size_t>(node_.domain); ++i) {
      const NodePart& part = topology.parts()[i];
      const auto own = [](const std::vector<std::string>& names, std::size_t first, std::size_t count) {
        const auto begin = names.begin() + static_cast<std::ptrdiff_t>(first);
        return std::vector(begin, begin + static_cast<std::ptrdiff_t>(count));
      };
      const std::vector<std::string> memories = own(memories_, part.first_memory, part.memories);
      const std::vector<std::string> nics = own(nics_, part.first_nic, part.nics);
      for (std::size_t own_gpu = 0; own_gpu < part.gpus; ++own_gpu) {
        const Gpu& gpu = node_.gpus[part.first_gpu + own_gpu];
        const Hops hops = topology.ways().hops_from(gpu.name);
        std::vector<std::string> named = gpu.more_nics;
        named.push_back(gpu.nic);
        check_ways(hops, gpu.name, memories, {"gpus", gpu.name});
        check_ways(hops, gpu.name, gpu.nic.empty() ? nics : named, {"gpus", gpu.name});
      }
      for (const std::string& memory : memories) {
        check_ways(topology.ways().hops_from(memory), memory, nics, {"memories", memory});
      }
    }
    if (sound_) check_fallback(topology);
  }

  const Platform& platform_;
  const Node& node_;
  const YamlValue& nodes_;
  Diagnostics& diagnostics_;
  std::vector<std::string> memories_{};
  std::vector<std::string> nics_{};
  std::vector<std::string> types_{};
  std::vector<std::string> vertices_{};
  bool sound_ = true;
};

void complete_node(Platform& platform) {
  const Topology topology(platform);
  Node& node = platform.node;
  for (Gpu& gpu : node.gpus) {
    const Hops hops = topology.ways().hops_from(gpu.name);
    // It reaches no part of the other nodes of its domain.
    const auto nearest = [&](const auto& things) {
      return std::ranges::min(things, {},
                              [&](const auto& thing) {
                                const auto found = hops.find(thing.name);
                                return found == hops.end() ? node.links.size() + 1 : found->second;
                              })
          .name;
    };
    if (gpu.memory_near.empty()) gpu.memory_near = nearest(node.memories);
    if (gpu.nic.empty() && !node.nics.empty()) gpu.nic = nearest(node.nics);
  }
}

/// The platform as if all of its nodes were of one kind.
Platform alone_of(const Platform& platform, const NodeKind& kind) {
  Platform alone = platform;
  alone.node = kind.node;
  alone.kinds.clear();
  return alone;
}

/// They are in the places of nodes that there are.
void check_replaced(const Platform& platform, const NodeKind& kind, const YamlValue& entry, Diagnostics& diagnostics) {
  const auto wrong = [&](const std::string& why) {
    const YamlValue* const replaces = entry.find("replaces");
    diagnostics.error(replaces == nullptr ? entry.position : replaces->position,
                      "'replaces' in kind '" + kind.name + "': " + why);
  };
  if (*kind.replaces + std::int64_t{kind.node.count} > platform.nodes()) {
    wrong("there are " + std::to_string(platform.nodes()) + " nodes, from 0 on");
  }
  if (platform.node.domain > 1) wrong("nodes of a 'domain' are not replaced one by one");
  for (const NodeKind& other : platform.kinds) {
    if (&other == &kind || !other.replaces) continue;
    const int first = std::max(*other.replaces, *kind.replaces);
    if (!other.stands_at(first) || !kind.stands_at(first)) continue;
    wrong("node " + std::to_string(first) + " is replaced by another kind too");
    break;
  }
}

}  // namespace

void check_node(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics) {
  NodeCheck(platform, nodes, diagnostics).run();
}

void check_ports(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics) {
  if (!platform.fabric) return;
  const std::string wrong = platform.fabric->wrong_ports(platform.most_nics());
  const YamlValue* count = nodes.find("count");
  if (!wrong.empty())
    diagnostics.error(count != nullptr ? count->position : nodes.position, "the fabric's ports: " + wrong);
}

void check_kinds(const Platform& platform, const YamlValue& kinds, Diagnostics& diagnostics) {
  for (const NodeKind& kind : platform.kinds) {
    const YamlValue* entry = kinds.find(kind.name);
    const YamlValue* nodes = entry == nullptr ? nullptr : entry->find("nodes");
    if (nodes == nullptr) continue;  // the reader has said so
    if (kind.name.find_first_of("./ \t") != std::string::npos) {
      diagnostics.error(entry->position, "the name '" + kind.name + "' has a '.', a '/' or a space in it");
    }
    if (kind.node.domain > 1) diagnostics.error(nodes->position, "nodes of several kinds have no 'domain'");
    if (kind.replaces) check_replaced(platform, kind, *entry, diagnostics);
    Platform alone = alone_of(platform, kind);
    alone.node.domain = 1;
    check_node(alone, *nodes, diagnostics);
  }
}

void complete_nodes(Platform& platform) {
  complete_node(platform);
  for (NodeKind& kind : platform.kinds) {
    Platform alone = alone_of(platform, kind);
    complete_node(alone);
    kind.node = std::move(alone.node);
  }
}

std::string safe_name(std::string name, const std::string& otherwise) {
  std::ranges::replace_if(
      name,
      [](char c) {
        return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '-';
      },
      '_');
  return name.empty() ? otherwise : name;
}

}  // namespace twinlink::platforms
