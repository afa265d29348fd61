// What the two ends of gpudirect-v2 send each other.
#pragma once

#include <cstdint>
#include <optional>

#include "protocols/core/rank.hpp"
#include "protocols/parts/connection.hpp"
#include "protocols/parts/shared_buffers.hpp"

namespace twinlink {

/// To the side that moves the bytes: `length` bytes at `offset` of that buffer are mine.
struct Ready {
  std::uint64_t buffer = 0;  ///< SharedBuffers::Name::number
  std::uint64_t offset = 0;
  /// Distance from one message of a batch to the next, or 0 where each of the others has a `place` of its own.
  std::uint64_t length = 0;
  std::uint64_t whole = 0;  ///< of the message that they are a part of; batch_name() of a batch
};
/// The same at the first use of the buffer.
struct FirstReady {
  Ready ready;
  IpcHandle handle;
};

/// From the side that moves the bytes: it is done, or it is not and will not be.
struct Delivered {
  enum class Answer : std::uint8_t {
    done,
    wrong_size,  ///< the mover's message has another size
    not_opened   ///< the mover cannot open the buffer
  };
  std::uint64_t whole = 0;  ///< of the mover's message or batch
  Answer answer = Answer::done;
};

static_assert(sizeof(Ready) != kConnectMessageSize && sizeof(FirstReady) != kConnectMessageSize &&
              sizeof(Delivered) != kConnectMessageSize);

/// `ready` for the peer. A control message takes longer with every cache line of it that goes from core to core, so
/// that the handle goes only once. Errors are those of Rank::export_memory().
inline ControlMessage ready_message(SharedBuffers& shared, const View& mine, Bytes length, std::uint64_t whole) {
  const auto [number, handle] = shared.name_of(mine.buffer);
  const Ready ready{number, mine.offset.count(), length.count(), whole};
  return handle ? ControlMessage(FirstReady{ready, *handle}) : ControlMessage(ready);
}

/// What the peer has sent so.
struct ReceivedReady : Ready {
  std::optional<IpcHandle> handle{};
  [[nodiscard]] SharedBuffers::Name name() const { return {.number = buffer, .handle = handle}; }
};
/// A UsageError for a message of another size.
inline ReceivedReady received_ready(const ControlMessage& message) {
  if (message.bytes().size() != sizeof(FirstReady)) return {message.as<Ready>()};
  const auto first = message.as<FirstReady>();
  return {first.ready, first.handle};
}

}  // namespace twinlink
