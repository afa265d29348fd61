#include "protocols/parts/staging_buffers.hpp"

#include <algorithm>
#include <exception>

namespace twinlink {

StagingBuffers::~StagingBuffers() {
  // While an exception passes, operations may still use the buffers; the rank frees them when it ends.
  if (std::uncaught_exceptions() == 0) release_all();
}

void StagingBuffers::reserve(const std::vector<View>& pieces, std::size_t slots) {
  slots = std::min(slots, pieces.size());
  Bytes largest{};
  for (const View& piece : pieces) largest = std::max(largest, piece.length);
  if (buffers_.size() >= slots && (buffers_.empty() || buffers_[0].size >= largest)) return;
  if (!buffers_.empty()) {
    largest = std::max(largest, buffers_[0].size);
    slots = std::max(slots, buffers_.size());
  }
  release_all();
  for (std::size_t slot = 0; slot < slots; ++slot) buffers_.push_back(rank_.allocate(memory_, largest));
}

void StagingBuffers::release_all() {
  for (const Buffer& buffer : buffers_) rank_.release(buffer);
  buffers_.clear();
}

}  // namespace twinlink
