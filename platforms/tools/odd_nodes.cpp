#include "platforms/tools/odd_nodes.hpp"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <span>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/degraded.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

/// One node, or a part of it, that a fault is about.
struct PartOfNode {
  int node = 0;
  int last = 0;        ///< of several, which are alike
  std::string part{};  ///< empty: all of them
};

/// "5/hca0", "4-7/hca0" or "node5". Nothing for other texts.
std::optional<PartOfNode> parse_part_of_node(std::string_view name) {
  constexpr std::string_view kNode = "node";
  const bool whole = name.starts_with(kNode);
  const std::string_view text = whole ? name.substr(kNode.size()) : name;
  PartOfNode result;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), result.node);
  if (error != std::errc{} || !std::isdigit(static_cast<unsigned char>(text.front()))) return std::nullopt;
  std::string_view rest(stop, text.data() + text.size());
  result.last = result.node;
  if (!whole && rest.starts_with('-')) {
    const auto [end, wrong] = std::from_chars(stop + 1, text.data() + text.size(), result.last);
    if (wrong != std::errc{} || result.last < result.node) return std::nullopt;
    rest = std::string_view(end, text.data() + text.size());
  }
  if (whole) return rest.empty() ? std::optional(result) : std::nullopt;
  if (!rest.starts_with('/')) return std::nullopt;
  result.part = rest.substr(1);
  return result;
}

/// What makes up a node, by the names of its own kind: its links.
std::vector<std::string> links_of(const Node& node) {
  std::vector<std::string> names;
  for (const Link& link : node.links) names.push_back(link.name);
  return names;
}

/// And what slows it down besides: ports to a fabric, and unless it comes later what memories and hubs let through.
std::vector<std::string> slow_parts_of(const Node& node, bool fabric, bool later) {
  std::vector<std::string> names = links_of(node);
  const auto add = [&](const auto& parts) {
    for (const auto& part : parts) names.push_back(part.name);
  };
  if (fabric) add(node.nics);
  if (later) return names;
  add(node.memories);
  add(node.hubs);
  return names;
}

/// "gpu" of "gpu12".
std::string family_of(const std::string& name) { return name.substr(0, name.find_last_not_of("0123456789") + 1); }

}  // namespace

void refuse_fault(std::string_view option, const std::string& text, const std::string& why) {
  throw UsageError(fmt::format("{} {}: {}", option, text, why));
}

void OddNodes::tell_apart(const std::vector<std::string>& faults) {
  const std::vector<std::string> known = degradable_parts(platform_);
  for (const std::string& fault : faults) {
    const std::string name = fault.substr(0, std::min(fault.find('='), fault.find('@')));
    const auto some = parse_part_of_node(name);
    if (!some || std::ranges::find(known, name) != known.end()) continue;
    firsts_.insert(some->node);
    firsts_.insert(std::int64_t{some->last} + 1);
  }
}

std::vector<Fault> OddNodes::name_parts(std::string_view option, const std::vector<std::string>& faults) {
  const Topology topology(platform_);
  const std::vector<std::string> known = degradable_parts(platform_);
  std::vector<Fault> named;
  for (const std::string& fault : faults) {
    const std::string name = fault.substr(0, std::min(fault.find('='), fault.find('@')));
    const auto one = parse_part_of_node(name);
    if (!one || std::ranges::find(known, name) != known.end()) {
      named.push_back({fault, fault, {}});
      continue;
    }
    if (one->last >= topology.nodes()) {
      refuse_fault(option, fault, fmt::format("there are nodes 0 to {}", topology.nodes() - 1));
    }
    const std::string how = fault.substr(name.size());
    const bool several_domains = platform_.node.domain > 1 && platform_.node.count > platform_.node.domain;
    const std::string typed = several_domains ? fault + " (in every domain, which are alike)" : fault;
    if (option == "--fail" && one->part.empty() && how.empty()) {
      named.push_back({typed, fault, one->node});
      if (platform_.node.domain == 1 && !has_own_kind(one->node)) nodes_.merge(alike_among(one->node, one->node));
      continue;
    }
    if (one->last > one->node && (platform_.node.domain > 1 || !platform_.kinds.empty())) {
      refuse_fault(option, fault, "nodes of a domain, or of several kinds, are named one by one");
    }
    if (platform_.node.domain > 1) {
      for (const std::string& part : parts_in_domain(topology, one->node, one->part))
        named.push_back({typed, part + how, {}});
      continue;
    }
    const auto kind =
        std::ranges::find_if(platform_.kinds, [&](const NodeKind& each) { return each.stands_at(one->node); });
    std::vector<std::string> prefixes;
    if (kind == platform_.kinds.end()) {
      std::map<int, int> alike = alike_among(one->node, one->last);
      for (const auto& [first, last] : alike) prefixes.push_back(name_of(first, last) + "-");
      nodes_.merge(alike);
    } else {
      prefixes.push_back(kind->name + "-");
    }
    const bool later = how.find('@') != std::string::npos;
    const NodeKind* const like = kind == platform_.kinds.end() ? kind_of(one->node) : &*kind;
    std::vector<std::string> parts{one->part};
    if (one->part.empty()) {
      const Node& whole = like == nullptr ? platform_.node : like->node;
      parts = option == "--degrade" ? slow_parts_of(whole, platform_.fabric.has_value(), later) : links_of(whole);
    }
    for (const std::string& prefix : prefixes) {
      for (const std::string& part : parts) named.push_back({fault, prefix + part + how, {}});
    }
  }
  return named;
}

void OddNodes::name_in_all(std::vector<Fault>& named, const std::vector<Fault>& failed) const {
  std::vector<std::string> parts = links_of(platform_.node);
  for (const auto& memory : platform_.node.memories) parts.push_back(memory.name);
  for (const auto& gpu : platform_.node.gpus) parts.push_back(gpu.name);
  for (const auto& nic : platform_.node.nics) parts.push_back(nic.name);
  for (const auto& hub : platform_.node.hubs) parts.push_back(hub.name);
  std::set<int> gone;
  for (const Fault& fault : failed) {
    if (fault.node) gone.insert(*fault.node);
  }
  std::vector<Fault> more;
  for (const Fault& fault : named) {
    const std::string part = fault.text.substr(0, std::min(fault.text.find('='), fault.text.find('@')));
    if (fault.node || std::ranges::find(parts, part) == parts.end()) continue;
    for (const auto& [first, last] : nodes_) {
      if (!gone.contains(first)) more.push_back({fault.typed, name_of(first, last) + "-" + fault.text, {}});
    }
  }
  named.insert(named.end(), more.begin(), more.end());
}

void OddNodes::add_kinds(YamlValue& document) const {
  for (const auto& [node, last] : nodes_) {
    YamlValue entry(YamlValue::Kind::map, {});
    entry.add("replaces", YamlValue(std::to_string(node)));
    YamlValue& nodes = entry.add("nodes", nodes_with(document, node));
    const YamlValue how_many(std::to_string(last - node + 1));
    if (YamlValue* count = nodes.find("count")) {
      *count = how_many;
    } else {
      nodes.add("count", how_many);
    }
    YamlValue* kinds = document.find("kinds");
    if (kinds == nullptr) kinds = &document.add("kinds", YamlValue(YamlValue::Kind::map, {}));
    kinds->add(name_of(node, last), std::move(entry));
  }
}

bool OddNodes::has_own_kind(int node) const {
  return std::ranges::any_of(platform_.kinds, [&](const NodeKind& kind) { return kind.stands_at(node); });
}

std::string OddNodes::name_of(int first, int last) {
  return first == last ? fmt::format("node{}", first) : fmt::format("nodes{}to{}", first, last);
}

std::map<int, int> OddNodes::alike_among(int first, int last) const {
  std::map<int, int> all;
  int begin = first;
  for (auto next = firsts_.upper_bound(first); next != firsts_.end() && *next <= last; ++next) {
    all[begin] = static_cast<int>(*next) - 1;
    begin = static_cast<int>(*next);
  }
  all[begin] = last;
  return all;
}

/// Those of one node of a domain, whose nodes have as many of each family, one behind the other: "5/gpu2" is "gpu22"
/// of 18 nodes of four GPUs. Every domain has it, for all are alike. Of a whole node what its GPUs and adapters hang
/// on.
std::vector<std::string> OddNodes::parts_in_domain(const Topology& topology, int number,
                                                   const std::string& part) const {
  const Node& graph = topology.graph();
  const auto domain = static_cast<std::size_t>(platform_.node.domain);
  const auto node = static_cast<std::size_t>(number) % domain;
  if (part.empty()) {
    const NodePart& mine = topology.part_of(number);
    std::vector<std::string> all;
    for (std::size_t i = 0; i < mine.gpus; ++i) all.push_back(graph.gpus[mine.first_gpu + i].name);
    for (std::size_t i = 0; i < mine.nics; ++i) all.push_back(graph.nics[mine.first_nic + i].name);
    return all;
  }
  std::vector<std::string> family;
  const auto collect = [&](const auto& things) {
    for (const auto& thing : things) {
      if (family_of(thing.name) == family_of(part)) family.push_back(thing.name);
    }
  };
  collect(graph.links);
  collect(graph.gpus);
  collect(graph.nics);
  collect(graph.hubs);
  collect(graph.memories);
  if (family.empty() || family.size() % domain != 0) return {part};  // of nobody alone, or refused by its name
  const std::size_t each = family.size() / domain;
  const auto mine = std::span(family).subspan(node * each, each);
  if (std::ranges::find(mine, part) != mine.end()) return {part};
  const auto first = std::span(family).first(each);
  const auto local = std::ranges::find(first, part);
  return {local == first.end() ? part : mine[static_cast<std::size_t>(local - first.begin())]};
}

/// The kind of a node. Null: none, but one of the platform's first nodes.
const NodeKind* OddNodes::kind_of(int node) const {
  int left = node - platform_.node.count;
  for (const NodeKind& kind : platform_.kinds) {
    if (left < 0) break;
    if (kind.replaces) continue;
    left -= kind.node.count;
    if (left < 0) return &kind;
  }
  return nullptr;
}

YamlValue OddNodes::nodes_with(const YamlValue& document, int node) const {
  const NodeKind* const kind = kind_of(node);
  return *(kind == nullptr ? document : *document.find("kinds")->find(kind->name)).find("nodes");
}

}  // namespace twinlink::platforms
