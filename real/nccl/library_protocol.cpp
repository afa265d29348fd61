// NCCL itself.
//
//   1. rank 0, or of a pair the smaller number: makes an id
//   2. send id, receive id
//   3. all: make NCCL's communicator
//   with every collective or exchange
//   4. enqueue: NCCL's calls, into the device's own queue; of a graph they have been captured before
//   5. wait
#include "real/nccl/library_protocol.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/gpu/program.hpp"

extern char** environ;  // NOLINT: POSIX has it so

namespace twinlink::real {
namespace {

constexpr std::size_t kElement = sizeof(std::uint64_t);

/// NCCL's switches as the environment has them: ", NCCL_PROTO=LL".
std::string switches() {
  std::string text;
  for (char** each = environ; *each != nullptr; ++each) {
    const std::string_view entry(*each);
    if (entry.starts_with("NCCL_")) text += ", " + std::string(entry);
  }
  return text;
}

/// Waits until `deadline`. What has not ended by then is left to its caller, who ends NCCL's kernels before anything
/// may wait for their stream: they wait for peers, for ever.
std::optional<Status> wait_until(Rank& rank, Op op, Seconds deadline) {
  const auto done = rank.wait_any({&op, 1}, deadline);
  return done ? std::optional(done->status) : std::nullopt;
}

/// NCCL's communicator of some ranks.
class Comm {
 public:
  /// `ranks` are those of the job that take part, in order.
  Comm(Rank& rank, const NcclLibrary& library, std::span<const RankId> ranks, Seconds timeout) : library_(library) {
    const Seconds deadline = rank.now() + timeout;
    nccl::UniqueId id;
    if (ranks.front() == rank.id()) {
      library.check(library.call().get_unique_id(&id), "ncclGetUniqueId");
      rank.step("send id");
      for (const RankId peer : ranks.subspan(1)) {
        require(wait(rank, rank.send_control(peer, tags::kHeader, ControlMessage(id)), deadline));
      }
    } else {
      rank.step("receive id");
      ControlMessage message;
      require(wait(rank, rank.recv_control(ranks.front(), tags::kHeader, message), deadline));
      id = message.as<nccl::UniqueId>();
    }
    const auto place = static_cast<int>(std::ranges::find(ranks, rank.id()) - ranks.begin());
    library.check(library.call().init_rank(&comm_, static_cast<int>(ranks.size()), id, place), "ncclCommInitRank");
  }
  ~Comm() {
    if (comm_ != nullptr) (failed_ ? library_.call().abort : library_.call().finish)(comm_);
  }
  Comm(const Comm&) = delete;
  Comm& operator=(const Comm&) = delete;

  /// Its kernels may wait for ever.
  void fail() {
    if (!std::exchange(failed_, true)) library_.call().abort(std::exchange(comm_, nullptr));
  }
  [[nodiscard]] nccl::Comm get() const { return comm_; }

 private:
  static void require(Status status) {
    if (status != Status::delivered) throw EnvironmentError("ncclCommInitRank", "the other ranks have not come");
  }

  const NcclLibrary& library_;
  nccl::Comm comm_ = nullptr;
  bool failed_ = false;
};

std::vector<RankId> all_of(const Rank& rank) {
  std::vector<RankId> all;
  for (int r = 0; r < rank.ranks(); ++r) all.push_back(RankId{r});
  return all;
}

class LibraryCommunicator final : public Communicator {
 public:
  LibraryCommunicator(Rank& rank, RealRank& real, const NcclLibrary& library, Seconds timeout)
      : rank_(rank), real_(real), library_(library), timeout_(timeout), comm_(rank, library, all_of(rank), timeout) {}
  ~LibraryCommunicator() override { real_.forget_enqueued(name()); }
  LibraryCommunicator(const LibraryCommunicator&) = delete;
  LibraryCommunicator& operator=(const LibraryCommunicator&) = delete;

  [[nodiscard]] std::string path_taken(Collective, View) const override {
    return "NCCL " + library_.version() + switches();
  }

 private:
  /// That its calls begin with.
  [[nodiscard]] std::string name() const { return fmt::format("{} ", static_cast<const void*>(comm_.get())); }

  Outcome do_run(Collective what, View data, int times, const Portions&) override {
    if (what == Collective::dispatch || what == Collective::combine) {
      throw UsageError("NCCL has no collective with blocks of unequal lengths");
    }
    if (data.length == Bytes{}) return {};
    const auto parts = gpu::number(rank_.ranks());
    const std::uint64_t halves = what == Collective::all_to_all ? 2 : 1;
    const bool cuts = what == Collective::all_gather || what == Collective::reduce_scatter || halves == 2;
    if (cuts && data.length.count() % (parts * halves * kElement) != 0) {
      throw UsageError(fmt::format("NCCL has parts of equal size: {} B are no multiple of {} B for each of {} ranks",
                                   data.length.count() / halves, kElement, parts));
    }
    rank_.step("enqueue");
    const std::string call = fmt::format("{}{}", name(), static_cast<int>(what));
    const Op op = real_.enqueue(data, Stream{0}, times, call, [&](std::byte* memory, nccl::Queue queue) {
      enqueue(what, memory, data.length.count() / halves, queue);
    });
    rank_.step("wait");
    if (const auto status = wait_until(rank_, op, rank_.now() + timeout_)) return {*status};
    real_.forget_enqueued(name());
    comm_.fail();
    rank_.abandon(op);
    return {Status::timed_out, "step 'wait': NCCL's kernel has not ended"};
  }

  void enqueue(Collective what, std::byte* memory, std::uint64_t bytes, nccl::Queue queue) {
    const nccl::Functions& call = library_.call();
    const std::size_t count = bytes / kElement;
    const auto ranks = static_cast<std::size_t>(rank_.ranks());
    std::byte* const own = memory + bytes / ranks * static_cast<std::size_t>(rank_.id().value);
    const nccl::Comm comm = comm_.get();
    switch (what) {
      case Collective::all_reduce:
        return library_.check(call.all_reduce(memory, memory, count, nccl::kUint64, nccl::kSum, comm, queue),
                              "ncclAllReduce");
      case Collective::all_gather:
        return library_.check(call.all_gather(own, memory, count / ranks, nccl::kUint64, comm, queue), "ncclAllGather");
      case Collective::reduce_scatter:
        return library_.check(call.reduce_scatter(memory, own, count / ranks, nccl::kUint64, nccl::kSum, comm, queue),
                              "ncclReduceScatter");
      case Collective::broadcast:
        return library_.check(call.broadcast(memory, memory, count, nccl::kUint64, 0, comm, queue), "ncclBroadcast");
      case Collective::reduce:
        return library_.check(call.reduce(memory, memory, count, nccl::kUint64, nccl::kSum, 0, comm, queue),
                              "ncclReduce");
      case Collective::all_to_all:
      case Collective::dispatch:
      case Collective::combine:
        break;
    }
    library_.check(call.group_start(), "ncclGroupStart");
    for (std::size_t peer = 0; peer < ranks; ++peer) {
      std::byte* const block = memory + bytes / ranks * peer;
      const auto number = static_cast<int>(peer);
      library_.check(call.send(block, count / ranks, nccl::kUint64, number, comm, queue), "ncclSend");
      library_.check(call.recv(block + bytes, count / ranks, nccl::kUint64, number, comm, queue), "ncclRecv");
    }
    library_.check(call.group_end(), "ncclGroupEnd");
  }

  Rank& rank_;
  RealRank& real_;
  const NcclLibrary& library_;
  Seconds timeout_;
  Comm comm_;
};

class LibraryChannel final : public Channel {
 public:
  LibraryChannel(Rank& rank, RankId peer, RealRank& real, const NcclLibrary& library, Seconds timeout)
      : rank_(rank),
        real_(real),
        library_(library),
        timeout_(timeout),
        peer_(peer < rank.id() ? 0 : 1),
        comm_(rank, library, std::array{std::min(rank.id(), peer), std::max(rank.id(), peer)}, timeout) {}

  [[nodiscard]] std::string path_taken() const override { return "NCCL " + library_.version() + switches(); }

 private:
  Outcome do_exchange(std::span<const View> outgoing, std::span<const View> incoming) override {
    std::vector<Op> ops;
    const Seconds deadline = rank_.now() + timeout_;
    for (std::size_t i = 0; i < std::max(outgoing.size(), incoming.size()); ++i) {
      const View out = i < outgoing.size() ? outgoing[i] : View{};
      const View in = i < incoming.size() ? incoming[i] : View{};
      if (out.length == Bytes{} && in.length == Bytes{}) continue;
      rank_.step("enqueue");
      ops.push_back(real_.enqueue(out, in, Stream{0}, [&](std::byte* from, std::byte* to, nccl::Queue queue) {
        enqueue(from, out.length.count(), to, in.length.count(), queue);
      }));
    }
    rank_.step("wait");
    for (std::size_t first = 0; first < ops.size(); ++first) {
      const std::optional<Status> status = wait_until(rank_, ops[first], deadline);
      if (status == Status::delivered) continue;
      comm_.fail();
      for (const Op op : std::span(ops).subspan(first + (status ? 1 : 0))) rank_.abandon(op);
      return {status.value_or(Status::timed_out), "step 'wait': NCCL's kernel has not ended"};
    }
    return {};
  }

  void enqueue(std::byte* from, std::size_t sent, std::byte* to, std::size_t received, nccl::Queue queue) {
    constexpr int kBytes = 1;  // ncclUint8
    const nccl::Functions& call = library_.call();
    library_.check(call.group_start(), "ncclGroupStart");
    if (sent > 0) library_.check(call.send(from, sent, kBytes, peer_, comm_.get(), queue), "ncclSend");
    if (received > 0) library_.check(call.recv(to, received, kBytes, peer_, comm_.get(), queue), "ncclRecv");
    library_.check(call.group_end(), "ncclGroupEnd");
  }

  Rank& rank_;
  RealRank& real_;
  const NcclLibrary& library_;
  Seconds timeout_;
  int peer_;
  Comm comm_;
};

}  // namespace

Support LibraryProtocol::supports(const Path& path) const {
  static_cast<void>(path);
  const Answer runs = real_.runs_libraries();
  if (runs) return {};
  return {Support::Kind::no, runs.reason};
}

std::unique_ptr<Channel> LibraryProtocol::connect(Rank& rank, RankId peer, const Settings& settings) const {
  require_support(*this, rank.path_to(peer));
  return std::make_unique<LibraryChannel>(rank, peer, real_, library_, settings.timeout);
}

std::unique_ptr<Communicator> LibraryProtocol::join(Rank& rank, const Settings& settings) const {
  if (rank.ranks() < 2) throw UsageError("a collective needs two ranks at least");
  require_support(*this, rank.path_to(RankId{rank.id().value == 0 ? 1 : 0}));
  return std::make_unique<LibraryCommunicator>(rank, real_, library_, settings.timeout);
}

}  // namespace twinlink::real
