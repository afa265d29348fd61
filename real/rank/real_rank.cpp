#include "real/rank/real_rank.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

#include "real/system/pattern.hpp"

namespace twinlink::real {
namespace {

constexpr std::size_t kStaging = std::size_t{4} << 20;
constexpr int kSlotBits = 32;

void hold(const Part& part) {
  if (part.allocation != nullptr) ++part.allocation->in_use;
}
void let_part_go(const Part& part) {
  if (part.allocation != nullptr) --part.allocation->in_use;
}
void keep(const Part& part) {
  if (part.allocation != nullptr) part.allocation->kept = true;
}

}  // namespace

RealRank::RealRank(const Mpi& mpi, DeviceRuntime& runtime, const Neighbours& neighbours, const Numa& numa,
                   RealMemory& memory, Signals& signals, LifeSigns& life, ControlMessages* messages,
                   Clock::time_point start)
    : MeasuredRank({.id = RankId{mpi.rank()},
                    .places = neighbours.places,
                    .numa_domains = numa.domains(),
                    .release = neighbours.release.get()}),
      mpi_(mpi),
      runtime_(runtime),
      neighbours_(neighbours),
      memory_(memory),
      signals_(signals),
      life_(life),
      control_messages_(messages),
      start_(start),
      staging_(kStaging) {}

RealRank::~RealRank() {
  // Errors can no longer be helped. Requests that are left would make MPI_Finalize complain.
  for (MPI_Request& request : requests_) {
    MPI_Cancel(&request);
    MPI_Request_free(&request);
  }
  // A peer may still wait for control messages that nobody here waited to see posted.
  constexpr Seconds kPatience{1.0};
  const Seconds deadline = now() + kPatience;
  while (!unposted_.empty() && now() < deadline) post_control();
  runtime_.rest();  // MPI_Finalize comes next
}

// ---- where am I -----------------------------------------------------------------------------------------------------

Seconds RealRank::now() { return Seconds{std::chrono::duration<double>(Clock::now() - start_).count()}; }

const Neighbour& RealRank::neighbour(RankId rank) const {
  static_cast<void>(place(rank));  // there is such a rank
  return neighbours_.ranks[static_cast<std::size_t>(rank.value)];
}

const Path& RealRank::path_to(RankId peer) const {
  if (peer == id()) throw UsageError(fmt::format("rank {} asked for the path to itself", peer.value));
  return neighbour(peer).path;
}

Answer RealRank::check_peer_access(RankId peer) {
  Answer known = Rank::check_peer_access(peer);
  static_cast<void>(runtime_.peer_access(neighbour(peer).device));  // the answer of both ends, which is known, counts
  return known;
}

std::optional<Seconds> RealRank::cpu_time() const {
  timespec spent{};
  if (::clock_gettime(CLOCK_THREAD_CPUTIME_ID, &spent) != 0) return std::nullopt;
  return Seconds{static_cast<double>(spent.tv_sec) + 1e-9 * static_cast<double>(spent.tv_nsec)};
}

Buffer RealRank::allocate_beside(RankId peer, Bytes size) {
  if (path_to(peer).same_node) return memory_.allocate_on(neighbour(peer).device.uuid, size);
  throw UnavailableError(
      fmt::format("one process does not drive the GPU of another node, that of rank {}", peer.value));
}

Buffer RealRank::allocate(Memory kind, Bytes size, Locality locality) { return memory_.allocate(kind, size, locality); }

Buffer RealRank::open_memory(RankId owner, const IpcHandle& handle) {
  return memory_.open(owner, neighbour(owner).device.uuid, handle, path_to(owner));
}

// ---- operations -----------------------------------------------------------------------------------------------------

RealRank::Slot RealRank::start(Kind kind, Part from, Part to) {
  if (free_slots_.empty()) {
    free_slots_.push_back(static_cast<Slot>(states_.size()));
    states_.emplace_back();
    operations_.emplace_back();
  }
  const Slot slot = free_slots_.back();
  free_slots_.pop_back();
  State& state = states_[slot];
  state = {.generation = state.generation + 1, .used = true};
  Operation& operation = operations_[slot];
  operation.kind = kind;
  operation.from = from;
  operation.to = to;
  hold(from);
  hold(to);
  return slot;
}

Op RealRank::op_of(Slot slot) const { return {(std::uint64_t{states_[slot].generation} << kSlotBits) | slot}; }

RealRank::Slot RealRank::find(Op op) const {
  const auto slot = static_cast<Slot>(op.id);
  if (slot < states_.size() && states_[slot].used && op_of(slot) == op) return slot;
  throw UsageError(
      fmt::format("rank {} has no operation {} in flight: never started, or already returned", id().value, op.id));
}

/// wait_any() may return it now.
void RealRank::end(Slot slot) {
  states_[slot].ended = true;
  ++endings_;
}

/// The operation is used up: its buffers are the caller's again.
void RealRank::let_go(Slot slot) {
  Operation& operation = operations_[slot];
  for (const Part& other : operation.others) let_part_go(other);
  operation.others.clear();
  let_part_go(operation.from);
  let_part_go(operation.to);
  states_[slot].used = false;
  free_slots_.push_back(slot);
}

void RealRank::require_address(RankId peer, Tag tag) const {
  static_cast<void>(path_to(peer));
  if (tag.value >= 0 && tag.value <= mpi_.largest_tag()) return;
  throw UsageError(fmt::format("there is no tag {}; tags are 0 to {}", tag.value, mpi_.largest_tag()));
}

void RealRank::require_sendable(const View& view, RankId peer) {
  if (view.buffer.memory != Memory::device) return;
  runtime_.rest();  // the library makes calls of its own
  const Answer& allowed = path_to(peer).device_memory_on_network;
  if (allowed && memory_.part(view).allocation->registrations > 0) return;
  if (allowed) throw UsageError("the network adapter does not know this device memory: register_memory() comes first");
  throw UsageError(
      fmt::format("device memory cannot pass between ranks {} and {}: {}", id().value, peer.value, allowed.reason));
}

/// The request of a new operation is in flight from now on.
void RealRank::await_request(Slot slot, MPI_Request request) {
  requests_.push_back(request);
  request_owners_.push_back(slot);
  statuses_.resize(requests_.size());
  ended_.resize(requests_.size());
}

Op RealRank::send(RankId peer, Tag tag, View from) { return send_by(MPI_Isend, "MPI_Isend", peer, tag, from); }

Op RealRank::send_synchronously(RankId peer, Tag tag, View from) {
  return send_by(MPI_Issend, "MPI_Issend", peer, tag, from);
}

Op RealRank::send_by(decltype(MPI_Isend)* call, const char* name, RankId peer, Tag tag, View from) {
  require_address(peer, tag);
  const Part source = memory_.part(from);
  require_sendable(from, peer);
  const MessageType as(source.length);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(call(source.data, as.count(), as.type(), peer.value, tag.value, mpi_.data(), &request), name);
  const Slot slot = start(Kind::send, source, {});
  await_request(slot, request);
  return op_of(slot);
}

Op RealRank::receive(RankId peer, Tag tag, View to) {
  require_address(peer, tag);
  const Part target = memory_.part(to);
  require_sendable(to, peer);
  const MessageType as(target.length);
  MPI_Request request = MPI_REQUEST_NULL;
  check_mpi(MPI_Irecv(target.data, as.count(), as.type(), peer.value, tag.value, mpi_.data(), &request), "MPI_Irecv");
  const Slot slot = start(Kind::receive, {}, target);
  await_request(slot, request);
  return op_of(slot);
}

// ---- waiting --------------------------------------------------------------------------------------------------------

std::optional<Completion> RealRank::take_ended(std::span<const Op> ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const Slot slot = find(ops[i]);
    if (!states_[slot].ended) continue;
    const Status status = states_[slot].status;
    let_go(slot);
    return Completion{i, status};
  }
  return std::nullopt;
}

std::optional<Completion> RealRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  // To read the clock takes as long as to look for a control message, so that is done seldom.
  constexpr unsigned kPollsPerClock = 16;
  life_.show();
  for (unsigned polls = 0;;) {
    if (const auto completion = take_ended(ops)) return completion;
    const std::uint64_t endings = endings_;
    do {
      if (polls++ % kPollsPerClock == 1) {
        life_.show();
        if (now() >= deadline) return std::nullopt;
      }
      poll();
    } while (endings_ == endings);
  }
}

void RealRank::poll() {
  runtime_.progress();
  const std::uint64_t endings = endings_;
  if (!host_works_.empty()) poll_host_works();
  if (!slot_waits_.empty()) poll_slots();
  if (awaits_.waiting > 0) poll_signals();
  if (control_receives_.waiting > 0) poll_control();
  if (!unposted_.empty()) post_control();
  // A look at a word in memory takes a tenth of a look at an event, and one at MPI may take as long as it takes to copy
  // a part of a message; what has ended can be gone on with at once. Not always: somebody may receive again after every
  // control message.
  constexpr unsigned kMostInARow = 16;
  const auto enough = [&] { return endings_ != endings && ++ends_in_a_row_ < kMostInARow; };
  if (enough()) return;
  for (std::size_t stream = 0; copies_in_flight_ > 0 && stream < copies_.size(); ++stream) {
    if (!copies_[stream].empty()) poll_copies(stream);
  }
  if (enough()) return;
  ends_in_a_row_ = 0;
  if (!requests_.empty()) poll_messages();
  constexpr unsigned kPolls = 64;
  if (++polls_ % kPolls == 0) let_others_go_on();
}

/// MPI may have promised more than it has done: a send that has ended for its caller may still lie in a queue. A rank
/// that waits for copies and control messages alone would leave it there. And control messages that nobody here
/// receives yet must not hold up who sends them. Seldom, for it costs as much as many polls.
void RealRank::let_others_go_on() {
  if (control_messages_ != nullptr) control_messages_->make_room();
  if (!requests_.empty()) return;
  int arrived = 0;
  check_mpi(MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, mpi_.control(), &arrived, MPI_STATUS_IGNORE), "MPI_Iprobe");
}

/// Copies of a stream end in order: before the oldest has ended, none has. To learn that one has ended takes seven
/// times as long as to learn that it has not (real/GOTCHAS.md), so that a rank which has been busy with other things
/// asks for the newest next: where that has ended, all have, and nobody else is asked.
void RealRank::poll_copies(std::size_t stream) {
  std::deque<Slot>& queue = copies_[stream];
  const auto end_first = [&] {
    end(queue.front());
    queue.pop_front();
    --copies_in_flight_;
  };
  while (!queue.empty() && runtime_.ended(operations_[queue.front()].event)) {
    end_first();
    if (queue.size() < 2 || !runtime_.ended(operations_[queue.back()].event)) continue;
    for (; queue.size() > 1; end_first()) runtime_.forget(operations_[queue.front()].event);
    end_first();
  }
}

void RealRank::poll_host_works() {
  const Seconds time = now();
  std::erase_if(host_works_, [&](const auto& work) {
    if (work.first > time) return false;
    end(work.second);
    return true;
  });
}

void RealRank::poll_messages() {
  int count = 0;
  const int code =
      MPI_Testsome(static_cast<int>(requests_.size()), requests_.data(), &count, ended_.data(), statuses_.data());
  if (code != MPI_ERR_IN_STATUS) check_mpi(code, "MPI_Testsome");
  if (count == 0) return;  // and never MPI_UNDEFINED: all requests are active
  for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
    const auto index = static_cast<std::size_t>(ended_[i]);
    // Only then are the statuses' errors defined.
    const int error = code == MPI_ERR_IN_STATUS ? statuses_[i].MPI_ERROR : MPI_SUCCESS;
    finish_message(request_owners_[index], statuses_[i], error);
    requests_[index] = MPI_REQUEST_NULL;
  }
  std::size_t left = 0;
  for (std::size_t i = 0; i < requests_.size(); ++i) {
    if (requests_[i] == MPI_REQUEST_NULL) continue;
    requests_[left] = requests_[i];
    request_owners_[left++] = request_owners_[i];
  }
  requests_.resize(left);
  request_owners_.resize(left);
}

void RealRank::finish_message(Slot slot, const MPI_Status& status, int error) {
  end(slot);
  const Operation& operation = operations_[slot];
  int error_class = MPI_SUCCESS;
  MPI_Error_class(error, &error_class);
  if (operation.kind == Kind::receive && error_class == MPI_ERR_TRUNCATE) {
    states_[slot].status = Status::wrong_size;
    return;
  }
  check_mpi(error, "MPI_Testsome");
  if (operation.kind == Kind::receive && received(status) != operation.to.length) {
    states_[slot].status = Status::wrong_size;
  }
  if (operation.kind == Kind::recv_control) {
    operation.into->assign(std::span(operation.message).first(received(status).count()));
  }
}

void RealRank::abandon(Op op) {
  const Slot slot = find(op);
  const Operation& operation = operations_[slot];
  if (!states_[slot].ended && operation.kind == Kind::program) runtime_.give_up_programs(operation.stream);
  if (!states_[slot].ended && (operation.kind == Kind::copy || operation.kind == Kind::program)) {
    // A copy waits for no peer: it ends soon, and then nobody writes its memory any more.
    runtime_.synchronize(operation.stream);
    poll_copies(static_cast<std::size_t>(operation.stream.index));
  }
  if (operation.kind == Kind::host_work) {
    std::erase_if(host_works_, [&](const auto& work) { return work.second == slot; });
    return let_go(slot);
  }
  if (operation.kind == Kind::slot) {
    std::erase_if(slot_waits_, [&](const SlotWait& wait) { return wait.slot == slot; });
    return let_go(slot);
  }
  if (states_[slot].ended) return let_go(slot);
  if (operation.kind == Kind::signal || operation.kind == Kind::control_in || operation.kind == Kind::control_out) {
    stop_awaiting(slot);
    return let_go(slot);
  }
  // MPI may go on with the message, so its memory stays, and so does the slot with its control message.
  const auto index = static_cast<std::size_t>(std::ranges::find(request_owners_, slot) - request_owners_.begin());
  MPI_Request request = requests_[index];
  requests_.erase(requests_.begin() + static_cast<std::ptrdiff_t>(index));
  request_owners_.erase(request_owners_.begin() + static_cast<std::ptrdiff_t>(index));
  keep(operation.from);
  keep(operation.to);
  let_part_go(operation.from);
  let_part_go(operation.to);
  const bool incoming = operation.kind == Kind::receive || operation.kind == Kind::recv_control;
  states_[slot].used = false;
  // What is not on its way yet shall not come here: the next receive takes it. A send stays, the peer may know of it.
  if (incoming) check_mpi(MPI_Cancel(&request), "MPI_Cancel");
  check_mpi(MPI_Request_free(&request), "MPI_Request_free");
}

// ---- proof of delivery ----------------------------------------------------------------------------------------------

void RealRank::fill(View view, Payload pattern) {
  const Part part = memory_.part(view);
  const std::uint64_t size = part.length.count();
  const bool on_device = part.allocation->memory == Memory::device;
  for (std::uint64_t at = 0; at < size; at += kStaging) {
    life_.show();
    const std::uint64_t length = std::min<std::uint64_t>(kStaging, size - at);
    const std::span chunk = on_device ? std::span(staging_).first(length) : std::span(part.data + at, length);
    write_pattern(chunk, pattern, at);
    if (on_device) runtime_.copy_now(part.data + at, chunk.data(), Bytes{length});
  }
}

void RealRank::write(View to, std::span<const std::byte> bytes) {
  const Part part = memory_.part(to);
  if (part.length.count() != bytes.size()) throw UsageError("a view is written with as many bytes as it has");
  if (part.allocation->memory != Memory::device) return static_cast<void>(std::ranges::copy(bytes, part.data));
  life_.show();
  runtime_.copy_now(part.data, bytes.data(), part.length);
}

void RealRank::read(View from, std::span<std::byte> bytes) {
  const Part part = memory_.part(from);
  if (part.length.count() != bytes.size()) throw UsageError("a view is read into as many bytes as it has");
  if (part.allocation->memory != Memory::device) {
    return static_cast<void>(std::copy_n(part.data, bytes.size(), bytes.begin()));
  }
  life_.show();
  runtime_.copy_now(bytes.data(), part.data, part.length);
}

Verdict RealRank::check(View view, Payload pattern) {
  const Part part = memory_.part(view);
  const std::uint64_t size = part.length.count();
  const bool on_device = part.allocation->memory == Memory::device;
  for (std::uint64_t at = 0; at < size; at += kStaging) {
    life_.show();
    std::span chunk(part.data + at, std::min<std::uint64_t>(kStaging, size - at));
    if (on_device) {
      runtime_.copy_now(staging_.data(), chunk.data(), Bytes{chunk.size()});
      chunk = std::span(staging_).first(chunk.size());
    }
    if (const auto bad = find_difference(chunk, pattern, at)) {
      const bool untouched = chunk[*bad] == pattern_byte(kSentinel, at + *bad);
      return {untouched ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{at + *bad}};
    }
  }
  return {};
}

}  // namespace twinlink::real
