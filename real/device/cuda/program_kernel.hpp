// Programs of thread blocks as kernels: protocols/gpu, a block for each channel.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "protocols/gpu/program.hpp"

namespace twinlink::real {

struct KernelLink {
  char* mine = nullptr;
  char* theirs = nullptr;
  char* window = nullptr;
};
/// Slots of one link and channel that have passed before.
struct KernelCount {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
};

/// What fits into the arguments of a kernel: three links of 32 channels. More would be for every launch to carry.
constexpr std::size_t kArgumentLinks = 3;
constexpr std::size_t kArgumentCounts = 96;
/// Ranks of a ring.
constexpr std::size_t kArgumentOrder = 16;

struct ProgramArguments {
  gpu::Program program{};
  char* input = nullptr;
  char* output = nullptr;
  /// Host memory that the device reads: the number of the last program that is given up, and this one's.
  const std::uint64_t* given_up = nullptr;
  std::uint64_t number = 0;
  std::uint64_t link_count = 0;
  // Of the FIFOs, so that no thread works it out; the launch sets these.
  std::uint64_t slot_room = 0;
  std::uint64_t fifo_room = 0;
  std::uint64_t slot_mask = 0;               ///< of a step, where slots are a power of two; 0: they are not
  const KernelLink* more_links = nullptr;    ///< device memory, instead of those below; null: there are none
  const KernelCount* more_counts = nullptr;  ///< likewise
  /// In a graph, whose counts are those of its beginning: what comes on top of them, and where the first program, which
  /// reads it from the host, leaves it for the others.
  const KernelCount* base = nullptr;
  KernelCount* kept = nullptr;
  // Where all channels are alike, as on a node with a switch, these say it, for a block begins by asking, and a list in
  // memory costs it half a microsecond each. Null beside zeros: the usual place in one ring, and ranks in their order.
  gpu::ChannelPosition position{};
  std::int32_t order[kArgumentOrder]{};  // NOLINT(modernize-avoid-c-arrays)
  bool has_position = false;
  bool has_order = false;
  const gpu::ChannelPosition* positions = nullptr;  ///< else by channel, device memory
  const std::int32_t* orders = nullptr;             ///< likewise, as gpu::Work has them
  const std::uint64_t* numbers = nullptr;           ///< as gpu::Work has them, device memory
  // Kernels index plain arrays.
  KernelLink links[kArgumentLinks]{};     // NOLINT(modernize-avoid-c-arrays)
  KernelCount counts[kArgumentCounts]{};  // NOLINT(modernize-avoid-c-arrays): by link, and there by channel
};
static_assert(sizeof(ProgramArguments) <= 4000);

/// Starts a kernel of a line format on `stream`; cudaGetLastError() says how that went. Its blocks wait for those of
/// peers, so all must have room on their GPUs at once.
void launch_simple_program(const ProgramArguments& arguments, cudaStream_t stream);
void launch_ll_program(const ProgramArguments& arguments, cudaStream_t stream);
void launch_ll128_program(const ProgramArguments& arguments, cudaStream_t stream);

}  // namespace twinlink::real
