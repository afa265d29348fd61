#include "protocols/shared_buffers.hpp"

#include <exception>

namespace twinlink {

SharedBuffers::~SharedBuffers() {
  // While an exception passes, a copy may still use the memory; the rank closes it when it ends.
  if (std::uncaught_exceptions() > 0) return;
  for (const Known& opened : opened_) rank_.close_memory(opened.buffer);
}

IpcHandle SharedBuffers::handle_of(const Buffer& buffer) {
  for (const Known& known : exported_) {
    if (known.buffer == buffer) return known.handle;
  }
  exported_.push_back({buffer, rank_.export_memory(buffer)});
  return exported_.back().handle;
}

Buffer SharedBuffers::open(const IpcHandle& handle) {
  for (const Known& known : opened_) {
    if (known.handle == handle) return known.buffer;
  }
  opened_.push_back({rank_.open_memory(peer_, handle), handle});
  return opened_.back().buffer;
}

}  // namespace twinlink
