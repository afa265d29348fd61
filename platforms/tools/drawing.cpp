#include "platforms/tools/drawing.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "platforms/topology/topology.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::string_view kHop = " -> ";
constexpr std::string_view kNetworkHop = " => ";
const std::string kNetwork = "network";
constexpr std::size_t kBeyond = std::numeric_limits<std::size_t>::max();

/// A text between quotes: names and models may hold anything.
std::string in_quotes(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace

std::string dot_label(const std::vector<std::string>& lines) {
  std::string result;
  for (const std::string& line : lines) {
    if (line.empty()) continue;
    const std::string one = in_quotes(line);
    result += (result.empty() ? "" : "\\n") + one.substr(1, one.size() - 2);
  }
  return "\"" + result + "\"";
}

namespace {

std::string bandwidth_text(const Link& link) {
  std::string text = format_rate(link.forward.value);
  if (link.backward.value != link.forward.value) text += " / " + format_rate(link.backward.value);
  if (link.total) text += ", together " + format_rate(link.total->value);
  return text;
}

/// How many links each part is away from the nearest host memory, which is drawn at the top. Peers' links do not count:
/// a GPU passes nothing on.
std::map<std::string, std::size_t> distances(const Node& node) {
  std::map<std::string, std::size_t> found;
  std::set<std::string> ends;
  for (const Gpu& gpu : node.gpus) ends.insert(gpu.name);
  for (const Nic& nic : node.nics) ends.insert(nic.name);
  std::vector<std::string> frontier;
  for (const HostMemory& memory : node.memories) {
    found[memory.name] = 0;
    frontier.push_back(memory.name);
  }
  for (std::size_t distance = 1; !frontier.empty(); ++distance) {
    std::vector<std::string> next;
    for (const std::string& here : frontier) {
      if (ends.contains(here)) continue;
      for (const Link& link : node.links) {
        if (link.from != here && link.to != here) continue;
        const std::string& there = link.from == here ? link.to : link.from;
        if (found.try_emplace(there, distance).second) next.push_back(there);
      }
    }
    frontier = std::move(next);
  }
  return found;
}

/// In which directions a way crosses a link, each at the places in the way that are counted from 1.
struct Crossed {
  bool forward = false;
  bool backward = false;
  std::string places{};

  void add(bool is_forward, std::size_t place) {
    (is_forward ? forward : backward) = true;
    places += fmt::format("{}{}", places.empty() ? "" : ", ", place);
  }
  [[nodiscard]] bool any() const { return forward || backward; }
};

class Picture {
 public:
  Picture(const Platform& platform, const Drawing& drawing)
      : platform_(platform), drawing_(drawing), topology_(platform), distances_(distances(topology_.graph())) {}

  std::string text() {
    out_ = "digraph machine {\n";
    line("  graph [rankdir=TB, fontname=\"Helvetica\", labelloc=t, label={}];",
         dot_label({drawing_.title.empty() ? platform_.name : drawing_.title, platform_.description}));
    line("  node [fontname=\"Helvetica\", fontsize=11, style=filled, fillcolor=white];");
    line("  edge [fontname=\"Helvetica\", fontsize=9, dir=none];");
    for (const int node : drawing_.nodes) draw_node(node);
    if (platform_.fabric) draw_network();
    return out_ + "}\n";
  }

 private:
  template <class... Args>
  void line(fmt::format_string<Args...> form, Args&&... args) {
    out_ += fmt::format(form, std::forward<Args>(args)...) + '\n';
  }

  static std::string id(int node, std::string_view name) { return in_quotes(fmt::format("{}/{}", node, name)); }

  [[nodiscard]] bool is_on_way(int node, const std::string& name) const {
    return std::ranges::any_of(drawing_.way, [&](const Crossing& crossing) {
      return crossing.from == DrawnPart{node, name} || crossing.to == DrawnPart{node, name};
    });
  }

  void part(int node, const std::string& name, std::string_view shape, std::string_view color,
            const std::vector<std::string>& about) {
    std::vector<std::string> lines{name};
    lines.insert(lines.end(), about.begin(), about.end());
    line("    {} [shape={}, fillcolor={}, label={}{}];", id(node, name), shape, in_quotes(color), dot_label(lines),
         is_on_way(node, name) ? ", color=red, penwidth=2" : "");
  }

  void draw_node(int node) {
    const Node parts = topology_.graph_of(node);
    line("  subgraph {} {{", in_quotes(fmt::format("cluster_{}", node)));
    line("    label={}; color=gray;", dot_label({topology_.nodes() > 1 ? fmt::format("node {}", node) : "node"}));
    std::string memories;
    for (const HostMemory& memory : parts.memories) {
      part(node, memory.name, "cylinder", "#dcecf7", {"host memory", "copies " + format_rate(memory.copy_rate.value)});
      memories += " " + id(node, memory.name) + ";";
    }
    line("    {{ rank=same;{} }}", memories);
    for (const Hub& hub : parts.hubs) part(node, hub.name, "ellipse", "#eeeeee", {about(hub.passing)});
    for (const Nic& nic : parts.nics) part(node, nic.name, "hexagon", "#f7eddc", {"adapter"});
    for (std::size_t i = 0; i < parts.gpus.size(); ++i) {
      part(node, parts.gpus[i].name, "box3d", "#e0f2e0", {model_of(parts.gpus[i]), device(node, parts, i)});
    }
    for (const Link& link : parts.links) draw_link(node, parts, link);
    line("  }}");
  }

  [[nodiscard]] std::string model_of(const Gpu& gpu) const {
    return std::ranges::find(platform_.gpu_types, gpu.type, &GpuType::name)->model;
  }

  /// The nodes of a domain share its GPUs out evenly, in their order.
  static std::string device(int node, const Node& parts, std::size_t gpu) {
    const std::size_t each = parts.gpus.size() / static_cast<std::size_t>(parts.domain);
    return fmt::format("{}/{}", node / parts.domain * parts.domain + static_cast<int>(gpu / each), gpu % each);
  }

  static std::string about(const Passing& passing) {
    std::string text = passing.latency ? format_seconds(passing.latency->value) : "";
    if (passing.forwards != Forwards::all) {
      text += fmt::format("{}peer traffic: {}", text.empty() ? "" : ", ", to_string(passing.forwards));
    }
    return text;
  }

  /// Does a way take this link? Between the same two parts it takes the widest, and of equal ones the first.
  static bool is_taken(const Node& node, const Link& link, bool forward) {
    const std::string& from = forward ? link.from : link.to;
    const std::string& to = forward ? link.to : link.from;
    const Link* best = nullptr;
    Rate most{};
    for (const Link& other : node.links) {
      const bool along = other.from == from && other.to == to;
      if (!along && !(other.from == to && other.to == from)) continue;
      const Rate width = link_width(other, along);
      if (best == nullptr || width > most) {
        best = &other;
        most = width;
      }
    }
    return best == &link;
  }

  [[nodiscard]] Crossed crossed(int node, const Node& parts, const Link& link) const {
    Crossed result;
    for (std::size_t i = 0; i < drawing_.way.size(); ++i) {
      const auto& [from, to] = drawing_.way[i];
      if (from.node != node || to.node != node) continue;
      const bool forward = from.name == link.from && to.name == link.to;
      if (!forward && !(from.name == link.to && to.name == link.from)) continue;
      if (is_taken(parts, link, forward)) result.add(forward, i + 1);
    }
    return result;
  }

  /// Red, and with arrows as the edge is written: from its tail to its head.
  static std::string on_way(const Crossed& crossed, bool turned) {
    if (!crossed.any()) return "";
    const bool to_head = turned ? crossed.backward : crossed.forward;
    const bool to_tail = turned ? crossed.forward : crossed.backward;
    const std::string_view arrows = to_head && to_tail ? "both" : to_head ? "forward" : "back";
    return fmt::format(", color=red, fontcolor=red, penwidth=3, dir={}", arrows);
  }

  [[nodiscard]] std::size_t distance(const std::string& name) const {
    const auto found = distances_.find(name);
    return found == distances_.end() ? kBeyond : found->second;
  }

  void draw_link(int node, const Node& parts, const Link& link) {
    const Crossed way = crossed(node, parts, link);
    // dot draws the tail of an edge above its head.
    const bool turned = distance(link.from) > distance(link.to);
    std::vector<std::string> lines{way.any() ? fmt::format("{}: {}", way.places, link.name) : link.name,
                                   bandwidth_text(link)};
    if (link.latency) lines.push_back(format_seconds(link.latency->value));
    if (link.count > 1) lines.push_back(fmt::format("{} links", link.count));
    line("    {} -> {} [label={}{}{}];", id(node, turned ? link.to : link.from), id(node, turned ? link.from : link.to),
         dot_label(lines), distance(link.from) == distance(link.to) ? ", constraint=false" : "", on_way(way, turned));
  }

  /// What joins its switches, and by which of their cables the way goes.
  [[nodiscard]] std::vector<std::string> about_network() const {
    const Fabric& fabric = *platform_.fabric;
    std::vector<std::string> lines{"network", format_rate(fabric.link.value) + " an adapter"};
    if (fabric.shape == FabricShape::one_switch) return lines;
    std::string text = describe(fabric, platform_.nodes(), platform_.most_nics());
    constexpr std::string_view kNext = "; ";
    for (std::size_t at = text.find(kNext); at != std::string::npos; at = text.find(kNext)) {
      lines.push_back(text.substr(0, at));
      text.erase(0, at + kNext.size());
    }
    lines.push_back(text);
    for (std::size_t i = 0; i < drawing_.way.size(); ++i) {
      const auto& [from, to] = drawing_.way[i];
      if (!over_network(drawing_.way[i]) || from.node == to.node) continue;
      for (const FabricWay::Hop& hop : topology_.fabric_way(from.node, to.node, {from.name, to.name}).hops) {
        lines.push_back(fmt::format("{}: {}", i + 1, fabric_link_name(hop.link)));
      }
    }
    return lines;
  }

  /// Red where the way goes between adapters.
  void draw_network() {
    const bool used = std::ranges::any_of(drawing_.way, [&](const Crossing& c) { return over_network(c); });
    line("  {} [shape=doubleoctagon, fillcolor=\"#f7f0f7\", label={}{}];", in_quotes(kNetwork),
         dot_label(about_network()), used ? ", color=red, penwidth=2" : "");
    for (const int node : drawing_.nodes) {
      for (const Nic& nic : topology_.graph_of(node).nics) {
        Crossed way;
        for (std::size_t i = 0; i < drawing_.way.size(); ++i) {
          const Crossing& crossing = drawing_.way[i];
          if (!over_network(crossing)) continue;
          if (crossing.from == DrawnPart{node, nic.name}) way.add(true, i + 1);
          if (crossing.to == DrawnPart{node, nic.name}) way.add(false, i + 1);
        }
        line("  {} -> {} [label={}{}];", id(node, nic.name), in_quotes(kNetwork), dot_label({way.places}),
             on_way(way, false));
      }
    }
  }

  [[nodiscard]] bool over_network(const Crossing& crossing) const {
    const auto is_nic = [&](const std::string& name) {
      return std::ranges::find(topology_.graph().nics, name, &Nic::name) != topology_.graph().nics.end();
    };
    return is_nic(crossing.from.name) && is_nic(crossing.to.name);
  }

  const Platform& platform_;
  const Drawing& drawing_;
  Topology topology_;
  std::map<std::string, std::size_t> distances_;
  std::string out_{};
};

}  // namespace

std::vector<Crossing> crossings_of(std::string_view way, int here, int there) {
  std::vector<Crossing> crossings;
  if (const std::size_t besides = way.find(kBesides); besides != std::string_view::npos) {
    crossings = crossings_of(way.substr(0, besides), here, there);
    const std::vector<Crossing> others = crossings_of(way.substr(besides + kBesides.size()), here, there);
    crossings.insert(crossings.end(), others.begin(), others.end());
    return crossings;
  }
  std::optional<DrawnPart> last;
  for (int node = here; !way.empty();) {
    const std::size_t hop = std::min(way.find(kHop), way.find(kNetworkHop));
    DrawnPart part{node, std::string(way.substr(0, hop))};
    if (last) crossings.push_back({*last, part});
    last = std::move(part);
    if (hop == std::string_view::npos) break;
    if (way.substr(hop, kNetworkHop.size()) == kNetworkHop) node = there;
    way.remove_prefix(hop + kHop.size());
  }
  return crossings;
}

std::string to_dot(const Platform& platform, const Drawing& drawing) { return Picture(platform, drawing).text(); }

}  // namespace twinlink::platforms
