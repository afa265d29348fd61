#include "real/device/cuda/resident_kernel.hpp"

#include <atomic>
#include <cstdlib>
#include <initializer_list>
#include <string_view>

#include "protocols/core/errors.hpp"
#include "real/device/cuda/cuda_check.hpp"

namespace twinlink::real {
namespace {

/// What an address or a size must stay below.
constexpr std::uint64_t kContentEnd = std::uint64_t{1} << kOrderContentBits;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

}  // namespace

ResidentKernel::ResidentKernel() {
  check_cuda(cudaStreamCreateWithFlags(&stream_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
}

ResidentKernel::~ResidentKernel() {
  try {
    stop();
  } catch (const Error&) {
    // The device is in error; the process ends, and the driver takes everything back.
  }
  cudaStreamDestroy(stream_);
}

void ResidentKernel::give(std::uint64_t action, std::uint64_t to, std::uint64_t from, std::uint64_t size,
                          std::uint64_t flag, std::uint64_t value) {
  for (const std::uint64_t content : {to, from, size, flag}) {
    if (content >= kContentEnd) throw EnvironmentError("resident kernel", "an address has more than 48 bits");
  }
  while (given_ - std::atomic_ref(done_).load(std::memory_order_acquire) == kResidentOrders) {
    static_cast<void>(ended(given_));  // which finds out if the kernel is no more
  }
  ++given_;
  std::uint64_t* const words = orders_.here()[given_ % kResidentOrders].word;
  const auto write = [&](ResidentOrder::Word word, std::uint64_t content) {
    std::atomic_ref(words[word]).store((given_ & 0xFFFF) << kOrderContentBits | content, std::memory_order_relaxed);
  };
  write(ResidentOrder::to, to);
  write(ResidentOrder::from, from);
  write(ResidentOrder::size, size);
  write(ResidentOrder::flag, flag);
  write(ResidentOrder::flag_low, value & (kContentEnd - 1));
  write(ResidentOrder::flag_high, value >> kOrderContentBits);
  write(ResidentOrder::unused, 0);
  // What the CPU has written before, such as host memory that is to be copied, is to be seen with the order.
  std::atomic_thread_fence(std::memory_order_release);
  write(ResidentOrder::action, action);
}

std::uint64_t ResidentKernel::order(std::byte* to, const std::byte* from, std::size_t size, std::uint64_t* flag,
                                    std::uint64_t value) {
  if (!running_) {
    const char* const blocking = std::getenv("CUDA_LAUNCH_BLOCKING");
    if (blocking != nullptr && std::string_view(blocking) != "0") {
      throw UnavailableError("a resident kernel cannot run where launches wait for the kernel (CUDA_LAUNCH_BLOCKING)");
    }
    ResidentOrder* const there = orders_.there();
    check_cuda(launch_resident_kernel(there, there[kResidentOrders].word, given_ + 1, stream_), "resident kernel");
    running_ = true;
  }
  give(kResidentCopy, address_of(to), address_of(from), size, address_of(flag), value);
  return given_;
}

bool ResidentKernel::ended(std::uint64_t order) { return counts_.reached(done_, order, stream_, "resident kernel"); }

void ResidentKernel::wait(std::uint64_t order) {
  while (!ended(order)) {
  }
}

void ResidentKernel::stop() {
  if (!running_) return;
  give(kResidentStop, 0, 0, 0, 0, 0);
  running_ = false;
  check_cuda(cudaStreamSynchronize(stream_), "resident kernel");
}

}  // namespace twinlink::real
