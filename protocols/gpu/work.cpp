#include "protocols/gpu/work.hpp"

#include "protocols/core/errors.hpp"

namespace twinlink::gpu {
namespace {

void require(bool holds, const std::string& otherwise) {
  if (!holds) throw UsageError("a launch of " + otherwise);
}

std::size_t links_of(const Program& p) {
  switch (p.operation) {
    case Operation::clear:
    case Operation::exchange:
      return 1;
    case Operation::all_to_all:
      return static_cast<std::size_t>(p.ranks) - 1;
    default:
      return 2;
  }
}

bool is_ring(Operation operation) {
  return operation != Operation::clear && operation != Operation::exchange && operation != Operation::all_to_all;
}

bool same_bytes(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.length == b.length;
}
bool overlap(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

void require_buffers(const Work& work, const std::string& what) {
  const Program& p = work.program;
  const Bytes bytes{p.bytes};
  if (is_ring(p.operation)) {
    require(same_bytes(work.input, work.output), what + " works in place: its input is its output");
  } else {
    require(!overlap(work.input, work.output), what + ": its input and its output overlap");
  }
  if (p.operation == Operation::clear) return;
  require(work.input.length == bytes, what + ": its input is not as long as it says");
  require(work.output.length == Bytes{p.operation == Operation::exchange ? p.received : p.bytes},
          what + ": its output is not as long as it says");
  if (p.operation == Operation::exchange) return;
  const std::uint64_t unit = p.operation == Operation::all_to_all ? kElementBytes * number(p.ranks) : kElementBytes;
  require(p.bytes % unit == 0, what + ": " + std::to_string(p.bytes) + " B are no whole elements of " +
                                   std::to_string(kElementBytes) + " B" +
                                   (unit > kElementBytes ? " for each rank" : ""));
  require(work.input.offset.count() % kElementBytes == 0 && work.output.offset.count() % kElementBytes == 0,
          what + ": an element begins at a multiple of " + std::to_string(kElementBytes) + " B");
}

}  // namespace

std::string_view to_string(LineFormat format) {
  switch (format) {
    case LineFormat::simple:
      return "simple";
    case LineFormat::ll:
      return "ll";
    case LineFormat::ll128:
      return "ll128";
  }
  return "?";
}

std::string_view to_string(Operation operation) {
  switch (operation) {
    case Operation::clear:
      return "clear";
    case Operation::exchange:
      return "exchange";
    case Operation::all_reduce:
      return "all-reduce";
    case Operation::all_gather:
      return "all-gather";
    case Operation::reduce_scatter:
      return "reduce-scatter";
    case Operation::broadcast:
      return "broadcast";
    case Operation::reduce:
      return "reduce";
    case Operation::all_to_all:
      return "all-to-all";
  }
  return "?";
}

std::string describe(const Work& work) {
  const Program& p = work.program;
  std::string text = std::string(to_string(p.operation)) + " " + std::string(to_string(p.format));
  if (p.operation == Operation::exchange) {
    text += " " + std::to_string(p.bytes) + " B out, " + std::to_string(p.received) + " B in";
  } else if (p.operation != Operation::clear) {
    text +=
        " rank " + std::to_string(p.rank) + " of " + std::to_string(p.ranks) + ", " + std::to_string(p.bytes) + " B";
  }
  return text + ", " + std::to_string(p.channels) + (p.channels == 1 ? " channel" : " channels");
}

void require_work(const Work& work) {
  const Program& p = work.program;
  const std::string what(to_string(p.operation));
  require(p.channels > 0 && p.slots > 0 && p.slot > 0, what + " without channels or slots");
  require(p.slot % (2 * kElementBytes) == 0, what + ": a slot takes a multiple of 16 B");
  require(p.rank >= 0 && p.rank < p.ranks && p.root >= 0 && p.root < p.ranks, what + ": there is no such rank");
  if (is_ring(p.operation) || p.operation == Operation::all_to_all) {
    require(p.ranks > 1, what + " of one rank");
    require(p.slots > 1, what + " through one slot: all ranks would wait for each other");
  }
  require(work.links.size() == links_of(p), what + " with another number of links than it has peers");
  require_buffers(work, what);
  const Bytes room{fifo_room(p) * number(p.channels)};
  const auto channels = static_cast<std::size_t>(p.channels);
  for (const Link& link : work.links) {
    require(link.mine.length >= room, what + ": a FIFO of its own is too small");
    if (p.operation == Operation::clear) continue;
    require(link.theirs.length >= room, what + ": a peer's FIFO is too small");
    require(link.sent.size() >= channels && link.received.size() >= channels, what + ": a channel without its count");
  }
}

}  // namespace twinlink::gpu
