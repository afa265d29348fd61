#include "model/platform/node_checks.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>
#include <string>
#include <vector>

#include "model/platform/topology.hpp"
#include "protocols/core/edit_distance.hpp"

namespace twinlink::model {
namespace {

class NodeCheck {
 public:
  NodeCheck(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics)
      : platform_(platform), node_(platform.node), nodes_(nodes), diagnostics_(diagnostics) {
    for (const HostMemory& memory : node_.memories) memories_.push_back(memory.name);
  }

  void run() {
    check_counts();
    check_names();
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
    for (const std::string& hub : node_.hubs) add(hub, {"hubs"});
    for (const std::string& nic : node_.nics) add(nic, {"nics"});
    for (const Gpu& gpu : node_.gpus) add(gpu.name, {"gpus", gpu.name});
    for (const Link& link : node_.links) check_name(link.name, {"links", link.name});
  }

  void check_references(const Gpu& gpu) {
    const std::string where = "in GPU '" + gpu.name + "'";
    require(gpu.memory_near, memories_, "memory", {"gpus", gpu.name, "memory_near"}, "'memory_near' " + where);
    if (!gpu.nic.empty()) require(gpu.nic, node_.nics, "NIC", {"gpus", gpu.name, "nic"}, "'nic' " + where);
    if (gpu.nic.empty() && platform_.fabric) {
      error({"gpus", gpu.name}, "missing key 'nic' " + where + ": the platform has a fabric");
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

  void check_peers(const Topology& topology, std::size_t a, std::size_t b) {
    if (!topology.peer_access(a, b)) return;
    const Gpu& first = node_.gpus[a];
    const Gpu& second = node_.gpus[b];
    try {
      static_cast<void>(topology.route(first.name, second.name, Topology::Across::past_host_memory));
    } catch (const InputError&) {
      error({"gpus", second.name, "peer_domain"}, "no route past host memory from '" + first.name + "' to '" +
                                                      second.name + "', which share the peer domain '" +
                                                      second.peer_domain + "'");
    }
  }

  void check_routes() {
    const Topology topology(platform_);
    const auto check = [&](const std::string& from, const std::string& to,
                           std::initializer_list<std::string_view> path) {
      try {
        static_cast<void>(topology.route(from, to));
      } catch (const InputError&) {
        error(path, "no route from '" + from + "' to '" + to + "'");
      }
    };
    for (const Gpu& gpu : node_.gpus) {
      for (const std::string& memory : memories_) check(gpu.name, memory, {"gpus", gpu.name});
      if (!gpu.nic.empty()) check(gpu.name, gpu.nic, {"gpus", gpu.name});
    }
    for (const std::string& memory : memories_) {
      for (const std::string& nic : node_.nics) check(memory, nic, {"memories", memory});
    }
    for (std::size_t a = 0; a < node_.gpus.size(); ++a) {
      for (std::size_t b = a + 1; b < node_.gpus.size(); ++b) check_peers(topology, a, b);
    }
  }

  const Platform& platform_;
  const Node& node_;
  const YamlValue& nodes_;
  Diagnostics& diagnostics_;
  std::vector<std::string> memories_{};
  std::vector<std::string> vertices_{};
  bool sound_ = true;
};

}  // namespace

void check_node(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics) {
  NodeCheck(platform, nodes, diagnostics).run();
}

}  // namespace twinlink::model
