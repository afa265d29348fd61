// Copies by a kernel's loads and stores.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>

namespace twinlink::real {

/// Starts a kernel on `stream` that copies `size` bytes, 16 per thread where the addresses allow it. Both addresses
/// must be valid on the current device, and the bytes must not overlap.
cudaError_t launch_copy_kernel(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t stream);

}  // namespace twinlink::real
