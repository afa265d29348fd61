#include "real/device/pinned_memory.hpp"

#include <iterator>

#include "protocols/core/errors.hpp"
#include "real/device/device_runtime.hpp"

namespace twinlink::real {

void PinnedMemory::pin(const std::byte* memory, Bytes size) {
  if (size == Bytes{}) throw EnvironmentError("pin", "there is nothing to page-lock");
  const auto behind = sizes_.lower_bound(memory + size.count());
  if (behind != sizes_.begin()) {
    const auto& [start, length] = *std::prev(behind);
    if (start + length > memory) throw EnvironmentError("pin", "some of this memory is page-locked already");
  }
  sizes_.emplace_hint(behind, memory, size.count());
}

void PinnedMemory::unpin(const std::byte* memory) {
  if (sizes_.erase(memory) == 0) throw EnvironmentError("unpin", "no page-locked memory begins here");
}

bool PinnedMemory::reaches(const std::byte* memory, std::size_t size) const {
  const auto behind = sizes_.upper_bound(memory);
  if (behind == sizes_.begin()) return false;
  const auto& [start, length] = *std::prev(behind);
  return memory + size <= start + length;
}

void PinnedMemory::require(const Flag& flag) const {
  if (reaches(static_cast<const std::byte*>(static_cast<const void*>(flag.word)), sizeof *flag.word)) return;
  throw EnvironmentError("copy_and_raise", "the flag lies in memory that is not page-locked");
}

}  // namespace twinlink::real
