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
#include "real/system/shared_memory.hpp"

namespace twinlink::real {

/// What the emulated machine grants.
enum class HostPeers {
  all,  ///< peer access between all devices of a node
  none  ///< between none, as between GPUs below different I/O hubs
};

/// What emulated device number `device` of `host` is told apart by: the same in every process.
Uuid emulated_uuid(const std::string& host, int device);

/// Device memory is shared memory; handles name it through /proc. Copies wait in their streams' queues and move, a
/// slice per stream, in progress(): they overlap with everything else that the rank does, as MPI's own messages do.
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
  void pin(std::byte* memory, Bytes size) override { pinned_.insert_or_assign(memory, size.count()); }
  void unpin(std::byte* memory) override { pinned_.erase(memory); }

  Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) override;
  Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                    Engine engine) override;
  Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                       Engine engine) override;
  Event add(std::byte* to, const std::byte* from, Bytes size, Stream stream) override;
  Event compute(Seconds duration, Stream stream) override;
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
  struct Copy {
    std::byte* to = nullptr;
    const std::byte* from = nullptr;
    std::size_t left = 0;
    bool staged = false;
    bool adds = false;
    bool last = true;                                              ///< of its event: a copy of blocks is many of these
    Flag flag{};                                                   ///< no word: nothing to raise
    std::optional<std::chrono::nanoseconds> computes{};            ///< a kernel instead, which has not begun
    std::optional<std::chrono::steady_clock::time_point> until{};  ///< the same when it has
    std::shared_ptr<HostProgram> program{};                        ///< or a program of thread blocks
  };
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
  };
  std::byte* keep(SharedMemory memory, std::size_t size, const Uuid& device);
  /// The mapping with this address in it; null for host memory.
  [[nodiscard]] const Mapping* mapping_of(const std::byte* address) const;
  [[nodiscard]] Copy make_copy(std::byte* to, const std::byte* from, Bytes size) const;
  /// Refuses what a GPU could not reach: a flag outside of page-locked memory. An EnvironmentError, as CUDA's would be.
  void require_pinned(const std::uint64_t* word) const;
  /// Moves as much of the copy as there is, but no more than `room`. Returns how much that was.
  std::size_t move_some(Copy& copy, std::size_t room);
  /// Lets a kernel that computes go on; false while it is not through.
  static bool computed(Copy& kernel);
  /// Moves a slice, at most to the end of an event.
  void advance(Queue& queue);
  [[nodiscard]] Queue& queue_of(Stream stream) { return queues_[static_cast<std::size_t>(stream.index)]; }

  std::vector<DeviceInfo> devices_;
  HostPeers peers_;
  Bytes used_{};                                    ///< of the selected device, by this process
  std::map<const std::byte*, Mapping> mappings_;    ///< by first address
  std::map<const std::byte*, std::size_t> pinned_;  ///< host memory that pin() has page-locked: its size
  std::vector<std::byte> bounce_;  ///< where copies between devices without peer access pass through the host
  std::array<Queue, kStreams> queues_{};
};

}  // namespace twinlink::real
