#include "real/device/cuda/cuda_runtime.hpp"

#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <cstring>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>

#include "real/device/cuda/cuda_check.hpp"
#include "real/device/cuda/cuda_device_info.hpp"

namespace twinlink::real {
namespace {

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Makes a device the current one for as long as this lives.
class OnDevice {
 public:
  OnDevice(int device, int usual) : usual_(usual) { check_cuda(cudaSetDevice(device), "cudaSetDevice"); }
  ~OnDevice() { cudaSetDevice(usual_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int usual_;
};

}  // namespace

CudaRuntime::CudaRuntime(int local_rank, std::span<const DeviceChoice> gpus) {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    throw UnavailableError(fmt::format("there is no CUDA device to use: {}", cudaGetErrorString(code)));
  }
  if (count == 0) throw UnavailableError("there is no CUDA device to use: none is visible");
  for (int d = 0; d < count; ++d) devices_.push_back(cuda_device_info(d));
  device_ = local_rank % count;
  if (!gpus.empty()) {
    std::vector<Uuid> visible;
    for (const DeviceInfo& device : devices_) visible.push_back(device.uuid);
    device_ = static_cast<int>(select_device(gpus, local_rank, visible));
  }
  check_cuda(cudaSetDevice(device_), "cudaSetDevice");
  driver_.emplace();
  // Independent of the default stream, on which nothing runs.
  for (cudaStream_t& stream : streams_) {
    check_cuda(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  check_cuda(cudaStreamCreateWithFlags(&apart_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  raised_ = MappedArray<Raised>(kStreams);
  given_up_ = MappedArray<Raised>(kStreams);
}

CudaRuntime::~CudaRuntime() {
  for (int stream = 0; stream < kStreams; ++stream) give_up_programs(Stream{stream});
  transforms_.reset();
  for (const ProgramGraph& graph : graphs_) destroy(graph);
  resident_.reset();  // before the rest, which waits for all of the device's work
  // A device in error would only repeat its error here.
  for (const auto& [memory, device] : opened_) {
    cudaSetDevice(device);
    cudaIpcCloseMemHandle(memory);
  }
  cudaSetDevice(device_);
  for (std::byte* const memory : allocated_) cudaFree(memory);
  for (const auto& [start, what] : beside_) cudaFree(what.memory);
  for (const auto* const rooms : {&extents_, &lists_, &passed_}) {
    for (const ListRoom& room : *rooms) cudaFree(room.memory);
  }
  for (const Mark& mark : events_) cudaEventDestroy(mark.event);
  for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  cudaStreamDestroy(apart_);
}

std::map<std::string, std::string> CudaRuntime::versions() const {
  int runtime = 0;
  int driver = 0;
  check_cuda(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check_cuda(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  return {{"cuda_runtime", version_text(runtime)}, {"cuda_driver", version_text(driver)}};
}

std::byte* CudaRuntime::allocate(Bytes size) {
  rest();
  const std::size_t blocks = (size.count() + kDeviceBlock - 1) / kDeviceBlock;
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, std::max<std::size_t>(blocks, 1) * kDeviceBlock), "cudaMalloc");
  return *allocated_.insert(static_cast<std::byte*>(memory)).first;
}

std::byte* CudaRuntime::allocate_on(const Uuid& device, Bytes size) {
  const auto there = ordinal(device);
  if (!there) throw UnavailableError(fmt::format("this process does not see {}", to_string(device)));
  if (*there == device_) return allocate(size);
  rest();
  if (*peer_access(devices_[static_cast<std::size_t>(*there)])) enable_peer_access(*there);
  const OnDevice current(*there, device_);
  void* memory = nullptr;
  check_cuda(cudaMalloc(&memory, size.count()), "cudaMalloc");
  auto* const start = static_cast<std::byte*>(memory);
  beside_[start] = {start, *there, size.count()};
  return start;
}

/// Both ways, as a program with two GPUs does.
void CudaRuntime::enable_peer_access(int peer) const {
  for (const auto& [from, to] : {std::pair{device_, peer}, std::pair{peer, device_}}) {
    const OnDevice current(from, device_);
    const cudaError_t code = cudaDeviceEnablePeerAccess(to, 0);
    if (code == cudaErrorPeerAccessAlreadyEnabled) {
      cudaGetLastError();
      continue;
    }
    check_cuda(code, "cudaDeviceEnablePeerAccess");
  }
}

void CudaRuntime::free(std::byte* memory) {
  rest();
  check_cuda(cudaFree(memory), "cudaFree");
  allocated_.erase(memory);
  beside_.erase(memory);
  reached_.clear();
}

void CudaRuntime::pin(std::byte* memory, Bytes size) {
  rest();
  check_cuda(cudaHostRegister(memory, size.count(), cudaHostRegisterPortable | cudaHostRegisterMapped),
             "cudaHostRegister");
  void* there = nullptr;
  check_cuda(cudaHostGetDevicePointer(&there, memory, 0), "cudaHostGetDevicePointer");
  pinned_[memory] = {static_cast<std::byte*>(there), size.count()};
}

void CudaRuntime::unpin(std::byte* memory) {
  rest();
  pinned_.erase(memory);
  check_cuda(cudaHostUnregister(memory), "cudaHostUnregister");
}

void CudaRuntime::copy_now(std::byte* to, const std::byte* from, Bytes size) {
  if (size == Bytes{}) return;
  check_cuda(cudaMemcpyAsync(to, from, size.count(), cudaMemcpyDefault, apart_), "cudaMemcpyAsync");
  check_cuda(cudaStreamSynchronize(apart_), "cudaStreamSynchronize");
}

IpcToken CudaRuntime::export_memory(std::byte* memory) {
  rest();
  // `memory` is the base of its allocation, so the handle opens exactly there.
  cudaIpcMemHandle_t handle{};
  check_cuda(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
  IpcToken token{};
  static_assert(sizeof handle == sizeof token);
  std::memcpy(token.data(), &handle, sizeof handle);
  return token;
}

std::optional<int> CudaRuntime::ordinal(const Uuid& uuid) const {
  const auto found = std::ranges::find(devices_, uuid, &DeviceInfo::uuid);
  if (found == devices_.end()) return std::nullopt;
  return static_cast<int>(found - devices_.begin());
}

std::byte* CudaRuntime::open_memory(const IpcToken& token, const Uuid& owner) {
  cudaIpcMemHandle_t handle{};
  std::memcpy(&handle, token.data(), sizeof handle);
  // Without peer access the selected device cannot map the memory, but the owner's device can; copies between the two
  // are then staged by the driver. A device that this process cannot see leaves only the first way.
  int on = device_;
  if (const auto theirs = ordinal(owner); theirs && !*peer_access(devices_[static_cast<std::size_t>(*theirs)])) {
    on = *theirs;
  }
  rest();
  const OnDevice current(on, device_);
  void* memory = nullptr;
  check_cuda(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  opened_.emplace(static_cast<std::byte*>(memory), on);
  return static_cast<std::byte*>(memory);
}

void CudaRuntime::close_memory(std::byte* memory) {
  rest();
  reached_.clear();
  const auto opened = opened_.find(memory);
  const OnDevice current(opened->second, device_);
  check_cuda(cudaIpcCloseMemHandle(memory), "cudaIpcCloseMemHandle");
  opened_.erase(opened);
}

std::optional<Answer> CudaRuntime::peer_access(const DeviceInfo& peer) const {
  const auto theirs = ordinal(peer.uuid);
  if (!theirs) return std::nullopt;
  if (*theirs == device_) return Answer::granted();
  for (const auto& [from, to] : {std::pair{device_, *theirs}, std::pair{*theirs, device_}}) {
    int granted = 0;
    check_cuda(cudaDeviceCanAccessPeer(&granted, from, to), "cudaDeviceCanAccessPeer");
    if (granted == 0) {
      return Answer::refused(fmt::format("cudaDeviceCanAccessPeer: {} cannot access {}",
                                         devices_[static_cast<std::size_t>(from)].pci_bus_id,
                                         devices_[static_cast<std::size_t>(to)].pci_bus_id));
    }
  }
  return Answer::granted();
}

std::unique_ptr<DeviceRuntime> make_cuda_runtime(int local_rank, std::span<const DeviceChoice> gpus) {
  return std::make_unique<CudaRuntime>(local_rank, gpus);
}

}  // namespace twinlink::real
