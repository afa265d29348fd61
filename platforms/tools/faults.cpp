#include "platforms/tools/faults.hpp"

#include <algorithm>
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

/// The indices of the links that a part stands for.
std::vector<std::size_t> require_links(std::string_view option, const std::string& text, const std::string& name,
                                       const Node& node) {
  std::vector<std::size_t> links = links_of(node, name);
  if (!links.empty()) return links;
  std::vector<std::string> names;
  for (const Link& link : node.links) names.push_back(link.name);
  for (const Nic& nic : node.nics) names.push_back(nic.name);
  for (const Hub& hub : node.hubs) names.push_back(hub.name);
  refuse_name(option, text, name, "link, adapter or hub", names);
}

/// The links that are gone when the parts of these names are.
std::set<std::string> links_of_all(const std::vector<std::string>& failed, const Node& node) {
  std::set<std::string> links;
  for (const std::string& name : failed) {
    for (const std::size_t link : require_links("--fail", name, name, node)) links.insert(node.links[link].name);
  }
  return links;
}

/// Takes the faults with a time out of `texts`.
void take_later(std::string_view option, std::vector<std::string>& texts, Platform& platform) {
  const Topology topology(platform);
  std::vector<std::string> now;
  for (const std::string& text : texts) {
    const std::size_t at = text.rfind('@');
    if (at == std::string::npos) {
      now.push_back(text);
      continue;
    }
    LaterFault fault{.part = text.substr(0, at)};
    try {
      fault.at = parse_seconds(text.substr(at + 1));
    } catch (const UsageError& error) {
      refuse(option, text, error.what());
    }
    if (option == "--degrade") {
      const Degraded how = parse_degraded(fault.part);
      fault.part = how.part;
      fault.share = how.share;
    }
    require_links(option, text, fault.part, topology.graph());
    platform.later_faults.push_back(std::move(fault));
  }
  texts = std::move(now);
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

/// Of all kinds of nodes; parts of others than the first are called "KIND-NAME".
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
  Faults now = faults;
  take_later("--degrade", now.degraded, platform);
  take_later("--fail", now.failed, platform);
  if (!now.failed.empty()) {
    const Topology topology(platform);
    const std::set<std::string> links = links_of_all(now.failed, topology.graph());
    const std::set<std::string> adapters = dead_adapters(topology.graph(), links);
    std::vector<LaterFault> later = std::move(platform.later_faults);
    try {
      platform =
          read_platform(named, overrides, [&](YamlValue& document) { take_out_of_all(document, links, adapters); });
    } catch (const InputError& error) {
      throw UsageError(
          fmt::format("--fail {} cuts parts off: {}", fmt::join(now.failed, ", "), without_places(error.what())));
    }
    platform.later_faults = std::move(later);
  }
  for (const std::string& text : now.degraded) {
    const Degraded how = parse_degraded(text);
    if (degrade(platform, how.part, how.share, "--degrade " + text + " on the command line")) continue;
    refuse_name("--degrade", text, how.part, "link, adapter, hub or memory", degradable_parts(platform));
  }
  return platform;
}

}  // namespace twinlink::model
