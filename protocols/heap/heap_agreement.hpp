// What all ranks of a job ask for in a collective call on a symmetric heap, and whether it is the same.
#pragma once

#include <cstdint>
#include <string>

#include "protocols/core/rank.hpp"

namespace twinlink {

struct HeapCall {
  enum class Kind : std::uint64_t { make, allocate, free, barrier, close };
  Kind kind = Kind::make;
  std::uint64_t size = 0;       ///< of the heap, or of what is allocated
  std::uint64_t alignment = 0;  ///< of what is allocated
  std::uint64_t offset = 0;     ///< of what is freed

  friend bool operator==(const HeapCall&, const HeapCall&) = default;
};
/// "allocates 4096 B, aligned to 256 B", of one rank.
std::string describe(const HeapCall& call);

/// All ranks of the job call it, in a tree of control messages. The same UsageError on all of them where two ranks have
/// different calls; it names both. An Error on whom a rank keeps waiting to the deadline.
void agree_on(Rank& rank, const HeapCall& call, Seconds deadline);

}  // namespace twinlink
