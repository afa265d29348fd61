#include "real/device/cuda/cuda_driver.hpp"

#include <fmt/format.h>

#include "protocols/core/errors.hpp"
#include "real/device/cuda/cuda_check.hpp"

namespace twinlink::real {
namespace {

template <class Function>
Function find(const char* name) {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
#if CUDART_VERSION >= 12050
  // CUDA 11.7: the form of cuStreamWriteValue64 that needs no attribute of the device.
  constexpr unsigned kSince = 11070;
  check_cuda(cudaGetDriverEntryPointByVersion(name, &function, kSince, cudaEnableDefault, &found),
             "cudaGetDriverEntryPointByVersion");
#else
  check_cuda(cudaGetDriverEntryPoint(name, &function, cudaEnableDefault, &found), "cudaGetDriverEntryPoint");
#endif
  if (found != cudaDriverEntryPointSuccess) {
    throw EnvironmentError("cudaGetDriverEntryPoint", fmt::format("this driver has no {}", name));
  }
  return reinterpret_cast<Function>(function);
}

CUdeviceptr address(const void* memory) { return reinterpret_cast<CUdeviceptr>(memory); }

/// The driver's codes are those of the runtime.
cudaError_t code(CUresult result) { return static_cast<cudaError_t>(result); }

}  // namespace

CudaDriver::CudaDriver()
    : copy_(find<decltype(copy_)>("cuMemcpyAsync")),
      write_value_(find<decltype(write_value_)>("cuStreamWriteValue64")),
      record_(find<decltype(record_)>("cuEventRecord")),
      query_(find<decltype(query_)>("cuEventQuery")) {}

void CudaDriver::copy(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t queue) const {
  check_cuda(code(copy_(address(to), address(from), size, queue)), "cuMemcpyAsync");
}

void CudaDriver::write_value(std::uint64_t* word, std::uint64_t value, cudaStream_t queue) const {
  check_cuda(code(write_value_(queue, address(word), value, CU_STREAM_WRITE_VALUE_DEFAULT)), "cuStreamWriteValue64");
}

void CudaDriver::record(cudaEvent_t event, cudaStream_t queue) const {
  check_cuda(code(record_(event, queue)), "cuEventRecord");
}

bool CudaDriver::ended(cudaEvent_t event) const {
  const CUresult result = query_(event);
  if (result == CUDA_ERROR_NOT_READY) return false;
  check_cuda(code(result), "cuEventQuery");
  return true;
}

}  // namespace twinlink::real
