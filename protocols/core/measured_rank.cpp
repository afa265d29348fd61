#include "protocols/core/measured_rank.hpp"

#include <string>

namespace twinlink {

Op MeasuredRank::add(View to, View from, Stream stream) {
  require_transfer(to, from, stream);
  constexpr std::uint64_t kElement = sizeof(std::uint64_t);
  if ((to.buffer.memory == Memory::device) != (from.buffer.memory == Memory::device)) {
    throw UsageError("a GPU adds up device memory only, and a CPU host memory only");
  }
  for (const View& view : {to, from}) {
    if (view.offset.count() % kElement == 0 && view.length.count() % kElement == 0) continue;
    throw UsageError("elements of 8 B are added up, and " + std::to_string(view.length.count()) + " B at byte " +
                     std::to_string(view.offset.count()) + " are not whole ones");
  }
  return start_add(to, from, stream);
}

Op MeasuredRank::transform(View data, const Transform& transform, Stream stream) {
  require_stream(stream);
  if (data.buffer.memory != Memory::device) throw UsageError("a GPU transforms device memory only");
  require_transform(transform, data.length);
  if (const Answer can = transforms(); !can) throw UnavailableError("no transforms here: " + can.reason);
  return start_transform(data, transform, stream);
}

Op MeasuredRank::start_transform(View /*data*/, const Transform& /*transform*/, Stream /*stream*/) {
  throw UnavailableError("nothing here transforms numbers");
}

void MeasuredRank::write(View /*to*/, std::span<const std::byte> /*bytes*/) {
  throw UsageError("memory without bytes cannot be written");
}

void MeasuredRank::read(View /*from*/, std::span<std::byte> /*bytes*/) {
  throw UsageError("memory without bytes cannot be read");
}

void require_compute(Seconds duration, Stream stream) {
  if (stream != kOnHost) require_stream(stream);
  if (duration >= Seconds{}) return;
  throw UsageError("a GPU cannot compute for less than no time");
}

}  // namespace twinlink
