#include "platforms/import/pcie_tree.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cassert>
#include <utility>

namespace twinlink::platforms {
namespace {

using Kind = PciFacts::Kind;

void narrow(std::optional<Sourced<Rate>>& rate, std::optional<Sourced<Rate>> other) {
  if (other && (!rate || other->value < rate->value)) rate = std::move(other);
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
    if (ways_down > 1) hubs_.push_back({fmt::format("switch{}", hubs_.size()), i});
  }
}

const std::string* PcieTree::hub_at(std::size_t index) const {
  const auto found = std::ranges::find(hubs_, index, &Hub::bridge);
  return found == hubs_.end() ? nullptr : &found->name;
}

/// Bridges of virtual machines say that they have one lane of the first generation; no real one above a GPU has that.
std::optional<Sourced<Rate>> PcieTree::link_of(std::size_t index) const {
  constexpr Rate kOneLane = 1.0_GBps;
  const PciFacts& facts = pci_[index];
  if (facts.kind == Kind::bridge && facts.link && facts.link->value < kOneLane) return std::nullopt;
  return facts.link;
}

PcieTree::Uplink PcieTree::up(std::size_t index, const std::optional<Sourced<Rate>>& own) const {
  std::optional<Sourced<Rate>> rate = own ? own : link_of(index);
  // The port above a device and the device tell of the same link.
  bool same_link = own && pci_[index].link_may_idle;
  for (std::optional<int> above = pci_[index].parent; above; same_link = false) {
    const auto here = static_cast<std::size_t>(*above);
    if (const std::string* hub = hub_at(here)) return {*hub, std::move(rate)};
    if (!same_link) narrow(rate, link_of(here));
    above = pci_[here].parent;
  }
  return {fmt::format("root{}", pci_[index].socket), std::move(rate)};
}

}  // namespace twinlink::platforms
