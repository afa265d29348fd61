#include "real/device/cuda/copy_by_block.cuh"
#include "real/device/cuda/resident_kernel.hpp"

namespace twinlink::real {
namespace {

constexpr std::uint64_t kContent = (std::uint64_t{1} << kOrderContentBits) - 1;
constexpr unsigned kWarp = 32;

/// The first warp reads until order `number` is there: a word for each of its first threads, all in one transaction.
__device__ void take_order(const ResidentOrder* orders, std::uint64_t number, std::uint64_t* into) {
  const volatile std::uint64_t* const words = orders[number % kResidentOrders].word;
  const unsigned mine = threadIdx.x % ResidentOrder::words;  // several threads read the same word
  std::uint64_t word = 0;
  do {
    word = words[mine];
  } while (!__all_sync(0xFFFFFFFFU, word >> kOrderContentBits == (number & 0xFFFF)));
  if (threadIdx.x < ResidentOrder::words) into[mine] = word & kContent;
  __threadfence_system();  // what was written before the order is seen, by all threads behind the barrier that follows
}

__global__ void carry_out_orders(const ResidentOrder* orders, volatile std::uint64_t* done, std::uint64_t number) {
  __shared__ std::uint64_t order[ResidentOrder::words];
  for (;; ++number) {
    if (threadIdx.x < kWarp) take_order(orders, number, order);
    __syncthreads();
    if (order[ResidentOrder::action] == kResidentStop) break;
    copy_by_block(reinterpret_cast<char*>(order[ResidentOrder::to]),
                  reinterpret_cast<const char*>(order[ResidentOrder::from]), order[ResidentOrder::size]);
    __threadfence_system();  // every thread's own stores are seen everywhere ...
    __syncthreads();         // ... before the one thread goes on that tells of them
    if (threadIdx.x == 0) {
      auto* const flag = reinterpret_cast<volatile std::uint64_t*>(order[ResidentOrder::flag]);
      if (flag != nullptr) {
        *flag = order[ResidentOrder::flag_low] | order[ResidentOrder::flag_high] << kOrderContentBits;
      }
      *done = number;
    }
    __syncthreads();  // nobody reads the order any more
  }
  if (threadIdx.x == 0) *done = number;
}

}  // namespace

cudaError_t launch_resident_kernel(ResidentOrder* orders, std::uint64_t* done, std::uint64_t first,
                                   cudaStream_t stream) {
  cudaGetLastError();  // a query that said "not ready" left that behind
  carry_out_orders<<<1, kResidentThreads, 0, stream>>>(orders, done, first);
  return cudaGetLastError();
}

}  // namespace twinlink::real
