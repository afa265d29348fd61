#include "protocols/heap/heap_room.hpp"

#include <algorithm>

namespace twinlink {

template <class Visit>
void HeapRoom::each_gap(Visit visit) const {
  Bytes begin{};
  for (const auto& [offset, length] : taken_) {
    if (begin < offset && visit(begin, offset)) return;
    begin = offset + length;
  }
  if (begin < size_) visit(begin, size_);
}

std::optional<Bytes> HeapRoom::take(Bytes size, Bytes alignment) {
  const std::uint64_t mask = alignment.count() - 1;
  std::optional<Bytes> place;
  each_gap([&](Bytes begin, Bytes end) {
    const Bytes aligned{(begin.count() + mask) & ~mask};
    if (aligned > end || end - aligned < size) return false;
    place = aligned;
    return true;
  });
  if (!place) return std::nullopt;
  taken_.emplace(*place, size);
  used_ += size;
  return place;
}

bool HeapRoom::give_back(Bytes offset) {
  const auto found = taken_.find(offset);
  if (found == taken_.end()) return false;
  used_ = used_ - found->second;
  taken_.erase(found);
  return true;
}

Bytes HeapRoom::longest() const {
  Bytes longest{};
  each_gap([&](Bytes begin, Bytes end) {
    longest = std::max(longest, end - begin);
    return false;
  });
  return longest;
}

}  // namespace twinlink
