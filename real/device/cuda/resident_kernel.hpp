// A kernel that stays on the GPU and takes its orders from page-locked memory: a copy costs no launch.
//
// It occupies one multiprocessor of the device for as long as it stays (kResidentThreads threads of one block), and
// reads over PCIe all the time. Calls of CUDA that wait for all of the device's work would wait for ever: stop() comes
// first.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>

#include "real/device/cuda/mapped_memory.hpp"

namespace twinlink::real {

inline constexpr unsigned kResidentThreads = 1024;

/// What the kernel is told to do. Every word carries the low 16 bits of the order's number above 48 bits of content, so
/// that an order which is only partly there is not taken for whole: each word by itself is read and written at once.
/// One cache line, which the kernel reads in one transaction.
struct alignas(64) ResidentOrder {
  enum Word { to, from, size, flag, flag_low, flag_high, action, unused, words };
  std::uint64_t word[words];  // NOLINT(modernize-avoid-c-arrays): device code has no std::array
};
inline constexpr std::uint64_t kResidentCopy = 1;
inline constexpr std::uint64_t kResidentStop = 2;
inline constexpr int kOrderContentBits = 48;
/// So many orders may wait.
inline constexpr std::uint64_t kResidentOrders = 64;

/// Starts the kernel, which begins with order number `first`: `orders` is a ring of kResidentOrders, `done` is where it
/// writes the number of each order that it has carried out. Both are device addresses of host memory.
cudaError_t launch_resident_kernel(ResidentOrder* orders, std::uint64_t* done, std::uint64_t first,
                                   cudaStream_t stream);

/// For the current device, which must stay the same. Not thread-safe. A failing call is an EnvironmentError.
class ResidentKernel {
 public:
  ResidentKernel();
  ~ResidentKernel();
  ResidentKernel(const ResidentKernel&) = delete;
  ResidentKernel& operator=(const ResidentKernel&) = delete;

  /// Orders a copy, and behind it that `value` be written to `flag` where that is not null: whoever sees the flag sees
  /// the bytes. All are device addresses that kernels of this device reach. Returns the number of the order; orders are
  /// carried out one after the other. Starts the kernel if it is not there. Waits while kResidentOrders are under way.
  std::uint64_t order(std::byte* to, const std::byte* from, std::size_t size, std::uint64_t* flag, std::uint64_t value);
  /// Has it been carried out?
  [[nodiscard]] bool ended(std::uint64_t order);
  void wait(std::uint64_t order);
  /// Lets the kernel end, once it has done what was ordered. The next order starts it again.
  void stop();

 private:
  void give(std::uint64_t action, std::uint64_t to, std::uint64_t from, std::uint64_t size, std::uint64_t flag,
            std::uint64_t value);

  MappedArray<ResidentOrder> orders_{kResidentOrders + 1};  ///< the last has the word of `done`
  std::uint64_t& done_ = orders_.here()[kResidentOrders].word[0];
  cudaStream_t stream_ = nullptr;
  std::uint64_t given_ = 0;
  KernelCounts counts_;
  bool running_ = false;
};

}  // namespace twinlink::real
