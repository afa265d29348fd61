#include <algorithm>
#include <cstdint>

#include "real/device/cuda/copy_by_block.cuh"
#include "real/device/cuda/copy_kernel.hpp"

namespace twinlink::real {
namespace {

constexpr unsigned kThreads = 256;
constexpr std::size_t kMostBlocks = 4096;  // beyond that each thread takes several turns

template <class Word>
__global__ void copy_words(Word* __restrict__ to, const Word* __restrict__ from, std::size_t count) {
  const std::size_t step = std::size_t{gridDim.x} * blockDim.x;
  for (std::size_t i = std::size_t{blockIdx.x} * blockDim.x + threadIdx.x; i < count; i += step) to[i] = from[i];
}

/// By queue: how many blocks of threads of its kernel are done. The last one sets it back.
__device__ unsigned blocks_done[kRaisingQueues];

/// Each block of threads copies `share` bytes, the last one what is left.
__global__ void copy_and_raise(char* to, const char* from, std::size_t size, std::size_t share, Raise flag, Raise own,
                               unsigned queue) {
  const std::size_t begin = blockIdx.x * share;
  copy_by_block(to + begin, from + begin, min(share, size - begin));
  __syncthreads();  // all threads have stored ...
  if (threadIdx.x != 0) return;
  __threadfence_system();  // ... and what this one knows of is seen everywhere before what it writes now
  if (gridDim.x > 1) {
    if (atomicAdd(&blocks_done[queue], 1U) + 1 < gridDim.x) return;
    blocks_done[queue] = 0;
    __threadfence_system();  // what the others have stored, which was seen by this thread, comes before the flags
  }
  *static_cast<volatile std::uint64_t*>(flag.word) = flag.value;
  *static_cast<volatile std::uint64_t*>(own.word) = own.value;
}

__global__ void copy_extents(char* to, const char* from, const Extent* extents, std::size_t count) {
  for (std::size_t i = blockIdx.x; i < count; i += gridDim.x) {
    const Extent e = extents[i];
    copy_by_block(to + e.to, from + e.from, e.length);
  }
}

__global__ void copy_rows(char* to, const char* from, Extent first, std::uint64_t to_pitch, std::uint64_t from_pitch,
                          std::size_t count) {
  for (std::size_t i = blockIdx.x; i < count; i += gridDim.x) {
    copy_by_block(to + first.to + i * to_pitch, from + first.from + i * from_pitch, first.length);
  }
}

__global__ void add_elements(ulonglong2* to, const ulonglong2* from, std::size_t pairs, std::uint64_t* last_to,
                             const std::uint64_t* last_from) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < pairs; i += threads) {
    const ulonglong2 a = to[i];
    const ulonglong2 b = from[i];
    to[i] = {a.x + b.x, a.y + b.y};
  }
  if (last_to != nullptr && blockIdx.x == 0 && threadIdx.x == 0) *last_to += *last_from;
}

__global__ void add_single_elements(std::uint64_t* to, const std::uint64_t* from, std::size_t count) {
  const std::size_t threads = static_cast<std::size_t>(gridDim.x) * blockDim.x;
  for (std::size_t i = blockIdx.x * static_cast<std::size_t>(blockDim.x) + threadIdx.x; i < count; i += threads) {
    to[i] += from[i];
  }
}

__device__ std::uint64_t nanoseconds_now() {
  std::uint64_t now;
  asm volatile("mov.u64 %0, %globaltimer;" : "=l"(now));
  return now;
}

__global__ void spin(std::uint64_t nanoseconds) {
  const std::uint64_t start = nanoseconds_now();
  while (nanoseconds_now() - start < nanoseconds) {
  }
}

char* chars(std::byte* p) { return reinterpret_cast<char*>(p); }
const char* chars(const std::byte* p) { return reinterpret_cast<const char*>(p); }

unsigned blocks_for(std::size_t count) { return static_cast<unsigned>(std::min(count, kMostBlocks)); }
/// As many threads as a piece has words, in whole warps.
unsigned threads_for(std::size_t length) {
  constexpr std::size_t kWarp = 32;
  const std::size_t words = std::max<std::size_t>((length + sizeof(uint4) - 1) / sizeof(uint4), 1);
  return static_cast<unsigned>(std::min<std::size_t>((words + kWarp - 1) / kWarp * kWarp, 4 * kThreads));
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

cudaError_t launch_copy_and_raise(std::byte* to, const std::byte* from, std::size_t size, Raise flag, Raise own,
                                  unsigned queue, cudaStream_t stream) {
  // What the threads of one block move in one turn. Several blocks take 1.3 us longer, for the last one waits for all
  // others before it raises the flags; one block took 3 us longer for 64 KiB (H200 over NVLink).
  constexpr std::size_t kLeastShare = std::size_t{16} << 10;
  constexpr std::size_t kMostSharing = 1056;  // eight for each multiprocessor of a large GPU
  cudaGetLastError();
  const std::size_t sharing = std::clamp<std::size_t>(size / kLeastShare, 1, kMostSharing);
  constexpr std::size_t kWord = sizeof(uint4);
  const std::size_t share = ((size + sharing - 1) / sharing + kWord - 1) / kWord * kWord;
  const auto blocks = static_cast<unsigned>(std::max<std::size_t>(share == 0 ? 1 : (size + share - 1) / share, 1));
  copy_and_raise<<<blocks, threads_for(share), 0, stream>>>(chars(to), chars(from), size, share, flag, own, queue);
  return cudaGetLastError();
}

cudaError_t launch_add_kernel(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t stream) {
  cudaGetLastError();
  auto* const into = reinterpret_cast<std::uint64_t*>(to);
  const auto* const what = reinterpret_cast<const std::uint64_t*>(from);
  const std::size_t count = size / sizeof *into;
  const std::size_t blocks = std::clamp<std::size_t>((count / 2 + kThreads - 1) / kThreads, 1, kMostBlocks);
  constexpr std::size_t kPair = sizeof(ulonglong2);
  if ((reinterpret_cast<std::uintptr_t>(to) | reinterpret_cast<std::uintptr_t>(from)) % kPair != 0) {
    add_single_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(into, what, count);
    return cudaGetLastError();
  }
  const bool odd = count % 2 != 0;
  add_elements<<<static_cast<unsigned>(blocks), kThreads, 0, stream>>>(
      reinterpret_cast<ulonglong2*>(to), reinterpret_cast<const ulonglong2*>(from), count / 2,
      odd ? into + count - 1 : nullptr, odd ? what + count - 1 : nullptr);
  return cudaGetLastError();
}

cudaError_t launch_spinning_kernel(std::uint64_t nanoseconds, cudaStream_t stream) {
  cudaGetLastError();
  spin<<<1, 1, 0, stream>>>(nanoseconds);
  return cudaGetLastError();
}

cudaError_t launch_extents_kernel(std::byte* to, const std::byte* from, const Extent* extents, std::size_t count,
                                  cudaStream_t stream) {
  cudaGetLastError();
  copy_extents<<<blocks_for(count), kThreads, 0, stream>>>(chars(to), chars(from), extents, count);
  return cudaGetLastError();
}

cudaError_t launch_rows_kernel(std::byte* to, const std::byte* from, Extent first, std::uint64_t to_pitch,
                               std::uint64_t from_pitch, std::size_t count, cudaStream_t stream) {
  cudaGetLastError();
  copy_rows<<<blocks_for(count), threads_for(first.length), 0, stream>>>(chars(to), chars(from), first, to_pitch,
                                                                         from_pitch, count);
  return cudaGetLastError();
}

}  // namespace twinlink::real
