#include "platforms/import/network_sketch.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/topology/topology.hpp"
#include "platforms/yaml/yaml_section.hpp"

namespace twinlink::platforms {
namespace {

struct AdapterModel {
  std::vector<std::string> devices{};
  std::vector<std::string> names{};
  Sourced<Rate> rate{};
};

std::vector<AdapterModel> read_adapters() {
  std::vector<AdapterModel> table;
  const auto file = platforms_folder() / "parts" / "models" / "adapters.yaml";
  read_file(file, "the table of adapters", [&](Section& top, ReadContext&) {
    top.each("adapters", "adapter", [&](const std::string& name, Section& row) {
      AdapterModel model{.devices = row.texts("ids"), .names = row.texts("names")};
      model.rate.source = {Quality::derived, "the most of a " + name + "; " + row.text("source")};
      row.require("rate");
      model.rate.value = row.plain_rate("rate").value_or(Rate{});
      table.push_back(std::move(model));
    });
  });
  return table;
}

/// The most that an adapter has of the network, each way, by its PCI device "15b3:1021", or else by what the system
/// calls it, "cxi0", which makes it an assumption. Nothing where neither tells its model.
std::optional<Sourced<Rate>> adapter_rate(std::string_view device_id, std::string_view name) {
  static const std::vector<AdapterModel> table = read_adapters();
  const auto by = [&](const auto& is) -> std::optional<Sourced<Rate>> {
    const auto found = std::ranges::find_if(table, is);
    return found == table.end() ? std::nullopt : std::optional(found->rate);
  };
  auto of_device =
      by([&](const AdapterModel& model) { return std::ranges::find(model.devices, device_id) != model.devices.end(); });
  if (of_device) return of_device;
  auto of_name = by([&](const AdapterModel& model) {
    return std::ranges::any_of(model.names, [&](const std::string& begin) { return name.starts_with(begin); });
  });
  if (of_name) of_name->source.quality = Quality::assumed;
  return of_name;
}

Sourced<Rate> rate_of(const PciFacts& pci) {
  if (pci.ports) return *pci.ports;
  if (const auto known = adapter_rate(pci.device_id, pci.name)) return *known;
  return pci.infiniband ? assumed(25.0_GBps, "200 Gbit/s, for nobody tells how fast the adapter is")
                        : assumed(Rate{3.125e9}, "25 Gbit/s, for nobody tells how fast the network card is");
}

/// 3 of 8 is 6.
std::size_t reversed(std::size_t number, std::size_t power) {
  std::size_t result = 0;
  std::size_t mirror = power / 2;
  for (std::size_t bit = 1; bit < power; bit *= 2, mirror /= 2) {
    if ((number & bit) != 0) result |= mirror;
  }
  return result;
}

}  // namespace

void add_fabric(NodeDescription& facts, const std::vector<std::size_t>& nics, Platform& platform,
                const Platform* base) {
  if (nics.empty()) return;
  Fabric& fabric = platform.fabric.emplace();
  std::vector<Nic>& parts = platform.node.nics;
  std::vector<Sourced<Rate>> rates;
  std::map<std::pair<bool, double>, std::vector<std::string>> guessed;  // network cards or not
  bool infiniband = false;
  for (std::size_t i = 0; i < nics.size(); ++i) {
    const PciFacts& pci = facts.pci[nics[i]];
    infiniband = infiniband || pci.infiniband;
    rates.push_back(rate_of(pci));
    const Sourced<Rate>& rate = rates.back();
    if (rate.source.quality == Quality::assumed) {
      guessed[{!pci.infiniband, rate.value.bytes_per_second()}].push_back(parts[i].name);
    }
    if (fabric.link.value < rate.value) fabric.link = rate;
  }
  for (const auto& [kind, names] : guessed) {
    constexpr double kGigabit = 1e9 / 8;
    const auto& [plain, rate] = kind;
    assume(facts, fmt::format("{} have {} Gbit/s", plain ? "network cards" : "adapters", rate / kGigabit),
           Assumption::Better::xml);
    if (plain || (base != nullptr && base->fabric)) continue;
    facts.notes.push_back(fmt::format(
        "nobody tells how fast {} {}: {} Gbit/s is assumed. The XML of NCCL or hwloc tells, or --set fabric.link",
        fmt::join(names, ", "), names.size() == 1 ? "is" : "are", rate / kGigabit));
  }
  for (std::size_t i = 0; i < nics.size(); ++i) {
    if (rates[i].value != fabric.link.value) parts[i].link = rates[i];
  }
  if (!facts.rdma) {
    assume(facts, infiniband ? "the adapters read and write device memory" : "network cards reach no device memory",
           Assumption::Better::xml);
  }
  if (facts.rdma.value_or(infiniband)) fabric.rdma.emplace();
}

void choose_adapters(const NodeDescription& facts, const std::vector<std::size_t>& nics, Platform& platform) {
  const Topology topology(platform);
  std::vector<Gpu>& gpus = platform.node.gpus;
  for (std::size_t g = 0; g < gpus.size(); ++g) {
    std::pair<bool, std::size_t> best{};
    std::vector<std::string> nearest;
    for (std::size_t i = 0; i < nics.size(); ++i) {
      const std::string& name = platform.node.nics[i].name;
      const std::pair rank{!facts.pci[nics[i]].infiniband, topology.route(gpus[g].name, name).size()};
      if (nearest.empty() || rank < best) nearest.clear();
      if (!nearest.empty() && best < rank) continue;
      best = rank;
      nearest.push_back(name);
    }
    if (nearest.empty()) continue;
    const std::size_t turn = std::has_single_bit(nearest.size()) ? reversed(g, nearest.size()) : g;
    gpus[g].nic = nearest[turn % nearest.size()];
  }
}

}  // namespace twinlink::platforms
