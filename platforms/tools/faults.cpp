#include "platforms/tools/faults.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/odd_nodes.hpp"
#include "platforms/tools/remains.hpp"
#include "platforms/topology/topology.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

struct Degraded {
  std::string part{};
  double share = 1;  ///< above 0, at most 1
};

Degraded parse_degraded(const std::string& text) {
  const std::size_t equals = text.rfind('=');
  const std::string value = equals == std::string::npos ? "" : text.substr(equals + 1);
  const char* const end = value.data() + value.size();
  double percent = 0;
  const auto [stop, error] = std::from_chars(value.data(), end, percent);
  if (error != std::errc{} || stop + 1 != end || *stop != '%' || !(percent > 0) || percent > 100) {
    refuse_fault("--degrade", text, "PART=PERCENT% is expected, above 0% and at most 100%, such as qpi=50%");
  }
  return {text.substr(0, equals), percent / 100};
}

/// The part of a node, as it is typed, "0/hca0", where `name` is what it is called in the files, "node0-hca0", and
/// where `names` has such a part.
std::string as_typed(const std::string& name, const std::vector<std::string>& names) {
  static constexpr std::string_view kNode = "node";
  const std::size_t dash = name.find('-');
  const std::size_t digits_end = name.find_first_not_of("0123456789", kNode.size());
  if (!name.starts_with(kNode) || dash == std::string::npos || digits_end != dash || dash == kNode.size()) return name;
  const std::string part = name.substr(dash + 1);
  const bool known = std::ranges::any_of(names, [&](const auto& each) { return each == part || each == name; });
  return known ? name.substr(kNode.size(), dash - kNode.size()) + "/" + part : name;
}

[[noreturn]] void refuse_name(std::string_view option, const std::string& text, const std::string& name,
                              const std::string& kind, const std::vector<std::string>& names) {
  const std::string typed = as_typed(name, names);
  const std::string meant = typed == name ? as_typed(closest(name, names), names) : typed;
  refuse_fault(option, text,
               fmt::format("there is no {} '{}'{}; there is: {}", kind, name,
                           meant.empty() ? "" : fmt::format("; did you mean '{}'?", meant), fmt::join(names, ", ")));
}

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
    if (fault.node) continue;
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
      refuse_fault(option, fault.typed, error.what());
    }
    if (option == "--degrade") {
      const Degraded how = parse_degraded(later.part);
      later.part = how.part;
      later.share = how.share;
    }
    const std::vector<HostMemory>& memories = topology.graph().memories;
    if (option == "--degrade" && links_of(topology.graph(), later.part).empty() &&
        std::ranges::find(memories, later.part, &HostMemory::name) != memories.end()) {
      refuse_fault(option, fault.typed, "a memory has the same bandwidth all the time: leave @TIME out");
    }
    require_links(option, fault.typed, later.part, topology.graph());
    platform.later_faults.push_back(std::move(later));
  }
  faults = std::move(now);
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

/// The platform `whole` without what has failed.
Platform without(const std::filesystem::path& named, std::span<const std::string> overrides, Platform whole,
                 const std::vector<Fault>& failed, const Faults& faults,
                 const std::function<void(YamlValue&)>& add_kinds) {
  const Topology topology(whole);
  Failures failures;
  for (const Fault& fault : failed) {
    failures.parts.push_back({fault.node ? "" : fault.text, "--fail " + fault.typed});
  }
  Remains remains(topology, links_of_all(failed, topology.graph()));
  remains.settle(failed, failures);
  Platform platform;
  try {
    platform = read_platform(named, overrides, [&](YamlValue& document) {
      add_kinds(document);
      take_out_of_all(document, remains.links(), remains.adapters());
    });
  } catch (const InputError& error) {
    throw UsageError(
        fmt::format("--fail {} cuts parts off: {}", fmt::join(faults.failed, ", "), without_places(error.what())));
  }
  platform.later_faults = whole.later_faults;
  failures.whole = std::make_shared<const Platform>(std::move(whole));
  platform.failures = std::move(failures);
  return platform;
}

constexpr std::string_view kOfFabric = "fabric/";

/// What users say of the fabric, taken apart: its cables fail in it, and of a switch that nodes are plugged into the
/// adapters of these nodes.
class FabricFaults {
 public:
  explicit FabricFaults(const Platform& platform) : platform_(platform), fabric_(platform.fabric), later_(fabric_) {}

  /// Takes them out of `faults`, and adds what they are to nodes.
  void take(std::string_view option, std::vector<std::string>& faults) {
    std::vector<std::string> of_nodes;
    for (const std::string& fault : faults) {
      if (!fault.starts_with(kOfFabric)) {
        of_nodes.push_back(fault);
        continue;
      }
      if (!fabric_) refuse_fault(option, fault, "the platform has no fabric");
      try {
        take_one(option, fault, of_nodes);
      } catch (const UsageError& error) {
        refuse_fault(option, fault, error.what());
      }
      for (const std::optional<Fabric>& fabric : {fabric_, later_}) {
        const std::string cut = fabric->cut_off(platform_.most_nics());
        if (!cut.empty()) throw Error(fmt::format("{} {}: no way is left between {}", option, fault, cut));
      }
    }
    faults = std::move(of_nodes);
  }

  /// Of a part of a node that stands for a switch.
  [[nodiscard]] const std::map<std::string, std::string>& typed() const { return typed_; }

  void add_to(Platform& platform) const {
    if (fabric_) platform.fabric->faults = fabric_->faults;
    platform.slowed_parts.insert(platform.slowed_parts.end(), slowed_.begin(), slowed_.end());
    platform.later_faults.insert(platform.later_faults.end(), later_faults_.begin(), later_faults_.end());
  }

 private:
  void take_one(std::string_view option, const std::string& fault, std::vector<std::string>& of_nodes) {
    const bool degrades = option == "--degrade";
    const std::string said = fault.substr(kOfFabric.size());
    const std::string text = said.substr(0, said.find('@'));
    const std::string when = said.substr(text.size());
    const Degraded how = degrades ? parse_degraded(text) : Degraded{.part = text, .share = 0};
    const int nics = platform_.most_nics();
    if (const auto ports = fabric_->ports_at(how.part, Topology(platform_).nodes(), nics)) {
      take_switch(option, fault, *ports, text.substr(how.part.size()) + when, of_nodes);
      if (!degrades) return;  // who is plugged in there crosses none of its cables
    }
    const std::vector<CableFault> cables = fabric_->cables(how.part, how.share, nics);
    for (const CableFault& cable : cables) later_->add_fault(cable);
    const std::string said_so = fmt::format("{} {}", option, fault);
    if (when.empty()) {
      for (const CableFault& cable : cables) fabric_->add_fault(cable);
      slowed_.push_back({fmt::format("{}{}", kOfFabric, text), said_so});
    } else {
      later_faults_.push_back({.at = parse_seconds(when.substr(1)),
                               .part = fmt::format("{}{}", kOfFabric, how.part),
                               .share = how.share,
                               .text = said_so});
    }
  }

  /// `how`: "=50%@2ms".
  void take_switch(std::string_view option, const std::string& fault, const std::vector<FabricPort>& ports,
                   const std::string& how, std::vector<std::string>& of_nodes) {
    const Topology topology(platform_);
    std::vector<int> cut;
    std::map<std::string, std::vector<int>> nodes;  // by adapter
    for (const FabricPort& port : ports) {
      const NodePart& part = topology.part_of(port.node);
      if (port.nic >= static_cast<int>(part.nics)) continue;
      if (option == "--fail") gone_[port.node].insert(port.nic);
      if (gone_[port.node].size() == part.nics && (cut.empty() || cut.back() != port.node)) cut.push_back(port.node);
      nodes[adapter_of(topology, part, port.nic)].push_back(port.node);
    }
    if (!cut.empty()) {
      const std::string which =
          cut.size() == 1 ? fmt::format("node {}", cut[0]) : fmt::format("nodes {} to {}", cut.front(), cut.back());
      throw Error(fmt::format("{} {}: it cuts off {}, without another adapter", option, fault, which));
    }
    const bool alike = platform_.kinds.empty() && platform_.node.domain == 1;
    for (const auto& [nic, of] : nodes) {
      std::vector<std::string> names;
      if (alike && std::ssize(of) == topology.nodes()) {
        names = {nic};
      } else if (alike && of.size() > 1) {  // the nodes of a leaf follow each other
        names = {fmt::format("{}-{}/{}", of.front(), of.back(), nic)};
      } else {
        for (const int node : of) names.push_back(fmt::format("{}/{}", node, nic));
      }
      for (const std::string& name : names) {
        if (typed_.emplace(name + how, fault).second) of_nodes.push_back(name + how);
      }
    }
  }

  /// As its own node calls it.
  [[nodiscard]] std::string adapter_of(const Topology& topology, const NodePart& part, int nic) const {
    std::string name = topology.graph().nics[part.first_nic + static_cast<std::size_t>(nic)].name;
    for (const NodeKind& kind : platform_.kinds) {
      std::string own = name.starts_with(kind.name + "-") ? name.substr(kind.name.size() + 1) : "";
      if (std::ranges::find(kind.node.nics, own, &Nic::name) != kind.node.nics.end()) return own;
    }
    return name;
  }

  const Platform& platform_;
  std::optional<Fabric> fabric_;
  std::optional<Fabric> later_;  ///< when all has come
  std::map<int, std::set<int>> gone_;
  std::map<std::string, std::string> typed_;
  std::vector<SlowedPart> slowed_;
  std::vector<LaterFault> later_faults_;
};

/// As the rest of the platform is without them.
Platform with_faults_of_nodes(const std::filesystem::path& named, std::span<const std::string> overrides,
                              const Faults& faults, const std::map<std::string, std::string>& typed,
                              Platform platform) {
  if (faults.none()) return platform;
  const Platform alike = platform;
  OddNodes odd(alike);
  odd.tell_apart(faults.degraded);
  odd.tell_apart(faults.failed);
  std::vector<Fault> degraded = odd.name_parts("--degrade", faults.degraded);
  std::vector<Fault> failed = odd.name_parts("--fail", faults.failed);
  for (auto* of_option : {&degraded, &failed}) {
    odd.name_in_all(*of_option, failed);
    for (Fault& fault : *of_option) {
      if (const auto said = typed.find(fault.typed); said != typed.end()) fault.typed = said->second;
    }
  }
  const auto add_kinds = [&](YamlValue& document) { odd.add_kinds(document); };
  if (!odd.none()) platform = read_platform(named, overrides, add_kinds);
  take_later("--degrade", degraded, platform);
  take_later("--fail", failed, platform);
  if (!failed.empty()) platform = without(named, overrides, std::move(platform), failed, faults, add_kinds);
  // Several parts that were typed as one are one fault; what is typed twice is two.
  struct OneFault {
    std::set<std::string> parts{};
    std::set<const void*> shrunk{};
  };
  std::map<std::string, OneFault> by_text;
  for (const Fault& fault : degraded) {
    const Degraded how = parse_degraded(fault.text);
    const std::string text = "--degrade " + fault.typed;
    OneFault& one = by_text[fault.typed];
    if (!one.parts.insert(how.part).second) one = {.parts = {how.part}};
    if (!degrade(platform, how.part, how.share, text + " on the command line", one.shrunk)) {
      refuse_name("--degrade", fault.typed, how.part, "link, GPU, adapter, hub or memory", degradable_parts(platform));
    }
    platform.slowed_parts.push_back({how.part, text});
  }
  return platform;
}

}  // namespace

Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides,
                       const Faults& faults) {
  // First as it is: what is wrong with the file itself is not the faults' doing.
  Platform platform = read_platform(named, overrides);
  Faults of_nodes = faults;
  const Platform whole = platform;
  FabricFaults of_fabric(whole);
  of_fabric.take("--fail", of_nodes.failed);
  of_fabric.take("--degrade", of_nodes.degraded);
  platform = with_faults_of_nodes(named, overrides, of_nodes, of_fabric.typed(), std::move(platform));
  of_fabric.add_to(platform);
  return platform;
}

}  // namespace twinlink::platforms
