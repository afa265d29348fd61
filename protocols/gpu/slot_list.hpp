// SlotList: which slots a program passes over each of its links, in order. The program itself says it, on a block that
// waits for nobody and moves nothing. CPUs count with it, and learn what they carry over the network.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

/// Of one channel.
struct SlotList {
  /// By link, the bytes of data of each slot.
  std::vector<std::vector<std::uint64_t>> sent{};
  std::vector<std::vector<std::uint64_t>> received{};
};

/// Signals of puts are no slots, and of blocks to experts nobody knows the lengths: they are told as none.
/// A switch that adds up has a slot of every link in each round. `order` has the ranks of the channel's ring by their
/// places; empty: by their numbers.
SlotList list_slots(const Program& program, std::int32_t channel, const ChannelPosition& position,
                    std::span<const std::int32_t> order, std::size_t links);

}  // namespace twinlink::gpu
