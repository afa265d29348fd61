// CUDA devices. Built where the CUDA Toolkit is found.
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "real/device/cuda/cuda_driver.hpp"
#include "real/device/cuda/cuda_transforms.hpp"
#include "real/device/cuda/mapped_memory.hpp"
#include "real/device/cuda/resident_kernel.hpp"
#include "real/device/device_runtime.hpp"
#include "real/device/device_selection.hpp"

namespace twinlink::real {

struct Extent;
struct KernelLink;
struct ProgramArguments;

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
  [[nodiscard]] std::byte* allocate_on(const Uuid& device, Bytes size) override;
  void free(std::byte* memory) override;
  void pin(std::byte* memory, Bytes size) override;
  void unpin(std::byte* memory) override;

  Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                    Engine engine) override;
  Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                       Engine engine) override;
  Event add(std::byte* to, const std::byte* from, Bytes size, Stream stream) override;
  Event compute(Seconds duration, Stream stream) override;
  [[nodiscard]] Answer transforms() const override { return CudaTransforms::available(); }
  Event transform(std::byte* data, const Transform& transform, Stream stream) override;
  [[nodiscard]] Answer runs_programs() const override { return Answer::granted(); }
  Event launch(DeviceProgram program, Stream stream) override;
  [[nodiscard]] Answer runs_libraries() const override { return Answer::granted(); }
  Event enqueue(Stream stream, int times, std::string_view key, const Enqueue& calls) override;
  void forget_enqueued(std::string_view begin) override;
  void give_up_programs(Stream stream) override;
  bool ended(Event event) override;
  void forget(Event event) override;
  void synchronize(Stream stream) override;
  void copy_now(std::byte* to, const std::byte* from, Bytes size) override;
  void rest() override;
  void progress() override {}

  IpcToken export_memory(std::byte* memory) override;
  std::byte* open_memory(const IpcToken& token, const Uuid& owner) override;
  void close_memory(std::byte* memory) override;

  [[nodiscard]] std::optional<Answer> peer_access(const DeviceInfo& peer) const override;

  /// An allocation of its own for every buffer: smaller ones share a block of this size, and a handle would open all of
  /// it.
  static constexpr std::size_t kDeviceBlock = std::size_t{2} << 20;

 private:
  [[nodiscard]] std::optional<int> ordinal(const Uuid& uuid) const;
  /// Where the current device finds memory that a kernel wants to touch.
  [[nodiscard]] std::byte* for_kernel(const std::byte* memory);
  std::size_t unused_event();
  /// Enqueues a copy by the engine.
  void copy_by_engine(std::byte* to, const std::byte* from, std::size_t size, cudaStream_t queue);
  /// Device of memory that this process has allocated beside the selected one; nothing for other memory.
  [[nodiscard]] std::optional<int> device_beside(const std::byte* memory) const;
  void enable_peer_access(int peer) const;
  /// An event behind all that the stream has been given.
  Event mark(Stream stream);
  [[nodiscard]] std::uint64_t* on_device(std::uint64_t* word) const;
  const Extent* upload(std::span<const Block> blocks, std::size_t stream);
  /// Where lists of one kind and stream lie on the device. One behind the other, so one room is enough.
  struct ListRoom {
    void* memory = nullptr;
    std::size_t size = 0;
    std::vector<std::byte> held{};  ///< what lies there, which need not come again
  };
  /// Into device memory that is the stream's, behind what it does before.
  const void* upload_bytes(std::span<const std::byte> bytes, ListRoom& room, std::size_t stream);

  /// A program that runs several times as one graph.
  struct ProgramGraph {
    std::vector<std::byte> key{};  ///< what it was made of
    std::string enqueued{};        ///< the key that enqueue() was given
    cudaGraphExec_t exec = nullptr;
    void* lists = nullptr;   ///< device memory
    void* counts = nullptr;  ///< page-locked host memory, which it copies first
  };
  ProgramArguments arguments_of(const DeviceProgram& program);
  std::vector<KernelLink> links_of(const DeviceProgram& program);
  Event launch_graph(const DeviceProgram& program, Stream stream);
  ProgramGraph make_graph(const DeviceProgram& program, cudaStream_t queue, std::size_t index);
  static void end_capture(ProgramGraph& graph, cudaStream_t queue);
  static void destroy(const ProgramGraph& graph);

  /// CUDA's queue for the stream, behind what the resident kernel has still to do for it.
  cudaStream_t queue_of(Stream stream);
  /// By the resident kernel; a flag of null raises nothing.
  Event order(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream);
  [[nodiscard]] bool has_raised(Event raise);

  std::vector<DeviceInfo> devices_;
  int device_ = 0;
  std::optional<CudaDriver> driver_;  ///< always, once there is a device
  std::array<cudaStream_t, kStreams> streams_{};
  // By stream: of copies of blocks; of programs what stays from launch to launch, and their counts.
  std::array<ListRoom, kStreams> extents_{};
  std::array<ListRoom, kStreams> lists_{};
  std::array<ListRoom, kStreams> passed_{};
  cudaStream_t apart_ = nullptr;                   ///< for copies apart from all streams
  std::optional<ResidentKernel> resident_;         ///< once it was asked for
  std::array<std::uint64_t, kStreams> ordered_{};  ///< by stream: its last order to the resident kernel
  /// By stream: where kernels that raise a flag say that they have done so, and how many were started.
  struct alignas(64) Raised {
    std::uint64_t word = 0;
  };
  MappedArray<Raised> raised_;
  std::array<std::uint64_t, kStreams> raises_{};
  /// By stream: the last program that is given up, and how many were started.
  MappedArray<Raised> given_up_;
  std::array<std::uint64_t, kStreams> programs_{};
  std::vector<ProgramGraph> graphs_;
  KernelCounts counts_;
  std::optional<CudaTransforms> transforms_;    ///< once one was asked for
  std::array<std::size_t, kStreams> marked_{};  ///< by stream: events that nobody has found ended
  struct Mark {
    cudaEvent_t event = nullptr;
    Stream stream{};
  };
  std::vector<Mark> events_;
  std::vector<std::size_t> unused_events_;
  std::unordered_set<std::byte*> allocated_;
  /// The same on other devices, by start. Copies to and from it name both devices.
  struct Beside {
    std::byte* memory = nullptr;
    int device = 0;
    std::size_t size = 0;
  };
  std::map<const std::byte*, Beside> beside_;
  /// Where kernels find blocks of device memory, by the address of the block. Asking CUDA takes longer than a control
  /// message.
  std::unordered_map<std::uintptr_t, std::byte*> reached_;
  /// By start, page-locked host memory: where the device finds it, and its size.
  std::map<std::byte*, std::pair<std::byte*, std::size_t>> pinned_;
  /// By address: the device on which it was opened. Opening again what is open gives the same address.
  std::unordered_multimap<std::byte*, int> opened_;
};

/// Selects the visible device that `gpus` has for rank `local_rank` of this node, see select_device(); of an empty list
/// the device `local_rank`, modulo their number. To be called before MPI_Init, for MPI libraries look at the current
/// device then. An UnavailableError if there is no device or no driver, a UsageError for a list that does not fit.
std::unique_ptr<DeviceRuntime> make_cuda_runtime(int local_rank, std::span<const DeviceChoice> gpus = {});

}  // namespace twinlink::real
