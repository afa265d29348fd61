#include "protocols/bench/results/gpu_health.hpp"

#include <array>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::bench {
namespace {

std::uint64_t value_of(const GpuHealth& health, const std::string& name) {
  const auto found = health.find(name);
  return found == health.end() ? 0 : found->second;
}

/// Counts since the driver was loaded, each of which is one too many.
constexpr std::array<std::array<const char*, 2>, 7> kCounts{{{"ecc_uncorrected", "uncorrected ECC errors"},
                                                             {"ecc_corrected", "corrected ECC errors"},
                                                             {"rows_remapped", "rows remapped"},
                                                             {"pcie_replays", "PCIe replays"},
                                                             {"nvlink_crc_errors", "NVLink CRC errors"},
                                                             {"nvlink_replays", "NVLink replays"},
                                                             {"nvlink_recoveries", "NVLink recoveries"}}};

/// Bits of nvmlClocksThrottleReason, but for those of an idle GPU and of clocks that someone has set.
struct Reason {
  std::uint64_t bits;
  const char* held;  ///< for how long, where that is told
  const char* text;
};
constexpr std::array<Reason, 3> kReasons{{{0x20U | 0x40U, "hot_ns", "throttles by temperature"},
                                          {0x4U, "out_of_power_ns", "throttles by its power limit"},
                                          {0x80U, "", "throttles by the power brake of the machine"}}};

GpuHealth health_of(const nlohmann::json& counts) {
  GpuHealth health;
  if (!counts.is_object()) return health;
  for (const auto& [name, count] : counts.items()) {
    if (count.is_number_unsigned()) health[name] = count.get<std::uint64_t>();
  }
  return health;
}

}  // namespace

std::vector<std::string> health_findings(const GpuHealth& start, const GpuHealth& end) {
  constexpr double kNanoseconds = 1e9;
  std::vector<std::string> found;
  const auto grown = [&](const std::string& name) {
    const std::uint64_t before = value_of(start, name);
    const std::uint64_t after = value_of(end, name);
    return start.contains(name) && after > before ? after - before : 0;
  };
  for (const Reason& reason : kReasons) {
    const std::uint64_t held = grown(reason.held);
    const bool now = ((value_of(start, "throttle_reasons") | value_of(end, "throttle_reasons")) & reason.bits) != 0;
    if (held == 0 && !now) continue;
    found.emplace_back(reason.text);
    if (held > 0) found.back() += fmt::format(" for {:.3g} s", static_cast<double>(held) / kNanoseconds);
  }
  if (!found.empty() && end.contains("sm_clock_mhz") && end.contains("temperature_c")) {
    found.back() += fmt::format(" ({} of {} MHz, {} C)", value_of(end, "sm_clock_mhz"),
                                value_of(end, "sm_clock_mhz_max"), value_of(end, "temperature_c"));
  }
  const auto link = [&](const std::string& name, const char* form) {
    const std::uint64_t most = value_of(end, name + "_max");
    const std::uint64_t now = value_of(end, name);
    if (now > 0 && now < most) found.push_back(fmt::format(fmt::runtime(form), now, most));
  };
  link("pcie_width", "PCIe link x{} of x{}");
  link("pcie_generation", "PCIe generation {} of {}, which may be its rest");
  if (value_of(end, "row_remapping_pending") > 0) found.emplace_back("row remapping pending: reset it");
  if (value_of(end, "row_remapping_failed") > 0) found.emplace_back("row remapping failed: replace it");
  for (const auto& [name, text] : kCounts) {
    if (value_of(end, name) == 0) continue;
    found.push_back(fmt::format("{} {}", value_of(end, name), text));
    if (const std::uint64_t more = grown(name); more > 0) found.back() += fmt::format(", {} of them meanwhile", more);
  }
  return found;
}

std::vector<std::string> health_findings_of(const nlohmann::json& environment) {
  const auto member = [](const nlohmann::json& object, const char* name) {
    const auto found = object.is_object() ? object.find(name) : object.end();
    return found == object.end() ? nlohmann::json() : *found;
  };
  std::map<std::string, std::vector<std::string>> by_place;  // ranks may share a GPU
  for (const nlohmann::json& rank : member(environment, "ranks")) {
    const nlohmann::json place = member(rank, "place");
    const nlohmann::json health = member(rank, "health");
    if (!place.is_string()) continue;
    by_place[place.get<std::string>()] =
        health_findings(health_of(member(health, "start")), health_of(member(health, "end")));
  }
  std::vector<std::string> all;
  for (const auto& [place, findings] : by_place) {
    const std::string gpu = place.starts_with("0/") ? place.substr(2) : place;
    for (const std::string& finding : findings) all.push_back(fmt::format("GPU {}: {}", gpu, finding));
  }
  return all;
}

}  // namespace twinlink::bench
