// The one way in which calls of CUDA are checked.
#pragma once

#include <source_location>

#include <fmt/format.h>

#include <cuda_runtime_api.h>

#include "protocols/core/errors.hpp"

namespace twinlink::real {

/// An EnvironmentError with the place, the call and CUDA's own text, unless `code` is cudaSuccess.
inline void check_cuda(cudaError_t code, const char* call,
                       std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the next call must not find this error again
  throw EnvironmentError(call, fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)), where);
}

}  // namespace twinlink::real
