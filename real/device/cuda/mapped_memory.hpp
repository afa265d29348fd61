// Host memory that kernels of the current device reach, and the numbers that they leave there.
#pragma once

#include <cuda_runtime_api.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <type_traits>

namespace twinlink::real {

/// Page-locked host memory that the current device reads and writes, all zeroes at first. Freed at the end, for which
/// the driver may wait for all of the device's work. Included where nvcc compiles, so C++17.
class MappedMemory {
 public:
  /// No bytes, and no driver.
  MappedMemory() = default;
  /// Maps `size` bytes. A failing call is an EnvironmentError.
  explicit MappedMemory(std::size_t size);

  /// Where this process finds it; null if there are no bytes.
  [[nodiscard]] std::byte* here() const { return here_.get(); }
  /// Where kernels of the device find it.
  [[nodiscard]] std::byte* there() const { return there_; }

 private:
  struct Free {
    void operator()(std::byte* memory) const { cudaFreeHost(memory); }
  };
  std::unique_ptr<std::byte, Free> here_;
  std::byte* there_ = nullptr;
};

/// The same as a number of objects.
template <class T>
class MappedArray {
  static_assert(std::is_trivially_copyable_v<T>, "zeroes make an object, and nobody destroys it");

 public:
  MappedArray() = default;
  explicit MappedArray(std::size_t count) : memory_(count * sizeof(T)) {}

  [[nodiscard]] T* here() const { return reinterpret_cast<T*>(memory_.here()); }
  [[nodiscard]] T* there() const { return reinterpret_cast<T*>(memory_.there()); }

 private:
  MappedMemory memory_;
};

/// Looks at words of mapped memory in which kernels count up.
class KernelCounts {
 public:
  /// Has a kernel of `stream` written `number` or more to `word`? One that has failed never will: so the driver is
  /// asked now and then, and its error is an EnvironmentError that names `kernel`.
  [[nodiscard]] bool reached(std::uint64_t& word, std::uint64_t number, cudaStream_t stream, const char* kernel);

 private:
  unsigned looks_ = 0;
};

}  // namespace twinlink::real
