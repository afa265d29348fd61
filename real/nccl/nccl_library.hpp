// NcclLibrary: NVIDIA's NCCL itself, opened at run time, so that the program starts where there is none. What is
// declared here is NCCL's interface since 2.7.
#pragma once

#include <array>
#include <cstddef>
#include <string>

#include "protocols/core/errors.hpp"

namespace twinlink::real {

namespace nccl {

using Result = int;
inline constexpr Result kSuccess = 0;
inline constexpr int kUint64 = 5;
inline constexpr int kSum = 0;

struct UniqueId {
  std::array<char, 128> bytes{};
};
struct CommState;
using Comm = CommState*;
using Queue = void*;  ///< a CUDA stream

struct Functions {
  Result (*get_version)(int*) = nullptr;
  Result (*get_unique_id)(UniqueId*) = nullptr;
  Result (*init_rank)(Comm*, int, UniqueId, int) = nullptr;
  Result (*finish)(Comm) = nullptr;
  Result (*abort)(Comm) = nullptr;
  const char* (*error_string)(Result) = nullptr;
  Result (*group_start)() = nullptr;
  Result (*group_end)() = nullptr;
  Result (*all_reduce)(const void*, void*, std::size_t, int, int, Comm, Queue) = nullptr;
  Result (*all_gather)(const void*, void*, std::size_t, int, Comm, Queue) = nullptr;
  Result (*reduce_scatter)(const void*, void*, std::size_t, int, int, Comm, Queue) = nullptr;
  Result (*broadcast)(const void*, void*, std::size_t, int, int, Comm, Queue) = nullptr;
  Result (*reduce)(const void*, void*, std::size_t, int, int, int, Comm, Queue) = nullptr;
  Result (*send)(const void*, std::size_t, int, int, Comm, Queue) = nullptr;
  Result (*recv)(void*, std::size_t, int, int, Comm, Queue) = nullptr;
};

}  // namespace nccl

class NcclLibrary {
 public:
  /// Opens `name` by the system's rules. An UnavailableError "no NCCL: ..." if there is none.
  explicit NcclLibrary(const std::string& name);
  ~NcclLibrary();
  NcclLibrary(const NcclLibrary&) = delete;
  NcclLibrary& operator=(const NcclLibrary&) = delete;

  [[nodiscard]] const nccl::Functions& call() const { return functions_; }
  /// "2.28.3".
  [[nodiscard]] std::string version() const;
  /// An EnvironmentError with NCCL's own text where `result` is none of success.
  void check(nccl::Result result, const char* call) const;

 private:
  void* library_ = nullptr;
  nccl::Functions functions_{};
};

}  // namespace twinlink::real
