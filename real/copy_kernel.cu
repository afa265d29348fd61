#include <algorithm>
#include <cstdint>

#include "real/copy_kernel.hpp"

namespace twinlink::real {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;  // beyond that each thread takes several turns

template <class Word>
__global__ void copy_words(Word* __restrict__ to, const Word* __restrict__ from, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

template <class Word>
cudaError_t launch(std::byte* to, const std::byte* from, std::size_t count, cudaStream_t stream) {
  if (count == 0) return cudaSuccess;
  cudaGetLastError();  // a query that said "not ready" left that behind
  const std::size_t blocks = std::min((count + kThreads - 1) / kThreads, kMostBlocks);
  copy_words<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(reinterpret_cast<Word*>(to),
                                                                     reinterpret_cast<const Word*>(from), count);
  return cudaGetLastError();
}

}  // namespace

cudaError_t launch_copy_kernel(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t stream) {
  constexpr std::size_t kWord = sizeof(uint4);
  const bool aligned = (reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % kWord == 0;
  const std::size_t words = aligned ? size / kWord : 0;
  const cudaError_t error = launch<uint4>(to, from, words, stream);
  if (error != cudaSuccess) return error;
  return launch<unsigned char>(to + words * kWord, from + words * kWord, size - words * kWord, stream);
}

}  // namespace twinlink::real
