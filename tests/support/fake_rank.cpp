#include "tests/support/fake_rank.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <exception>
#include <string>
#include <thread>
#include <utility>

#include "protocols/core/blocks.hpp"

namespace twinlink {
namespace {

constexpr std::byte kSentinelByte{0xA5};

/// Never the sentinel's byte, so that every dropped byte shows.
std::byte pattern_byte(Payload pattern, std::uint64_t index) {
  if (pattern == kSentinel) return kSentinelByte;
  if (is_summable(pattern)) {
    constexpr unsigned kBits = 8;
    const std::uint64_t element = summable_element(pattern, index / sizeof(std::uint64_t));
    return static_cast<std::byte>(element >> (kBits * (index % sizeof(std::uint64_t))));
  }
  std::uint64_t mixed = (pattern.seed + index * 0x9E3779B97F4A7C15U) * 0xBF58476D1CE4E5B9U;
  mixed ^= mixed >> 29U;
  const auto byte = static_cast<std::byte>(mixed & 0xFFU);
  return byte == kSentinelByte ? std::byte{0} : byte;
}

/// Signals come as messages, each tag beside the one of its number.
constexpr int kFirstSignalTag = 1 << 28;

Tag signal_tag(Tag tag) { return Tag{tag.value + kFirstSignalTag}; }

FakeWorld::Parcel parcel_of(std::span<const std::byte> content) {
  return {.arrival = {}, .content = {content.begin(), content.end()}};
}

}  // namespace

FakeWorld::FakeWorld(FakeWorldOptions of) : options(of), running(of.ranks) {
  path = {
      .same_node = options.same_node,
      .same_device = false,
      .peer_access = options.peer_access && options.same_node ? Answer::granted() : Answer::refused("no peer access"),
      .device_mapping = options.same_node ? Answer::granted() : Answer::refused("different nodes"),
      .one_sided = options.same_node ? Answer::granted() : Answer::refused("different nodes"),
      .device_memory_on_network = Answer::granted()};
  for (int rank = 0; rank < options.ranks; ++rank) {
    places.push_back(options.same_node ? Place{0, rank, "fake"} : Place{rank, 0, "fake"});
  }
}

void FakeWorld::wake_all() {
  ++happenings;
  asleep.clear();
  expired.reset();
  changed.notify_all();
}

void run_fake_world(const FakeWorldOptions& options, const std::function<void(MeasuredRank&)>& body) {
  FakeWorld world(options);
  std::exception_ptr first_failure;
  {
    std::vector<std::jthread> threads;
    for (int id = 0; id < options.ranks; ++id) {
      threads.emplace_back([&, id] {
        FakeRank rank(world, RankId{id});
        std::exception_ptr failure;
        try {
          body(rank);
        } catch (...) {
          failure = std::current_exception();
        }
        const std::scoped_lock lock(world.mutex);
        --world.running;
        if (failure && !world.failed) first_failure = failure;
        world.failed = world.failed || failure;
        world.wake_all();
      });
    }
  }
  if (first_failure) std::rethrow_exception(first_failure);
}

const Path& FakeRank::path_to(RankId peer) const {
  require_peer(peer);
  return world_.path;
}

void FakeRank::require_peer(RankId peer) const {
  if (peer == id_ || peer.value < 0 || peer.value >= ranks()) {
    throw UsageError("rank " + std::to_string(peer.value) + " is no peer");
  }
}

// ---- memory ---------------------------------------------------------------------------------------------------------

Buffer FakeRank::allocate(Memory kind, Bytes size, Locality) {
  pass(Bytes{});
  const Buffer buffer{++last_buffer_, kind, size};
  buffers_[buffer.id] = {.bytes = std::make_shared<FakeWorld::Bytestring>(size.count()), .owner = id_, .memory = kind};
  return buffer;
}

Buffer FakeRank::allocate_beside(RankId peer, Bytes size) {
  require_peer(peer);
  if (!world_.path.same_node) return Rank::allocate_beside(peer, size);
  const Buffer buffer = allocate(Memory::device, size, Locality::near);
  mapped(buffer).beside = true;
  return buffer;
}

FakeRank::Mapped& FakeRank::mapped(Buffer buffer) {
  const auto found = buffers_.find(buffer.id);
  if (found == buffers_.end()) throw UsageError("used a buffer that does not exist");
  return found->second;
}

void FakeRank::require_idle(Buffer buffer, const std::string& what) const {
  const auto uses = [&](const Pending& pending) {
    return pending.to.buffer == buffer || pending.source.buffer == buffer;
  };
  if (std::ranges::any_of(pending_, uses)) throw UsageError(what + " a buffer that an operation uses");
}

void FakeRank::release(Buffer buffer) {
  pass(Bytes{});
  if (mapped(buffer).opened != 0) throw UsageError("released a buffer that was opened: it is closed");
  require_idle(buffer, "released");
  const std::scoped_lock lock(world_.mutex);
  const auto exported = world_.exports.find({id_.value, buffer.id});
  if (exported != world_.exports.end()) {
    const bool device = exported->second.memory == Memory::device;
    if (device && exported->second.openings > 0) throw UsageError("released a buffer that a peer has open");
    world_.exports.erase(exported);
  }
  buffers_.erase(buffer.id);
}

IpcHandle FakeRank::export_memory(Buffer buffer) {
  pass(Bytes{});
  const Mapped& own = mapped(buffer);
  if (own.opened != 0 || (own.memory != Memory::device && own.memory != Memory::shared_pinned)) {
    throw UsageError("exported memory that no other process can map");
  }
  const std::scoped_lock lock(world_.mutex);
  world_.exports.try_emplace({id_.value, buffer.id}, FakeWorld::Export{own.bytes, own.memory});
  IpcHandle handle;
  std::memcpy(handle.token.data(), &buffer.id, sizeof buffer.id);
  handle.size = buffer.size.count();
  handle.address = buffer.id;
  return handle;
}

Buffer FakeRank::open_memory(RankId owner, const IpcHandle& handle) {
  pass(Bytes{});
  require_peer(owner);
  if (!world_.path.same_node) throw UnavailableError("memory of another node is not mapped");
  std::uint32_t id = 0;
  std::memcpy(&id, handle.token.data(), sizeof id);
  const std::scoped_lock lock(world_.mutex);
  const auto found = world_.exports.find({owner.value, id});
  if (found == world_.exports.end() || handle.size != found->second.bytes->size()) {
    throw UsageError("opened memory that nobody exports");
  }
  ++found->second.openings;
  const Buffer buffer{++last_buffer_, found->second.memory, Bytes{handle.size}};
  buffers_[buffer.id] = {.bytes = found->second.bytes, .owner = owner, .memory = found->second.memory, .opened = id};
  return buffer;
}

void FakeRank::close_memory(Buffer buffer) {
  pass(Bytes{});
  const Mapped& open = mapped(buffer);
  if (open.opened == 0) throw UsageError("closed a buffer that was not opened");
  require_idle(buffer, "closed");
  const std::scoped_lock lock(world_.mutex);
  // Shared pinned memory may be released, and no longer exported, while peers have it open.
  const auto exported = world_.exports.find({open.owner.value, open.opened});
  if (exported != world_.exports.end()) --exported->second.openings;
  buffers_.erase(buffer.id);
}

void FakeRank::register_memory(Buffer buffer) {
  pass(Bytes{});
  Mapped& own = mapped(buffer);
  if (own.memory != Memory::device || own.opened != 0) throw UsageError("registered other memory than its own GPU's");
  ++own.registrations;
}

void FakeRank::deregister_memory(Buffer buffer) {
  pass(Bytes{});
  Mapped& own = mapped(buffer);
  if (own.registrations == 0) throw UsageError("took back a registration that there is not");
  if (own.registrations == 1) require_idle(buffer, "took the last registration back of");
  --own.registrations;
}

std::span<std::byte> FakeRank::bytes(View view) {
  FakeWorld::Bytestring& all = *mapped(view.buffer).bytes;
  const Bytes size{all.size()};
  if (view.offset > size || view.length > size - view.offset) throw UsageError("a view reaches beyond its buffer");
  return std::span(all).subspan(view.offset.count(), view.length.count());
}

void FakeRank::fill(View view, Payload pattern) {
  std::uint64_t index = 0;
  for (std::byte& byte : bytes(view)) byte = pattern_byte(pattern, index++);
}

void FakeRank::write(View to, std::span<const std::byte> from) { std::ranges::copy(from, bytes(to).begin()); }

void FakeRank::read(View from, std::span<std::byte> to) { std::ranges::copy(bytes(from), to.begin()); }

Verdict FakeRank::check(View view, Payload pattern) {
  std::uint64_t index = 0;
  for (const std::byte byte : bytes(view)) {
    if (byte != pattern_byte(pattern, index)) {
      return {byte == kSentinelByte ? Verdict::Kind::dropped : Verdict::Kind::scrambled, Bytes{index}};
    }
    ++index;
  }
  return {};
}

/// Writes `content`, with the fault if it is this transfer's turn.
void FakeRank::write(View to, std::span<const std::byte> content, bool from_peer) {
  const std::span<std::byte> target = bytes(to);
  const auto& fault = world_.options.fault;
  bool hit = false;
  if (from_peer && fault && buffers_.at(to.buffer.id).owner == fault->victim) {
    hit = world_.transfers_into_victim++ == fault->transfer && fault->offset < Bytes{content.size()};
  }
  const std::byte before = hit ? target[fault->offset.count()] : std::byte{};
  std::ranges::copy(content, target.begin());
  if (!hit) return;
  std::byte& byte = target[fault->offset.count()];
  byte = fault->kind == Fault::Kind::drop ? before : byte ^ std::byte{0xFF};
  if (fault->kind == Fault::Kind::scramble && byte == kSentinelByte) byte = std::byte{0};
}

// ---- operations -----------------------------------------------------------------------------------------------------

Op FakeRank::start(Pending pending) {
  last_op_ += world_.options.op_step;
  pending.op = Op{last_op_};
  pending_.push_back(pending);
  return pending.op;
}

/// A kernel runs on this rank's GPU and loads and stores there, in page-locked memory, and on the GPUs of peers.
void FakeRank::require_reach(View to, View from, Engine engine) {
  if (engine == Engine::dma || engine == Engine::cpu) return;
  const auto foreign = [](const Mapped& at) { return at.memory == Memory::device && (at.opened != 0 || at.beside); };
  const auto own = [](const Mapped& at) { return at.memory == Memory::device && at.opened == 0 && !at.beside; };
  const Mapped& target = mapped(to.buffer);
  const Mapped& source = mapped(from.buffer);
  if (engine == Engine::resident && !(own(source) && target.opened != 0)) {
    throw UsageError("a resident kernel only writes into memory of peers");
  }
  const bool pageable = target.memory == Memory::pageable || source.memory == Memory::pageable;
  const bool denied = (foreign(target) || foreign(source)) && !world_.path.peer_access;
  if (pageable || denied || !(own(target) || own(source))) throw UsageError("a kernel does not reach that memory");
}

Op FakeRank::start_copy(View to, View from, std::span<const Block> blocks, Stream, Engine engine) {
  static_cast<void>(bytes(to));  // they exist
  static_cast<void>(bytes(from));
  require_reach(to, from, engine);
  const std::array whole{Block{.length = to.length}};
  if (blocks.empty()) blocks = whole;
  pass(total_length(blocks));
  const std::scoped_lock lock(world_.mutex);
  for (const Block& block : blocks) {
    write(to.slice(block.to, block.length), bytes(from.slice(block.from, block.length)),
          mapped(to.buffer).owner != id_);
  }
  return start({.to = to, .source = from});
}

Op FakeRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  const RankId owner = mapped(to.buffer).owner;
  if (owner == id_) throw UsageError("put() writes into memory that was opened from a peer");
  if (signal) require_signal(*signal);
  const Op op = copy(to, from, stream, engine);
  if (signal) post(owner, signal_tag(signal->tag), true, parcel_of(ControlMessage(signal->value).bytes()));
  return op;
}

Op FakeRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  require_peer(peer);
  require_signal({tag, 0});
  return start({.from = {{peer.value, id_.value, signal_tag(tag).value, true}}, .signal = &value});
}

void FakeRank::post(RankId peer, Tag tag, bool control, FakeWorld::Parcel parcel) {
  require_peer(peer);
  pass(Bytes{parcel.content.size()});
  parcel.arrival = now_;
  const std::scoped_lock lock(world_.mutex);
  world_.mail[{id_.value, peer.value, tag.value, control}].push_back(std::move(parcel));
  world_.wake_all();
}

Op FakeRank::start_add(View to, View from, Stream) {
  if (mapped(to.buffer).opened != 0 || mapped(from.buffer).opened != 0) {
    throw UsageError("a GPU adds up its own memory only");
  }
  pass(to.length);
  const std::scoped_lock lock(world_.mutex);
  const auto into = bytes(to);
  const auto what = bytes(from);
  for (std::size_t at = 0; at < into.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t sum = 0;
    std::uint64_t term = 0;
    std::memcpy(&sum, into.data() + at, sizeof sum);
    std::memcpy(&term, what.data() + at, sizeof term);
    sum += term;
    std::memcpy(into.data() + at, &sum, sizeof sum);
  }
  return start({.to = to, .source = from});
}

Op FakeRank::compute(Seconds duration, Stream stream) {
  require_compute(duration, stream);
  now_ += duration;
  return start({});
}

/// Device memory goes by the adapter, which must know it.
void FakeRank::require_sendable(RankId peer, View view) {
  require_peer(peer);
  static_cast<void>(bytes(view));  // it exists
  const Mapped& own = mapped(view.buffer);
  if (own.memory != Memory::device || own.registrations > 0) return;
  throw UsageError("sent or received device memory that is not registered");
}

Op FakeRank::send(RankId peer, Tag tag, View from) {
  if (from.length > kLeavesAlone) return send_synchronously(peer, tag, from);
  require_sendable(peer, from);
  post(peer, tag, false, parcel_of(bytes(from)));
  return start({.source = from});
}

Op FakeRank::send_synchronously(RankId peer, Tag tag, View from) {
  require_sendable(peer, from);
  FakeWorld::Parcel parcel = parcel_of(bytes(from));
  parcel.taken = std::make_shared<std::optional<Seconds>>();
  const auto taken = parcel.taken;
  post(peer, tag, false, std::move(parcel));
  return start({.taken = taken, .source = from});
}

Op FakeRank::send_control(RankId peer, Tag tag, const ControlMessage& message) {
  post(peer, tag, true, parcel_of(message.bytes()));
  return start({});
}

Op FakeRank::receive(RankId peer, Tag tag, View to) {
  require_sendable(peer, to);
  return start({.from = {{peer.value, id_.value, tag.value, false}}, .to = to});
}

Op FakeRank::recv_control(RankId peer, Tag tag, ControlMessage& into) {
  require_peer(peer);
  return start({.from = {{peer.value, id_.value, tag.value, true}}, .into = &into});
}

/// Gives what has come to those who wait for it, first come first served.
void FakeRank::take_mail() {
  for (Pending& pending : pending_) {
    if (!pending.from) continue;
    auto& mailbox = world_.mail[*pending.from];
    if (mailbox.empty()) continue;
    const FakeWorld::Parcel parcel = std::move(mailbox.front());
    mailbox.pop_front();
    pending.from.reset();
    now_ = std::max(now_, parcel.arrival);
    if (parcel.taken) {
      *parcel.taken = now_;
      world_.wake_all();
    }
    if (pending.signal != nullptr) {
      std::memcpy(pending.signal, parcel.content.data(), sizeof *pending.signal);
    } else if (pending.into) {
      pending.into->assign(parcel.content);
    } else if (parcel.content.size() == pending.to.length.count()) {
      write(pending.to, parcel.content, true);
    } else {
      pending.status = Status::wrong_size;
    }
  }
}

std::optional<Completion> FakeRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("waited for nothing");
  std::unique_lock lock(world_.mutex);
  for (;;) {
    if (world_.failed) throw Error("another rank failed");
    take_mail();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto found = std::ranges::find(pending_, ops[i], &Pending::op);
      if (found == pending_.end()) throw UsageError("waited for an operation that is not in flight");
      if (found->from || (found->taken && !*found->taken)) continue;
      if (found->taken) now_ = std::max(now_, **found->taken);
      const Status status = found->status;
      pending_.erase(found);
      return Completion{i, status};
    }
    if (now_ >= deadline) return std::nullopt;  // a look
    world_.asleep[id_.value] = deadline;
    if (world_.asleep.size() == static_cast<std::size_t>(world_.running)) {
      const auto by_deadline = [](const auto& a, const auto& b) { return a.second < b.second; };
      world_.expired = std::ranges::min_element(world_.asleep, by_deadline)->first;
      world_.changed.notify_all();
    }
    world_.changed.wait(
        lock, [&, seen = world_.happenings] { return world_.happenings != seen || world_.expired == id_.value; });
    if (world_.expired != id_.value) continue;
    world_.expired.reset();
    world_.asleep.erase(id_.value);
    now_ = std::max(now_, deadline);
    return std::nullopt;
  }
}

void FakeRank::abandon(Op op) {
  if (std::erase_if(pending_, [&](const Pending& pending) { return pending.op == op; }) == 0) {
    throw UsageError("abandoned an operation that is not in flight");
  }
}

}  // namespace twinlink
