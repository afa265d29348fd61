// What the kernels share: a copy by all threads of one block.
#pragma once

#include <cstddef>
#include <cstdint>

namespace twinlink::real {

/// All threads of one block copy `size` bytes. Each thread has up to kInFlight words under way before it stores the
/// first: a load over a link takes about as long as many of them.
inline __device__ void copy_by_block(char* to, const char* from, std::size_t size) {
  constexpr unsigned kInFlight = 4;
  const std::size_t at = threadIdx.x;
  std::size_t done = 0;
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % sizeof(uint4) == 0) {
    const std::size_t words = size / sizeof(uint4);
    auto* const to_words = reinterpret_cast<uint4*>(to);
    const auto* const from_words = reinterpret_cast<const uint4*>(from);
    std::size_t i = at;
    for (; i + std::size_t{kInFlight - 1} * blockDim.x < words; i += std::size_t{kInFlight} * blockDim.x) {
      uint4 held[kInFlight];
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) held[k] = from_words[i + std::size_t{k} * blockDim.x];
#pragma unroll
      for (unsigned k = 0; k < kInFlight; ++k) to_words[i + std::size_t{k} * blockDim.x] = held[k];
    }
    for (; i < words; i += blockDim.x) to_words[i] = from_words[i];
    done = words * sizeof(uint4);
  }
  for (std::size_t i = done + at; i < size; i += blockDim.x) to[i] = from[i];
}

}  // namespace twinlink::real
