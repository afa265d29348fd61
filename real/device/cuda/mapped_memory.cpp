#include "real/device/cuda/mapped_memory.hpp"

#include <atomic>
#include <cstring>

#include "real/device/cuda/cuda_check.hpp"

namespace twinlink::real {

MappedMemory::MappedMemory(std::size_t size) {
  void* memory = nullptr;
  check_cuda(cudaHostAlloc(&memory, size, cudaHostAllocMapped), "cudaHostAlloc");
  here_.reset(static_cast<std::byte*>(memory));
  std::memset(memory, 0, size);
  void* there = nullptr;
  check_cuda(cudaHostGetDevicePointer(&there, memory, 0), "cudaHostGetDevicePointer");
  there_ = static_cast<std::byte*>(there);
}

bool KernelCounts::reached(std::uint64_t& word, std::uint64_t number, cudaStream_t stream, const char* kernel) {
  if (std::atomic_ref(word).load(std::memory_order_acquire) >= number) return true;
  constexpr unsigned kLooks = 4096;
  if (++looks_ % kLooks == 0) {
    const cudaError_t code = cudaStreamQuery(stream);
    if (code != cudaErrorNotReady) check_cuda(code, kernel);
  }
  return false;
}

}  // namespace twinlink::real
