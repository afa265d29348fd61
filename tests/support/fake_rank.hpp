// A world of ranks in threads of one process, with real bytes and a made-up clock. It stands in for a machine where a
// test needs ranks that talk to each other, and it can break a transfer on purpose.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "protocols/core/measured_rank.hpp"

namespace twinlink {

/// A byte that does not arrive as it was sent.
struct Fault {
  enum class Kind { drop, scramble };
  Kind kind = Kind::drop;
  RankId victim{};   ///< whose memory is hit, by a message or by a peer's copy
  int transfer = 0;  ///< which transfer into that memory from another rank, counted from 0
  Bytes offset{};    ///< of the byte within that transfer
};

struct FakeWorldOptions {
  int ranks = 2;
  bool same_node = true;
  bool peer_access = true;
  int numa_domains = 2;
  std::optional<Fault> fault{};
  std::uint64_t op_step = 1;  ///< from the number of one operation to that of the next
};

/// What a send() does not wait with for its receiver, as MPI does.
inline constexpr Bytes kLeavesAlone = 64_KiB;

/// Runs `body` once per rank, each in a thread of its own. The first exception ends all ranks and is rethrown. Where
/// all ranks wait, the wait of the earliest deadline is over at once, and one whose deadline has passed only looks:
/// whether it finds what another rank does at that moment depends on the threads. A message of more than kLeavesAlone
/// ends not before it is received. Every copy and message takes 1 us and 1 ns per byte, every other call 1 us, and no
/// time passes otherwise: ranks that wait for one thing at a time have the same times in every run.
void run_fake_world(const FakeWorldOptions& options, const std::function<void(MeasuredRank&)>& body);

class FakeRank;

/// What the ranks share; all of it is guarded by `mutex`.
struct FakeWorld {
  using Bytestring = std::vector<std::byte>;
  struct Parcel {
    Seconds arrival;
    Bytestring content;
    std::shared_ptr<std::optional<Seconds>> taken{};  ///< of one that is sent synchronously: when, once it is
  };
  using Mailbox = std::tuple<int, int, int, bool>;  ///< from, to, tag, is it a control message?

  explicit FakeWorld(FakeWorldOptions of);
  /// Something happened that may end a wait.
  void wake_all();

  FakeWorldOptions options;
  Path path;
  std::vector<Place> places;
  std::mutex mutex;
  std::condition_variable changed;
  std::map<Mailbox, std::deque<Parcel>> mail;
  struct Export {
    std::shared_ptr<Bytestring> bytes;
    Memory memory = Memory::device;
    int openings = 0;  ///< by peers that have it open
  };
  std::map<std::pair<int, std::uint32_t>, Export> exports;  ///< by owner and buffer
  int running = 0;
  std::map<int, Seconds> asleep;  ///< until when: ranks that wait, and nothing has happened since
  std::optional<int> expired;     ///< of those the one whose wait is over, as nobody is left who could end one
  std::uint64_t happenings = 0;
  bool failed = false;
  int transfers_into_victim = 0;
};

class FakeRank final : public MeasuredRank {
 public:
  FakeRank(FakeWorld& world, RankId id)
      : MeasuredRank({.id = id, .places = world.places, .numa_domains = world.options.numa_domains}),
        world_(world),
        id_(id) {}

  Seconds now() override { return now_; }
  [[nodiscard]] const Path& path_to(RankId peer) const override;

  Buffer allocate(Memory kind, Bytes size, Locality locality) override;
  Buffer allocate_beside(RankId peer, Bytes size) override;
  void release(Buffer buffer) override;
  IpcHandle export_memory(Buffer buffer) override;
  Buffer open_memory(RankId owner, const IpcHandle& handle) override;
  void close_memory(Buffer buffer) override;
  void register_memory(Buffer buffer) override;
  void deregister_memory(Buffer buffer) override;

  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override;
  Op await_signal(RankId peer, Tag tag, std::uint64_t& value) override;
  Op send(RankId peer, Tag tag, View from) override;
  Op send_synchronously(RankId peer, Tag tag, View from) override;
  Op compute(Seconds duration, Stream stream) override;
  Op start_add(View to, View from, Stream stream) override;
  Op receive(RankId peer, Tag tag, View to) override;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override;
  Op recv_control(RankId peer, Tag tag, ControlMessage& into) override;
  std::optional<Completion> wait_any(std::span<const Op> ops, Seconds deadline) override;
  void abandon(Op op) override;

  void fill(View view, Payload pattern) override;
  Verdict check(View view, Payload pattern) override;
  [[nodiscard]] bool has_bytes() const override { return true; }
  void write(View to, std::span<const std::byte> from) override;
  void read(View from, std::span<std::byte> to) override;

  /// Buffers that were neither released nor closed.
  [[nodiscard]] std::size_t live_buffers() const { return buffers_.size(); }

 private:
  struct Mapped {
    std::shared_ptr<FakeWorld::Bytestring> bytes;
    RankId owner;  ///< this rank, of what it has allocated beside a peer too
    Memory memory;
    std::uint32_t opened = 0;  ///< the owner's id of what was opened from it; 0: allocated
    int registrations = 0;
    bool beside = false;  ///< on the GPU of a peer
  };
  /// Ended, if there is no mailbox to take from and nobody who must take.
  struct Pending {
    Op op{};
    Status status = Status::delivered;
    std::optional<FakeWorld::Mailbox> from{};
    std::shared_ptr<std::optional<Seconds>> taken{};  ///< of a synchronous send
    View to{};                                        ///< of a receive, and of a copy
    View source{};                    ///< of a send, and of a copy: in use until somebody has learnt of the end
    ControlMessage* into = nullptr;   ///< of a recv_control
    std::uint64_t* signal = nullptr;  ///< of an await_signal
  };

  void pass(Bytes moved) { now_ += Seconds{1e-6 + 1e-9 * static_cast<double>(moved.count())}; }
  [[nodiscard]] std::span<std::byte> bytes(View view);
  void write(View to, std::span<const std::byte> content, bool from_peer);
  void post(RankId peer, Tag tag, bool control, FakeWorld::Parcel parcel);
  Op start(Pending pending);
  void take_mail();
  void require_peer(RankId peer) const;
  [[nodiscard]] Mapped& mapped(Buffer buffer);
  /// A UsageError while an operation uses the buffer.
  void require_idle(Buffer buffer, const std::string& what) const;
  void require_sendable(RankId peer, View view);
  void require_reach(View to, View from, Engine engine);

  FakeWorld& world_;
  RankId id_;
  Seconds now_{};
  std::map<std::uint32_t, Mapped> buffers_;
  std::uint32_t last_buffer_ = 0;
  std::vector<Pending> pending_;  ///< in the order in which they were started
  std::uint64_t last_op_ = 0;
};

}  // namespace twinlink
