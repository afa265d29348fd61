#include "platforms/machine/pcie.hpp"

#include <array>

namespace twinlink::model {

std::span<const PcieGeneration> pcie_generations() {
  // PCI Express Base Specifications 1.1 to 6.0: line coding, and in generation 6 flits of 256 B with 236 B of packets.
  static constexpr std::array<PcieGeneration, 6> kGenerations{
      {{2.5, 8, 10}, {5, 8, 10}, {8, 128, 130}, {16, 128, 130}, {32, 128, 130}, {64, 236, 256}}};
  return kGenerations;
}

}  // namespace twinlink::model
