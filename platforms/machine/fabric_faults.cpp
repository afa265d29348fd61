// Cables between switches that are gone, or have a share of their rate left.
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "platforms/machine/fabric.hpp"
#include "platforms/machine/fabric_links.hpp"
#include "platforms/machine/fabric_torus.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using Cable = CableFault::Cable;

/// "leaf3-up2" as {"leaf", 3}, {"up", 2}; a word without a number has -1. Empty: something else.
std::vector<std::pair<std::string, int>> words_of(std::string_view name) {
  std::vector<std::pair<std::string, int>> words;
  while (!name.empty()) {
    std::size_t end = 0;
    while (end < name.size() && (name[end] < '0' || name[end] > '9')) ++end;
    std::string word(name.substr(0, end));
    name.remove_prefix(end);
    int number = -1;
    if (!name.empty()) {
      const auto [stop, problem] = std::from_chars(name.data(), name.data() + name.size(), number);
      if (problem != std::errc{}) return {};
      name.remove_prefix(static_cast<std::size_t>(stop - name.data()));
    }
    if (!words.empty()) {
      if (!word.starts_with('-')) return {};
      word.erase(0, 1);
    }
    words.emplace_back(std::move(word), number);
  }
  return words;
}

void require_below(int number, std::int64_t count, std::string_view what) {
  if (number >= 0 && number < count) return;
  throw UsageError(fmt::format("there is no {} {}; there are 0 to {}", what, number, count - 1));
}

struct TreeCounts {
  TreePorts ports{};
  std::int64_t leaves = 0;
  std::int64_t pods = 1;
};
TreeCounts counts_of(const Fabric& fabric, int nics) {
  TreeCounts counts{.ports = fabric.ports(nics)};
  counts.pods = fabric.size.size() > 2 ? fabric.size[2] : 1;
  counts.leaves = counts.pods * counts.ports.pod_down;
  return counts;
}

/// Is there a way between two leaves?
bool are_joined(const Fabric& fabric, const TreeCounts& tree, std::int64_t a, std::int64_t b) {
  const auto is_left = [&](Cable cable, std::int64_t from, std::int64_t number) {
    return std::ranges::none_of(fabric.faults, [&](const CableFault& fault) {
      return fault.cable == cable && fault.a == from && fault.b == number && fault.share <= 0;
    });
  };
  const TreePorts& ports = tree.ports;
  const bool one_pod = a / ports.pod_down == b / ports.pod_down;
  for (int up = 0; up < ports.up; ++up) {
    if (!is_left(Cable::leaf, a, up) || !is_left(Cable::leaf, b, up)) continue;
    if (one_pod) return true;
    for (int core = 0; core < ports.pod_up; ++core) {
      if (is_left(Cable::pod, a / ports.pod_down * ports.up + up, core) &&
          is_left(Cable::pod, b / ports.pod_down * ports.up + up, core)) {
        return true;
      }
    }
  }
  return false;
}

/// Leaves that have lost something stand for themselves; a pod's first two for the others of a pod that has.
std::string cut_off_leaves(const Fabric& fabric, int nics) {
  const TreeCounts tree = counts_of(fabric, nics);
  std::set<std::int64_t> leaves;
  const auto add_pod = [&](std::int64_t pod) {
    for (std::int64_t leaf = pod * tree.ports.pod_down; leaf < std::min(pod * tree.ports.pod_down + 2, tree.leaves);
         ++leaf) {
      if (leaf < (pod + 1) * tree.ports.pod_down) leaves.insert(leaf);
    }
  };
  for (std::int64_t pod = 0; pod < std::min<std::int64_t>(tree.pods, 2); ++pod) add_pod(pod);
  for (const CableFault& fault : fabric.faults) {
    if (fault.cable == Cable::leaf) leaves.insert(fault.a);
    add_pod(fault.cable == Cable::leaf ? fault.a / tree.ports.pod_down : fault.a / tree.ports.up);
  }
  for (const std::int64_t a : leaves) {
    for (const std::int64_t b : leaves) {
      if (a < b && !are_joined(fabric, tree, a, b)) return fmt::format("leaves {} and {}", a, b);
    }
  }
  return "";
}

/// "leaf3" and what else is a word with a number.
std::int64_t leaves_of(const Fabric& fabric, int nics) {
  return fabric.shape == FabricShape::rail_only ? nics : counts_of(fabric, nics).leaves;
}

/// Neighbours of a torus.
bool are_neighbours(const Fabric& fabric, std::int64_t a, std::int64_t b) {
  for (std::size_t dimension = 0; dimension < fabric.size.size(); ++dimension) {
    if (a != b && torus_neighbour(fabric, a, dimension, true) == b) return true;
    if (a != b && torus_neighbour(fabric, a, dimension, false) == b) return true;
  }
  return false;
}

std::string cut_off_routers(const Fabric& fabric) {
  const auto is_gone = [&](Cable cable, int a, int b) {
    return std::ranges::any_of(fabric.faults, [&](const CableFault& fault) {
      return fault.cable == cable && fault.a == std::min(a, b) && fault.b == std::max(a, b) && fault.share <= 0;
    });
  };
  for (const CableFault& fault : fabric.faults) {
    if (fault.share > 0) continue;
    const bool groups = fault.cable == Cable::groups;
    const RouterLine line =
        groups ? RouterLine{.count = fabric.size[0]} : line_through(fabric, fault.a, fault.b).value();
    bool round = false;
    for (std::int64_t place = 0; place < line.count && !round; ++place) {
      const int third = static_cast<int>(line.at(place));
      round = third != fault.a && third != fault.b && !is_gone(fault.cable, fault.a, third) &&
              !is_gone(fault.cable, third, fault.b);
    }
    if (!round) return fmt::format("{} {} and {}", groups ? "groups" : "routers", fault.a, fault.b);
  }
  return "";
}

}  // namespace

std::vector<CableFault> Fabric::cables(std::string_view name, double share, int nics) const {
  const auto words = words_of(name);
  const auto are = [&](std::initializer_list<std::string_view> names) {
    return std::ranges::equal(words, names, {}, &std::pair<std::string, int>::first);
  };
  if (is_tree()) {
    const TreeCounts tree = counts_of(*this, nics);
    if (are({"leaf", "up"})) {
      require_below(words[0].second, tree.leaves, "leaf");
      require_below(words[1].second, tree.ports.up, "link up of a leaf");
      return {{Cable::leaf, words[0].second, words[1].second, share}};
    }
    const std::int64_t switches = tree.pods * tree.ports.up;
    if (are({"leaf"})) {
      require_below(words[0].second, tree.leaves, "leaf");
      std::vector<CableFault> all;
      for (int up = 0; up < tree.ports.up; ++up) all.push_back({Cable::leaf, words[0].second, up, share});
      return all;
    }
    if (are({"core"}) && tree.ports.pod_up > 0) {
      require_below(words[0].second, std::int64_t{tree.ports.up} * tree.ports.pod_up, "switch of the third level");
      std::vector<CableFault> all;
      for (int pod = 0; pod < tree.pods; ++pod) {
        all.push_back({Cable::pod, pod * tree.ports.up + words[0].second / tree.ports.pod_up,
                       words[0].second % tree.ports.pod_up, share});
      }
      return all;
    }
    if (are({"pod-switch"}) || (are({"spine"}) && tree.ports.pod_up == 0)) {
      require_below(words[0].second, switches, "switch of the second level");
      const int pod = words[0].second / tree.ports.up;
      std::vector<CableFault> all;
      for (int leaf = pod * tree.ports.pod_down; leaf < (pod + 1) * tree.ports.pod_down; ++leaf) {
        all.push_back({Cable::leaf, leaf, words[0].second % tree.ports.up, share});
      }
      for (int core = 0; core < tree.ports.pod_up; ++core) {
        all.push_back({Cable::pod, words[0].second, core, share});
      }
      return all;
    }
    if (are({"pod-switch", "up"}) && tree.ports.pod_up > 0) {
      require_below(words[0].second, switches, "switch of the second level");
      require_below(words[1].second, tree.ports.pod_up, "link up of the second level");
      return {{Cable::pod, words[0].second, words[1].second, share}};
    }
    throw UsageError(fmt::format("a {} has leaf0, leaf0-up0, pod-switch0{}", to_string(shape),
                                 tree.ports.pod_up > 0 ? ", pod-switch0-up0, core0" : " or spine0"));
  }
  if (has_routers()) {
    const bool dragonfly = shape == FabricShape::dragonfly;
    const bool one = dragonfly && are({"group", "group", "cable"}) && words[2].second == -1;
    if (one || (dragonfly && are({"group", "group"})) || are({"router", "router"})) {
      const bool is_router = words[0].first == "router";
      const std::int64_t count = is_router ? routers() : size[0];
      for (int i = 0; i < 2; ++i) require_below(words[static_cast<std::size_t>(i)].second, count, words[0].first);
      const auto [a, b] = std::minmax(words[0].second, words[1].second);
      if (a == b || (is_router && !line_through(*this, a, b))) {
        throw UsageError(!is_router  ? "a cable joins two groups"
                         : dragonfly ? "a cable joins two routers of one group"
                                     : "a cable joins two routers of one line");
      }
      return {{is_router ? Cable::routers : one ? Cable::one_cable : Cable::groups, a, b, share}};
    }
    if (are({"router"})) {
      require_below(words[0].second, routers(), "router");
      const int mine = words[0].second;
      std::vector<CableFault> all;
      for (int other = 0; other < routers(); ++other) {
        if (line_through(*this, mine, other))
          all.push_back({Cable::routers, std::min(mine, other), std::max(mine, other), share});
      }
      return all;
    }
    throw UsageError(dragonfly ? "a dragonfly has router0, router0-router1, group0-group1, group0-group1-cable"
                               : "a hyperx has router0, router0-router1");
  }
  if (shape == FabricShape::torus) {
    if (!are({"node", "node"})) throw UsageError("a torus has node0-node1");
    for (const auto& [word, number] : words) require_below(number, nodes().value(), word);
    const auto [a, b] = std::minmax(words[0].second, words[1].second);
    if (!are_neighbours(*this, a, b)) throw UsageError(fmt::format("nodes {} and {} are no neighbours", a, b));
    return {{Cable::ring, a, b, share}};
  }
  if (ports_at(name, 1, nics)) return {};
  if (shape == FabricShape::rail_only) throw UsageError("a rail-only fabric has leaf0, the switch of the first rail");
  throw UsageError(fmt::format("a {} has no cables that messages could go round", to_string(shape)));
}

std::optional<std::vector<FabricPort>> Fabric::ports_at(std::string_view name, int nodes, int nics) const {
  std::vector<FabricPort> all;
  const auto add_nodes = [&](std::int64_t first, std::int64_t count, std::optional<int> nic) {
    for (std::int64_t node = first; node < std::min<std::int64_t>(first + count, nodes); ++node) {
      for (int each = 0; each < nics; ++each) {
        if (!nic || *nic == each) all.push_back({static_cast<int>(node), each, nics});
      }
    }
  };
  const auto words = words_of(name);
  if (words.size() != 1) return std::nullopt;
  const auto& [word, number] = words.front();
  if (shape == FabricShape::one_switch && word == "switch" && number == -1) {
    add_nodes(0, nodes, std::nullopt);
    return all;
  }
  if (word == "leaf" && (is_tree() || shape == FabricShape::rail_only)) {
    require_below(number, leaves_of(*this, nics), "leaf");
    if (shape == FabricShape::rail_only) {
      add_nodes(0, nodes, number);
    } else if (shape == FabricShape::rails) {
      add_nodes(std::int64_t{number / nics} * size[0], size[0], number % nics);
    } else {
      add_nodes(std::int64_t{number} * size[0], size[0], std::nullopt);
    }
    return all;
  }
  if (word == "router" && has_routers()) {
    require_below(number, routers(), "router");
    add_nodes(std::int64_t{number} * nodes_of_router(), nodes_of_router(), std::nullopt);
    return all;
  }
  return std::nullopt;
}

void Fabric::add_fault(const CableFault& fault) {
  const bool one = fault.cable == Cable::one_cable;
  const double links = size.size() > 3 ? size[3] : 1;
  CableFault whole = fault;
  if (one) whole.cable = Cable::groups;
  if (one) whole.share = 1 - (1 - fault.share) / links;
  auto known = std::ranges::find_if(faults, [&](const CableFault& other) {
    return other.cable == whole.cable && other.a == whole.a && other.b == whole.b;
  });
  if (known == faults.end()) {
    faults.push_back(whole);
    known = faults.end() - 1;
  } else {
    known->share = one ? known->share - (1 - whole.share) : std::min(known->share, whole.share);
  }
  constexpr double kRounding = 1e-9;
  if (known->share < kRounding) known->share = 0;
}

std::string Fabric::cut_off(int nics) const {
  if (faults.empty()) return "";
  if (shape == FabricShape::torus) {
    const std::optional<std::int64_t> node = cut_off_in_torus(*this);
    return node ? fmt::format("nodes 0 and {}", *node) : "";
  }
  return is_tree() ? cut_off_leaves(*this, nics) : cut_off_routers(*this);
}

std::map<int, double> shares_of_leaves(const Fabric& fabric, const TreePorts& ports) {
  std::map<int, double> left;
  for (const CableFault& fault : fabric.faults) {
    if (fault.cable == Cable::leaf) left.try_emplace(fault.a, ports.up).first->second -= 1 - fault.share;
  }
  return left;
}

}  // namespace twinlink::platforms
