// Rank: everything that one rank may do, on a simulated machine as on a real one.
//
// Starting an operation never waits for a peer; it returns an Op. Exactly one call waits: wait_any(). Protocols are
// blocking code over these asynchronous verbs, so they read from top to bottom and still overlap what can overlap.
//
// A rule stated here exists because a test in tests/contract/ checks it on every backend.
//
// Two copies that overlap, of which the first to end is used first:
//
//   const std::array ops{rank.copy(to, from, Stream{0}, Engine::dma), rank.receive(peer, tags::kData, room)};
//   const auto first = rank.wait_any(ops, rank.now() + 1.0_s);   // nothing: the deadline has passed
//   if (first && first->status == Status::delivered) use(first->index);
//
// wait() of below does that for one operation. Backends: SimRank (model/), RealRank (real/), ExploreRank (tests/).
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <span>
#include <string_view>
#include <type_traits>

#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"

namespace twinlink {

namespace gpu {
struct Work;
struct FifoSlot;
struct Release;
}  // namespace gpu

/// A rank of the job, 0 to ranks()-1.
struct RankId {
  int value = 0;
  auto operator<=>(const RankId&) const = default;
};

/// Tells messages of one pair of ranks apart. Messages with the same tag stay in order. tags.hpp says who uses which.
struct Tag {
  int value = 0;
  auto operator<=>(const Tag&) const = default;
};

/// A queue of copies that run one after the other, like a CUDA stream. Every rank has kStreams of them.
struct Stream {
  int index = 0;
  auto operator<=>(const Stream&) const = default;
};
inline constexpr int kStreams = 16;
/// From here on they are those of programs that wait for their peers. Copies, additions and collectives have the
/// others.
inline constexpr int kFirstOfPrograms = 4;
/// No queue: compute() takes a core of the host that nobody else has.
inline constexpr Stream kOnHost{-1};

/// Which of its node's adapters a message takes. Adapters of a node are counted in a circle, from the one that the
/// machine would take by itself: 0 is that one, 1 the next. Nobody's turn: as many as the library takes.
struct AdapterTurn {
  int at_sender = 0;
  int at_receiver = 0;
  bool alone = false;  ///< one at each end, also where it is the first
  auto operator<=>(const AdapterTurn&) const = default;
};

/// Who moves the bytes of a copy that touches device memory. Between two host buffers it is always the calling CPU.
enum class Engine {
  dma,       ///< the GPU's copy engine
  kernel,    ///< a kernel's loads and stores
  resident,  ///< a kernel that stays on the GPU and takes its orders from page-locked memory
  cpu        ///< the calling CPU's own loads and stores, where it has the device memory mapped (GDRCopy, Grace)
};

/// What kind of memory a buffer lies in. Which verbs take which kind stands with each verb.
enum class Memory {
  device,        ///< the rank's own GPU
  pinned,        ///< page-locked host memory: the copy engine and the network adapter reach it directly
  pageable,      ///< ordinary host memory: the driver copies through a buffer of its own
  shared_pinned  ///< page-locked host memory that the ranks of a node can map
};

/// "device", "pinned", "pageable", "shared pinned".
std::string_view to_string(Memory memory);

/// Whether host memory lies on the NUMA domain (the socket's own memory) next to the rank's GPU or on the one farthest
/// from it. On a machine with one domain they are the same.
enum class Locality { near, far };

/// Memory that a rank owns or has opened. A handle: copying it copies no bytes and owns nothing. From allocate(),
/// allocate_beside() or open_memory(); of use to that rank alone.
struct Buffer {
  std::uint32_t id = 0;  ///< unique within the rank; 0 is no buffer
  Memory memory = Memory::pageable;
  Bytes size{};

  friend bool operator==(const Buffer& a, const Buffer& b) { return a.id == b.id; }
};

/// `length` bytes of a buffer from `offset`. May be empty; must lie inside its buffer.
struct View {
  Buffer buffer{};
  Bytes offset{};
  Bytes length{};

  View() = default;
  /// The whole buffer.
  explicit View(Buffer whole) : buffer(whole), length(whole.size) {}
  View(Buffer of, Bytes from, Bytes count) : buffer(of), offset(from), length(count) {}

  /// `count` bytes of this view, `from` bytes after its start.
  [[nodiscard]] View slice(Bytes from, Bytes count) const { return {buffer, offset + from, count}; }
};

/// One block of a copy whose bytes lie apart: where it goes and where it comes from, within the two views.
struct Block {
  Bytes to{};
  Bytes from{};
  Bytes length{};
};

/// What a put() raises at the owner of the memory that it wrote, once the bytes are there. Signals of one origin with
/// one tag stay in order, and await_signal() takes them one by one.
struct Signal {
  Tag tag{};                ///< 0 to kSignalTags-1
  std::uint64_t value = 0;  ///< what it says: up to kMostSignal
};
inline constexpr int kSignalTags = 16;
inline constexpr std::uint64_t kMostSignal = (std::uint64_t{1} << 48) - 1;
/// So many signals of one origin and tag may be raised and not yet taken; protocols keep to it by their own means.
inline constexpr std::size_t kMostSignals = 1024;

/// An operation in flight. Valid until wait_any() has returned it or abandon() was called.
struct Op {
  std::uint64_t id = 0;  ///< unique within the rank; 0 is no operation
  auto operator<=>(const Op&) const = default;
};

/// What wait_any() answers: which of the waited-for operations ended, and how.
struct Completion {
  std::size_t index = 0;  ///< into the span that was given to wait_any()
  Status status = Status::delivered;
};

/// A control message: up to kCapacity bytes of one trivially copyable value. Travels apart from the data. Both ends
/// name the same type:
///
///   rank.send_control(peer, tags::kReady, ControlMessage(Ready{.length = 4096}));   // there
///   const auto ready = message.as<Ready>();                                         // here, once recv_control() ended
class ControlMessage {
 public:
  static constexpr std::size_t kCapacity = 136;

  ControlMessage() = default;
  template <class T>
  explicit ControlMessage(const T& value) : size_(sizeof(T)) {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kCapacity);
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  /// The value that the peer put in. A message of another size is a UsageError: the two sides run different protocols.
  template <class T>
  [[nodiscard]] T as() const {
    static_assert(std::is_trivially_copyable_v<T> && sizeof(T) <= kCapacity);
    if (size_ != sizeof(T)) throw UsageError("a control message has another size than its reader expects");
    T value{};
    std::memcpy(&value, bytes_.data(), sizeof(T));
    return value;
  }
  [[nodiscard]] std::span<const std::byte> bytes() const { return {bytes_.data(), size_}; }
  /// Replaces the content; `content` has at most kCapacity bytes.
  void assign(std::span<const std::byte> content);

 private:
  std::array<std::byte, kCapacity> bytes_{};
  std::size_t size_ = 0;
};

/// What a peer needs in order to open memory of this rank: it fits into one ControlMessage. From export_memory(), for
/// open_memory() of the peer.
struct IpcHandle {
  std::array<std::byte, 64> token{};   ///< the backend's own; cudaIpcMemHandle_t on real GPUs
  std::array<std::byte, 16> device{};  ///< UUID of the owner's device; zeros for host memory
  std::uint64_t offset = 0;            ///< of the buffer within the allocation that the token names, bytes
  std::uint64_t size = 0;              ///< of the buffer, bytes
  /// Address of the allocation in the owner's space, as a key for caches: no two buffers of a rank have the same one at
  /// the same time, but a new buffer may have that of a released one.
  std::uint64_t address = 0;

  auto operator<=>(const IpcHandle&) const = default;
  /// At once, for caches compare it with every message.
  friend bool operator==(const IpcHandle& a, const IpcHandle& b) { return std::memcmp(&a, &b, sizeof(IpcHandle)) == 0; }
};
static_assert(std::has_unique_object_representations_v<IpcHandle>);

/// Where a rank is in its job. It does not change.
struct Position {
  RankId id{};
  std::span<const Place> places{};  ///< of all ranks of the job
  int numa_domains = 1;             ///< for host memory; with one, near and far are the same
  /// By whose rule and tables a library of collectives chooses; null: nobody says, and none can be played. Outlives the
  /// rank.
  const gpu::Release* release = nullptr;
};

/// What a protocol sees of one rank of a running job. Not thread-safe: a rank is one thread of control. Whoever
/// measures and proves sees a MeasuredRank.
///
/// Buffers, views and operations of another rank, already ended, or out of bounds are a UsageError. A failing
/// operating-system, MPI or CUDA call is an EnvironmentError.
class Rank {
 public:
  /// The places must outlive the rank.
  explicit Rank(const Position& position) : position_(position) {}
  virtual ~Rank() = default;

  // ---- where am I -------------------------------------------------------------------------------------------------

  [[nodiscard]] const Position& position() const { return position_; }
  [[nodiscard]] RankId id() const { return position_.id; }
  /// The number of ranks of the job.
  [[nodiscard]] int ranks() const { return static_cast<int>(position_.places.size()); }
  [[nodiscard]] const Place& place(RankId rank) const;
  [[nodiscard]] int numa_domains() const { return position_.numa_domains; }
  /// The path to `peer`, which must not be this rank: a UsageError. What is returned lives as long as the rank.
  [[nodiscard]] virtual const Path& path_to(RankId peer) const = 0;
  /// Asks the driver now whether this rank's GPU may access that of `peer`, and pays for the call. The answer is that
  /// of path_to(), whose GPUs were asked for before any message.
  virtual Answer check_peer_access(RankId peer);
  /// A library that takes device pointers asks the driver where a message from or to `peer` lies. Only time passes; by
  /// default none. send() and receive() of device memory ask by themselves.
  virtual void look_up_pointer(RankId peer) { static_cast<void>(peer); }
  /// Time since the start of the job: simulated, or the host's monotonic clock. The only clock that protocols know.
  virtual Seconds now() = 0;

  // ---- memory -----------------------------------------------------------------------------------------------------

  /// New memory, owned by this rank until release(). `locality` matters for host memory only.
  virtual Buffer allocate(Memory kind, Bytes size, Locality locality = Locality::near) = 0;
  /// New memory on the GPU of `peer`, for a process that drives both GPUs: no handle and no MPI. Owned by this rank,
  /// and used like its own. An UnavailableError where this process does not see that GPU, or the backend has no such
  /// process.
  virtual Buffer allocate_beside(RankId peer, Bytes size);
  /// Frees a buffer. A UsageError while an operation of this rank uses it, and for device memory while a peer has it
  /// open; shared pinned memory stays for the peers that have it open. After abandon() the memory itself is kept, but
  /// the buffer is gone for the caller.
  virtual void release(Buffer buffer) = 0;

  /// Makes a buffer of this rank's device, or of shared pinned memory, known to its node. Cheap; the handle stays valid
  /// until release().
  virtual IpcHandle export_memory(Buffer buffer) = 0;
  /// Maps memory that `owner` has exported. The buffer may be used in copy(); close it with close_memory(), not
  /// release(). An UnavailableError where path_to() refuses the mapping, or for host memory of another node. Device
  /// memory of another node is not mapped, but opened for put() alone, where path_to() grants one_sided and the owner
  /// has registered it; copy() of it is a UsageError. A handle that names no memory which `owner` exports, made up or
  /// of memory that has been released, is a UsageError where the backend finds out, and an EnvironmentError where the
  /// system does.
  virtual Buffer open_memory(RankId owner, const IpcHandle& handle) = 0;
  /// Unmaps. A UsageError while an operation uses the buffer.
  virtual void close_memory(Buffer buffer) = 0;

  /// Makes device memory of this rank known to the network adapter: send() and receive() of it need that, and a put()
  /// to another node needs it at both ends. A UsageError for other memory. Expensive: it pins pages. Memory may be
  /// registered again, by another user of it; each registration is paid for and taken back by itself.
  virtual void register_memory(Buffer buffer) = 0;
  /// Takes one registration back. A UsageError if there is none, or if it is the last one and an operation uses the
  /// buffer. release() takes all back.
  virtual void deregister_memory(Buffer buffer) = 0;

  // ---- operations: each starts now and ends in wait_any() ----------------------------------------------------------

  /// Copies `from.length` bytes; both views have the same length. Copies of one stream run in order. A copy between
  /// device and pageable memory, or between two host buffers, occupies the calling CPU until it has ended. A kernel
  /// reaches device memory of peers and page-locked memory, and one end must be device memory; a resident kernel writes
  /// from its own device into the memory of peers, and nothing else. The CPU moves bytes between its own device's
  /// memory and host memory, where Path::cpu_reaches_device says so, in their turn of the stream, and is busy until
  /// they are there. What they cannot reach is a UsageError.
  Op copy(View to, View from, Stream stream, Engine engine);
  /// One copy of many blocks: `to` and `from` are the memory in which they lie. The copy engine moves blocks of one
  /// length at one distance (a 2-D copy), a kernel any list, a resident one none; else a UsageError, as for blocks that
  /// overlap at the destination or lie outside. Otherwise as copy(). Not between two host buffers.
  Op copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine);
  /// What both of them start, once they have checked what needs no machine. Without blocks: the whole views.
  virtual Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) = 0;
  /// One-sided: writes into memory that was opened from a peer, behind what is in the stream, then raises `signal`
  /// there. No CPU of the peer takes part. Ends when the bytes are in place and the signal is on its way. Puts that
  /// raise one tag at one peer use one stream.
  virtual Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) = 0;
  /// What this rank sends to other nodes from now on takes these adapters. False, and nothing changes, where the
  /// library chooses them.
  virtual bool take_adapters(AdapterTurn turn) { return static_cast<void>(turn), false; }
  /// Starts a program of thread blocks on this rank's GPU, behind what is in the stream (protocols/gpu/work.hpp). It
  /// ends when its blocks have; peers run theirs. abandon() makes it give up. An UnavailableError where nothing runs
  /// it.
  virtual Op launch(const gpu::Work& work, Stream stream);
  /// Ends once a program of this rank has filled a slot, or read it, of a FIFO that the rank's own CPU stands behind
  /// (gpu::FifoSlot): it takes the slot to the network. An UnavailableError where the CPU cannot see that.
  virtual Op await_slot(const gpu::FifoSlot& slot);
  /// The CPU has filled a slot that a program reads, or has taken one that it has filled: the program goes on. At once.
  virtual void raise_slot(const gpu::FifoSlot& slot);
  /// Takes the next signal that `peer` raises with `tag`: what its put wrote is there then. `value` must live until the
  /// operation has ended or is abandoned.
  virtual Op await_signal(RankId peer, Tag tag, std::uint64_t& value) = 0;
  /// Sends bytes over the network to another rank; a rank that names itself, here or in the calls below, is a
  /// UsageError. Ends when the buffer may be written again. Device memory only where path_to() allows it,
  /// and registered.
  virtual Op send(RankId peer, Tag tag, View from) = 0;
  /// The same, and does not end before the peer has begun to receive it: MPI_Issend. Where the backend knows no
  /// difference: as send().
  virtual Op send_synchronously(RankId peer, Tag tag, View from) { return send(peer, tag, from); }
  /// Receives what `peer` sends with `tag`: exactly `to.length` bytes, else the operation ends with wrong_size.
  virtual Op receive(RankId peer, Tag tag, View to) = 0;
  /// Switches of the network add up what all `members`, this rank among them and in the same order everywhere, give
  /// with `tag`, and each of them receives the sum. Of one length and not in one place; device memory as send() takes
  /// it. Ends when the sum is there. An UnavailableError where none adds up (Path::fabric_reduces).
  virtual Op add_up(std::span<const RankId> members, Tag tag, View to, View from);
  /// Sends a control message: small, in order per pair of ranks and tag, apart from the data.
  virtual Op send_control(RankId peer, Tag tag, const ControlMessage& message) = 0;
  /// Takes the next control message of `peer` with `tag`. `into` must live until the operation has ended.
  virtual Op recv_control(RankId peer, Tag tag, ControlMessage& into) = 0;

  /// Waits until one of `ops` has ended and returns it, or nothing once now() has reached `deadline`. If several have
  /// ended, the first in the span is returned of those that the rank knows of: control messages and signals may be
  /// found before others. The returned operation is used up. `ops` must not be empty.
  virtual std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) = 0;
  /// Gives an operation up, after a timeout. Its memory is kept until the rank ends, for somebody may still write it;
  /// the message of a recv_control() and the value of an await_signal() are not written any more. What then arrives for
  /// it goes to the next receive(), recv_control() or await_signal().
  virtual void abandon(Op op) = 0;

  // ---- for people --------------------------------------------------------------------------------------------------

  /// Names the step of the protocol that the next operation belongs to, in the words of the protocol's scenario.
  virtual void step(std::string_view words) { static_cast<void>(words); }
  /// The protocol has come to a state that no operation belongs to; traces show it.
  virtual void state(std::string_view words) { static_cast<void>(words); }

 private:
  Position position_;
};

// What every backend checks.
/// A UsageError for a stream that there is not.
void require_stream(Stream stream);
/// A UsageError for a copy or put between views of different lengths, or in a stream that there is not.
void require_transfer(const View& to, const View& from, Stream stream);
/// A UsageError for a signal whose tag or value is out of range.
void require_signal(const Signal& signal);

/// Waits for one operation. `timed_out` once now() has reached `deadline`. Then, and where it throws, it is abandoned.
[[nodiscard]] Status wait(Rank& rank, Op op, Seconds deadline);

}  // namespace twinlink
