// What PCI Express carries by its generation.
#pragma once

#include <span>

namespace twinlink::model {

struct PcieGeneration {
  double transfers;  ///< per second and lane, in 10^9
  double payload;    ///< of which data are, per unit of `coded`
  double coded;

  /// Rate of one lane each way, in 10^9 bytes per second, before packet headers.
  [[nodiscard]] double lane_rate() const { return transfers / 8 * payload / coded; }
};

/// Generations 1 to 6.
std::span<const PcieGeneration> pcie_generations();
inline constexpr int kMostPcieLanes = 32;

}  // namespace twinlink::model
