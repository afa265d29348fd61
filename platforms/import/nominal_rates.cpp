#include "platforms/import/nominal_rates.hpp"

#include <fmt/format.h>

#include <cmath>

#include "platforms/machine/pcie.hpp"

namespace twinlink::real {
namespace {

using model::pcie_generations;

struct NvlinkGeneration {
  int generation;
  double data_GBps;  ///< each way, of one link
};

/// By what the driver reports in MB/s, the line's coding included: 25781 for 25 GB/s, 26562 for 25, 53125 for 50.
NvlinkGeneration nvlink_of_speed(unsigned reported) {
  if (reported < 22'000) return {1, 20};
  if (reported < 26'000) return {3, 25};
  if (reported < 40'000) return {4, 25};
  return {5, 50};
}

NvlinkGeneration nvlink_of_capability(int major) {
  if (major <= 6) return {1, 20};
  if (major == 7) return {2, 25};
  if (major == 8) return {3, 25};
  if (major == 9) return {4, 25};
  return {5, 50};
}

}  // namespace

std::optional<NominalRate> pcie_rate(int generation, int lanes) {
  if (generation < 1 || generation > static_cast<int>(pcie_generations().size()) || lanes < 1 ||
      lanes > model::kMostPcieLanes) {
    return std::nullopt;
  }
  const model::PcieGeneration& one = pcie_generations()[static_cast<std::size_t>(generation - 1)];
  return NominalRate{Rate{one.lane_rate() * lanes * 1e9},
                     fmt::format("nominal: PCIe Gen{} x{}, {} GT/s x {} lanes x {}/{}, before packet headers",
                                 generation, lanes, one.transfers, lanes, one.payload, one.coded)};
}

std::optional<NominalRate> pcie_rate_of_status(double gigabytes_per_second) {
  if (!(gigabytes_per_second > 0)) return std::nullopt;
  double rate = gigabytes_per_second;
  std::string names;
  for (std::size_t g = 0; g < pcie_generations().size(); ++g) {
    for (const int lanes : {1, 4, 8, 16}) {
      const double nominal = pcie_generations()[g].lane_rate() * lanes;
      if (std::abs(nominal - gigabytes_per_second) > 0.005 * gigabytes_per_second) continue;
      if (names.empty()) rate = nominal;  // the system's number is a rounded one
      names += fmt::format("{}PCIe Gen{} x{}", names.empty() ? "" : " or ", g + 1, lanes);
    }
  }
  return NominalRate{Rate{rate * 1e9}, fmt::format("nominal: {}, as the link runs now by hwloc, before packet headers",
                                                   names.empty() ? "a PCIe link" : names)};
}

NominalRate nvlink_rate(const NvlinkFacts& link, int count, int capability_major) {
  const bool told = link.speed_MBps > 0;
  const NvlinkGeneration one = told ? nvlink_of_speed(link.speed_MBps) : nvlink_of_capability(capability_major);
  // The speeds of the second and the third generation are the same.
  const int generation = told && one.generation == 3 && capability_major == 7 ? 2 : one.generation;
  const std::string reported =
      told ? fmt::format("the driver reports {} MB/s a link, coding included", link.speed_MBps)
           : fmt::format("by the compute capability {}.x; the driver reports no speed", capability_major);
  return {Rate{one.data_GBps * count * 1e9},
          fmt::format("nominal: NVLink {}, {} {} x {} GB/s each way; {}", generation, count,
                      count == 1 ? "link" : "links", one.data_GBps, reported)};
}

}  // namespace twinlink::real
