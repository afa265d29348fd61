#include "real/rank/control_messages.hpp"

#include <algorithm>
#include <array>
#include <atomic>
#include <cstring>

namespace twinlink::real {
namespace {

constexpr std::size_t kCacheLine = 64;

/// Whole when `number` says so, which is written last: 1 for the first control message ever put into the box.
struct alignas(kCacheLine) Arrival {
  std::uint64_t number;
  std::int32_t tag;
  std::uint32_t size;
  std::array<std::byte, ControlMessage::kCapacity> bytes;
};

/// Zeros are an empty box. The two ends write to lines of their own.
struct Box {
  alignas(kCacheLine) std::uint64_t taken;  ///< by the owner, ever
  std::array<Arrival, kControlMessagesOfOrigin> messages;
};

Box& box_of(const SharedMemory& memory, RankId origin) {
  return static_cast<Box*>(static_cast<void*>(memory.data()))[origin.value];
}

}  // namespace

ControlMessages::ControlMessages(RankId self, int ranks)
    : self_(self),
      own_(SharedMemory::create(Bytes{sizeof(Box)} * static_cast<std::uint64_t>(ranks))),
      posted_(static_cast<std::size_t>(ranks)),
      seen_(static_cast<std::size_t>(ranks)),
      taken_(static_cast<std::size_t>(ranks)) {}

void ControlMessages::attach(RankId peer, const SharedMemory::Token& token) {
  peers_.insert_or_assign(peer, SharedMemory::open(token));
}

bool ControlMessages::post(RankId peer, Tag tag, const ControlMessage& message) {
  Box& box = box_of(peers_.at(peer), self_);
  std::uint64_t& posted = posted_[static_cast<std::size_t>(peer.value)];
  std::uint64_t& seen = seen_[static_cast<std::size_t>(peer.value)];
  if (posted - seen == kControlMessagesOfOrigin) {  // only then: the peer's core owns that cache line
    seen = std::atomic_ref(box.taken).load(std::memory_order_acquire);
    if (posted - seen == kControlMessagesOfOrigin) return false;
  }
  Arrival& place = box.messages[posted % kControlMessagesOfOrigin];
  place.tag = tag.value;
  place.size = static_cast<std::uint32_t>(message.bytes().size());
  std::ranges::copy(message.bytes(), place.bytes.begin());
  std::atomic_ref(place.number).store(++posted, std::memory_order_release);
  return true;
}

bool ControlMessages::empty_box(RankId peer, std::optional<Tag> tag, ControlMessage* into) {
  Box& box = box_of(own_, peer);
  std::uint64_t& taken = taken_[static_cast<std::size_t>(peer.value)];
  for (bool found = false; !found;) {
    Arrival& place = box.messages[taken % kControlMessagesOfOrigin];
    if (std::atomic_ref(place.number).load(std::memory_order_acquire) != taken + 1) return false;
    found = tag && place.tag == tag->value;
    ControlMessage& message = found ? *into : early_[{peer, Tag{place.tag}}].emplace_back();
    if (!found) ++early_messages_;
    message.assign(std::span(place.bytes).first(std::min<std::size_t>(place.size, ControlMessage::kCapacity)));
    std::atomic_ref(box.taken).store(++taken, std::memory_order_release);
  }
  return true;
}

bool ControlMessages::take(RankId peer, Tag tag, ControlMessage& into) {
  if (early_messages_ > 0) {
    const auto early = early_.find({peer, tag});
    if (early != early_.end() && !early->second.empty()) {
      into = early->second.front();
      early->second.pop_front();
      --early_messages_;
      return true;
    }
  }
  return empty_box(peer, tag, &into);
}

void ControlMessages::make_room() {
  for (const auto& [peer, memory] : peers_) empty_box(peer, std::nullopt, nullptr);
}

}  // namespace twinlink::real
