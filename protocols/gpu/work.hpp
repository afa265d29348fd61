// Work: a program with the memory that it is to run on. What Rank::launch() takes.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "protocols/core/rank.hpp"
#include "protocols/gpu/program.hpp"

namespace twinlink::gpu {

/// The FIFOs of a connection with one peer, of all channels one behind the other (fifo_room()).
struct Link {
  View mine{};    ///< that the peer fills: memory of this rank
  View theirs{};  ///< that this rank fills: memory of the peer, which is opened
  /// By channel, slots that have passed each way before.
  std::span<const std::uint64_t> sent{};
  std::span<const std::uint64_t> received{};
};

struct Work {
  Program program{};
  View input{};   ///< device memory of this rank, as the output is
  View output{};  ///< of a ring the same bytes
  std::span<const Link> links{};
};

std::string_view to_string(LineFormat format);
std::string_view to_string(Operation operation);
/// "all-reduce ll128 rank 1 of 4, 1024 B, 2 channels": what traces say.
std::string describe(const Work& work);

/// What every backend checks: a UsageError for a program that makes no sense, sizes that are no multiple of an element
/// where elements are added up, buffers that overlap, and FIFOs that are too small.
void require_work(const Work& work);

}  // namespace twinlink::gpu
