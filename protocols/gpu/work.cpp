#include "protocols/gpu/work.hpp"

#include <algorithm>

#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/gpu/experts.hpp"

namespace twinlink::gpu {
namespace {

void append(std::string& text, std::string_view part) { text += part; }
void append(std::string& text, std::uint64_t part) { text += std::to_string(part); }

/// A launch asks hundreds of these for each block of its list: words are put together only for who has failed.
template <class... Parts>
void require(bool holds, const Parts&... otherwise) {
  if (holds) return;
  std::string text = "a launch of ";
  (append(text, otherwise), ...);
  throw UsageError(text);
}

/// Does it have as many links as the program has peers?
bool fits(const Work& work) {
  const std::size_t links = work.links.size();
  switch (work.program.operation) {
    case Operation::clear:
    case Operation::exchange:
    case Operation::echo:
    case Operation::put:
      return links == 1;
    case Operation::all_to_all:
    case Operation::dispatch:
    case Operation::combine:
      return links == static_cast<std::size_t>(work.program.ranks) - 1;
    default:
      if (has_rail_trees(work.program)) return links >= static_cast<std::size_t>(group_of(work.program)) - 1;
      if (is_pat(work.program)) {
        return work.positions.empty() && links == 2 * static_cast<std::size_t>(doublings_of(work.program));
      }
      if (is_switched(work.program)) return links == static_cast<std::size_t>(work.program.ranks) - 1;
      return work.positions.empty() ? links == 2 && !is_tree(work.program) : links > 0;
  }
}

/// Links of a place exist, and a tree has none twice.
bool fits(const ChannelPosition& position, const Work& work) {
  const auto exists = [&](std::int32_t link) {
    return link >= 0 && static_cast<std::size_t>(link) < work.links.size();
  };
  const auto may_be = [&](std::int32_t link) { return link == kNoLink || exists(link); };
  if (!is_tree(work.program) && !is_switched(work.program)) {
    return exists(position.before) && exists(position.behind) && position.place >= 0 &&
           position.place < work.program.ranks;
  }
  bool alone = position.above == kNoLink;
  for (const std::int32_t link : position.below) {
    if (!may_be(link) || (link != kNoLink && link == position.above)) return false;
    alone = alone && link == kNoLink;
  }
  return may_be(position.above) && (!alone || is_switched(work.program));
}

void require_stands(const Work& work, const std::string& what) {
  const auto channels = static_cast<std::size_t>(work.program.channels);
  if (work.positions.empty()) return;
  require(work.positions.size() == channels, what, " with places for another number of channels");
  require(work.orders.empty() || work.orders.size() == channels * number(work.program.ranks), what,
          " with rings of other ranks than it has");
  for (const ChannelPosition& position : work.positions)
    require(fits(position, work), what, ": a channel's place has no such links");
  for (const std::int32_t rank : work.orders) {
    require(rank >= 0 && rank < work.program.ranks, what, ": a ring has no such rank");
  }
}

bool is_ring(Operation operation) {
  switch (operation) {
    case Operation::clear:
    case Operation::exchange:
    case Operation::echo:
    case Operation::all_to_all:
    case Operation::put:
    case Operation::dispatch:
    case Operation::combine:
      return false;
    default:
      return true;
  }
}

bool same_bytes(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset == b.offset && a.length == b.length;
}
bool overlap(const View& a, const View& b) {
  return a.buffer == b.buffer && a.offset < b.offset + b.length && b.offset < a.offset + a.length;
}

/// Of blocks to experts: what goes lies in the input, and fits into a slot; what comes begins in the output.
void require_numbers(const Work& work, const std::string& what) {
  const Program& p = work.program;
  require(p.operation != Operation::put || p.format == LineFormat::simple, what, " is simple alone");
  if (!has_experts(p)) return;
  require(p.experts > 0, what, " without experts");
  require(p.channels <= p.experts, what, " in more channels than a rank has experts");
  require(p.format == LineFormat::simple, what, " has slots of simple alone");
  require(work.numbers.size() == numbers_of(p), what, ": its list does not say everything of every block");
  const auto listed = [&](Listed which, std::int32_t places, std::int32_t expert) {
    return work.numbers[static_cast<std::size_t>(index_of(p, which, places, expert))];
  };
  for (std::int32_t places = 0; places < p.ranks; ++places) {
    for (std::int32_t expert = 0; expert < p.experts; ++expert) {
      const std::uint64_t bytes = listed(Listed::bytes, places, expert);
      const std::uint64_t from = listed(Listed::from, places, expert);
      const std::uint64_t to = listed(Listed::to, places, expert);
      require(bytes <= p.slot, what, ": a block of ", bytes, " B, and slots of ", p.slot, " B");
      require(from <= p.bytes && bytes <= p.bytes - from, what, ": a block is not in the input");
      require(to <= p.received && (places > 0 || bytes <= p.received - to), what, ": a block has no place");
    }
  }
}

void require_buffers(const Work& work, const std::string& what) {
  const Program& p = work.program;
  const Bytes bytes{p.bytes};
  if (is_ring(p.operation)) {
    require(same_bytes(work.input, work.output), what, " works in place: its input is its output");
  } else {
    require(!overlap(work.input, work.output), what, ": its input and its output overlap");
  }
  if (p.operation == Operation::clear) return;
  require(work.input.length == bytes, what, ": its input is not as long as it says");
  require(work.output.length == Bytes{is_of_two(p) || has_experts(p) ? p.received : p.bytes}, what,
          ": its output is not as long as it says");
  if (is_of_two(p) || has_experts(p)) return;
  const std::uint64_t unit = p.operation == Operation::all_to_all ? kElementBytes * number(p.ranks) : kElementBytes;
  require(p.bytes % unit == 0, what, ": ", p.bytes, " B are no whole elements of ", kElementBytes, " B",
          (unit > kElementBytes ? " for each rank" : ""));
  require(work.input.offset.count() % kElementBytes == 0 && work.output.offset.count() % kElementBytes == 0, what,
          ": an element begins at a multiple of ", kElementBytes, " B");
}

}  // namespace

std::string_view to_string(LineFormat format) {
  constexpr Words<LineFormat> kNames{"simple", "ll", "ll128"};
  return kNames[format];
}

std::string_view to_string(Operation operation) {
  constexpr Words<Operation> kNames{"clear",     "exchange", "echo",       "all-reduce", "all-gather", "reduce-scatter",
                                    "broadcast", "reduce",   "all-to-all", "put",        "dispatch",   "combine"};
  return kNames[operation];
}

std::string_view to_string(Algorithm algorithm) {
  constexpr Words<Algorithm> kNames{"ring", "tree", "nvls", "nvlstree", "pat"};
  return kNames[algorithm];
}

std::string describe(const Work& work) {
  const Program& p = work.program;
  std::string text = std::string(to_string(p.operation)) + " " + std::string(to_string(p.format));
  if (is_tree(p) || is_switched(p) || is_pat(p)) text += " " + std::string(to_string(p.algorithm));
  if (is_of_two(p)) {
    text += " " + std::to_string(p.bytes) + " B out, " + std::to_string(p.received) + " B in";
  } else if (p.operation != Operation::clear) {
    text +=
        " rank " + std::to_string(p.rank) + " of " + std::to_string(p.ranks) + ", " + std::to_string(p.bytes) + " B";
  }
  text += ", " + std::to_string(p.channels) + (p.channels == 1 ? " channel" : " channels");
  return work.times == 1 ? text : text + ", " + std::to_string(work.times) + " times";
}

std::string describe(const FifoSlot& slot) {
  return std::string(to_string(slot.program.format)) + " slot " + std::to_string(slot.step) +
         (slot.event == FifoSlot::Event::filled ? " filled" : " read");
}

ChannelPosition usual_position(const Program& program) {
  return {.place = program.rank, .before = kBefore, .behind = kBehind};
}

ChannelPosition position_of(const Work& work, std::int32_t channel) {
  return work.positions.empty() ? usual_position(work.program) : work.positions[static_cast<std::size_t>(channel)];
}

std::span<const std::int32_t> order_of(const Work& work, std::int32_t channel) {
  const auto ranks = static_cast<std::size_t>(work.program.ranks);
  return work.orders.empty() ? work.orders : work.orders.subspan(static_cast<std::size_t>(channel) * ranks, ranks);
}

void require_slot(const FifoSlot& slot) {
  const bool fits = slot.program.slots > 0 && slot.fifo.length >= Bytes{fifo_room(slot.program)};
  if (!fits) throw UsageError("a FIFO is too small for its slots");
  if (slot.bytes > slot.program.slot) throw UsageError("a slot does not have so many bytes");
}

void require_work(const Work& work) {
  const Program& p = work.program;
  const std::string what(to_string(p.operation));
  require(p.channels > 0 && p.slots > 0 && p.slot > 0, what, " without channels or slots");
  require(p.slot % (2 * kElementBytes) == 0, what, ": a slot takes a multiple of 16 B");
  require(p.rank >= 0 && p.rank < p.ranks && p.root >= 0 && p.root < p.ranks, what, ": there is no such rank");
  if (is_ring(p.operation) || p.operation == Operation::all_to_all || has_experts(p)) {
    require(p.ranks > 1, what, " of one rank");
    require(p.slots > 1, what, " through one slot: all ranks would wait for each other");
  }
  if (p.operation == Operation::all_to_all) {
    require(p.parts >= 0 && p.parts <= p.channels, what, " with more parts of a message than channels");
  }
  require(p.group >= 0 && p.ranks % group_of(p) == 0, what, " of nodes that do not have as many ranks");
  require(p.heads >= 0 && p.heads <= group_of(p), what, " with more heads than a node has ranks");
  if (p.operation == Operation::echo) {
    require(p.ranks == 2 && p.channels == 1 && p.bytes <= p.slot, what,
            " of more than one slot between two ranks, in one channel");
  }
  require(!is_switched(p) || (p.format == LineFormat::simple && work.positions.empty() != has_rail_trees(p)), what,
          " by switches has slots of simple, and places in trees between nodes alone");
  require(!is_pat(p) || p.format == LineFormat::simple, what, " in parallel trees has slots of simple alone");
  require(fits(work), what, " with another number of links than it has peers");
  require_stands(work, what);
  require(work.times >= 1, what, " that runs less than once");
  require_buffers(work, what);
  require_numbers(work, what);
  const Bytes room{fifo_room(p) * number(p.channels)};
  const auto channels = static_cast<std::size_t>(p.channels);
  for (const Link& link : work.links) {
    require(link.mine.length >= room, what, ": a FIFO of its own is too small");
    if (p.operation == Operation::clear) continue;
    require(p.operation != Operation::put || link.window.length == Bytes{p.bytes}, what,
            ": the peer's memory is not as long as the message");
    require(!link.carried || (p.operation != Operation::put && !has_experts(p)), what, " over the network");
    require(link.theirs.length >= room, what, ": a peer's FIFO is too small");
    require(link.sent.size() >= channels && link.received.size() >= channels, what, ": a channel without its count");
    require(work.times == 1 || (link.sent_each.size() >= channels && link.received_each.size() >= channels), what,
            ": a channel that does not say what each run passes");
    require(work.times == 1 || !link.carried || moves_nothing(p), what, ": CPUs carry slots of one run at a time");
  }
}

}  // namespace twinlink::gpu
