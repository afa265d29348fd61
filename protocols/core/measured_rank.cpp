#include "protocols/core/measured_rank.hpp"

#include <string>

namespace twinlink {

Buffer MeasuredRank::allocate_beside(RankId peer, Bytes) {
  throw UnavailableError("this process does not drive the GPU of rank " + std::to_string(peer.value));
}

Op MeasuredRank::add(View to, View from, Stream stream) {
  require_transfer(to, from, stream);
  constexpr std::uint64_t kElement = sizeof(std::uint64_t);
  for (const View& view : {to, from}) {
    if (view.buffer.memory != Memory::device) throw UsageError("a GPU adds up device memory only");
    if (view.offset.count() % kElement == 0 && view.length.count() % kElement == 0) continue;
    throw UsageError("a GPU adds up elements of 8 B, and " + std::to_string(view.length.count()) + " B at byte " +
                     std::to_string(view.offset.count()) + " are not whole ones");
  }
  return start_add(to, from, stream);
}

void require_compute(Seconds duration, Stream stream) {
  if (stream != kOnHost) require_stream(stream);
  if (duration >= Seconds{}) return;
  throw UsageError("a GPU cannot compute for less than no time");
}

}  // namespace twinlink
