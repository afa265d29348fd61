// What the driver tells of how well a GPU is, beside what was measured on it: a GPU that throttles needs no new cable.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// Counts by name, without those that the driver does not tell. All since the driver was loaded, but for
/// rows_remapped, which are for good, and for what is of the moment.
///   ecc_corrected, ecc_uncorrected, rows_remapped, row_remapping_pending (1), row_remapping_failed (1)
///   pcie_replays, nvlink_crc_errors, nvlink_replays, nvlink_recoveries (of all links)
///   hot_ns, out_of_power_ns: how long clocks were held down
///   pcie_generation, pcie_width, sm_clock_mhz, each with ..._max; temperature_c; throttle_reasons (bits of NVML)
using GpuHealth = std::map<std::string, std::uint64_t>;

/// What an operator should know: "throttles by temperature", "12 PCIe replays, 3 of them meanwhile". `start` and `end`
/// are those before and after the measurement; empty: nobody knows. Of a GPU that is well nothing.
std::vector<std::string> health_findings(const GpuHealth& start, const GpuHealth& end);

/// The findings of each GPU of a result, from health.start and health.end of its environment's ranks: "GPU 3: ...",
/// "GPU 1/3: ..." of another node than the first. Where something else is there, nothing.
std::vector<std::string> health_findings_of(const nlohmann::json& environment);

}  // namespace twinlink::bench
