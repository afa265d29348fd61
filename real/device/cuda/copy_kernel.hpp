// Copies by a kernel's loads and stores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

namespace twinlink::real {

/// Starts a kernel on `stream` that copies `size` bytes, 16 per thread where the addresses allow it. Both addresses
/// must be valid on the current device, and the bytes must not overlap.
cudaError_t launch_copy_kernel(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t stream);

/// What a kernel writes to host memory that the device reaches, by the device's address.
struct Raise {
  std::uint64_t* word;
  std::uint64_t value;
};
/// Starts a kernel that copies `size` bytes, which may be none, and then raises `flag`: whoever sees it sees the bytes,
/// on every device and on the host. Then it raises `own`, which tells the caller sooner than an event, for that waits
/// until the kernel is gone. `queue` is a number below kRaisingQueues: kernels of the same number must follow each
/// other.
cudaError_t launch_copy_and_raise(std::byte* to, const std::byte* from, std::size_t size, Raise flag, Raise own,
                                  unsigned queue, cudaStream_t stream);
inline constexpr unsigned kRaisingQueues = 16;

/// A piece of a copy whose bytes lie apart, in bytes from `to` and `from`.
struct Extent {
  std::uint64_t to;
  std::uint64_t from;
  std::uint64_t length;
};
/// Copies `count` pieces, which are listed in the device's memory.
cudaError_t launch_extents_kernel(std::byte* to, const std::byte* from, const Extent* extents, std::size_t count,
                                  cudaStream_t stream);
/// Copies `count` pieces of `first.length` bytes; each begins the given pitches after the one before it.
cudaError_t launch_rows_kernel(std::byte* to, const std::byte* from, Extent first, std::uint64_t to_pitch,
                               std::uint64_t from_pitch, std::size_t count, cudaStream_t stream);

/// Adds `size` bytes of numbers of 64 bits to those at `to`. Both addresses are multiples of 8.
cudaError_t launch_add_kernel(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t stream);

/// One thread that does nothing for `nanoseconds` of the device's own clock, whose steps are a microsecond on old GPUs.
cudaError_t launch_spinning_kernel(std::uint64_t nanoseconds, cudaStream_t stream);

}  // namespace twinlink::real
