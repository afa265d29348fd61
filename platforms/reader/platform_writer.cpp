#include "platforms/reader/platform_writer.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/platform_fields.hpp"
#include "platforms/yaml/yaml_events.hpp"
#include "platforms/yaml/yaml_number.hpp"
#include "platforms/yaml/yaml_text.hpp"

namespace twinlink::platforms {
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
  void fill(const CopyCosts& copies) {
    for (const auto& [kind, cost] : copies) add(to_string(kind), cost);
  }
  void fill(const Rdma& rdma) {
    add("hypothetical", rdma.hypothetical);
    add("by_gpu", rdma.by_gpu);
    fill<Rdma>(rdma);
  }
  void fill(const Fabric& fabric) {
    fill<Fabric>(fabric);
    if (fabric.shape == FabricShape::one_switch) return;
    add("shape", std::string(to_string(fabric.shape)));
    YamlValue size(Kind::list, {});
    for (const int number : fabric.size) size.items.emplace_back(std::to_string(number));
    if (!size.items.empty()) add("size", std::move(size));
    if (fabric.routing != FabricRouting::by_target) add("routing", std::string(to_string(fabric.routing)));
    YamlValue ratios(Kind::list, {});
    for (const Oversubscription& ratio : fabric.oversubscription) ratios.items.emplace_back(to_string(ratio));
    if (!ratios.items.empty()) add("oversubscription", std::move(ratios));
    if (fabric.radix != 0) add("radix", YamlValue(std::to_string(fabric.radix)));
    if (fabric.seed != Fabric{}.seed) add("seed", YamlValue(std::to_string(fabric.seed)));
  }
  void fill(const HostMemory& memory) {
    fill<HostMemory>(memory);
    add_forwards(memory.passing, Forwards::none);
  }
  void fill(const Hub& hub) {
    fill<Hub>(hub);
    add_forwards(hub.passing, Forwards::all);
  }
  void fill(const Fallback& fallback) {
    fill<Fallback>(fallback);
    add("through", fallback.through);
    if (fallback.in_flight > 0) add("in_flight", YamlValue(std::to_string(fallback.in_flight)));
  }
  void fill(const NetworkCosts& costs) {
    fill<NetworkCosts>(costs);
    if (costs.host_adapters > 0) add("host_adapters", YamlValue(std::to_string(costs.host_adapters)));
    if (costs.copied_by != CopiedBy::none) add("copied_by", std::string(to_string(costs.copied_by)));
  }
  void fill(const Link& link) {
    const auto each = [&](Sourced<Rate> of_all) {
      of_all.value = Rate{of_all.value.bytes_per_second() / link.count};
      return of_all;
    };
    add("from", link.from);
    add("to", link.to);
    if (link.forward == link.backward) {
      add("bandwidth", each(link.forward));
    } else {
      add("forward", each(link.forward));
      add("backward", each(link.backward));
    }
    for (const auto& [key, rate] : shared_rates(link)) {
      if (*rate) add(key, each(**rate));
    }
    for (const auto& [key, rate] : single_rates(link)) add(key, *rate);
    add("latency", link.latency);
    if (link.count != 1) add("count", YamlValue(std::to_string(link.count)));
  }
  void fill(const GpuType& type) {
    add("model", type.model);
    fill<GpuType>(type);
    add("capability", fmt::format("{}.{}", type.capability_major, type.capability_minor));
    if (!type.unified_addressing) add("unified_addressing", YamlValue("false"));
    if (!type.copies.empty()) add("copies", type.copies);
  }
  void fill(const Software& software) {
    for (const auto& [key, version] : {std::pair("cuda", &software.cuda), std::pair("driver", &software.driver),
                                       std::pair("kernel", &software.kernel)}) {
      if (*version) add(key, to_string(**version));
    }
    add("mpi", software.mpi);
    if (software.kernel_patch) add("kernel_patch", YamlValue("true"));
    if (software.nic_interop) add("nic_interop", YamlValue("true"));
  }
  void fill(const Gpu& gpu) {
    add("type", gpu.type);
    add("memory_near", gpu.memory_near);
    if (gpu.more_nics.empty()) return add("nic", gpu.nic);
    std::vector<std::string> nics{gpu.nic};
    nics.insert(nics.end(), gpu.more_nics.begin(), gpu.more_nics.end());
    add("nic", nics);
  }
  void fill(const ForcedWay& way) {
    add("from", way.from);
    add("to", way.to);
    add("via", way.via);
  }
  void fill(const NodeKind& kind) {
    if (kind.replaces) add("replaces", YamlValue(std::to_string(*kind.replaces)));
    add("nodes", kind.node);
  }
  void fill(const Node& node) {
    add("count", std::to_string(node.count));
    if (node.domain != 1) add("domain", std::to_string(node.domain));
    add("memories", node.memories);
    if (!node.hubs.empty()) add("hubs", node.hubs);
    if (!node.nics.empty()) add("nics", node.nics);
    add("gpus", node.gpus);
    add("links", node.links);
    if (!node.ways.empty()) add("ways", node.ways);
    if (node.host_buffers != HostBuffers::near) add("host_buffers", std::string(to_string(node.host_buffers)));
    if (node.cpu != Cpu::unknown) add("cpu", std::string(to_string(node.cpu)));
    if (!node.peers) return;
    YamlValue list(Kind::list, {});
    for (const auto& [first, second] : *node.peers) list.items.emplace_back(first + " " + second);
    add("peers", std::move(list));
  }
  void add_forwards(const Passing& passing, Forwards otherwise) {
    if (passing.forwards != otherwise) add("forwards", std::string(to_string(passing.forwards)));
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
  MapBuilder driver;
  if (!platform.copies.empty()) driver.add("copies", platform.copies);
  driver.add("fallback", platform.fallback);
  driver.add("runtime", platform.runtime);
  MapBuilder mpi;
  if (!platform.library.empty()) mpi.add("library", platform.library);
  mpi.add("network", platform.network);
  mpi.add("intra_node", platform.intra_node);
  MapBuilder parts;
  MapBuilder software;
  software.add("software", platform.software);
  if (!software.map.find("software")->entries.empty()) parts.map = std::move(software.map);
  parts.add("gpu_types", platform.gpu_types);
  parts.add("nodes", platform.node);
  if (!platform.kinds.empty()) parts.add("kinds", platform.kinds);
  parts.add("fabric", platform.fabric);
  parts.add("driver", std::move(driver.map));
  parts.add("mpi", std::move(mpi.map));
  if (!platform.release_named.empty()) parts.add("ccl", platform.release_named);
  MapBuilder document;
  document.add("schema", YamlValue("2"));
  document.add("name", platform.name);
  document.add("description", platform.description);
  if (YamlValue sources = name_sources(parts.map); !sources.entries.empty())
    document.add("sources", std::move(sources));
  std::ranges::move(parts.map.entries, std::back_inserter(document.map.entries));
  return to_yaml(document.map, heading);
}

YamlValue platform_tree(const Platform& platform) {
  Diagnostics diagnostics;
  YamlBudget budget;
  // No file has an empty name, so nobody looks for comments there.
  std::optional<YamlValue> tree =
      parse_yaml(platform_text(platform), std::make_shared<const std::string>(), budget, diagnostics);
  diagnostics.throw_if_any();
  return *std::move(tree);
}

}  // namespace twinlink::platforms
