#include "real/range_rank.hpp"

namespace twinlink::real {

/// A call is a range, however it ends.
class RangeRank::Call {
 public:
  Call(RangeRank& rank, const char* verb) : sink_(rank.sink_), range_(rank.sink_.begin(rank.name_of(verb))) {}
  ~Call() { sink_.end(range_); }
  Call(const Call&) = delete;
  Call& operator=(const Call&) = delete;

 private:
  RangeSink& sink_;
  std::uint64_t range_;
};

std::string RangeRank::name_of(const char* verb) const { return step_.empty() ? verb : step_ + ": " + verb; }

template <class Start>
Op RangeRank::track(const char* verb, Start start) {
  const std::uint64_t range = sink_.begin(name_of(verb));
  try {
    const Op op = start();
    ranges_.emplace(op.id, range);
    return op;
  } catch (...) {
    sink_.end(range);
    throw;
  }
}

void RangeRank::finish(Op op) {
  const auto known = ranges_.find(op.id);
  if (known == ranges_.end()) return;
  sink_.end(known->second);
  ranges_.erase(known);
}

Buffer RangeRank::allocate(Memory kind, Bytes size, Locality locality) {
  const Call call(*this, "allocate");
  return DecoratedRank::allocate(kind, size, locality);
}
void RangeRank::release(Buffer buffer) {
  const Call call(*this, "release");
  DecoratedRank::release(buffer);
}
IpcHandle RangeRank::export_memory(Buffer buffer) {
  const Call call(*this, "export memory");
  return DecoratedRank::export_memory(buffer);
}
Buffer RangeRank::open_memory(RankId owner, const IpcHandle& handle) {
  const Call call(*this, "open memory");
  return DecoratedRank::open_memory(owner, handle);
}
void RangeRank::close_memory(Buffer buffer) {
  const Call call(*this, "close memory");
  DecoratedRank::close_memory(buffer);
}
void RangeRank::register_memory(Buffer buffer) {
  const Call call(*this, "register memory");
  DecoratedRank::register_memory(buffer);
}
void RangeRank::deregister_memory(Buffer buffer) {
  const Call call(*this, "deregister memory");
  DecoratedRank::deregister_memory(buffer);
}

Op RangeRank::copy(View to, View from, Stream stream, Engine engine) {
  return track("copy", [&] { return DecoratedRank::copy(to, from, stream, engine); });
}
Op RangeRank::copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  return track("copy blocks", [&] { return DecoratedRank::copy_blocks(to, from, blocks, stream, engine); });
}
Op RangeRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  return track("put", [&] { return DecoratedRank::put(to, from, stream, engine, signal); });
}
Op RangeRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  return track("await signal", [&] { return DecoratedRank::await_signal(peer, tag, value); });
}
Op RangeRank::send(RankId peer, Tag tag, View from) {
  return track("send", [&] { return DecoratedRank::send(peer, tag, from); });
}
Op RangeRank::receive(RankId peer, Tag tag, View to) {
  return track("receive", [&] { return DecoratedRank::receive(peer, tag, to); });
}
Op RangeRank::tell(RankId peer, Tag tag, const Message& message) {
  return track("tell", [&] { return DecoratedRank::tell(peer, tag, message); });
}
Op RangeRank::hear(RankId peer, Tag tag, Message& into) {
  return track("hear", [&] { return DecoratedRank::hear(peer, tag, into); });
}

std::optional<Completion> RangeRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  const auto completion = DecoratedRank::wait_any(ops, deadline);
  if (completion) finish(ops[completion->index]);
  return completion;
}

void RangeRank::abandon(Op op) {
  DecoratedRank::abandon(op);
  finish(op);
}

void RangeRank::step(std::string_view words) {
  step_ = words;
  DecoratedRank::step(words);
}

}  // namespace twinlink::real
