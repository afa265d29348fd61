#include "protocols/core/rank.hpp"

#include <algorithm>
#include <cassert>

namespace twinlink {

std::string_view to_string(Memory memory) {
  switch (memory) {
    case Memory::device:
      return "device";
    case Memory::pinned:
      return "pinned";
    case Memory::pageable:
      return "pageable";
    case Memory::shared_pinned:
      return "shared pinned";
  }
  assert(false);
  return "";
}

std::string to_string(const Verdict& verdict) {
  const std::string offset = std::to_string(verdict.first_bad.count());
  switch (verdict.kind) {
    case Verdict::Kind::intact:
      return "intact";
    case Verdict::Kind::dropped:
      return "dropped at byte " + offset;
    case Verdict::Kind::scrambled:
      return "scrambled at byte " + offset;
  }
  assert(false);
  return "";
}

void Message::assign(std::span<const std::byte> content) {
  assert(content.size() <= kCapacity);
  std::copy(content.begin(), content.end(), bytes_.begin());
  size_ = content.size();
}

void require_signal(const Signal& signal) {
  if (signal.tag.value < 0 || signal.tag.value >= kSignalTags) {
    throw UsageError("there is no signal " + std::to_string(signal.tag.value) + "; signals are 0 to " +
                     std::to_string(kSignalTags - 1));
  }
  if (signal.value > kMostSignal) {
    throw UsageError("a signal carries 48 bits, and " + std::to_string(signal.value) + " needs more");
  }
}

Status wait(Rank& rank, Op op, Seconds deadline) {
  std::optional<Completion> completion;
  try {
    completion = rank.wait_any({&op, 1}, deadline);
  } catch (...) {
    // What it reads or writes may be gone when the exception has passed on.
    rank.abandon(op);
    throw;
  }
  if (completion) return completion->status;
  rank.abandon(op);
  return Status::timed_out;
}

}  // namespace twinlink
