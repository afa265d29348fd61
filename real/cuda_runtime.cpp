#include "real/cuda_runtime.hpp"

#include <cuda.h>
#include <cuda_runtime_api.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>
#include <source_location>
#include <unordered_map>
#include <unordered_set>

#include "protocols/blocks.hpp"
#include "real/copy_kernel.hpp"

namespace twinlink::real {
namespace {

void check(cudaError_t code, const char* call, std::source_location where = std::source_location::current()) {
  if (code == cudaSuccess) return;
  cudaGetLastError();  // the next call must not find this error again
  throw EnvironmentError(call, fmt::format("{}: {}", cudaGetErrorName(code), cudaGetErrorString(code)), where);
}

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  check(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

DeviceInfo describe(int device) {
  cudaDeviceProp properties{};
  check(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::array<char, 32> pci{};
  check(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device), "cudaDeviceGetPCIBusId");
  DeviceInfo info{.name = properties.name,
                  .pci_bus_id = pci.data(),
                  .capability_major = properties.major,
                  .capability_minor = properties.minor,
                  .unified_addressing = attribute(cudaDevAttrUnifiedAddressing, device) != 0,
                  .memory = Bytes{properties.totalGlobalMem}};
  std::ranges::transform(info.pci_bus_id, info.pci_bus_id.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static_assert(sizeof properties.uuid.bytes == sizeof info.uuid);
  std::memcpy(info.uuid.data(), properties.uuid.bytes, sizeof info.uuid);
  return info;
}

std::string version_text(int version) { return fmt::format("{}.{}", version / 1000, version % 1000 / 10); }

/// Makes a device the current one for as long as this lives.
class OnDevice {
 public:
  OnDevice(int device, int usual) : usual_(usual) { check(cudaSetDevice(device), "cudaSetDevice"); }
  ~OnDevice() { cudaSetDevice(usual_); }
  OnDevice(const OnDevice&) = delete;
  OnDevice& operator=(const OnDevice&) = delete;

 private:
  int usual_;
};

/// An allocation of its own for every buffer: smaller ones share a block of this size, and a handle would open all of
/// it.
constexpr std::size_t kBlock = std::size_t{2} << 20;

/// cuStreamWriteValue64. From the driver itself: a program that links libcuda cannot start where there is none.
using StreamWriteValue = decltype(&cuStreamWriteValue64);
StreamWriteValue find_stream_write_value() {
  void* function = nullptr;
  cudaDriverEntryPointQueryResult found{};
  constexpr unsigned kSince = 11070;  // CUDA 11.7: the form that needs no attribute of the device
#if CUDART_VERSION >= 12050
  check(cudaGetDriverEntryPointByVersion("cuStreamWriteValue64", &function, kSince, cudaEnableDefault, &found),
        "cudaGetDriverEntryPointByVersion");
#else
  check(cudaGetDriverEntryPoint("cuStreamWriteValue64", &function, cudaEnableDefault, &found),
        "cudaGetDriverEntryPoint");
#endif
  if (found != cudaDriverEntryPointSuccess) {
    throw EnvironmentError("cudaGetDriverEntryPoint", "this driver has no cuStreamWriteValue64");
  }
  return reinterpret_cast<StreamWriteValue>(function);
}

class CudaRuntime final : public DeviceRuntime {
 public:
  CudaRuntime(int local_rank, std::span<const DeviceChoice> gpus);
  ~CudaRuntime() override;
  CudaRuntime(const CudaRuntime&) = delete;
  CudaRuntime& operator=(const CudaRuntime&) = delete;

  [[nodiscard]] const std::vector<DeviceInfo>& devices() const override { return devices_; }
  [[nodiscard]] const DeviceInfo& device() const override { return devices_[static_cast<std::size_t>(device_)]; }
  [[nodiscard]] std::map<std::string, std::string> versions() const override;
  [[nodiscard]] bool host_addressable() const override { return false; }

  [[nodiscard]] std::byte* allocate(Bytes size) override;
  void free(std::byte* memory) override;
  void pin(std::byte* memory, Bytes size) override;
  void unpin(std::byte* memory) override;

  Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                    Engine engine) override;
  Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                       Engine engine) override;
  bool ended(Event event) override;
  void synchronize(Stream stream) override;
  void copy_now(std::byte* to, const std::byte* from, Bytes size) override;
  void progress() override {}

  IpcToken export_memory(std::byte* memory) override;
  std::byte* open_memory(const IpcToken& token, const Uuid& owner) override;
  void close_memory(std::byte* memory) override;

  [[nodiscard]] std::optional<Answer> peer_access(const DeviceInfo& peer) const override;

 private:
  [[nodiscard]] std::optional<int> ordinal(const Uuid& uuid) const;
  /// Where the current device finds memory that a kernel wants to touch.
  [[nodiscard]] std::byte* for_kernel(const std::byte* memory) const;
  std::size_t unused_event();
  /// An event behind all that the stream has been given.
  Event mark(cudaStream_t queue);
  [[nodiscard]] std::uint64_t* on_device(std::uint64_t* word) const;
  const Extent* upload(std::span<const Block> blocks, std::size_t stream);

  std::vector<DeviceInfo> devices_;
  int device_ = 0;
  std::array<cudaStream_t, kStreams> streams_{};
  /// By stream: where the lists of copies of blocks lie on the device. One behind the other, so one room is enough.
  struct ListRoom {
    void* memory = nullptr;
    std::size_t size = 0;
  };
  std::array<ListRoom, kStreams> lists_{};
  StreamWriteValue stream_write_value_ = nullptr;
  cudaStream_t apart_ = nullptr;  ///< for copies apart from all streams
  std::vector<cudaEvent_t> events_;
  std::vector<std::size_t> unused_events_;
  std::unordered_set<std::byte*> allocated_;
  /// By address: the device on which it was opened. Opening again what is open gives the same address.
  std::unordered_multimap<std::byte*, int> opened_;
};

CudaRuntime::CudaRuntime(int local_rank, std::span<const DeviceChoice> gpus) {
  int count = 0;
  if (const cudaError_t code = cudaGetDeviceCount(&count); code != cudaSuccess) {
    throw UnavailableError(fmt::format("there is no CUDA device to use: {}", cudaGetErrorString(code)));
  }
  if (count == 0) throw UnavailableError("there is no CUDA device to use: none is visible");
  for (int d = 0; d < count; ++d) devices_.push_back(describe(d));
  device_ = local_rank % count;
  if (!gpus.empty()) {
    std::vector<Uuid> visible;
    for (const DeviceInfo& device : devices_) visible.push_back(device.uuid);
    device_ = static_cast<int>(select_device(gpus, local_rank, visible));
  }
  check(cudaSetDevice(device_), "cudaSetDevice");
  // Independent of the default stream, on which nothing runs.
  for (cudaStream_t& stream : streams_) {
    check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  }
  check(cudaStreamCreateWithFlags(&apart_, cudaStreamNonBlocking), "cudaStreamCreateWithFlags");
  stream_write_value_ = find_stream_write_value();
}

CudaRuntime::~CudaRuntime() {
  // A device in error would only repeat its error here.
  for (const auto& [memory, device] : opened_) {
    cudaSetDevice(device);
    cudaIpcCloseMemHandle(memory);
  }
  cudaSetDevice(device_);
  for (std::byte* const memory : allocated_) cudaFree(memory);
  for (const ListRoom& room : lists_) cudaFree(room.memory);
  for (const cudaEvent_t event : events_) cudaEventDestroy(event);
  for (const cudaStream_t stream : streams_) cudaStreamDestroy(stream);
  cudaStreamDestroy(apart_);
}

std::map<std::string, std::string> CudaRuntime::versions() const {
  int runtime = 0;
  int driver = 0;
  check(cudaRuntimeGetVersion(&runtime), "cudaRuntimeGetVersion");
  check(cudaDriverGetVersion(&driver), "cudaDriverGetVersion");
  return {{"cuda_runtime", version_text(runtime)}, {"cuda_driver", version_text(driver)}};
}

std::byte* CudaRuntime::allocate(Bytes size) {
  const std::size_t blocks = (size.count() + kBlock - 1) / kBlock;
  void* memory = nullptr;
  check(cudaMalloc(&memory, std::max<std::size_t>(blocks, 1) * kBlock), "cudaMalloc");
  return *allocated_.insert(static_cast<std::byte*>(memory)).first;
}

void CudaRuntime::free(std::byte* memory) {
  check(cudaFree(memory), "cudaFree");
  allocated_.erase(memory);
}

void CudaRuntime::pin(std::byte* memory, Bytes size) {
  check(cudaHostRegister(memory, size.count(), cudaHostRegisterPortable | cudaHostRegisterMapped), "cudaHostRegister");
}

void CudaRuntime::unpin(std::byte* memory) { check(cudaHostUnregister(memory), "cudaHostUnregister"); }

std::size_t CudaRuntime::unused_event() {
  if (unused_events_.empty()) {
    cudaEvent_t event = nullptr;
    check(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), "cudaEventCreateWithFlags");
    events_.push_back(event);
    return events_.size() - 1;
  }
  const std::size_t index = unused_events_.back();
  unused_events_.pop_back();
  return index;
}

std::byte* CudaRuntime::for_kernel(const std::byte* memory) const {
  cudaPointerAttributes attributes{};
  check(cudaPointerGetAttributes(&attributes, memory), "cudaPointerGetAttributes");
  const bool foreign = attributes.type == cudaMemoryTypeDevice && attributes.device != device_;
  if (attributes.devicePointer == nullptr || foreign) {
    throw UsageError(foreign ? "a kernel cannot reach the memory of a device without peer access"
                             : "a kernel cannot reach pageable memory");
  }
  return static_cast<std::byte*>(attributes.devicePointer);
}

Event CudaRuntime::copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) {
  const cudaStream_t queue = streams_[static_cast<std::size_t>(stream.index)];
  if (engine == Engine::kernel) {
    check(launch_copy_kernel(for_kernel(to), for_kernel(from), size.count(), queue), "copy kernel");
  } else if (size > Bytes{}) {
    // Unified addressing says where both ends lie, also of peers' memory: between devices without peer access the
    // driver goes through the host.
    check(cudaMemcpyAsync(to, from, size.count(), cudaMemcpyDefault, queue), "cudaMemcpyAsync");
  }
  return mark(queue);
}

Event CudaRuntime::mark(cudaStream_t queue) {
  const std::size_t event = unused_event();
  check(cudaEventRecord(events_[event], queue), "cudaEventRecord");
  return {event};
}

Event CudaRuntime::copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                               Engine engine) {
  const auto index = static_cast<std::size_t>(stream.index);
  const cudaStream_t queue = streams_[index];
  const auto rows = as_rows(blocks);
  if (engine == Engine::dma) {
    check(cudaMemcpy2DAsync(to + rows->to.count(), rows->to_pitch.count(), from + rows->from.count(),
                            rows->from_pitch.count(), rows->width.count(), rows->rows, cudaMemcpyDefault, queue),
          "cudaMemcpy2DAsync");
  } else if (rows) {
    const Extent first{rows->to.count(), rows->from.count(), rows->width.count()};
    check(launch_rows_kernel(for_kernel(to), for_kernel(from), first, rows->to_pitch.count(), rows->from_pitch.count(),
                             rows->rows, queue),
          "rows kernel");
  } else {
    const Extent* const extents = upload(blocks, index);
    check(launch_extents_kernel(for_kernel(to), for_kernel(from), extents, blocks.size(), queue), "extents kernel");
  }
  return mark(queue);
}

/// The list of a copy, in device memory, behind what the stream does before.
const Extent* CudaRuntime::upload(std::span<const Block> blocks, std::size_t stream) {
  std::vector<Extent> extents;
  extents.reserve(blocks.size());
  for (const Block& b : blocks) extents.push_back({b.to.count(), b.from.count(), b.length.count()});
  const std::size_t size = extents.size() * sizeof(Extent);
  ListRoom& room = lists_[stream];
  if (room.size < size) {
    check(cudaStreamSynchronize(streams_[stream]), "cudaStreamSynchronize");
    check(cudaFree(room.memory), "cudaFree");
    room = {};
    check(cudaMalloc(&room.memory, size), "cudaMalloc");
    room.size = size;
  }
  // From pageable memory: the list is read before this returns.
  check(cudaMemcpyAsync(room.memory, extents.data(), size, cudaMemcpyHostToDevice, streams_[stream]),
        "cudaMemcpyAsync");
  return static_cast<const Extent*>(room.memory);
}

std::uint64_t* CudaRuntime::on_device(std::uint64_t* word) const {
  void* address = nullptr;
  check(cudaHostGetDevicePointer(&address, word, 0), "cudaHostGetDevicePointer");
  return static_cast<std::uint64_t*>(address);
}

Event CudaRuntime::copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                                  Engine engine) {
  const cudaStream_t queue = streams_[static_cast<std::size_t>(stream.index)];
  std::uint64_t* const word = on_device(flag.word);
  if (engine == Engine::kernel && size.count() <= kMostRaised) {
    check(launch_copy_and_raise(for_kernel(to), for_kernel(from), size.count(), word, flag.value, queue),
          "copy kernel with a flag");
    return mark(queue);
  }
  if (engine == Engine::kernel) {
    check(launch_copy_kernel(for_kernel(to), for_kernel(from), size.count(), queue), "copy kernel");
  } else if (size > Bytes{}) {
    check(cudaMemcpyAsync(to, from, size.count(), cudaMemcpyDefault, queue), "cudaMemcpyAsync");
  }
  // By default this writes behind a barrier: the copy before it is seen first.
  if (stream_write_value_(queue, reinterpret_cast<CUdeviceptr>(word), flag.value, CU_STREAM_WRITE_VALUE_DEFAULT) !=
      CUDA_SUCCESS) {
    throw EnvironmentError("cuStreamWriteValue64", "the driver refused it");
  }
  return mark(queue);
}

bool CudaRuntime::ended(Event event) {
  const cudaError_t code = cudaEventQuery(events_[event.id]);
  if (code == cudaErrorNotReady) return false;
  check(code, "cudaEventQuery");
  unused_events_.push_back(event.id);
  return true;
}

void CudaRuntime::synchronize(Stream stream) {
  check(cudaStreamSynchronize(streams_[static_cast<std::size_t>(stream.index)]), "cudaStreamSynchronize");
}

void CudaRuntime::copy_now(std::byte* to, const std::byte* from, Bytes size) {
  if (size == Bytes{}) return;
  check(cudaMemcpyAsync(to, from, size.count(), cudaMemcpyDefault, apart_), "cudaMemcpyAsync");
  check(cudaStreamSynchronize(apart_), "cudaStreamSynchronize");
}

IpcToken CudaRuntime::export_memory(std::byte* memory) {
  // `memory` is the base of its allocation, so the handle opens exactly there.
  cudaIpcMemHandle_t handle{};
  check(cudaIpcGetMemHandle(&handle, memory), "cudaIpcGetMemHandle");
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
  const OnDevice current(on, device_);
  void* memory = nullptr;
  check(cudaIpcOpenMemHandle(&memory, handle, cudaIpcMemLazyEnablePeerAccess), "cudaIpcOpenMemHandle");
  opened_.emplace(static_cast<std::byte*>(memory), on);
  return static_cast<std::byte*>(memory);
}

void CudaRuntime::close_memory(std::byte* memory) {
  const auto opened = opened_.find(memory);
  const OnDevice current(opened->second, device_);
  check(cudaIpcCloseMemHandle(memory), "cudaIpcCloseMemHandle");
  opened_.erase(opened);
}

std::optional<Answer> CudaRuntime::peer_access(const DeviceInfo& peer) const {
  const auto theirs = ordinal(peer.uuid);
  if (!theirs) return std::nullopt;
  if (*theirs == device_) return Answer::granted();
  for (const auto& [from, to] : {std::pair{device_, *theirs}, std::pair{*theirs, device_}}) {
    int granted = 0;
    check(cudaDeviceCanAccessPeer(&granted, from, to), "cudaDeviceCanAccessPeer");
    if (granted == 0) {
      return Answer::refused(fmt::format("cudaDeviceCanAccessPeer: {} cannot access {}",
                                         devices_[static_cast<std::size_t>(from)].pci_bus_id,
                                         devices_[static_cast<std::size_t>(to)].pci_bus_id));
    }
  }
  return Answer::granted();
}

}  // namespace

std::unique_ptr<DeviceRuntime> make_cuda_runtime(int local_rank, std::span<const DeviceChoice> gpus) {
  return std::make_unique<CudaRuntime>(local_rank, gpus);
}

}  // namespace twinlink::real
