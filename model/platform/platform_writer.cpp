#include "model/platform/platform_writer.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "model/platform/platform_fields.hpp"
#include "model/platform/yaml_number.hpp"
#include "model/platform/yaml_text.hpp"

namespace twinlink::model {
namespace {

using Kind = YamlValue::Kind;

/// What systems say of themselves may hold anything, and a file with control characters is refused as a binary one.
std::string one_line(std::string text) {
  std::ranges::replace_if(
      text, [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7f; }, ' ');
  return text;
}

/// A map, entry by entry. An empty text or list has no entry.
class MapBuilder {
 public:
  YamlValue map{Kind::map, {}};

  void add(std::string_view key, YamlValue value) { map.add(key, std::move(value)); }
  void add(std::string_view key, const std::string& text) {
    if (!text.empty()) add(key, YamlValue(one_line(text)));
  }
  void add(std::string_view key, const std::vector<std::string>& names) {
    YamlValue list(Kind::list, {});
    for (const std::string& name : names) list.items.emplace_back(name);
    if (!names.empty()) add(key, std::move(list));
  }
  void add(std::string_view key, const std::vector<StagedPeer>& peers) {
    YamlValue list(Kind::list, {});
    for (const StagedPeer& peer : peers) list.items.push_back(map_of(peer));
    if (!peers.empty()) add(key, std::move(list));
  }
  template <class T>
  void add(std::string_view key, const Sourced<T>& number) {
    add(key, yaml_number(yaml_value(number.value, kExact), number.source.quality, one_line(number.source.text)));
  }
  template <class T>
  void add(std::string_view key, const std::optional<T>& part) {
    if (part) add(key, *part);
  }
  template <class T>
  void add(std::string_view key, const T& part) {
    add(key, map_of(part));
  }

 private:
  template <class T>
  static YamlValue map_of(const T& part) {
    MapBuilder builder;
    builder.fill(part);
    return std::move(builder.map);
  }

  template <HasFields T>
  void fill(const T& part) {
    each_field(part, [&](std::string_view key, const auto& field) { add(key, field); });
  }
  template <class T>
  void fill(const std::vector<T>& things) {
    for (const T& thing : things) add(thing.name, thing);
  }
  void fill(const std::map<CopyClass, Cost>& copies) {
    for (const auto& [copy_class, cost] : copies) add(to_string(copy_class), cost);
  }
  void fill(const StagedPeer& staged) {
    add("from", staged.from_domain);
    add("to", staged.to_domain);
    fill(staged.cost);
  }
  void fill(const Rdma& rdma) {
    add("hypothetical", rdma.hypothetical);
    fill<Rdma>(rdma);
  }
  void fill(const NetworkCosts& costs) {
    fill<NetworkCosts>(costs);
    if (costs.copied_by != CopiedBy::none) add("copied_by", std::string(to_string(costs.copied_by)));
  }
  void fill(const Link& link) {
    add("from", link.from);
    add("to", link.to);
    if (link.forward == link.backward) {
      add("bandwidth", link.forward);
    } else {
      add("forward", link.forward);
      add("backward", link.backward);
    }
    add("total", link.total);
  }
  void fill(const Gpu& gpu) {
    add("model", gpu.model);
    add("memory", gpu.memory);
    add("capability", fmt::format("{}.{}", gpu.capability_major, gpu.capability_minor));
    add("unified_addressing", fmt::format("{}", gpu.unified_addressing));
    add("memory_near", gpu.memory_near);
    add("nic", gpu.nic);
    add("peer_domain", gpu.peer_domain);
  }
  void fill(const Node& node) {
    add("count", std::to_string(node.count));
    add("memories", node.memories);
    add("hubs", node.hubs);
    add("nics", node.nics);
    add("gpus", node.gpus);
    add("links", node.links);
  }
};

/// Gives names to the texts that several numbers share, and returns these texts. A text of one word is a name to the
/// reader, so it needs one too.
YamlValue name_sources(YamlValue& tree) {
  std::map<std::string, int> uses;
  for_each_source(tree, [&](const std::string& text) { ++uses[text]; });
  YamlValue sources(Kind::map, {});
  std::map<std::string, std::string> names;
  for_each_source(tree, [&](std::string& text) {
    if (uses[text] < 2 && text.find(' ') != std::string::npos) return;
    const auto [name, is_new] = names.try_emplace(text, fmt::format("source{}", names.size() + 1));
    if (is_new) sources.add(name->second, YamlValue(text));
    text = name->second;
  });
  return sources;
}

}  // namespace

std::string platform_text(const Platform& platform, const std::vector<std::string>& heading) {
  MapBuilder costs;
  costs.add("copies", platform.copies);
  costs.add("staged_peers", platform.staged_peers);
  costs.add("network", platform.network);
  costs.add("intra_node", platform.intra_node);
  costs.add("runtime", platform.runtime);
  MapBuilder parts;
  parts.add("nodes", platform.node);
  parts.add("fabric", platform.fabric);
  parts.add("costs", std::move(costs.map));
  MapBuilder document;
  document.add("schema", YamlValue("1"));
  document.add("name", platform.name);
  document.add("description", platform.description);
  if (YamlValue sources = name_sources(parts.map); !sources.entries.empty())
    document.add("sources", std::move(sources));
  std::ranges::move(parts.map.entries, std::back_inserter(document.map.entries));
  return to_yaml(document.map, heading);
}

}  // namespace twinlink::model
