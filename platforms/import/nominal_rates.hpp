// What links are said to carry: rates that follow from a generation and a width, before headers and protocols.
#pragma once

#include <optional>
#include <string>

#include "platforms/import/node_description.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::real {

/// A rate each way, and how it follows: "nominal: PCIe Gen5 x16, 32 GT/s x 16 lanes x 128/130".
struct NominalRate {
  Rate rate{};
  std::string source{};
};

/// PCI Express of generation 1 to 6 with 1 to 32 lanes; nothing for others.
std::optional<NominalRate> pcie_rate(int generation, int lanes);

/// Names the rate that the system reads from a link's status: which generations and widths have it. Nothing for 0.
std::optional<NominalRate> pcie_rate_of_status(double gigabytes_per_second);

/// `count` NVLinks that are like `link`, of a GPU with compute capability `capability_major`. The rate of one follows
/// from the speed that the driver reports, else from the capability: its version numbers name no rate, and differ from
/// driver to driver.
NominalRate nvlink_rate(const NvlinkFacts& link, int count, int capability_major);

}  // namespace twinlink::real
