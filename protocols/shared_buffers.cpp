#include "protocols/shared_buffers.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace twinlink {

SharedBuffers::~SharedBuffers() {
  // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const Theirs& known : theirs_) {
    if (known.buffer) rank_.close_memory(*known.buffer);
  }
}

SharedBuffers::Name SharedBuffers::name_of(const Buffer& buffer) {
  const auto known = std::ranges::find(exported_, buffer);
  const Name name{.number = static_cast<std::uint64_t>(known - exported_.begin())};
  if (known != exported_.end()) return name;
  const IpcHandle handle = rank_.export_memory(buffer);
  exported_.push_back(buffer);
  return {.number = name.number, .handle = handle};
}

void SharedBuffers::learn(std::uint64_t number, const IpcHandle& handle) {
  const auto known = std::ranges::find(theirs_, number, &Theirs::number);
  if (known == theirs_.end()) {
    theirs_.push_back({.number = number, .handle = handle});
    return;
  }
  if (known->buffer) rank_.close_memory(*known->buffer);
  *known = {.number = number, .handle = handle};
}

Buffer SharedBuffers::open(std::uint64_t number) {
  const auto known = std::ranges::find(theirs_, number, &Theirs::number);
  if (known == theirs_.end()) {
    throw UsageError("the peer names its buffer " + std::to_string(number) + ", and has told no handle of it");
  }
  if (!known->buffer) known->buffer = rank_.open_memory(peer_, known->handle);
  return *known->buffer;
}

}  // namespace twinlink
