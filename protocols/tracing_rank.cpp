#include "protocols/tracing_rank.hpp"

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>
#include <utility>

namespace twinlink {
namespace {

/// "device[65536+4096]": the kind of memory, the offset, the length. No buffer ids: they differ between backends.
std::string describe(const View& view) {
  return std::string(to_string(view.buffer.memory)) + "[" + std::to_string(view.offset.count()) + "+" +
         std::to_string(view.length.count()) + "]";
}

std::string describe(Stream stream, Engine engine) {
  return " stream " + std::to_string(stream.index) + (engine == Engine::kernel ? " by kernel" : "");
}

std::string describe(RankId peer) { return "rank " + std::to_string(peer.value); }

constexpr std::size_t kStepWidth = 16;

std::string times_of(const TraceEvent& event, Seconds origin) {
  std::array<char, 64> columns{};
  std::snprintf(columns.data(), columns.size(), "%10.3f %9.3f  ", (event.started - origin).microseconds(),
                (event.ended - origin).microseconds());
  return columns.data();
}

}  // namespace

std::size_t Trace::start(TraceEvent event) {
  events_.push_back(std::move(event));
  lines_.push_back({events_.size() - 1, false});
  return events_.size() - 1;
}

void Trace::end(std::size_t event, Seconds when, bool finished) {
  events_[event].ended = when;
  events_[event].finished = finished;
  lines_.push_back({event, true});
}

std::string Trace::order() const {
  std::string text;
  for (const auto [index, end] : lines_) {
    const TraceEvent& event = events_[index];
    text += "rank " + std::to_string(event.rank.value) + " | " + event.step + " | " + event.what;
    if (end) text += event.finished ? " | ended" : " | abandoned";
    text += "\n";
  }
  return text;
}

std::string list_by_step(std::span<const TraceEvent> events, std::optional<Seconds> origin) {
  std::vector<std::string_view> steps;
  for (const TraceEvent& event : events) {
    if (std::ranges::find(steps, event.step) == steps.end()) steps.push_back(event.step);
  }
  std::string text;
  for (const std::string_view step : steps) {
    for (const TraceEvent& event : events) {
      if (event.step != step) continue;
      if (origin) text += times_of(event, *origin);
      text += event.step + std::string(event.step.size() < kStepWidth ? kStepWidth - event.step.size() : 0, ' ');
      text += "  " + event.what + (event.finished ? "\n" : "  (never ended)\n");
    }
  }
  return text;
}

void TracingRank::note(std::string what, Seconds started) {
  TraceEvent event{.rank = id(), .step = step_, .what = std::move(what), .started = started, .ended = now()};
  event.finished = true;
  trace_.start(std::move(event));
}

Op TracingRank::track(std::string what, Seconds started, Op op) {
  in_flight_[op.id] = trace_.start({.rank = id(), .step = step_, .what = std::move(what), .started = started});
  return op;
}

Buffer TracingRank::allocate(Memory kind, Bytes size, Locality locality) {
  const Seconds started = now();
  const Buffer buffer = inner().allocate(kind, size, locality);
  note("allocate " + describe(View(buffer)), started);
  return buffer;
}

void TracingRank::release(Buffer buffer) {
  const Seconds started = now();
  inner().release(buffer);
  note("release " + describe(View(buffer)), started);
}

IpcHandle TracingRank::export_memory(Buffer buffer) {
  const Seconds started = now();
  const IpcHandle handle = inner().export_memory(buffer);
  note("export memory " + describe(View(buffer)), started);
  return handle;
}

Buffer TracingRank::open_memory(RankId owner, const IpcHandle& handle) {
  const Seconds started = now();
  const Buffer buffer = inner().open_memory(owner, handle);
  note("open memory of " + describe(owner) + " " + describe(View(buffer)), started);
  return buffer;
}

void TracingRank::close_memory(Buffer buffer) {
  const Seconds started = now();
  inner().close_memory(buffer);
  note("close memory " + describe(View(buffer)), started);
}

void TracingRank::register_memory(Buffer buffer) {
  const Seconds started = now();
  inner().register_memory(buffer);
  note("register " + describe(View(buffer)), started);
}

void TracingRank::deregister_memory(Buffer buffer) {
  const Seconds started = now();
  inner().deregister_memory(buffer);
  note("deregister " + describe(View(buffer)), started);
}

Op TracingRank::copy(View to, View from, Stream stream, Engine engine) {
  const Seconds started = now();
  const Op op = inner().copy(to, from, stream, engine);
  return track("copy " + describe(from) + " -> " + describe(to) + describe(stream, engine), started, op);
}

Op TracingRank::copy_blocks(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) {
  const Seconds started = now();
  const Op op = inner().copy_blocks(to, from, blocks, stream, engine);
  return track("copy " + std::to_string(blocks.size()) + " blocks " + describe(from) + " -> " + describe(to) +
                   describe(stream, engine),
               started, op);
}

Op TracingRank::put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) {
  const Seconds started = now();
  const Op op = inner().put(to, from, stream, engine, signal);
  return track("put " + describe(from) + " -> " + describe(to) + describe(stream, engine) + (signal ? " signal" : ""),
               started, op);
}

Op TracingRank::await_signal(RankId peer, Tag tag, std::uint64_t& value) {
  const Seconds started = now();
  const Op op = inner().await_signal(peer, tag, value);
  return track("await signal of " + describe(peer), started, op);
}

Op TracingRank::send(RankId peer, Tag tag, View from) {
  const Seconds started = now();
  const Op op = inner().send(peer, tag, from);
  return track("send " + describe(from) + " -> " + describe(peer), started, op);
}

Op TracingRank::receive(RankId peer, Tag tag, View to) {
  const Seconds started = now();
  const Op op = inner().receive(peer, tag, to);
  return track("receive " + describe(to) + " <- " + describe(peer), started, op);
}

Op TracingRank::tell(RankId peer, Tag tag, const Message& message) {
  const Seconds started = now();
  const Op op = inner().tell(peer, tag, message);
  return track("tell " + describe(peer) + " " + std::to_string(message.bytes().size()) + " B", started, op);
}

Op TracingRank::hear(RankId peer, Tag tag, Message& into) {
  const Seconds started = now();
  const Op op = inner().hear(peer, tag, into);
  return track("hear " + describe(peer), started, op);
}

std::optional<Completion> TracingRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  const auto completion = inner().wait_any(ops, deadline);
  if (completion) {
    if (const auto found = in_flight_.find(ops[completion->index].id); found != in_flight_.end()) {
      trace_.end(found->second, now(), true);
      in_flight_.erase(found);
    }
  }
  return completion;
}

void TracingRank::abandon(Op op) {
  inner().abandon(op);
  if (const auto found = in_flight_.find(op.id); found != in_flight_.end()) {
    trace_.end(found->second, now(), false);
    in_flight_.erase(found);
  }
}

void TracingRank::step(std::string_view words) {
  step_ = words;
  inner().step(words);
}

}  // namespace twinlink
