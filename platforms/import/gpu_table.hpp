// The table of GPUs by their models, as platforms/parts/models/gpus.yaml has it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// What a data sheet says of a GPU, or of several what they have in common. What is not said is not known. Rates are
/// nominal, before headers and protocols.
struct GpuModel {
  std::string name{};                               ///< as its driver calls it; empty: of several models
  std::string source{};                             ///< whose words these are
  std::vector<std::string> also{};                  ///< other names
  std::vector<std::string> devices{};               ///< of PCI: "10de:2330"
  std::string gcn{};                                ///< of AMD's: "gfx942"
  std::optional<std::pair<int, int>> capability{};  ///< compute capability; of AMD's the version of its gfx
  std::optional<int> pcie{};                        ///< generation
  std::optional<int> lanes{};                       ///< of PCIe
  std::optional<int> links{};                       ///< NVLinks or Infinity Fabric links, also those of a bridge
  std::optional<Rate> link{};                       ///< of one, each way
  std::optional<bool> switched{};                   ///< on boards of eight, NVSwitches join all its links
  std::optional<bool> sums{};                       ///< and add up
  std::optional<Rate> c2c{};                        ///< to the processor whose addresses it shares, each way
  std::optional<Rate> from_host{};                  ///< what copies get of that
  std::optional<Rate> to_host{};
  std::optional<bool> pcie_peers{};  ///< whether its driver lets it reach others over PCIe
  std::optional<Bytes> memory{};
  std::optional<Rate> memory_rate{};  ///< read or written

  bool operator==(const GpuModel&) const = default;
};

/// All models, in the order of the file; read once. A UsageError where there is no folder of platforms, an InputError
/// with everything that is wrong in the file.
const std::vector<GpuModel>& gpu_table();

/// What all of `models` have in common. Of one model that is all; none gives nothing.
GpuModel common_of(const std::vector<const GpuModel*>& models);

}  // namespace twinlink::platforms
