#include "protocols/parts/attached_buffer.hpp"

#include <exception>
#include <string>

namespace twinlink {

AttachedBuffer::~AttachedBuffer() {
  // While an exception passes, operations may still use the memory; the rank frees it when it ends.
  if (memory_.id != 0 && std::uncaught_exceptions() == 0) rank_.release(memory_);
}

Outcome AttachedBuffer::take(std::span<const View> messages) {
  make_room(messages);
  messages_.clear();
  rank_.step("copy to attached");
  Bytes at{};
  for (const View& message : messages) {
    messages_.emplace_back(memory_, at, message.length);
    at += message.length;
    const Op copied = rank_.copy(messages_.back(), message, Stream{0}, Engine::dma);
    const Status status = wait(rank_, copied, rank_.now() + timeout_);
    if (status != Status::delivered) return {status, "step 'copy to attached': " + std::string(to_string(status))};
  }
  return {};
}

void AttachedBuffer::make_room(std::span<const View> messages) {
  Bytes needed{};
  for (const View& message : messages) needed += message.length;
  if (memory_.id != 0 && memory_.size >= needed) return;
  if (memory_.id != 0) rank_.release(memory_);
  memory_ = rank_.allocate(Memory::pageable, needed);
}

}  // namespace twinlink
