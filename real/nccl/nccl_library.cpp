#include "real/nccl/nccl_library.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

namespace twinlink::real {
namespace {

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "the loader does not say why" : text;
}

template <class Function>
void require(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));  // NOLINT(*-reinterpret-cast): dlsym's interface
  if (function == nullptr) throw UnavailableError(fmt::format("no NCCL: {}", loader_error()));
}

}  // namespace

NcclLibrary::NcclLibrary(const std::string& name) : library_(::dlopen(name.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) throw UnavailableError("no NCCL: " + loader_error());
  nccl::Functions& f = functions_;
  try {
    require(library_, "ncclGetVersion", f.get_version);
    require(library_, "ncclGetUniqueId", f.get_unique_id);
    require(library_, "ncclCommInitRank", f.init_rank);
    require(library_, "ncclCommDestroy", f.finish);
    require(library_, "ncclCommAbort", f.abort);
    require(library_, "ncclGetErrorString", f.error_string);
    require(library_, "ncclGroupStart", f.group_start);
    require(library_, "ncclGroupEnd", f.group_end);
    require(library_, "ncclAllReduce", f.all_reduce);
    require(library_, "ncclAllGather", f.all_gather);
    require(library_, "ncclReduceScatter", f.reduce_scatter);
    require(library_, "ncclBroadcast", f.broadcast);
    require(library_, "ncclReduce", f.reduce);
    require(library_, "ncclSend", f.send);
    require(library_, "ncclRecv", f.recv);
  } catch (...) {
    ::dlclose(library_);
    throw;
  }
}

NcclLibrary::~NcclLibrary() { ::dlclose(library_); }

std::string NcclLibrary::version() const {
  int version = 0;
  check(functions_.get_version(&version), "ncclGetVersion");
  // 2.28.3 is 22803.
  constexpr int kMajor = 10'000;
  constexpr int kMinor = 100;
  return fmt::format("{}.{}.{}", version / kMajor, version % kMajor / kMinor, version % kMinor);
}

void NcclLibrary::check(nccl::Result result, const char* call) const {
  if (result != nccl::kSuccess) throw EnvironmentError(call, functions_.error_string(result));
}

}  // namespace twinlink::real
