// The one way in which calls of CUDA are checked.
#pragma once

#include <cuda_runtime_api.h>

#include <source_location>

namespace twinlink::real {

/// An EnvironmentError with the place, the call and CUDA's own text, unless `code` is cudaSuccess.
void check_cuda(cudaError_t code, const char* call, std::source_location where = std::source_location::current());

}  // namespace twinlink::real
