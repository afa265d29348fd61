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

/// What fits into the arguments of a kernel, of which there are 4 KiB.
constexpr std::size_t kArgumentLinks = 3;
constexpr std::size_t kArgumentCounts = 140;

struct ProgramArguments {
  gpu::Program program{};
  char* input = nullptr;
  char* output = nullptr;
  /// Host memory that the device reads: the number of the last program that is given up, and this one's.
  const std::uint64_t* given_up = nullptr;
  std::uint64_t number = 0;
  const KernelLink* more_links = nullptr;    ///< device memory, instead of those below; null: there are no more
  const KernelCount* more_counts = nullptr;  ///< likewise
  const KernelCount* each = nullptr;         ///< what a run passes, of one that has others before it in its graph
  std::uint64_t runs_before = 0;
  const gpu::Stand* stands = nullptr;      ///< by channel, device memory; null: the usual place in one ring
  const std::int32_t* orders = nullptr;    ///< as gpu::Work has them, where `stands` is
  const std::uint64_t* numbers = nullptr;  ///< as gpu::Work has them, device memory
  // Kernels index plain arrays.
  KernelLink links[kArgumentLinks]{};     // NOLINT(modernize-avoid-c-arrays)
  KernelCount counts[kArgumentCounts]{};  // NOLINT(modernize-avoid-c-arrays): by link, and there by channel
};
static_assert(sizeof(ProgramArguments) <= 4000);

/// Starts a kernel on `stream`. Its blocks wait for those of peers, so all must have room on their GPUs at once.
cudaError_t launch_program_kernel(const ProgramArguments& arguments, cudaStream_t stream);

}  // namespace twinlink::real
