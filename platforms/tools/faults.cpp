#include "platforms/tools/faults.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "protocols/core/edit_distance.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

/// A fault, and how the user has said it, who may mean several by one.
struct Fault {
  std::string typed{};
  std::string text{};  ///< its part by the name that it has in the graph
};

struct Degraded {
  std::string part{};
  double share = 1;  ///< above 0, at most 1
};

[[noreturn]] void refuse(std::string_view option, const std::string& text, const std::string& why) {
  throw UsageError(fmt::format("{} {}: {}", option, text, why));
}

Degraded parse_degraded(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const char* const end = value.data() + value.size();
  double percent = 0;
  const auto [stop, error] = std::from_chars(value.data(), end, percent);
  if (error != std::errc{} || stop + 1 != end || *stop != '%' || !(percent > 0) || percent > 100) {
    refuse("--degrade", text, "PART=PERCENT% is expected, above 0% and at most 100%, such as qpi=50%");
  }
  return {text.substr(0, equals), percent / 100};
}

[[noreturn]] void refuse_name(std::string_view option, const std::string& text, const std::string& name,
                              const std::string& kind, const std::vector<std::string>& names) {
  const std::string meant = closest(name, names);
  refuse(option, text,
         fmt::format("there is no {} '{}'{}; there is: {}", kind, name,
                     meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant), fmt::join(names, ", ")));
}

/// One node, or a part of it, that a fault is about.
struct PartOfNode {
  int node = 0;
  std::string part{};  ///< empty: all of them
};

/// "5/hca0" or "node5". Nothing for other texts.
std::optional<PartOfNode> parse_part_of_node(std::string_view name) {
  constexpr std::string_view kNode = "node";
  const bool whole = name.starts_with(kNode);
  const std::string_view text = whole ? name.substr(kNode.size()) : name;
  PartOfNode result;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), result.node);
  if (error != std::errc{} || !std::isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  const std::string_view rest(stop, text.data() + text.size());
  if (whole) return rest.empty() ? std::optional(result) : std::nullopt;
  if (!rest.starts_with('/')) return std::nullopt;
  result.part = rest.substr(1);
  return result;
}

/// Gives the nodes that faults are about names of their own, as kinds of one node.
class OddNodes {
 public:
  explicit OddNodes(const Platform& platform) : platform_(platform) {}

  /// "5/hca0=50%" becomes "node5-hca0=50%"; "node5=50%" as many as node 5 has parts.
  std::vector<Fault> name_parts(std::string_view option, const std::vector<std::string>& faults) {
    const Topology topology(platform_);
    const std::vector<std::string> known = degradable_parts(platform_);
    std::vector<Fault> named;
    for (const std::string& fault : faults) {
      const std::string name = fault.substr(0, std::min(fault.find('='), fault.find('@')));
      const auto one = parse_part_of_node(name);
      if (!one || std::ranges::find(known, name) != known.end()) {
        named.push_back({fault, fault});
        continue;
      }
      if (one->node >= topology.nodes()) {
        refuse(option, fault, fmt::format("there are nodes 0 to {}", topology.nodes() - 1));
      }
      if (platform_.node.domain > 1) {
        refuse(option, fault,
               fmt::format("domains of {} nodes are all alike here; a part is named without its node, as 'list' and "
                           "'draw' call it",
                           platform_.node.domain));
      }
      const auto kind = std::ranges::find(platform_.kinds, std::optional(one->node), &NodeKind::replaces);
      const std::string prefix = (kind == platform_.kinds.end() ? fmt::format("node{}", one->node) : kind->name) + "-";
      if (kind == platform_.kinds.end()) nodes_.insert(one->node);
      const std::string how = fault.substr(name.size());
      if (!one->part.empty()) {
        named.push_back({fault, prefix + one->part + how});
        continue;
      }
      const bool memories = option == "--degrade" && how.find('@') == std::string::npos;
      const NodeKind* const like = kind == platform_.kinds.end() ? kind_of(one->node) : &*kind;
      for (const std::string& part : parts_of(like == nullptr ? platform_.node : like->node, memories)) {
        named.push_back({fault, prefix + part + how});
      }
    }
    return named;
  }

  /// In the file's own text.
  void add_kinds(YamlValue& document) const {
    for (const int node : nodes_) {
      YamlValue entry(YamlValue::Kind::map, {});
      entry.add("replaces", YamlValue(std::to_string(node)));
      YamlValue& nodes = entry.add("nodes", nodes_with(document, node));
      if (YamlValue* count = nodes.find("count")) *count = YamlValue("1");
      YamlValue* kinds = document.find("kinds");
      if (kinds == nullptr) kinds = &document.add("kinds", YamlValue(YamlValue::Kind::map, {}));
      kinds->add(fmt::format("node{}", node), std::move(entry));
    }
  }

  [[nodiscard]] bool none() const { return nodes_.empty(); }

 private:
  /// What makes up a node: its links; and what slows it down besides, by the names of its own kind.
  static std::vector<std::string> parts_of(const Node& node, bool memories) {
    std::vector<std::string> names;
    for (const Link& link : node.links) names.push_back(link.name);
    for (const HostMemory& memory : node.memories) {
      if (memories) names.push_back(memory.name);
    }
    return names;
  }
  /// The kind of a node. Null: none, but one of the platform's first nodes.
  [[nodiscard]] const NodeKind* kind_of(int node) const {
    int left = node - platform_.node.count;
    for (const NodeKind& kind : platform_.kinds) {
      if (left < 0) break;
      if (kind.replaces) continue;
      left -= kind.node.count;
      if (left < 0) return &kind;
    }
    return nullptr;
  }
  [[nodiscard]] YamlValue nodes_with(const YamlValue& document, int node) const {
    const NodeKind* const kind = kind_of(node);
    return *(kind == nullptr ? document : *document.find("kinds")->find(kind->name)).find("nodes");
  }

  const Platform& platform_;
  std::set<int> nodes_;
};

/// The indices of the links that a part stands for.
std::vector<std::size_t> require_links(std::string_view option, const std::string& text, const std::string& name,
                                       const Node& node) {
  std::vector<std::size_t> links = links_of(node, name);
  if (!links.empty()) return links;
  std::vector<std::string> names;
  for (const Link& link : node.links) names.push_back(link.name);
  for (const Gpu& gpu : node.gpus) names.push_back(gpu.name);
  for (const Nic& nic : node.nics) names.push_back(nic.name);
  for (const Hub& hub : node.hubs) names.push_back(hub.name);
  refuse_name(option, text, name, "link, GPU, adapter or hub", names);
}

/// The links that are gone when these parts are.
std::set<std::string> links_of_all(const std::vector<Fault>& failed, const Node& node) {
  std::set<std::string> links;
  for (const Fault& fault : failed) {
    for (const std::size_t link : require_links("--fail", fault.typed, fault.text, node)) {
      links.insert(node.links[link].name);
    }
  }
  return links;
}

/// Takes the faults with a time out of `faults`.
void take_later(std::string_view option, std::vector<Fault>& faults, Platform& platform) {
  const Topology topology(platform);
  std::vector<Fault> now;
  for (const Fault& fault : faults) {
    const std::size_t at = fault.text.rfind('@');
    if (at == std::string::npos) {
      now.push_back(fault);
      continue;
    }
    LaterFault later{.part = fault.text.substr(0, at), .text = fmt::format("{} {}", option, fault.typed)};
    try {
      later.at = parse_seconds(fault.text.substr(at + 1));
    } catch (const UsageError& error) {
      refuse(option, fault.typed, error.what());
    }
    if (option == "--degrade") {
      const Degraded how = parse_degraded(later.part);
      later.part = how.part;
      later.share = how.share;
    }
    require_links(option, fault.typed, later.part, topology.graph());
    platform.later_faults.push_back(std::move(later));
  }
  faults = std::move(now);
}

/// Whose last link is gone.
std::set<std::string> dead_adapters(const Node& node, const std::set<std::string>& gone) {
  std::set<std::string> dead;
  for (const Nic& nic : node.nics) {
    const bool reached = std::ranges::any_of(node.links, [&](const Link& link) {
      return !gone.contains(link.name) && (link.from == nic.name || link.to == nic.name);
    });
    if (!reached) dead.insert(nic.name);
  }
  return dead;
}

void erase_entries(YamlValue& nodes, std::string_view section, const std::set<std::string>& names) {
  if (YamlValue* map = nodes.find(section)) {
    std::erase_if(map->entries, [&](const YamlValue::Entry& entry) { return names.contains(entry.key); });
  }
}

/// Takes the parts out of some nodes, so that the file is checked without them. A file may name the adapter of a GPU;
/// where that one is dead, a library finds another.
void take_out(YamlValue& nodes, const std::set<std::string>& links, const std::set<std::string>& adapters) {
  erase_entries(nodes, "links", links);
  erase_entries(nodes, "nics", adapters);
  YamlValue* gpus = nodes.find("gpus");
  if (gpus == nullptr) return;
  for (YamlValue::Entry& gpu : gpus->entries) {
    std::erase_if(gpu.value.entries, [&](YamlValue::Entry& entry) {
      if (entry.key != "nic") return false;
      if (entry.value.kind != YamlValue::Kind::list) return adapters.contains(entry.value.text);
      std::erase_if(entry.value.items, [&](const YamlValue& nic) { return adapters.contains(nic.text); });
      return entry.value.items.empty();
    });
  }
}

/// The names that begin with a prefix, without it.
std::set<std::string> names_with(const std::string& prefix, const std::set<std::string>& names) {
  std::set<std::string> found;
  for (const std::string& name : names) {
    if (name.starts_with(prefix)) found.insert(name.substr(prefix.size()));
  }
  return found;
}

/// Takes them out of all kinds of nodes; parts of others than the first are called "KIND-NAME".
void take_out_of_all(YamlValue& document, const std::set<std::string>& links, const std::set<std::string>& adapters) {
  if (YamlValue* nodes = document.find("nodes")) take_out(*nodes, links, adapters);
  YamlValue* kinds = document.find("kinds");
  if (kinds == nullptr) return;
  for (YamlValue::Entry& kind : kinds->entries) {
    const std::string prefix = kind.key + "-";
    if (YamlValue* nodes = kind.value.find("nodes")) {
      take_out(*nodes, names_with(prefix, links), names_with(prefix, adapters));
    }
  }
}

/// The findings without their places, which are of a file that is not at fault.
std::string without_places(const std::string& findings) {
  constexpr std::string_view kError = "error: ";
  std::string all;
  std::istringstream lines(findings);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t at = line.find(kError);
    all += (all.empty() ? "" : "; ") + (at == std::string::npos ? line : line.substr(at + kError.size()));
  }
  return all;
}

}  // namespace

Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides,
                       const Faults& faults) {
  // First as it is: what is wrong with the file itself is not the faults' doing.
  Platform platform = read_platform(named, overrides);
  if (faults.none()) return platform;
  const Platform alike = platform;
  OddNodes odd(alike);
  std::vector<Fault> degraded = odd.name_parts("--degrade", faults.degraded);
  std::vector<Fault> failed = odd.name_parts("--fail", faults.failed);
  const auto add_kinds = [&](YamlValue& document) { odd.add_kinds(document); };
  if (!odd.none()) platform = read_platform(named, overrides, add_kinds);
  take_later("--degrade", degraded, platform);
  take_later("--fail", failed, platform);
  if (!failed.empty()) {
    const Topology topology(platform);
    const std::set<std::string> links = links_of_all(failed, topology.graph());
    const std::set<std::string> adapters = dead_adapters(topology.graph(), links);
    std::vector<LaterFault> later = std::move(platform.later_faults);
    try {
      platform = read_platform(named, overrides, [&](YamlValue& document) {
        add_kinds(document);
        take_out_of_all(document, links, adapters);
      });
    } catch (const InputError& error) {
      throw UsageError(
          fmt::format("--fail {} cuts parts off: {}", fmt::join(faults.failed, ", "), without_places(error.what())));
    }
    platform.later_faults = std::move(later);
  }
  for (const Fault& fault : degraded) {
    const Degraded how = parse_degraded(fault.text);
    const std::string text = "--degrade " + fault.typed;
    if (!degrade(platform, how.part, how.share, text + " on the command line")) {
      refuse_name("--degrade", fault.typed, how.part, "link, GPU, adapter, hub or memory", degradable_parts(platform));
    }
    platform.slowed_parts.push_back({how.part, text});
  }
  return platform;
}

}  // namespace twinlink::model
