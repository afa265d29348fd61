#include "real/device/cuda/cuda_check.hpp"

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

namespace twinlink::real {

void check_cuda(cudaError_t code, const char* call, std::source_location where) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the next call must not find this error again
  throw EnvironmentError(call, fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)), where);
}

}  // namespace twinlink::real
