// NCCL's profiler interface, versions 4 to 6, declared here after its headers (plugins/profiler/example/nccl), so that
// nothing of NCCL is needed to build against it. Version 7 is left out: it is still in flux, and NCCL then takes 6.
#pragma once

#include <cstddef>
#include <cstdint>

namespace twinlink::profiler {

using Result = int;  ///< ncclResult_t
constexpr Result kSuccess = 0;

using Log = void (*)(int level, unsigned long parts, const char* file, int line, const char* format, ...);
constexpr int kWarning = 2;
constexpr int kInfo = 3;
constexpr unsigned long kProfile = 0x4000;  ///< NCCL_PROFILE

// What can happen, of which some is asked for.
constexpr std::uint64_t kCollective = 1U << 1U;
constexpr std::uint64_t kMessage = 1U << 2U;
constexpr std::uint64_t kKernelChannel = 1U << 6U;
constexpr std::uint64_t kCopyEngine = 1U << 12U;  ///< from version 6: a collective without a kernel

constexpr int kKernelChannelStop = 22;  ///< a state, with the GPU's timer

struct Collective {
  std::uint64_t number;  ///< of this function in the communicator
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* type;
  std::uint8_t channels;
  std::uint8_t warps;
  const char* algorithm;
  const char* format;
};

struct Message {
  const char* function;
  void* buffer;
  const char* type;
  std::size_t count;
  int peer;
  std::uint8_t channels;
};

struct KernelChannel {
  std::uint8_t channel;
  std::uint64_t timer;  ///< the GPU's globaltimer, ns
};

struct CopyEngineCollective {
  std::uint64_t number;
  const char* function;
  const void* from;
  void* to;
  std::size_t count;
  int root;
  const char* type;
};

/// The type's width is what differs between version 4 (8 bits) and those behind it (64); what is behind the fields that
/// are declared here is not read.
template <class Type>
struct Description {
  Type type;
  void* parent;
  int rank;
  union {
    Collective collective;
    Message message;
    KernelChannel kernel;
    CopyEngineCollective copies;
  };
};

union StateArguments {
  std::size_t bytes;
  std::uint64_t timer;
};

template <class Type, class Init>
struct Interface {
  const char* name;
  Init init;
  Result (*start)(void* context, void** event, Description<Type>* what);
  Result (*stop)(void* event);
  Result (*state)(void* event, int state, StateArguments* arguments);
  Result (*finalize)(void* context);
};

using Init4 = Result (*)(void** context, int* wanted, const char* name, std::uint64_t communicator, int nodes,
                         int ranks, int rank, Log log);
using Init5 = Result (*)(void** context, std::uint64_t communicator, int* wanted, const char* name, int nodes,
                         int ranks, int rank, Log log);
using Profiler4 = Interface<std::uint8_t, Init4>;
using Profiler5 = Interface<std::uint64_t, Init5>;  ///< and 6

}  // namespace twinlink::profiler
