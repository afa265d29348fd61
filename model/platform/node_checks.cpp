#include "model/platform/node_checks.hpp"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "model/platform/topology.hpp"
#include "protocols/core/edit_distance.hpp"

namespace twinlink::model {
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
    if (node_.count > 1 && !platform_.fabric) {
      error({"count"}, std::to_string(node_.count) + " nodes need a 'fabric' that joins them");
    }
    const auto places = platform_.fabric ? platform_.fabric->nodes() : std::nullopt;
    if (places && node_.count > *places) {
      error({"count"},
            std::to_string(node_.count) + " nodes, and the fabric's 'size' has places for " + std::to_string(*places));
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
        if (topology.peer_access(a, b)) continue;
        return error({"gpus"}, "there is no 'driver.fallback', which copies between '" + node_.gpus[a].name +
                                   "' and '" + node_.gpus[b].name + "' need: they do not reach each other's memory");
      }
    }
  }

  void check_routes() {
    const Topology topology(platform_);
    for (const Gpu& gpu : node_.gpus) {
      const Hops hops = topology.ways().hops_from(gpu.name);
      check_ways(hops, gpu.name, memories_, {"gpus", gpu.name});
      check_ways(hops, gpu.name, gpu.nic.empty() ? nics_ : std::vector{gpu.nic}, {"gpus", gpu.name});
    }
    for (const std::string& memory : memories_) {
      check_ways(topology.ways().hops_from(memory), memory, nics_, {"memories", memory});
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

}  // namespace

void check_node(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics) {
  NodeCheck(platform, nodes, diagnostics).run();
}

void complete_node(Platform& platform) {
  const Topology topology(platform);
  Node& node = platform.node;
  for (Gpu& gpu : node.gpus) {
    const Hops hops = topology.ways().hops_from(gpu.name);
    const auto nearest = [&](const auto& things) {
      return std::ranges::min(things, {}, [&](const auto& thing) { return hops.at(thing.name); }).name;
    };
    if (gpu.memory_near.empty()) gpu.memory_near = nearest(node.memories);
    if (gpu.nic.empty() && !node.nics.empty()) gpu.nic = nearest(node.nics);
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

}  // namespace twinlink::model
