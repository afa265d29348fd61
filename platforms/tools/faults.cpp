#include "platforms/tools/faults.hpp"

#include <algorithm>
#include <charconv>
#include <functional>
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
#include "protocols/core/edit_distance.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
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

[[noreturn]] void refuse_name(std::string_view option, const std::string& text, const std::string& name,
                              const std::string& kind, const std::vector<std::string>& names) {
  const std::string meant = closest(name, names);
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

/// Takes the faults of the fabric's cables out of `faults`, and puts them into `fabric`. What users have said of them.
std::vector<std::string> take_cables(std::string_view option, std::vector<std::string>& faults, Platform& platform) {
  std::vector<std::string> taken;
  for (const std::string& fault : faults) {
    if (!fault.starts_with(kOfFabric)) continue;
    const std::string text = fault.substr(kOfFabric.size());
    if (text.find('@') != std::string::npos) {
      refuse_fault(option, fault, "a cable of the fabric is so from the start on: it takes no @TIME");
    }
    if (!platform.fabric) refuse_fault(option, fault, "the platform has no fabric");
    try {
      const Degraded how = option == "--degrade" ? parse_degraded(text) : Degraded{.part = text, .share = 0};
      for (const CableFault& cable : platform.fabric->cables(how.part, how.share, platform.most_nics())) {
        platform.fabric->add_fault(cable);
      }
    } catch (const UsageError& error) {
      refuse_fault(option, fault, error.what());
    }
    const std::string cut = platform.fabric->cut_off(platform.most_nics());
    if (!cut.empty()) refuse_fault(option, fault, fmt::format("no way is left between {}", cut));
    taken.push_back(fault);
  }
  std::erase_if(faults, [](const std::string& fault) { return fault.starts_with(kOfFabric); });
  return taken;
}

/// As the rest of the platform is without them.
Platform with_faults_of_nodes(const std::filesystem::path& named, std::span<const std::string> overrides,
                              const Faults& faults, Platform platform) {
  if (faults.none()) return platform;
  const Platform alike = platform;
  OddNodes odd(alike);
  std::vector<Fault> degraded = odd.name_parts("--degrade", faults.degraded);
  std::vector<Fault> failed = odd.name_parts("--fail", faults.failed);
  const auto add_kinds = [&](YamlValue& document) { odd.add_kinds(document); };
  if (!odd.none()) platform = read_platform(named, overrides, add_kinds);
  take_later("--degrade", degraded, platform);
  take_later("--fail", failed, platform);
  if (!failed.empty()) platform = without(named, overrides, std::move(platform), failed, faults, add_kinds);
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

}  // namespace

Platform read_platform(const std::filesystem::path& named, std::span<const std::string> overrides,
                       const Faults& faults) {
  // First as it is: what is wrong with the file itself is not the faults' doing.
  Platform platform = read_platform(named, overrides);
  Faults of_nodes = faults;
  Platform with_cables = platform;
  const std::vector<std::string> failed = take_cables("--fail", of_nodes.failed, with_cables);
  const std::vector<std::string> degraded = take_cables("--degrade", of_nodes.degraded, with_cables);
  platform = with_faults_of_nodes(named, overrides, of_nodes, std::move(platform));
  if (with_cables.fabric) platform.fabric->faults = with_cables.fabric->faults;
  for (const std::string& text : failed) platform.slowed_parts.push_back({text, "--fail " + text});
  for (const std::string& text : degraded) platform.slowed_parts.push_back({text, "--degrade " + text});
  return platform;
}

}  // namespace twinlink::model
