// Trees of MPI libraries, with rank 0 as root, and what goes up or down one after the other.
#include <algorithm>
#include <array>
#include <bit>
#include <numeric>
#include <ranges>

#include "protocols/workloads/mpi/schedules.hpp"

namespace twinlink::workloads::mpi {

Branching star(int ranks, int rank) {
  if (rank != 0) return {.above = 0};
  Branching at{.below = std::vector<int>(static_cast<std::size_t>(ranks - 1))};
  std::iota(at.below.begin(), at.below.end(), 1);
  return at;
}

Branching falling_star(int ranks, int rank) {
  Branching at = star(ranks, rank);
  std::ranges::reverse(at.below);
  return at;
}

Branching chain(int ranks, int rank) {
  Branching at{.above = rank - 1};
  if (rank + 1 < ranks) at.below = {rank + 1};
  return at;
}

Branching binary_tree(int ranks, int rank) {
  const auto level_of = [](int each) { return std::bit_width(static_cast<unsigned>(each) + 1) - 1; };
  const int apart = 1 << level_of(rank);
  Branching at;
  for (const int child : {rank + apart, rank + 2 * apart}) {
    if (child < ranks) at.below.push_back(child);
  }
  // Those of the level above reach ranks half as far apart.
  if (rank > 0) at.above = level_of(rank - apart / 2) < level_of(rank) ? rank - apart / 2 : rank - apart;
  return at;
}

Branching binomial_tree(int ranks, int rank) {
  const auto beyond = static_cast<int>(std::bit_ceil(static_cast<unsigned>(rank) + 1));
  Branching at;
  if (rank > 0) at.above = rank - beyond / 2;
  for (int bit = beyond; rank + bit < ranks; bit *= 2) at.below.push_back(rank + bit);
  return at;
}

Branching in_order_binomial_tree(int ranks, int rank) {
  Branching at;
  for (int bit = 1; bit < ranks; bit *= 2) {
    if ((rank & bit) != 0) {
      at.above = rank - bit;
      break;
    }
    if (rank + bit < ranks) at.below.push_back(rank + bit);
  }
  return at;
}

Branching four_nomial_tree(int ranks, int rank) {
  constexpr int kBase = 4;
  Branching at;
  int digit = 1;
  for (; digit < ranks && at.above < 0; digit *= kBase) {
    if (rank % (kBase * digit) != 0) at.above = rank - rank % (kBase * digit);
  }
  // Of the root all digits are below it, of others those below the lowest that is not zero.
  for (digit /= at.above < 0 ? kBase : kBase * kBase; digit > 0; digit /= kBase) {
    for (int times = 1; times < kBase; ++times) {
      if (rank + times * digit < ranks) at.below.push_back(rank + times * digit);
    }
  }
  return at;
}

Branching in_order_binary_tree(int ranks, int rank) {
  Branching at;
  int first = 0;
  for (int behind = ranks; rank != behind - 1;) {
    at.above = behind - 1;
    const int lower = first + (behind - first) / 2;
    if (rank < lower) {
      behind = lower;
    } else {
      first = lower;
      --behind;
    }
  }
  // Those that are below it come before it: from `first` on.
  const int lower = first + (rank + 1 - first) / 2;
  if (lower < rank) at.below.push_back(rank - 1);
  if (lower > first) at.below.push_back(lower - 1);
  return at;
}

void add_up_in_order(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  add_up<in_order_binary_tree>(schedule, shape, rank, whole);
  const int last = shape.ranks - 1;
  if (rank == last) send_only(schedule, 0, whole);
  if (rank == 0) receive_only(schedule, last, whole);
}

namespace {

void swap_with(Schedule& schedule, int peer, const Slice& mine, const Slice& theirs) {
  if (mine.length + theirs.length > 0) schedule.steps.push_back({.transfers = {{peer, mine, theirs}}});
}

/// Of rank 0 to each, or to rank 0.
enum class Towards { root, others };
void one_by_one(Schedule& schedule, const Shape& shape, int rank, std::uint64_t elements, Towards towards) {
  const auto message = [&](bool sends, int peer, int owner) {
    const Slice part = part_of(elements, shape.ranks, owner);
    sends ? send_only(schedule, peer, part) : receive_only(schedule, peer, part);
  };
  if (rank != 0) return message(towards == Towards::root, 0, rank);
  for (int peer = 1; peer < shape.ranks; ++peer) message(towards == Towards::others, peer, peer);
}

/// A message without bytes, which is one of an element here.
void signal(Schedule& schedule, int to, int from) {
  const Slice told{Where::data, 0, to < 0 ? 0U : 1U};
  const Slice heard{Where::scratch, schedule.scratch, from < 0 ? 0U : 1U};
  schedule.scratch += heard.length;
  if (to >= 0 && from >= 0) {
    schedule.steps.push_back({.transfers = in_and_out(to, told, from, heard)});
  } else {
    schedule.steps.push_back({.transfers = {{std::max(to, from), told, heard}}});
  }
}

}  // namespace

void scatter_one_by_one(Schedule& schedule, const Shape& shape, int rank, std::uint64_t elements) {
  one_by_one(schedule, shape, rank, elements, Towards::others);
}

Schedule one_by_one_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = gather_of(shape, rank, elements);
  one_by_one(schedule, shape, rank, elements, Towards::root);
  return schedule;
}

Schedule one_by_one_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = scatter_of(shape, rank, elements);
  scatter_one_by_one(schedule, shape, rank, elements);
  return schedule;
}

Schedule synchronized_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = gather_of(shape, rank, elements);
  if (rank != 0) {
    signal(schedule, -1, 0);
    send_only(schedule, 0, part_of(elements, shape.ranks, rank));
  }
  for (int peer = 1; rank == 0 && peer < shape.ranks; ++peer) {
    signal(schedule, peer, -1);
    receive_only(schedule, peer, part_of(elements, shape.ranks, peer));
  }
  return schedule;
}

void split_down(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  const std::array halves{part_of(whole.length, 2, 0), part_of(whole.length, 2, 1)};
  // Odd ranks, below rank 1, have the first half; even ones the second.
  const auto side = static_cast<std::size_t>(1 - rank % 2);
  const Branching at = binary_tree(shape.ranks, rank);
  if (rank != 0) receive_only(schedule, at.above, halves[side]);
  for (std::size_t i = 0; i < at.below.size(); ++i) send_only(schedule, at.below[i], halves[rank == 0 ? i : side]);
  const int last = shape.ranks - 1;
  if (rank == 0) {
    if (last % 2 == 1) send_only(schedule, last, halves[1]);
  } else if (rank == last && last % 2 == 1) {
    receive_only(schedule, 0, halves[1]);
  } else {
    swap_with(schedule, rank % 2 == 1 ? rank + 1 : rank - 1, halves[side], halves[1 - side]);
  }
}

namespace {

/// A buffer in as many blocks as there are ranks, of which the last ones may be shorter, or empty.
struct Blocks {
  int ranks;
  std::uint64_t length;

  /// Those of some ranks; those behind the end are empty.
  [[nodiscard]] Slice of(int first, int behind) const {
    const auto n = static_cast<std::uint64_t>(ranks);
    const std::uint64_t each = (length + n - 1) / n;
    const std::uint64_t begin = std::min(each * static_cast<std::uint64_t>(first), length);
    const std::uint64_t end = std::min(each * static_cast<std::uint64_t>(std::min(behind, ranks)), length);
    return {Where::data, begin, end - begin};
  }
  [[nodiscard]] Slice of(int rank) const { return of(rank, rank + 1); }
};

void scatter(Schedule& schedule, const Blocks& blocks, int rank) {
  const Branching at = in_order_binomial_tree(blocks.ranks, rank);
  if (at.above >= 0) receive_only(schedule, at.above, blocks.of(rank, 2 * rank - at.above));
  for (const int child : std::views::reverse(at.below)) send_only(schedule, child, blocks.of(child, 2 * child - rank));
}

}  // namespace

void scatter_and_ring(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  const Blocks blocks{shape.ranks, whole.length};
  scatter(schedule, blocks, rank);
  const Group group = everyone(shape, rank);
  for (int step = 0; step + 1 < shape.ranks; ++step) {
    const Slice send = blocks.of(group.wrapped(rank - step));
    const Slice into = blocks.of(group.wrapped(rank - step - 1));
    if (send.length + into.length == 0) continue;
    schedule.steps.push_back({.transfers = in_and_out(group.rank_at(1), send, group.rank_at(-1), into)});
  }
}

void scatter_and_gather(Schedule& schedule, const Shape& shape, int rank, const Slice& whole) {
  const int ranks = shape.ranks;
  const Blocks blocks{ranks, whole.length};
  scatter(schedule, blocks, rank);
  for (int bit = 1; bit < ranks; bit *= 2) {
    const int mine = rank / bit * bit;
    const int peer = rank ^ bit;
    const int theirs = peer / bit * bit;
    if (peer < ranks) swap_with(schedule, peer, blocks.of(mine, mine + bit), blocks.of(theirs, theirs + bit));
    if (theirs + bit <= ranks) continue;
    // Fewer than a group are there: the last ones of this group hear of their blocks from those that have met one.
    const Slice rest = blocks.of(theirs, theirs + bit);
    const int met = ranks - mine - bit;
    for (int half = bit / 2; half > 0; half /= 2) {
      const int other = rank ^ half;
      const int have = rank / (2 * half) * (2 * half) + met;
      if (other > rank && rank < have && other >= have) send_only(schedule, other, rest);
      if (other < rank && other < have && rank >= have) receive_only(schedule, other, rest);
    }
  }
}

Schedule linear_barrier(const Shape& shape, int rank, std::uint64_t) {
  Schedule schedule = barrier_of(shape, rank);
  if (rank != 0) {
    signal(schedule, 0, -1);
    signal(schedule, -1, 0);
    return schedule;
  }
  Step all;
  for (int peer = 1; peer < shape.ranks; ++peer) {
    all.transfers.push_back({peer, {}, {Where::scratch, schedule.scratch++, 1}});
  }
  schedule.steps.push_back(std::move(all));
  for (int peer = 1; peer < shape.ranks; ++peer) signal(schedule, peer, -1);
  return schedule;
}

Schedule recursive_doubling_barrier(const Shape& shape, int rank, std::uint64_t) {
  Schedule schedule = barrier_of(shape, rank);
  const auto power = static_cast<int>(std::bit_floor(static_cast<unsigned>(shape.ranks)));
  if (rank >= power) {
    signal(schedule, rank - power, -1);
    signal(schedule, -1, rank - power);
    return schedule;
  }
  const bool paired = rank + power < shape.ranks;
  if (paired) signal(schedule, -1, rank + power);
  for (int bit = 1; bit < power; bit *= 2) signal(schedule, rank ^ bit, rank ^ bit);
  if (paired) signal(schedule, rank + power, -1);
  return schedule;
}

Schedule tree_barrier(const Shape& shape, int rank, std::uint64_t) {
  Schedule schedule = barrier_of(shape, rank);
  const Branching at = in_order_binomial_tree(shape.ranks, rank);
  for (const int child : at.below) signal(schedule, -1, child);
  if (at.above >= 0) {
    signal(schedule, at.above, -1);
    signal(schedule, -1, at.above);
  }
  for (const int child : std::views::reverse(at.below)) signal(schedule, child, -1);
  return schedule;
}

}  // namespace twinlink::workloads::mpi
