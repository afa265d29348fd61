// How the links of a node stand in one table: the slots of each of its parts.
#pragma once

#include <cstddef>
#include <optional>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/yaml/sourced.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {

// The slots of one part in the table of a node's links.
enum Slot : std::size_t { forward_slot, backward_slot, total_slot, dma_read_slot, dma_write_slot, slots_per_link };
enum NicSlot : std::size_t { out_slot, in_slot, duplex_slot, slots_per_nic };
/// Where a link enters a hub or a memory.
enum PortSlot : std::size_t { peer_read_slot, peer_write_slot, slots_per_port };
inline constexpr std::size_t kPortsPerLink = 2;
enum MemorySlot : std::size_t { read_slot, write_slot, slots_per_memory };
// What goes over a link to and from host memory: once, or up and down again.
enum HostSlot : std::size_t { once_slot, twice_slot, slots_per_host };
inline constexpr std::size_t kSlotsPerGpu = kCopyKinds;  // one engine for each kind of copies

}  // namespace twinlink::model
