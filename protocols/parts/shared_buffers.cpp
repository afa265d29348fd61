#include "protocols/parts/shared_buffers.hpp"

#include <algorithm>
#include <exception>
#include <string>

namespace twinlink {

SharedBuffers::~SharedBuffers() {
  // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const Theirs& opened : opened_) rank_.close_memory(opened.buffer);
}

SharedBuffers::Name SharedBuffers::name_of(const Buffer& buffer) {
  if (std::ranges::find(exported_, buffer) != exported_.end()) return {.number = buffer.id};
  const IpcHandle handle = rank_.export_memory(buffer);
  exported_.push_back(buffer);
  return {.number = buffer.id, .handle = handle};
}

Buffer SharedBuffers::open(const Name& name) {
  const auto known = std::ranges::find(opened_, name.number, &Theirs::number);
  if (known != opened_.end()) {
    if (!name.handle || *name.handle == known->handle) return known->buffer;
    throw UsageError("the peer sent a second handle of its buffer " + std::to_string(name.number));
  }
  if (!name.handle) {
    throw UsageError("the peer names its buffer " + std::to_string(name.number) + ", and has sent no handle of it");
  }
  const Buffer buffer = rank_.open_memory(peer_, *name.handle);
  opened_.push_back({.number = name.number, .handle = *name.handle, .buffer = buffer});
  return buffer;
}

}  // namespace twinlink
