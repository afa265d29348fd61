#include "tests/explore/explorer/explore_rank.hpp"

#include "protocols/core/blocks.hpp"

namespace twinlink::explore {
namespace {

/// Runs `verb` with the ordinary heap: the machine's books are no part of the fiber.
template <class Verb>
[[gnu::noinline]] auto with_ordinary_heap(const Verb& verb) {
  const ActiveArena ordinary(nullptr);
  return verb();
}

/// The same, and leaves no trace of it on the fiber's stack.
template <class Verb>
auto outside(const Verb& verb) {
  if constexpr (std::is_void_v<decltype(verb())>) {
    with_ordinary_heap(verb);
    scrub_stack();
  } else {
    const auto result = with_ordinary_heap(verb);
    scrub_stack();
    return result;
  }
}

}  // namespace

const Path& ExploreRank::path_to(RankId peer) const {
  static_cast<void>(place(peer));
  if (peer.value == id_) throw UsageError("rank " + std::to_string(id_) + " asked for the path to itself");
  return machine_.scenario().path;
}

Buffer ExploreRank::allocate(Memory kind, Bytes size, Locality) {
  machine_.pass(id_);
  return outside([&] { return machine_.allocate(id_, kind, size); });
}

/// Its own memory to the machine, which has no GPUs.
Buffer ExploreRank::allocate_beside(RankId peer, Bytes size) {
  if (!path_to(peer).same_node) return Rank::allocate_beside(peer, size);
  return allocate(Memory::device, size, Locality::near);
}

void ExploreRank::release(Buffer buffer) {
  machine_.pass(id_);
  outside([&] { machine_.release(id_, buffer); });
}

IpcHandle ExploreRank::export_memory(Buffer buffer) {
  machine_.pass(id_);
  return outside([&] { return machine_.export_memory(id_, buffer); });
}

Buffer ExploreRank::open_memory(RankId owner, const IpcHandle& handle) {
  machine_.pass(id_);
  return outside([&] { return machine_.open_memory(id_, owner, handle); });
}

void ExploreRank::close_memory(Buffer buffer) {
  machine_.pass(id_);
  outside([&] { machine_.close_memory(id_, buffer); });
}

void ExploreRank::register_memory(Buffer buffer) {
  machine_.pass(id_);
  outside([&] { machine_.register_memory(id_, buffer, true); });
}

void ExploreRank::deregister_memory(Buffer buffer) {
  machine_.pass(id_);
  outside([&] { machine_.register_memory(id_, buffer, false); });
}

Op ExploreRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  machine_.pass(id_, blocks.empty() ? to.length : total_length(blocks));
  return outside([&] {
    if (engine == Engine::resident && !machine_.opened(id_, to.buffer)) {
      throw UsageError("a resident kernel only writes into memory of peers");
    }
    return machine_.start_copy(id_, to, from, {blocks.begin(), blocks.end()}, stream);
  });
}

Op ExploreRank::put(View to, View from, Stream stream, Engine, std::optional<Signal> signal) {
  machine_.pass(id_, to.length);
  if (signal) machine_.pass(id_, Bytes{sizeof signal->value});
  return outside([&] { return machine_.start_put(id_, to, from, stream, signal); });
}

Op ExploreRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  return outside([&] { return machine_.start_await(id_, peer, tag, value); });
}

Op ExploreRank::send(RankId peer, Tag tag, View from) {
  machine_.pass(id_, from.length);
  return outside([&] { return machine_.start_send(id_, peer, tag, from); });
}

Op ExploreRank::send_synchronously(RankId peer, Tag tag, View from) {
  machine_.pass(id_, from.length);
  return outside([&] { return machine_.start_send(id_, peer, tag, from, true); });
}

Op ExploreRank::start_add(View to, View from, Stream stream) {
  machine_.pass(id_, from.length);
  return outside([&] { return machine_.start_copy(id_, to, from, {}, stream, true); });
}

Op ExploreRank::compute(Seconds duration, Stream stream) {
  require_compute(duration, stream);
  machine_.compute(id_, duration);
  return outside([&] {
    const View nothing(machine_.allocate(id_, Memory::device, Bytes{}));
    return machine_.start_copy(id_, nothing, nothing, {}, stream == kOnHost ? Stream{kStreams - 1} : stream);
  });
}

Op ExploreRank::receive(RankId peer, Tag tag, View to) {
  return outside([&] { return machine_.start_receive(id_, peer, tag, to); });
}

Op ExploreRank::send_control(RankId peer, Tag tag, const ControlMessage& message) {
  machine_.pass(id_, Bytes{message.bytes().size()});
  return outside([&] { return machine_.start_send_control(id_, peer, tag, message); });
}

Op ExploreRank::recv_control(RankId peer, Tag tag, ControlMessage& into) {
  return outside([&] { return machine_.start_recv_control(id_, peer, tag, into); });
}

std::optional<Completion> ExploreRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  outside([&] { machine_.wait(id_, ops, deadline); });
  machine_.world.ranks[static_cast<std::size_t>(id_)].where = __builtin_return_address(0);
  fiber_.suspend();
  if (answer) return answer;
  return std::nullopt;  // without what lies in `answer`: no bytes that depend on other things
}

void ExploreRank::abandon(Op op) {
  outside([&] { machine_.abandon(id_, op); });
}

void ExploreRank::fill(View view, Payload pattern) {
  outside([&] { machine_.fill(id_, view, pattern); });
}

Verdict ExploreRank::check(View view, Payload pattern) {
  return outside([&] { return machine_.check(id_, view, pattern); });
}

void ExploreRank::step(std::string_view words_of_step) {
  if (!keep_words) return;
  outside([&] { words = words_of_step; });
}

void ExploreRank::ending(std::string_view how) {
  outside([&] { machine_.world.ranks[static_cast<std::size_t>(id_)].ending = how; });
}

void ExploreRank::require(bool holds, std::string_view what) {
  if (holds) return;
  outside([&] { machine_.violation("rank " + std::to_string(id_) + ": " + std::string(what)); });
}

void ExploreRank::watch(const std::function<std::uint64_t()>& digest) {
  machine_.world.ranks[static_cast<std::size_t>(id_)].watched = &digest;
}

void ExploreRank::unwatch() { machine_.world.ranks[static_cast<std::size_t>(id_)].watched = nullptr; }

}  // namespace twinlink::explore
