#include "platforms/import/pcie_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace twinlink::real {
namespace {

using Kind = PciFacts::Kind;

void narrow(std::optional<NominalRate>& rate, std::optional<NominalRate> other) {
  if (other && (!rate || other->rate < rate->rate)) rate = std::move(other);
}

}  // namespace

PcieTree::PcieTree(const std::vector<PciFacts>& pci) : pci_(pci) {
  for (std::size_t i = 0; i < pci.size(); ++i) assert(!pci[i].parent || *pci[i].parent < static_cast<int>(i));
  std::vector<bool> used(pci.size(), false);  // has a device below, or is one
  for (std::size_t i = 0; i < pci.size(); ++i) {
    if (pci[i].kind != Kind::gpu && pci[i].kind != Kind::adapter) continue;
    std::optional<int> above = static_cast<int>(i);
    for (; above && !used[static_cast<std::size_t>(*above)]; above = pci[static_cast<std::size_t>(*above)].parent) {
      used[static_cast<std::size_t>(*above)] = true;
    }
  }
  for (std::size_t i = 0; i < pci.size(); ++i) {
    if (pci[i].kind != Kind::bridge) continue;
    std::ptrdiff_t ways_down = 0;
    for (std::size_t child = 0; child < pci.size(); ++child) {
      if (used[child] && pci[child].parent == static_cast<int>(i)) ++ways_down;
    }
    if (ways_down > 1) hubs_.push_back({fmt::format("pcie{}", hubs_.size()), i});
  }
}

const std::string* PcieTree::hub_at(std::size_t index) const {
  const auto found = std::ranges::find(hubs_, index, &Hub::bridge);
  return found == hubs_.end() ? nullptr : &found->name;
}

PcieTree::Uplink PcieTree::up(std::size_t index, std::optional<NominalRate> own) const {
  // The port above a device and the device tell of the same link.
  const bool skip_port = own.has_value();
  std::optional<NominalRate> rate = own ? std::move(own) : pcie_rate_of_status(pci_[index].link_GBps);
  bool first = true;
  for (std::optional<int> above = pci_[index].parent; above;) {
    const auto here = static_cast<std::size_t>(*above);
    if (const std::string* hub = hub_at(here)) return {*hub, std::move(rate)};
    if (!(first && skip_port)) narrow(rate, pcie_rate_of_status(pci_[here].link_GBps));
    first = false;
    above = pci_[here].parent;
  }
  return {fmt::format("socket{}", pci_[index].socket), std::move(rate)};
}

}  // namespace twinlink::real
