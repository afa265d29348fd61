// Emulated devices: every protocol runs, and is checked, on a machine without a GPU.
#pragma once

#include <array>
#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "real/device/device_runtime.hpp"
#include "real/device/host_program.hpp"
#include "real/device/host_transforms.hpp"
#include "real/device/pinned_memory.hpp"
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// What the emulated machine grants: `--host-peers`.
enum class HostPeers {
  all,  ///< peer access between all devices of a node
  none  ///< between none, as between GPUs below different I/O hubs
};

/// What emulated device number `device` of `host` is told apart by: the same in every process.
Uuid emulated_uuid(const std::string& host, int device);

/// Device memory is shared memory; handles name it through /proc. Copies wait in their streams' queues and move, a
/// slice per stream, in progress(): they overlap with everything else that the rank does, as MPI's own messages do.
/// What CUDA refuses is refused here: memory that is not page-locked or not the caller's to free, bytes beyond the end
/// of device memory, and what kernels do not reach.
class HostRuntime final : public DeviceRuntime {
 public:
  /// The process sees the devices 0 to `device` of `host`, and selects `device`. Each has `memory`, or if none is given
  /// as much as host_memory().
  HostRuntime(const std::string& host, int device, HostPeers peers, std::optional<Bytes> memory = std::nullopt);

  [[nodiscard]] const std::vector<DeviceInfo>& devices() const override { return devices_; }
  [[nodiscard]] const DeviceInfo& device() const override { return devices_.back(); }
  [[nodiscard]] std::map<std::string, std::string> versions() const override { return {}; }
  [[nodiscard]] bool host_addressable() const override { return true; }

  /// An EnvironmentError where the device has no room: the system would give out pages that it does not have, and kill
  /// whoever touches them.
  [[nodiscard]] std::byte* allocate(Bytes size) override;
  [[nodiscard]] std::byte* allocate_on(const Uuid& device, Bytes size) override;
  void free(std::byte* memory) override;
  void pin(std::byte* memory, Bytes size) override { pinned_.pin(memory, size); }
  void unpin(std::byte* memory) override { pinned_.unpin(memory); }

  Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                    Engine engine) override;
  Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                       Engine engine) override;
  Event add(std::byte* to, const std::byte* from, Bytes size, Stream stream) override;
  Event compute(Seconds duration, Stream stream) override;
  [[nodiscard]] Answer transforms() const override { return HostTransforms::available(); }
  Event transform(std::byte* data, const Transform& transform, Stream stream) override;
  [[nodiscard]] Answer runs_programs() const override { return Answer::granted(); }
  Event launch(DeviceProgram program, Stream stream) override;
  void give_up_programs(Stream stream) override;
  bool ended(Event event) override;
  void synchronize(Stream stream) override;
  void copy_now(std::byte* to, const std::byte* from, Bytes size) override;
  void progress() override;

  IpcToken export_memory(std::byte* memory) override;
  std::byte* open_memory(const IpcToken& token, const Uuid& owner) override;
  void close_memory(std::byte* memory) override;

  [[nodiscard]] std::optional<Answer> peer_access(const DeviceInfo& peer) const override;

 private:
  /// What stands in a stream's queue: a copy, or a kernel that computes, a program, a transform.
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t left = 0;
    bool staged = false;  ///< through the host, as the driver does it without peer access
    bool adds = false;
    bool last = true;                                              ///< of its event: a copy of blocks is many of these
    Flag flag{};                                                   ///< no word: nothing to raise
    std::optional<std::chrono::nanoseconds> computes{};            ///< a kernel instead, which has not begun
    std::optional<std::chrono::steady_clock::time_point> until{};  ///< the same when it has
    std::shared_ptr<HostProgram> program{};                        ///< or a program of thread blocks
    std::optional<Transform> transform{};                          ///< or a transform of what is at `to`
  };
  /// One stream. An event is a number of it: it has ended once so many have.
  struct Queue {
    std::deque<Copy> copies{};
    std::uint64_t started = 0;
    std::uint64_t ended = 0;
  };
  /// Device memory, this process's own or opened.
  struct Mapping {
    SharedMemory memory;
    std::size_t size;
    Uuid device;
    bool opened;
  };
  std::byte* keep(Mapping mapping);
  /// The mapping that begins here, opened or not as `call` wants it. An EnvironmentError if there is none.
  [[nodiscard]] std::map<const std::byte*, Mapping>::const_iterator mapping_at(const std::byte* memory, bool opened,
                                                                               const char* call) const;
  /// The mapping with this address in it; null for host memory.
  [[nodiscard]] const Mapping* mapping_of(const std::byte* address) const;
  [[nodiscard]] Copy make_copy(std::byte* to, const std::byte* from, Bytes size, Engine engine) const;
  /// Refuses bytes beyond the end of device memory, and of a kernel what it does not reach. Returns mapping_of().
  const Mapping* require_reach(const std::byte* memory, std::size_t size, Engine engine) const;
  /// Moves as much of the copy as there is, but no more than `room`. Returns how much that was.
  std::size_t move_some(Copy& copy, std::size_t room);
  /// Lets a kernel that computes go on; false while it is not through.
  static bool computed(Copy& kernel);
  /// Moves a slice, at most to the end of an event.
  void advance(Queue& queue);
  [[nodiscard]] Queue& queue_of(Stream stream) { return queues_[static_cast<std::size_t>(stream.index)]; }

  std::vector<DeviceInfo> devices_;
  HostPeers peers_;
  Bytes used_{};                                  ///< of the selected device, by this process
  std::map<const std::byte*, Mapping> mappings_;  ///< by first address
  PinnedMemory pinned_;
  std::vector<std::byte> bounce_;  ///< where copies between devices without peer access pass through the host
  std::array<Queue, kStreams> queues_{};
  HostTransforms transforms_;
};

}  // namespace twinlink::real
