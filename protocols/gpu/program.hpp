// Program: what all thread blocks of a launch do together, as numbers. nvcc reads it, too: C++17, and no other header
// of the project.
//
// A channel is a share of the bytes, which one block of each rank moves. A block cuts its share into slots. So 1 MiB in
// two channels with slots of 128 KiB is 512 KiB for each of two blocks, four slots each.
//
// Who fills it in: the channels of nccl/ and puts/. Who runs it: kernels of CUDA (real/device/cuda/), fibers on
// emulated devices (real/device/host_program.hpp), in the simulation (model/engine/rank/sim_program.hpp) and in the
// explorer.
#pragma once

#include <cstdint>

#include "protocols/gpu/device_code.hpp"

namespace twinlink::gpu {

/// How a slot's bytes and their arrival are told: NCCL's protocols Simple, LL and LL128. Lines cost a part of the rate
/// and save the fence, so they win for small messages.
enum class LineFormat : std::uint8_t {
  simple,  ///< bytes as they are; a counter behind them, and a fence between the two
  ll,      ///< lines of 16 B, twice 4 B of data and 4 B of flag: no fence, for 8 B are seen whole
  ll128    ///< lines of 128 B, 120 B of data and 8 B of flag: no fence, where 128 B are seen whole
};

enum class Operation : std::uint8_t {
  clear,           ///< of what peers will fill, so that nothing there looks like a flag
  exchange,        ///< a message to a peer, and one from it
  echo,            ///< slots of a peer that go there and back: what a hop takes
  all_reduce,      ///< this one and those below in place
  all_gather,      ///< every rank has its part of the buffer: share() of the ranks
  reduce_scatter,  ///< every rank gets its part of the sum
  broadcast,
  reduce,
  all_to_all,  ///< equal blocks of the input, one for each rank, to those of the output, one from each
  put,         ///< a message straight into a peer's memory, behind it a signal, and one from it (puts.hpp)
  dispatch,    ///< blocks of any lengths to the experts of all ranks (experts.hpp)
  combine      ///< and back
};

/// How an all-reduce goes, or of all-gather and reduce-scatter `ring` or `pat`; of other operations `ring` alone.
enum class Algorithm : std::uint8_t {
  ring,
  tree,       ///< sums go up, and come down again: fewer steps between nodes
  nvls,       ///< the switch that joins the GPUs adds up, and between nodes those of the network (nvls.hpp)
  nvls_tree,  ///< a switch in each node, and trees between them
  pat         ///< a tree for each rank's part, all at once (pat.hpp)
};

/// What reductions add up: unsigned numbers of 64 bits.
constexpr std::uint64_t kElementBytes = 8;
/// What a thread loads and stores at once. Shares of channels are cut at multiples of it, and so begin where it may.
constexpr std::uint64_t kGrainBytes = 2 * kElementBytes;

/// All numbers of one launch. The same on all ranks but for `rank` and, of messages, the lengths of the two ways.
struct Program {
  Operation operation = Operation::clear;
  LineFormat format = LineFormat::simple;
  Algorithm algorithm = Algorithm::ring;
  std::int32_t rank = 0;
  std::int32_t ranks = 1;
  std::int32_t root = 0;
  std::int32_t channels = 1;
  std::uint64_t bytes = 0;     ///< of the buffer; of an exchange, a put and of blocks to experts what is sent
  std::uint64_t received = 0;  ///< of these
  std::uint64_t echoes = 0;    ///< of an echo: how often the bytes, in one slot, go there and back
  std::uint64_t slot = 0;      ///< bytes of data that a slot takes: a multiple of 16
  std::uint64_t slots = 0;     ///< of a FIFO
  std::int32_t experts = 0;    ///< of a rank, as many as any has
  std::int32_t parts = 0;      ///< of an all-to-all: channels that the message to one rank has; 0: all
  /// Of an all-to-all, and where switches add up: ranks of a node, all of which have as many, and their numbers follow
  /// each other; 0: all ranks.
  std::int32_t group = 0;
  std::int32_t heads = 0;  ///< ranks of a node that read what its switch adds up, the first ones; 0: all
};

/// In place of a link's number: there is none.
constexpr std::int32_t kNoLink = -1;
/// Of a tree: the next one of its node, and two nodes.
constexpr std::int32_t kMostBelow = 3;

/// Links of a rank in the one ring of all ranks in their order.
constexpr std::int32_t kBefore = 0;
constexpr std::int32_t kBehind = 1;

/// Where a rank stands in the ring and the tree of a channel; links by their numbers.
struct ChannelPosition {
  std::int32_t place = 0;  ///< in the ring
  std::int32_t before = kNoLink;
  std::int32_t behind = kNoLink;
  std::int32_t above = kNoLink;                                  ///< in the tree; the root has none
  std::int32_t below[kMostBelow] = {kNoLink, kNoLink, kNoLink};  // NOLINT(modernize-avoid-c-arrays): kernels read it
};

/// A stretch of bytes: [begin, begin + length).
struct Share {
  std::uint64_t begin = 0;
  std::uint64_t length = 0;
};

TWINLINK_GPU constexpr std::uint64_t least(std::uint64_t a, std::uint64_t b) { return a < b ? a : b; }
/// GPUs take long for a division of 64 bits, and little for one of 32.
TWINLINK_GPU constexpr std::uint64_t quotient(std::uint64_t a, std::uint64_t b) {
  constexpr unsigned kHalf = 32;
  return (a | b) >> kHalf == 0 ? static_cast<std::uint32_t>(a) / static_cast<std::uint32_t>(b) : a / b;
}
/// How many times `each` it takes for `all`: the quotient, rounded up.
TWINLINK_GPU constexpr std::uint64_t turns(std::uint64_t all, std::uint64_t each) {
  return quotient(all + each - 1, each);
}

/// Part `index` of `parts` of `bytes`, in whole units: the first ones have one more, the last one what is no unit. Of
/// less than a unit for each the last ones may be empty, but for what is none.
TWINLINK_GPU constexpr Share share(std::uint64_t bytes, std::uint64_t parts, std::uint64_t index, std::uint64_t unit) {
  if (parts == 1) return {0, bytes};
  const std::uint64_t units = bytes / unit;
  const std::uint64_t each = quotient(units, parts);
  const std::uint64_t more = units - each * parts;
  const std::uint64_t begin = (index * each + least(index, more)) * unit;
  const bool last = index + 1 == parts;
  return {begin, last ? bytes - begin : (each + (index < more ? 1 : 0)) * unit};
}

/// Bytes [at, at+length) of a share, cut at its end.
TWINLINK_GPU constexpr Share piece(Share of, std::uint64_t at, std::uint64_t length) {
  return {of.begin + at, at < of.length ? least(length, of.length - at) : 0};
}

/// A count that is not negative, for sums of bytes.
TWINLINK_GPU constexpr std::uint64_t number(std::int32_t count) { return static_cast<std::uint64_t>(count); }

// ---- what a block does of it ----------------------------------------------------------------------------------------

/// The part of `bytes` that one channel moves.
TWINLINK_GPU constexpr Share channel_of(const Program& p, std::uint64_t bytes, std::int32_t channel) {
  return share(bytes, number(p.channels), number(channel), kGrainBytes);
}

/// Of an all-reduce: bytes of a chunk, of which every rank has one in a round, where `left` bytes are left, and a chunk
/// has `most` of them. Those of the last round are as even as the others.
TWINLINK_GPU constexpr std::uint64_t chunk_of(const Program& p, std::uint64_t left, std::uint64_t most) {
  return least(turns(turns(left, number(p.ranks)), kGrainBytes) * kGrainBytes, most);
}

/// So much less does a channel of a ring that goes round more than once do in its first round. There are steps that
/// store nothing to a peer, and if all channels took these at once, links would have nothing to carry. `longest`: bytes
/// that the channel passes on in each step, of all rounds.
TWINLINK_GPU constexpr std::uint64_t shift_of(const Program& p, std::uint64_t longest, std::int32_t channel) {
  constexpr std::uint64_t kShifts = 3;
  if (longest <= p.slot) return 0;
  return p.slot / kShifts * (number(channel) % kShifts) / kGrainBytes * kGrainBytes;
}

/// Of an all-reduce in a tree, whose pieces follow each other: a small share has a few of them, too.
TWINLINK_GPU constexpr std::uint64_t tree_piece_of(const Program& p, std::uint64_t share) {
  constexpr std::uint64_t kPieces = 8;
  constexpr std::uint64_t kLeast = 8192;
  const std::uint64_t piece = turns(turns(share, kPieces), kGrainBytes) * kGrainBytes;
  return least(piece > kLeast ? piece : kLeast, p.slot);
}

/// Bytes of a block of an all-to-all.
TWINLINK_GPU constexpr std::uint64_t block_of(const Program& p) { return p.bytes / number(p.ranks); }
TWINLINK_GPU constexpr std::int32_t parts_of(const Program& p) { return p.parts > 0 ? p.parts : p.channels; }
TWINLINK_GPU constexpr std::int32_t group_of(const Program& p) { return p.group > 0 ? p.group : p.ranks; }

/// So many messages of an all-to-all are under way at once in a channel.
constexpr std::int32_t kTogether = 8;

/// Whom a rank sends to in a round of an all-to-all, or receives from (`ahead` -1): first within its node, then within
/// the next one.
TWINLINK_GPU constexpr std::int32_t peer_in(const Program& p, std::int32_t round, std::int32_t ahead) {
  const std::int32_t group = group_of(p);
  const std::int32_t nodes = p.ranks / group;
  const std::int32_t node = (p.rank / group + nodes + ahead * (round / group)) % nodes;
  return node * group + (p.rank % group + group + ahead * (round % group)) % group;
}
/// Which part of a round's message a channel has; those from parts_of() on there are none of. Messages begin at
/// channels that are far apart: their number with its bits from behind. To one node as many as go together begin at
/// one.
TWINLINK_GPU constexpr std::int32_t part_in(const Program& p, std::int32_t round, std::int32_t channel) {
  const std::int32_t group = group_of(p);
  std::int32_t place = round;
  if (group < p.ranks) place = round / group * ((group + kTogether - 1) / kTogether) + round % group / kTogether;
  std::int32_t first = 0;
  for (std::int32_t bit = 1; bit < p.channels; bit *= 2) first = 2 * first + ((place & bit) != 0 ? 1 : 0);
  return (channel + p.channels - first % p.channels) % p.channels;
}

/// Blocks to experts that a block sends each rank: as many have its channel.
TWINLINK_GPU constexpr std::uint64_t experts_of(const Program& p, std::int32_t channel) {
  return turns(number(p.experts - channel), number(p.channels));
}

/// Bytes that a channel of a ring passes on in each step, of all rounds.
TWINLINK_GPU constexpr std::uint64_t longest_of(const Program& p, std::int32_t channel) {
  switch (p.operation) {
    case Operation::all_reduce:
      return turns(channel_of(p, p.bytes, channel).length, number(p.ranks));
    case Operation::all_gather:
    case Operation::reduce_scatter: {
      // The first part is the longest one, but the last channel of a shorter one may have more.
      const Share longest = share(p.bytes, number(p.ranks), 0, kElementBytes);
      const Share shortest = share(p.bytes, number(p.ranks), number(p.ranks) - 1, kElementBytes);
      const std::uint64_t one = channel_of(p, longest.length, channel).length;
      const std::uint64_t other = channel_of(p, shortest.length, channel).length;
      return one > other ? one : other;
    }
    case Operation::broadcast:
    case Operation::reduce:
      return channel_of(p, p.bytes, channel).length;
    case Operation::clear:
    case Operation::exchange:
    case Operation::echo:
    case Operation::all_to_all:
    case Operation::put:
    case Operation::dispatch:
    case Operation::combine:
      return 0;
  }
  return 0;
}

/// How often it goes round, in each of which it sends a slot a step.
TWINLINK_GPU constexpr std::uint64_t rounds_of(const Program& p, std::int32_t channel) {
  return turns(longest_of(p, channel), p.slot);
}

// Where messages go both ways some blocks send and as many others receive, as NCCL has threads of a block for each. Of
// a tree some go up, and as many come down.
constexpr std::int32_t kSends = 0;
constexpr std::int32_t kReceives = 1;
constexpr std::int32_t kUp = 0;
constexpr std::int32_t kDown = 1;
/// NCCL's block of a channel has both roles in itself, but for the root's: some threads go up, the others come down,
/// and a role moves as much less. Of its 544 threads for simple, 512 for ll and 640 for ll128 so many go up (2.28's
/// src/device/all_reduce.h, runTreeSplit: half and 64 more; seven tenths, in whole warps).
constexpr double tree_threads(LineFormat format, std::int32_t role) {
  const double up = format == LineFormat::simple ? 336.0 / 544.0 : format == LineFormat::ll ? 352.0 / 512.0 : 0.7;
  return role == kUp ? up : 1 - up;
}
TWINLINK_GPU constexpr bool is_tree(const Program& p) {
  return p.operation == Operation::all_reduce && p.algorithm == Algorithm::tree;
}
TWINLINK_GPU constexpr bool is_pat(const Program& p) {
  return p.algorithm == Algorithm::pat &&
         (p.operation == Operation::all_gather || p.operation == Operation::reduce_scatter);
}
/// How often 1 is doubled until there are as many as ranks.
TWINLINK_GPU constexpr std::int32_t doublings_of(const Program& p) {
  std::int32_t count = 0;
  while ((p.ranks - 1) >> count > 0) ++count;
  return count;
}
TWINLINK_GPU constexpr bool is_switched(const Program& p) {
  return p.operation == Operation::all_reduce &&
         (p.algorithm == Algorithm::nvls || p.algorithm == Algorithm::nvls_tree);
}
/// Do heads of the same number pass sums on between nodes?
TWINLINK_GPU constexpr bool has_rail_trees(const Program& p) {
  return is_switched(p) && (p.algorithm == Algorithm::nvls_tree || group_of(p) < p.ranks);
}
TWINLINK_GPU constexpr bool has_experts(const Program& p) {
  return p.operation == Operation::dispatch || p.operation == Operation::combine;
}
TWINLINK_GPU constexpr bool moves_nothing(const Program& p) {
  return p.operation == Operation::clear || (p.bytes == 0 && p.received == 0 && p.experts == 0);
}
/// Is there a message each way, or one way alone?
TWINLINK_GPU constexpr bool is_of_two(const Program& p) {
  return p.operation == Operation::exchange || p.operation == Operation::put;
}
TWINLINK_GPU constexpr bool has_roles(const Program& p) {
  return p.operation == Operation::all_to_all || is_tree(p) || has_experts(p) ||
         (is_of_two(p) && p.bytes > 0 && p.received > 0);
}
TWINLINK_GPU constexpr std::int32_t roles_of(const Program& p) {
  if (is_switched(p)) return has_rail_trees(p) ? 4 : 3;
  return has_roles(p) ? 2 : 1;
}
/// Those of one role lie one behind the other, by channel.
TWINLINK_GPU constexpr std::int32_t blocks_of(const Program& p) { return roles_of(p) * p.channels; }

// ---- FIFOs ----------------------------------------------------------------------------------------------------------

// A FIFO of one channel: two counters, each on a line of its own, and the slots. The peer fills the slots and raises
// the tail; it also raises the credit, for what this rank sends it the other way.
constexpr std::uint64_t kTailAt = 0;      ///< how many slots the peer has filled, ever; Simple alone
constexpr std::uint64_t kCreditAt = 128;  ///< how many slots the peer has read, ever
constexpr std::uint64_t kSlotsAt = 256;

constexpr std::uint64_t kLlData = 8;  ///< bytes of data in a line
constexpr std::uint64_t kLlLine = 16;
constexpr std::uint64_t kLl128Data = 120;
constexpr std::uint64_t kLl128Line = 128;

/// Room that `bytes` take in a slot.
TWINLINK_GPU constexpr std::uint64_t stored(LineFormat format, std::uint64_t bytes) {
  switch (format) {
    case LineFormat::simple:
      return bytes;
    case LineFormat::ll:
      return turns(bytes, kLlData) * kLlLine;
    case LineFormat::ll128:
      return turns(bytes, kLl128Data) * kLl128Line;
  }
  return bytes;
}
/// Room of a slot's bytes.
TWINLINK_GPU constexpr std::uint64_t bytes_room(const Program& p) {
  return turns(stored(p.format, p.slot), kLl128Line) * kLl128Line;
}
/// Distance of two slots. Those of experts have a line behind their bytes, which says how many there are.
TWINLINK_GPU constexpr std::uint64_t slot_room(const Program& p) {
  return bytes_room(p) + (has_experts(p) ? kLl128Line : 0);
}
/// Room of the FIFO of one channel; those of a link lie one behind the other.
TWINLINK_GPU constexpr std::uint64_t fifo_room(const Program& p) { return kSlotsAt + p.slots * slot_room(p); }

}  // namespace twinlink::gpu
