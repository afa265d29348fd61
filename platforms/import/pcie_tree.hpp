// The PCIe tree of a node, reduced to where traffic can meet: a bridge with several GPUs or adapters below is a hub
// with an uplink that they share; a chain of bridges with one device at its end is one link.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"

namespace twinlink::platforms {

class PcieTree {
 public:
  /// `pci` as in a NodeDescription; must outlive this object.
  explicit PcieTree(const std::vector<PciFacts>& pci);

  struct Hub {
    std::string name{};      ///< "switch0", in the order of the bridges
    std::size_t bridge = 0;  ///< index into `pci`
  };
  [[nodiscard]] const std::vector<Hub>& hubs() const { return hubs_; }

  struct Uplink {
    std::string to{};                     ///< the next hub's name, or "root1", that of its socket
    std::optional<Sourced<Rate>> rate{};  ///< of the narrowest link; nothing where no link is known
  };
  /// The way up from a GPU, an adapter or a hub's bridge. `own` is the rate of a device's own link, where somebody
  /// knows it better than the link's present status: idle GPUs let their link run slower.
  [[nodiscard]] Uplink up(std::size_t index, const std::optional<Sourced<Rate>>& own = std::nullopt) const;

 private:
  [[nodiscard]] const std::string* hub_at(std::size_t index) const;
  [[nodiscard]] std::optional<Sourced<Rate>> link_of(std::size_t index) const;

  const std::vector<PciFacts>& pci_;
  std::vector<Hub> hubs_{};
};

}  // namespace twinlink::platforms
