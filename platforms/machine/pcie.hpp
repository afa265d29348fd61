// What PCI Express carries by its generation.
#pragma once

#include <array>
#include <span>

namespace twinlink::platforms {

struct PcieGeneration {
  double transfers;  ///< per second and lane, in 10^9
  double payload;    ///< of which data are, per unit of `coded`
  double coded;

  /// Rate of one lane each way, in 10^9 bytes per second, before packet headers.
  [[nodiscard]] double lane_rate() const { return transfers / 8 * payload / coded; }
};

/// Generations 1 to 6, of the PCI Express Base Specifications 1.1 to 6.0: line coding, and in generation 6 flits of 256
/// B with 236 B of packets.
inline std::span<const PcieGeneration> pcie_generations() {
  static constexpr std::array<PcieGeneration, 6> kGenerations{
      {{2.5, 8, 10}, {5, 8, 10}, {8, 128, 130}, {16, 128, 130}, {32, 128, 130}, {64, 236, 256}}};
  return kGenerations;
}
inline constexpr int kMostPcieLanes = 32;

}  // namespace twinlink::platforms
