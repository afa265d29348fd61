#include "protocols/gpu/slot_list.hpp"

#include <algorithm>

#include "protocols/gpu/nvls.hpp"
#include "protocols/gpu/run.hpp"

namespace twinlink::gpu {
namespace {

/// The Block of primitives.hpp.
class ListingBlock {
 public:
  ListingBlock(std::int32_t channel, const ChannelPosition& position, std::span<const std::int32_t> order,
               SlotList& list)
      : channel_(channel), position_(position), order_(order), list_(list) {}

  void play(std::int32_t role) { role_ = role; }
  [[nodiscard]] std::int32_t channel() const { return channel_; }
  [[nodiscard]] std::int32_t role() const { return role_; }
  [[nodiscard]] ChannelPosition position() const { return position_; }
  [[nodiscard]] std::int32_t rank_at(std::int32_t place) const {
    return order_.empty() ? place : order_[static_cast<std::size_t>(place)];
  }
  [[nodiscard]] static std::uint64_t sent(std::int32_t) { return 0; }
  [[nodiscard]] static std::uint64_t received(std::int32_t) { return 0; }
  static bool await_credit(std::int32_t, std::uint64_t) { return true; }
  static bool await_slot(std::int32_t, std::uint64_t) { return true; }
  static bool barrier(bool good) { return good; }
  static void fence() {}
  static void signal(std::int32_t, std::uint64_t) {}
  static void give_credit(std::int32_t, std::uint64_t) {}
  static void clear(std::int32_t) {}
  static bool put(std::int32_t, std::uint64_t, std::uint64_t) { return true; }
  static std::uint64_t listed(std::int32_t) { return 0; }
  static void tell(std::int32_t, std::uint64_t, std::uint64_t) {}
  static std::uint64_t told(std::int32_t, std::uint64_t) { return 0; }
  bool move(const Move& move) {
    if (move.into != kNoLink) add(list_.sent[static_cast<std::size_t>(move.into)], move.into_at, move.bytes);
    if (move.from != kNoLink) add(list_.received[static_cast<std::size_t>(move.from)], move.from_at, move.bytes);
    return true;
  }

 private:
  /// What lies behind the slot's beginning is of the slot that is there.
  static void add(std::vector<std::uint64_t>& slots, std::uint64_t at, std::uint64_t bytes) {
    if (at == 0) {
      slots.push_back(bytes);
    } else if (bytes > 0) {
      slots.back() = at + bytes;
    }
  }

  std::int32_t channel_;
  std::int32_t role_ = 0;
  const ChannelPosition& position_;
  std::span<const std::int32_t> order_;
  SlotList& list_;
};

}  // namespace

SlotList list_slots(const Program& program, std::int32_t channel, const ChannelPosition& position,
                    std::span<const std::int32_t> order, std::size_t links) {
  SlotList list;
  list.sent.resize(links);
  list.received.resize(links);
  if (is_switched(program)) {
    const std::vector<std::uint64_t> rounds(switch_rounds(program, channel), program.slot);
    std::vector<std::uint64_t> chunks;
    for (std::uint64_t round = 0; round < rounds.size(); ++round) {
      chunks.push_back(switch_round(program, channel, round).of(place_in_node(program)).length);
    }
    for (std::size_t link = 0; link < links; ++link) {
      const bool within = link < number(group_of(program)) - 1;
      const auto named = static_cast<std::int32_t>(link);
      const bool of_tree =
          position.above == named || std::ranges::find(position.below, named) != std::end(position.below);
      if (within || of_tree) list.sent[link] = list.received[link] = within ? rounds : chunks;
    }
    return list;
  }
  ListingBlock block(channel, position, order, list);
  for (std::int32_t role = 0; role < blocks_of(program) / program.channels; ++role) {
    block.play(role);
    static_cast<void>(run(block, program));
  }
  return list;
}

}  // namespace twinlink::gpu
