#include "platforms/tools/fabric_drawing.hpp"

#include <algorithm>
#include <map>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/fabric_links.hpp"
#include "platforms/tools/drawing.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

using Cable = CableFault::Cable;

constexpr std::int64_t kMostSwitches = 256;

class Painter {
 public:
  explicit Painter(const Platform& platform)
      : fabric_(*platform.fabric), nodes_(platform.nodes()), nics_(platform.most_nics()) {}

  FabricPicture picture() {
    switch (fabric_.shape) {
      case FabricShape::one_switch:
        add("switch", 0, 0, nodes_);
        break;
      case FabricShape::rail_only:
        for (int rail = 0; rail < nics_; ++rail) add(fmt::format("rail{}", rail), 0, 0, nodes_);
        break;
      case FabricShape::fat_tree:
      case FabricShape::rails:
        tree();
        break;
      case FabricShape::dragonfly:
        dragonfly();
        break;
      case FabricShape::torus:
        torus();
        break;
      case FabricShape::hyperx:
        hyperx();
        break;
    }
    return std::move(picture_);
  }

 private:
  void add(const std::string& name, int level, std::int64_t first, std::int64_t nodes, const std::string& inside = {}) {
    if (static_cast<std::int64_t>(picture_.switches.size()) == kMostSwitches) {
      throw UsageError(
          fmt::format("the fabric has more than {} switches, which nobody can look at: --set nodes.count=N "
                      "draws those that fewer nodes fill",
                      kMostSwitches));
    }
    const std::int64_t some = std::clamp<std::int64_t>(nodes_ - first, 0, nodes);
    picture_.switches.push_back({name, inside, level, static_cast<int>(first), static_cast<int>(some)});
  }
  void join(const std::string& from, const std::string& to, Rate each, double left, std::int64_t count = 1) {
    picture_.cables.push_back({from, to, count, each, left});
  }
  [[nodiscard]] std::int64_t filled(std::int64_t each) const { return (nodes_ + each - 1) / each; }

  void tree() {
    const TreePorts ports = fabric_.ports(nics_);
    const std::int64_t rails = fabric_.shape == FabricShape::rails ? nics_ : 1;
    const std::int64_t leaves = filled(fabric_.size[0]) * rails;
    const std::int64_t pods = (leaves + ports.pod_down - 1) / ports.pod_down;
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      add(fmt::format("leaf{}", leaf), 0, leaf / rails * fabric_.size[0], fabric_.size[0]);
    }
    if (leaves == 1) return;
    const auto second = [&](std::int64_t number) {
      return fmt::format("{}{}", ports.pod_up > 0 ? "pod-switch" : "spine", number);
    };
    for (std::int64_t number = 0; number < pods * ports.up; ++number) add(second(number), 1, 0, 0);
    for (std::int64_t leaf = 0; leaf < leaves; ++leaf) {
      for (std::int64_t up = 0; up < ports.up; ++up) {
        join(fmt::format("leaf{}", leaf), second(leaf / ports.pod_down * ports.up + up), fabric_.switch_rate(),
             left_of(fabric_, Cable::leaf, leaf, up));
      }
    }
    if (pods == 1) return;
    const auto core = [](std::int64_t number) { return fmt::format("core{}", number); };
    for (std::int64_t number = 0; number < std::int64_t{ports.up} * ports.pod_up; ++number) add(core(number), 2, 0, 0);
    for (std::int64_t number = 0; number < pods * ports.up; ++number) {
      for (std::int64_t up = 0; up < ports.pod_up; ++up) {
        join(second(number), core(number % ports.up * ports.pod_up + up), fabric_.core_rate(),
             left_of(fabric_, Cable::pod, number, up));
      }
    }
  }

  void dragonfly() {
    const std::int64_t routers = fabric_.size[1];
    const std::int64_t each = fabric_.size[2];
    const std::int64_t groups = filled(routers * each);
    const auto group = [](std::int64_t number) { return fmt::format("group{}", number); };
    const auto router = [](std::int64_t number) { return fmt::format("router{}", number); };
    for (std::int64_t number = 0; number < groups * routers; ++number) {
      add(router(number), 0, number * each, each, group(number / routers));
    }
    for (std::int64_t a = 0; a < groups * routers; ++a) {
      for (std::int64_t b = a + 1; b < (a / routers + 1) * routers; ++b) {
        join(router(a), router(b), fabric_.switch_rate(), left_of(fabric_, Cable::routers, a, b));
      }
    }
    for (std::int64_t a = 0; a < groups; ++a) {
      for (std::int64_t b = a + 1; b < groups; ++b) {
        join(group(a), group(b), fabric_.core_rate(), left_of(fabric_, Cable::groups, a, b),
             fabric_.size.size() > 3 ? fabric_.size[3] : 1);
      }
    }
  }

  void hyperx() {
    const auto router = [](std::int64_t number) { return fmt::format("router{}", number); };
    const std::int64_t routers = filled(fabric_.nodes_of_router());
    for (std::int64_t number = 0; number < routers; ++number) {
      add(router(number), 0, number * fabric_.nodes_of_router(), fabric_.nodes_of_router());
    }
    for (std::int64_t a = 0; a < routers; ++a) {
      for (std::int64_t b = a + 1; b < routers; ++b) {
        if (!line_through(fabric_, a, b)) continue;
        join(router(a), router(b), fabric_.switch_rate(), left_of(fabric_, Cable::routers, a, b));
      }
    }
  }

  void torus() {
    const auto node = [](std::int64_t number) { return fmt::format("node{}", number); };
    for (std::int64_t number = 0; number < nodes_; ++number) add(node(number), 0, number, 1);
    for (std::int64_t a = 0; a < nodes_; ++a) {
      for (std::size_t dimension = 0; dimension < fabric_.size.size(); ++dimension) {
        const std::int64_t b = torus_neighbour(fabric_, a, dimension, true);
        // A ring of two has one cable.
        if (b == a || (fabric_.size[dimension] == 2 && b < a)) continue;
        join(node(a), node(b), fabric_.switch_rate(), left_between(fabric_, Cable::ring, a, b));
      }
    }
  }

  const Fabric& fabric_;
  std::int64_t nodes_;
  int nics_;
  FabricPicture picture_{};
};

std::string vertex(const DrawnSwitch& each) {
  std::string text = each.name;
  if (each.nodes == 1 && each.name != fmt::format("node{}", each.first_node)) {
    text += fmt::format("\\nnode {}", each.first_node);
  }
  if (each.nodes > 1) text += fmt::format("\\nnodes {} to {}", each.first_node, each.first_node + each.nodes - 1);
  return fmt::format("\"{}\" [label=\"{}\"];\n", each.name, text);
}

}  // namespace

FabricPicture picture_of_fabric(const Platform& platform) {
  if (!platform.fabric) throw UsageError(fmt::format("{} has no fabric: it is one node", platform.name));
  return Painter(platform).picture();
}

std::string fabric_dot(const Platform& platform) {
  const FabricPicture picture = picture_of_fabric(platform);
  std::string out = fmt::format(
      "graph fabric {{\n  graph [rankdir=BT, compound=true, fontname=\"Helvetica\", labelloc=t, label={}];\n"
      "  node [shape=box, fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=white];\n"
      "  edge [fontname=\"Helvetica\", fontsize=9];\n",
      dot_label({platform.name, describe(*platform.fabric, platform.nodes(), platform.most_nics())}));
  std::map<std::string, std::string> first_of;  // of a group its first router
  std::map<int, std::string> levels;
  std::map<std::string, std::string> groups;
  for (const DrawnSwitch& each : picture.switches) {
    std::string& into = each.inside.empty() ? levels[each.level] : groups[each.inside];
    into += "    " + vertex(each);
    if (!each.inside.empty()) first_of.try_emplace(each.inside, each.name);
  }
  for (const auto& [level, text] : levels) out += "  {\n    rank=same;\n" + text + "  }\n";
  for (const auto& [group, text] : groups) {
    out += fmt::format("  subgraph \"cluster_{}\" {{\n    label=\"{}\";\n{}  }}\n", group, group, text);
  }
  for (const DrawnCables& each : picture.cables) {
    const bool of_groups = first_of.contains(each.from);
    const auto end = [&](const std::string& name) { return of_groups ? first_of.at(name) : name; };
    std::string text = format_rate(each.each);
    if (each.count > 1) text = fmt::format("{} x {}", each.count, text);
    if (each.left < 1) text += fmt::format("\\n{:.3g} % left", each.left * 100);
    out += fmt::format("  \"{}\" -- \"{}\" [label=\"{}\"{}{}{}];\n", end(each.from), end(each.to), text,
                       of_groups ? fmt::format(", ltail=\"cluster_{}\", lhead=\"cluster_{}\"", each.from, each.to) : "",
                       each.left < 1 ? ", color=red, fontcolor=red" : "", each.left <= 0 ? ", style=dashed" : "");
  }
  return out + "}\n";
}

}  // namespace twinlink::platforms
