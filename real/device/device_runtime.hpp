// DeviceRuntime: what RealRank needs of a GPU. Two implementations: emulated devices in host memory (HostRuntime), and
// CUDA (device/cuda/). PacedRuntime of pace/ is one around the former. Job makes the one that `--device` names.
//
// Addresses are flat: an address of device, pinned or opened memory says by itself where it lies, as with CUDA's
// unified addressing. No MPI here.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/rank.hpp"
#include "protocols/core/transform.hpp"
#include "protocols/gpu/program.hpp"

namespace twinlink::real {

using Uuid = std::array<std::byte, 16>;
/// "GPU-01234567-89ab-cdef-0123-456789abcdef", as nvidia-smi prints it.
std::string to_string(const Uuid& uuid);

/// What is known of a device without selecting it.
struct DeviceInfo {
  std::string name{};
  Uuid uuid{};               ///< what devices are told apart by: ordinals differ from process to process
  std::string pci_bus_id{};  ///< "0000:1b:00.0"; "emulated:00" for an emulated device
  int capability_major = 0;
  int capability_minor = 0;
  bool unified_addressing = false;
  Bytes memory{};
};

/// What another process of the node needs in order to open device memory.
using IpcToken = decltype(IpcHandle::token);

/// The end of a copy, a kernel or a program: what ended() is asked for.
struct Event {
  std::uint64_t id = 0;
};

/// What a copy writes when its bytes are in place: a word in memory that pin() has page-locked.
struct Flag {
  std::uint64_t* word = nullptr;
  std::uint64_t value = 0;
};

/// The FIFOs of a connection, as gpu::Link has them, by address.
struct DeviceLink {
  std::byte* mine = nullptr;
  std::byte* theirs = nullptr;
  std::byte* window = nullptr;
  std::vector<std::uint64_t> sent{};
  std::vector<std::uint64_t> received{};
  std::vector<std::uint64_t> sent_each{};  ///< of programs that run several times
  std::vector<std::uint64_t> received_each{};
};
/// A program of thread blocks, by address.
struct DeviceProgram {
  gpu::Program program{};
  std::byte* input = nullptr;
  std::byte* output = nullptr;
  std::vector<DeviceLink> links{};
  std::vector<gpu::ChannelPosition> positions{};  ///< by channel, as gpu::Work has them
  std::vector<std::int32_t> orders{};             ///< as gpu::Work has them
  std::vector<std::uint64_t> numbers{};
  int times = 1;  ///< one behind the other, as one graph
};

/// A process's view of the devices, with one of them selected. Not thread-safe. A call that fails is an
/// EnvironmentError with the API's own text. Memory that is left at the end is freed by the destructor.
class DeviceRuntime {
 public:
  virtual ~DeviceRuntime() = default;

  /// All devices that this process can see.
  [[nodiscard]] virtual const std::vector<DeviceInfo>& devices() const = 0;
  /// The selected one.
  [[nodiscard]] virtual const DeviceInfo& device() const = 0;
  /// Names and versions of the software below, for the environment block.
  [[nodiscard]] virtual std::map<std::string, std::string> versions() const = 0;
  /// Device memory is host memory: the CPU and every MPI library can read and write it.
  [[nodiscard]] virtual bool host_addressable() const = 0;

  /// Device memory of at least `size` bytes; owned by the caller until free().
  [[nodiscard]] virtual std::byte* allocate(Bytes size) = 0;
  /// The same on another device that this process sees, for a process that drives both.
  [[nodiscard]] virtual std::byte* allocate_on(const Uuid& device, Bytes size) = 0;
  /// `memory` as allocate() or allocate_on() returned it. Nothing may use it any more.
  virtual void free(std::byte* memory) = 0;
  /// Page-locks host memory for the copy engine, until unpin().
  virtual void pin(std::byte* memory, Bytes size) = 0;
  virtual void unpin(std::byte* memory) = 0;
  /// Tells of host memory that copies may name, before pin(), and of its end. It lies near to or far from `device`,
  /// which is its owner's. Only PacedRuntime needs that, to know which links a copy crosses; others do nothing.
  virtual void know_host_memory(std::byte* memory, Memory kind, Locality locality, const Uuid& device);
  virtual void forget_host_memory(std::byte* memory);
  /// Tells that the network adapter is to know device memory, `memory` being its start, and that it need not any more.
  /// The MPI library registers by itself, when it sends the memory first.
  virtual void register_memory(std::byte* memory, Bytes size);
  virtual void deregister_memory(std::byte* memory);

  /// Starts a copy behind all others of its stream. With pageable memory it may block.
  virtual Event copy(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine) = 0;
  /// The same for blocks that lie apart; check_blocks() has passed. The device does not need `blocks` any more when
  /// this returns.
  virtual Event copy_blocks(std::byte* to, const std::byte* from, std::span<const Block> blocks, Stream stream,
                            Engine engine) = 0;
  /// copy(), and then `flag`: whoever sees the flag sees the bytes. Also of no bytes.
  virtual Event copy_and_raise(std::byte* to, const std::byte* from, Bytes size, Flag flag, Stream stream,
                               Engine engine) = 0;
  /// Adds `size` bytes of numbers of 64 bits to those at `to`, behind all copies of the stream. Both are memory of the
  /// selected device.
  virtual Event add(std::byte* to, const std::byte* from, Bytes size, Stream stream) = 0;
  /// Starts a kernel that computes for `duration`, behind all copies of its stream.
  virtual Event compute(Seconds duration, Stream stream) = 0;
  /// May transform() be called?
  [[nodiscard]] virtual Answer transforms() const;
  /// Transforms numbers of the selected device in place, behind all copies of the stream; require_transform() has
  /// passed. The first one of a kind takes longer: the library makes a plan.
  virtual Event transform(std::byte* data, const Transform& transform, Stream stream);
  /// May launch() be called?
  [[nodiscard]] virtual Answer runs_programs() const;
  /// Starts a program behind all copies of the stream.
  virtual Event launch(DeviceProgram program, Stream stream);
  /// What somebody else, a library, puts into the device's own queue for the stream, behind what is there. Of `times`
  /// the calls are captured as one graph, which is kept by its `key` and launched again where that is known.
  using Enqueue = std::function<void(void* queue)>;
  [[nodiscard]] virtual Answer runs_libraries() const;
  virtual Event enqueue(Stream stream, int times, std::string_view key, const Enqueue& calls);
  /// Graphs that enqueue() has kept by keys that begin so go; waits for nothing. NCCL waits for those of its calls, for
  /// ever, before it lets a communicator go.
  virtual void forget_enqueued(std::string_view /*begin*/) {}
  /// Programs of the stream end soon, whatever their peers do; what they have not moved stays so.
  virtual void give_up_programs(Stream /*stream*/) {}
  /// May copy_on_host() be given device memory?
  [[nodiscard]] virtual Answer cpu_reaches_device() const;
  /// Copies between host memory by the calling CPU, in its turn of the stream, and waits; by Engine::cpu between device
  /// and host memory.
  virtual void copy_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream, Engine engine);
  /// Adds up numbers of 64 bits in host memory by the calling CPU, in its turn of the stream, and waits.
  virtual void add_on_host(std::byte* to, const std::byte* from, Bytes size, Stream stream);
  /// Has the copy ended? Never blocks. The event is used up once the answer was yes.
  virtual bool ended(Event event) = 0;
  /// Uses up an event that need not be asked for: one behind it in its stream has ended, and so it has.
  virtual void forget(Event /*event*/) {}
  /// Waits for all copies of a stream; their events still have to be asked for.
  virtual void synchronize(Stream stream) = 0;
  /// Copies and waits, apart from all streams.
  virtual void copy_now(std::byte* to, const std::byte* from, Bytes size) = 0;
  /// Ends what stays on the device until it is needed again: others may wait for all of the device's work.
  virtual void rest() {}
  /// Lets copies go on that need the CPU: those of emulated devices. Cheap; called in every poll.
  virtual void progress() = 0;

  /// `memory` as allocate() returned it. The token stays valid until free().
  virtual IpcToken export_memory(std::byte* memory) = 0;
  /// Maps memory that another process exported from the device `owner`, until close_memory().
  virtual std::byte* open_memory(const IpcToken& token, const Uuid& owner) = 0;
  virtual void close_memory(std::byte* memory) = 0;

  /// May the selected device read and write `peer`'s memory? Empty if this process cannot see `peer`: then only an
  /// attempt to open its memory tells.
  [[nodiscard]] virtual std::optional<Answer> peer_access(const DeviceInfo& peer) const = 0;
};

}  // namespace twinlink::real
