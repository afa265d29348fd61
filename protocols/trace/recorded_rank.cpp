#include "protocols/trace/recorded_rank.hpp"

#include <utility>

#include "protocols/core/blocks.hpp"
#include "protocols/gpu/work.hpp"

namespace twinlink {
namespace {

/// Signals have tags of their own, which must not meet those of control messages.
Tag signal_apart(Tag tag) { return Tag{-1 - tag.value}; }

}  // namespace

template <class Start>
Op RecordedRank::record(OpReport report, Start start) {
  report.rank = id();
  report.step = step_;
  report.started = inner().now();
  const Op op = start();
  in_flight_.insert_or_assign(op.id, std::move(report));
  return op;
}

OpReport RecordedRank::to_peer(std::string_view verb, RankId peer, Tag tag, Bytes size) const {
  OpReport report{.verb = verb, .size = size};
  report.peer = peer;
  report.tag = tag;
  return report;
}

OpReport RecordedRank::on_stream(std::string_view verb, Stream stream, Bytes size) const {
  OpReport report{.verb = verb, .size = size};
  if (stream != kOnHost) report.stream = stream.index;
  return report;
}

Op RecordedRank::start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  return record(on_stream("copy", stream, blocks.empty() ? from.length : total_length(blocks)),
                [&] { return inner().start_copy(to, from, blocks, stream, engine); });
}

Op RecordedRank::start_add(View to, View from, Stream stream) {
  return record(on_stream("add", stream, from.length), [&] { return inner().start_add(to, from, stream); });
}

Op RecordedRank::start_transform(View data, const Transform& transform, Stream stream) {
  return record(on_stream("transform", stream, transform.bytes()),
                [&] { return inner().start_transform(data, transform, stream); });
}

Op RecordedRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  OpReport report = on_stream("put", stream, from.length);
  if (signal) {
    report.tag = signal_apart(signal->tag);
    const auto owner = owners_.find(to.buffer.id);
    if (owner != owners_.end()) report.peer = owner->second;
  }
  return record(std::move(report), [&] { return inner().put(to, from, stream, engine, signal); });
}

Op RecordedRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  return record(to_peer("await signal", peer, signal_apart(tag), Bytes{}),
                [&] { return inner().await_signal(peer, tag, value); });
}

Op RecordedRank::send(RankId peer, Tag tag, View from) {
  return record(to_peer("send", peer, tag, from.length), [&] { return inner().send(peer, tag, from); });
}

Op RecordedRank::send_synchronously(RankId peer, Tag tag, View from) {
  return record(to_peer("send", peer, tag, from.length), [&] { return inner().send_synchronously(peer, tag, from); });
}

Op RecordedRank::launch(const gpu::Work& work, Stream stream) {
  return record(on_stream("launch", stream, Bytes{work.program.bytes}), [&] { return inner().launch(work, stream); });
}

Op RecordedRank::compute(Seconds duration, Stream stream) {
  return record(on_stream("compute", stream, Bytes{}), [&] { return inner().compute(duration, stream); });
}

Op RecordedRank::receive(RankId peer, Tag tag, View to) {
  return record(to_peer("receive", peer, tag, to.length), [&] { return inner().receive(peer, tag, to); });
}

Op RecordedRank::send_control(RankId peer, Tag tag, const ControlMessage& message) {
  return record(to_peer("send_control", peer, tag, Bytes{message.bytes().size()}),
                [&] { return inner().send_control(peer, tag, message); });
}

Op RecordedRank::recv_control(RankId peer, Tag tag, ControlMessage& into) {
  return record(to_peer("recv_control", peer, tag, Bytes{}), [&] { return inner().recv_control(peer, tag, into); });
}

std::optional<Completion> RecordedRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  const auto completion = inner().wait_any(ops, deadline);
  if (!completion) return completion;
  auto ended = in_flight_.extract(ops[completion->index].id);
  if (ended.empty()) return completion;  // started before the recording
  if (reports_.size() == most_) {
    ++left_out_;
    return completion;
  }
  ended.mapped().ended = inner().now();
  reports_.push_back(std::move(ended.mapped()));
  return completion;
}

Buffer RecordedRank::open_memory(RankId owner, const IpcHandle& handle) {
  const Buffer buffer = inner().open_memory(owner, handle);
  owners_.insert_or_assign(buffer.id, owner);
  return buffer;
}

void RecordedRank::abandon(Op op) {
  in_flight_.erase(op.id);
  inner().abandon(op);
}

void RecordedRank::step(std::string_view words) {
  step_ = words;
  inner().step(words);
}

}  // namespace twinlink
