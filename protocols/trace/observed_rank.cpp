#include "protocols/trace/observed_rank.hpp"

#include "protocols/core/enum_table.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink {
namespace {

/// "device[65536+4096]": the kind of memory, the offset, the length. No buffer ids: they differ between backends.
std::string describe(const View& view) {
  return std::string(to_string(view.buffer.memory)) + "[" + std::to_string(view.offset.count()) + "+" +
         std::to_string(view.length.count()) + "]";
}

std::string describe(Buffer buffer) { return describe(View(buffer)); }

std::string describe(Stream stream, Engine engine) {
  constexpr Words<Engine> kBy{"", " by kernel", " by resident kernel", " by CPU"};
  return " stream " + std::to_string(stream.index) + std::string(kBy[engine]);
}

std::string describe(RankId peer) { return "rank " + std::to_string(peer.value); }

}  // namespace

template <class Call, class WordsOf>
auto ObservedRank::call(std::string_view verb, Call call, WordsOf words) {
  verb_begins(verb);
  try {
    auto result = call();
    call_ended([&] { return words(result); });
    return result;
  } catch (...) {
    verb_threw();
    throw;
  }
}

template <class Start>
Op ObservedRank::start(std::string_view verb, Start start, const Words& words) {
  verb_begins(verb);
  try {
    const Op op = start();
    operation_began(op, words);
    return op;
  } catch (...) {
    verb_threw();
    throw;
  }
}

Answer ObservedRank::check_peer_access(RankId peer) {
  return call(
      "check peer access", [&] { return inner().check_peer_access(peer); },
      [&](const Answer& answer) {
        return "check peer access to " + describe(peer) + (answer ? ": granted" : ": refused");
      });
}

Buffer ObservedRank::allocate_beside(RankId peer, Bytes size) {
  return call(
      "allocate", [&] { return inner().allocate_beside(peer, size); },
      [&](Buffer made) { return "allocate " + describe(made) + " on the GPU of " + describe(peer); });
}

Buffer ObservedRank::allocate(Memory kind, Bytes size, Locality locality) {
  return call(
      "allocate", [&] { return inner().allocate(kind, size, locality); },
      [](Buffer made) { return "allocate " + describe(made); });
}

void ObservedRank::release(Buffer buffer) {
  call(
      "release", [&] { return inner().release(buffer), buffer; },
      [](Buffer gone) { return "release " + describe(gone); });
}

IpcHandle ObservedRank::export_memory(Buffer buffer) {
  return call(
      "export memory", [&] { return inner().export_memory(buffer); },
      [&](const IpcHandle&) { return "export memory " + describe(buffer); });
}

Buffer ObservedRank::open_memory(RankId owner, const IpcHandle& handle) {
  return call(
      "open memory", [&] { return inner().open_memory(owner, handle); },
      [&](Buffer opened) { return "open memory of " + describe(owner) + " " + describe(opened); });
}

void ObservedRank::close_memory(Buffer buffer) {
  call(
      "close memory", [&] { return inner().close_memory(buffer), buffer; },
      [](Buffer closed) { return "close memory " + describe(closed); });
}

void ObservedRank::register_memory(Buffer buffer) {
  call(
      "register memory", [&] { return inner().register_memory(buffer), buffer; },
      [](Buffer known) { return "register " + describe(known); });
}

void ObservedRank::deregister_memory(Buffer buffer) {
  call(
      "deregister memory", [&] { return inner().deregister_memory(buffer), buffer; },
      [](Buffer forgotten) { return "deregister " + describe(forgotten); });
}

Op ObservedRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  return start(
      blocks.empty() ? "copy" : "copy blocks", [&] { return inner().start_copy(to, from, blocks, stream, engine); },
      [&] {
        const std::string several = blocks.empty() ? "" : std::to_string(blocks.size()) + " blocks ";
        return "copy " + several + describe(from) + " -> " + describe(to) + describe(stream, engine);
      });
}

Op ObservedRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  return start(
      "put", [&] { return inner().put(to, from, stream, engine, signal); },
      [&] {
        return "put " + describe(from) + " -> " + describe(to) + describe(stream, engine) + (signal ? " signal" : "");
      });
}

Op ObservedRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  return start(
      "await signal", [&] { return inner().await_signal(peer, tag, value); },
      [&] { return "await signal of " + describe(peer); });
}

Op ObservedRank::send(RankId peer, Tag tag, View from) {
  return start(
      "send", [&] { return inner().send(peer, tag, from); },
      [&] { return "send " + describe(from) + " -> " + describe(peer); });
}

Op ObservedRank::send_synchronously(RankId peer, Tag tag, View from) {
  return start(
      "send", [&] { return inner().send_synchronously(peer, tag, from); },
      [&] { return "send synchronously " + describe(from) + " -> " + describe(peer); });
}

Op ObservedRank::start_add(View to, View from, Stream stream) {
  return start(
      "add", [&] { return inner().start_add(to, from, stream); },
      [&] { return "add " + describe(from) + " -> " + describe(to) + " stream " + std::to_string(stream.index); });
}

Op ObservedRank::start_transform(View data, const Transform& transform, Stream stream) {
  return start(
      "transform", [&] { return inner().start_transform(data, transform, stream); },
      [&] {
        return "transform " + twinlink::describe(transform) + " " + describe(data) + " stream " +
               std::to_string(stream.index);
      });
}

Op ObservedRank::launch(const gpu::Work& work, Stream stream) {
  return start(
      "launch", [&] { return inner().launch(work, stream); },
      [&] { return "launch " + gpu::describe(work) + " stream " + std::to_string(stream.index); });
}

Op ObservedRank::await_slot(const gpu::FifoSlot& slot) {
  return start(
      "await slot", [&] { return inner().await_slot(slot); }, [&] { return "await " + gpu::describe(slot); });
}

void ObservedRank::raise_slot(const gpu::FifoSlot& slot) {
  call(
      "raise slot", [&] { return inner().raise_slot(slot), 0; }, [&](int) { return "raise " + gpu::describe(slot); });
}

Op ObservedRank::compute(Seconds duration, Stream stream) {
  return start(
      "compute", [&] { return inner().compute(duration, stream); },
      [&] {
        return "compute " + format_seconds(duration) +
               (stream == kOnHost ? " on the host" : " stream " + std::to_string(stream.index));
      });
}

Op ObservedRank::receive(RankId peer, Tag tag, View to) {
  return start(
      "receive", [&] { return inner().receive(peer, tag, to); },
      [&] { return "receive " + describe(to) + " <- " + describe(peer); });
}

Op ObservedRank::add_up(std::span<const RankId> members, Tag tag, View to, View from) {
  return start(
      "add up", [&] { return inner().add_up(members, tag, to, from); },
      [&] {
        return "add up " + describe(from) + " -> " + describe(to) + " of " + std::to_string(members.size()) + " ranks";
      });
}

Op ObservedRank::send_control(RankId peer, Tag tag, const ControlMessage& message) {
  return start(
      "send_control", [&] { return inner().send_control(peer, tag, message); },
      [&] { return "send_control " + describe(peer) + " " + std::to_string(message.bytes().size()) + " B"; });
}

Op ObservedRank::recv_control(RankId peer, Tag tag, ControlMessage& into) {
  return start(
      "recv_control", [&] { return inner().recv_control(peer, tag, into); },
      [&] { return "recv_control " + describe(peer); });
}

std::optional<Completion> ObservedRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  const auto completion = inner().wait_any(ops, deadline);
  if (completion) operation_ended(ops[completion->index], true);
  return completion;
}

void ObservedRank::abandon(Op op) {
  inner().abandon(op);
  operation_ended(op, false);
}

void ObservedRank::step(std::string_view words) {
  step_ = words;
  inner().step(words);
}

void ObservedRank::state(std::string_view words) {
  step_ = words;
  verb_begins("state");
  inner().state(words);
  call_ended([] { return std::string("state"); });
}

}  // namespace twinlink
