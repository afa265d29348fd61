#include "tests/explore/explorer/state.hpp"

#include <bit>

namespace twinlink::explore {
namespace {

std::uint64_t pack(AllocationId id) { return (static_cast<std::uint64_t>(id.owner) << 32U) | id.index; }

std::uint64_t flags(std::initializer_list<bool> bits) {
  std::uint64_t result = 1;
  for (const bool bit : bits) result = result * 2 + (bit ? 1 : 0);
  return result;
}

void add_to(Hash& hash, const Part& part) {
  hash.add(pack(part.allocation), part.offset.count());
  hash.add(part.length.count(), part.buffer);
}

void add_to(Hash& hash, const Operation& op) {
  hash.add(op.id, flags({op.ended, op.abandoned, op.eager, op.adds}) * 16 + static_cast<std::uint64_t>(op.status));
  add_to(hash, op.to);
  add_to(hash, op.from);
  for (const Block& block : op.blocks) {
    hash.add(block.to.count(), block.from.count());
    hash.add(block.length.count());
  }
  if (op.signal) hash.add(static_cast<std::uint64_t>(op.signal->tag.value), op.signal->value);
  hash.add(std::bit_cast<std::uintptr_t>(op.into), op.number);
  hash.add(std::bit_cast<std::uintptr_t>(op.value));
}

void add_to(Hash& hash, const Inbox& channel) {
  hash.add((static_cast<std::uint64_t>(channel.from) << 32U) | static_cast<std::uint64_t>(channel.to),
           static_cast<std::uint64_t>(channel.tag) * 4 + static_cast<std::uint64_t>(channel.plane));
  hash.add((static_cast<std::uint64_t>(channel.given) << 32U) | channel.asked, channel.raised.size());
  for (const Raised& signal : channel.raised) hash.add(signal.value);
  hash.add(channel.received);
  hash.add(channel.parcels.size(), channel.messages.size());
  for (const Parcel& parcel : channel.parcels) {
    hash.add(parcel.number * 4 + flags({parcel.eager, parcel.matched}), parcel.digest);
  }
  for (const Letter& letter : channel.messages) hash.add(letter.message.bytes());
}

void add_to(Hash& hash, const Allocation& allocation) {
  hash.add((static_cast<std::uint64_t>(allocation.opened) << 32U) | allocation.buffer,
           flags({allocation.exported, allocation.exposed, allocation.released}) +
               (static_cast<std::uint64_t>(allocation.registrations) << 32U));
  hash.add(allocation.digest, allocation.address);
}

void add_to(Hash& hash, const RankState& rank) {
  hash.add(rank.operations.size(), rank.allocations.size());
  for (const Operation& op : rank.operations) add_to(hash, op);
  for (const Allocation& allocation : rank.allocations) add_to(hash, allocation);
  for (const Held& held : rank.buffers) hash.add(pack(held.allocation), flags({held.mapped, held.gone}));
  for (std::size_t s = 0; s + 1 < rank.streams.size(); s += 2) hash.add(rank.streams[s], rank.streams[s + 1]);
  hash.add(std::bit_cast<std::uint64_t>(rank.deadline.value()), rank.finished ? 1 : 0);
  hash.add(std::bit_cast<std::uintptr_t>(rank.where), rank.waits_for_count);
  for (const Op op : std::span(rank.waits_for, rank.waits_for_count)) hash.add(op.id);
  hash.add(std::as_bytes(std::span(rank.failure)));
  hash.add(std::as_bytes(std::span(rank.ending)));
}

}  // namespace

void add_to(Hash& hash, const World& world) {
  for (const RankState& rank : world.ranks) add_to(hash, rank);
  hash.add(world.channels.size());
  for (const Inbox& channel : world.channels) add_to(hash, channel);
}

}  // namespace twinlink::explore
