// Exchanges of MPI libraries in which all ranks take part alike.
#include <algorithm>
#include <bit>
#include <ranges>
#include <utility>

#include "protocols/workloads/mpi/schedules.hpp"

namespace twinlink::workloads::mpi {
namespace {

Slice all_of_buffer(std::uint64_t elements) { return {Where::data, 0, elements}; }

/// The call's other buffer holds a copy first.
void copy_to_result(Schedule& schedule, std::uint64_t elements) {
  schedule.scratch = std::max(schedule.scratch, elements);
  schedule.steps.push_back({.locals = {{Local::Kind::copy, {Where::scratch, 0, elements}, all_of_buffer(elements)}}});
}

/// The ranks of a power of two that take part; of the first `2 * beyond` it is every other one.
struct Power {
  explicit Power(int ranks)
      : members(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), beyond(ranks - members) {}

  /// Of a member its rank, where of a pair the odd one takes part.
  [[nodiscard]] int odd_rank(int member) const { return member < beyond ? 2 * member + 1 : member + beyond; }
  [[nodiscard]] int even_rank(int member) const { return member < beyond ? 2 * member : member + beyond; }
  [[nodiscard]] bool paired(int rank) const { return rank < 2 * beyond; }
  [[nodiscard]] int member(int rank) const { return paired(rank) ? rank / 2 : rank - beyond; }
  /// What members [first, behind) have of a buffer in parts: those of both of a pair.
  [[nodiscard]] Slice parts(std::uint64_t elements, int first, int behind) const {
    return parts_of(elements, members + beyond, even_rank(first), behind < beyond ? 2 * behind : behind + beyond);
  }

  int members;
  int beyond;
};

/// Halves of the members' parts, as halves_of() a slice: `parts(first, behind)` is what some of them have.
template <typename RankOf, typename Parts>
std::vector<Half> halves_of_parts(int members, int self, First order, const RankOf& rank_of, const Parts& parts) {
  std::vector<Half> halves;
  int first = 0;
  int count = members;
  for (int step = 1; step < members; step *= 2) {
    const int distance = order == First::nearest ? step : members / 2 / step;
    count /= 2;
    const Slice lower = parts(first, first + count);
    const Slice upper = parts(first + count, first + 2 * count);
    const bool low = (self & distance) == 0;
    halves.push_back({rank_of(self ^ distance), low ? lower : upper, low ? upper : lower});
    if (!low) first += count;
  }
  return halves;
}

/// Of a buffer in which each rank has a part; the odd ones of pairs take part.
std::vector<Half> halves_for_ranks(const Power& power, int self, std::uint64_t elements, First order) {
  return halves_of_parts(
      power.members, self, order, [&](int member) { return power.odd_rank(member); },
      [&](int first, int behind) { return power.parts(elements, first, behind); });
}

/// Of a buffer in which each member has a part.
template <typename RankOf>
std::vector<Half> halves_for_members(const Power& power, int self, std::uint64_t elements, const RankOf& rank_of) {
  return halves_of_parts(power.members, self, First::nearest, rank_of,
                         [&](int first, int behind) { return parts_of(elements, power.members, first, behind); });
}

/// One of each pair gives the other one all it has: the even one, unless that is to take part.
bool joins_neighbour(Schedule& schedule, const Power& power, int rank, std::uint64_t elements, bool evens_join = true) {
  if (!power.paired(rank)) return true;
  const bool joins = (rank % 2 == 0) == evens_join;
  if (joins) {
    send_only(schedule, rank ^ 1, all_of_buffer(elements));
  } else {
    receive_and_add(schedule, rank ^ 1, all_of_buffer(elements));
  }
  return !joins;
}

}  // namespace

Schedule recursive_doubling_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  const Slice whole = all_of_buffer(elements);
  if (!joins_neighbour(schedule, power, rank, elements)) {
    receive_only(schedule, rank + 1, whole);
    return schedule;
  }
  for (int distance = 1; distance < power.members; distance *= 2) {
    exchange_and_add(schedule, power.odd_rank(power.member(rank) ^ distance), whole, whole);
  }
  if (power.paired(rank)) send_only(schedule, rank - 1, whole);
  return schedule;
}

Schedule ring_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Group group = everyone(shape, rank);
  workloads::ring_reduce_scatter(schedule, group, all_of_buffer(elements));
  workloads::ring_all_gather(schedule, group, all_of_buffer(elements));
  return schedule;
}

Schedule rabenseifner_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  const Slice whole = all_of_buffer(elements);
  const Slice lower{Where::data, 0, elements / 2};
  const Slice upper{Where::data, lower.length, elements - lower.length};
  if (power.paired(rank)) {
    const bool even = rank % 2 == 0;
    exchange_and_add(schedule, rank ^ 1, even ? upper : lower, even ? lower : upper);
    if (!even) {
      send_only(schedule, rank - 1, upper);
      receive_only(schedule, rank - 1, whole);
      return schedule;
    }
    receive_only(schedule, rank + 1, upper);
  }
  const std::vector<Half> halves = halves_of(
      power.members, power.member(rank), whole, [&](int member) { return power.even_rank(member); }, First::nearest);
  halving_reduce_scatter(schedule, halves);
  doubling_all_gather(schedule, halves);
  if (power.paired(rank)) send_only(schedule, rank + 1, whole);
  return schedule;
}

Schedule halving_doubling_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  if (!joins_neighbour(schedule, power, rank, elements)) {
    receive_only(schedule, rank + 1, all_of_buffer(elements));
    return schedule;
  }
  const std::vector<Half> halves =
      halves_for_members(power, power.member(rank), elements, [&](int member) { return power.odd_rank(member); });
  halving_reduce_scatter(schedule, halves);
  doubling_all_gather(schedule, halves);
  if (power.paired(rank)) send_only(schedule, rank - 1, all_of_buffer(elements));
  return schedule;
}

Schedule halving_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  if (!joins_neighbour(schedule, power, rank, elements, false)) return schedule;
  const std::vector<Half> halves =
      halves_for_members(power, power.member(rank), elements, [&](int member) { return power.even_rank(member); });
  halving_reduce_scatter(schedule, halves);
  for (const Half& half : std::views::reverse(halves)) {
    if (half.peer < rank) {
      send_only(schedule, half.peer, half.mine);
      break;
    }
    receive_only(schedule, half.peer, half.theirs);
  }
  return schedule;
}

Schedule binomial_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  add_up<in_order_binomial_tree>(schedule, shape, rank, all_of_buffer(elements));
  return schedule;
}

Schedule pairwise_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  const Group group = everyone(shape, rank);
  const Slice mine = part_of(elements, shape.ranks, rank);
  const Slice arrived{Where::scratch, 0, mine.length};
  schedule.scratch = mine.length;
  schedule.steps.push_back({.locals = {{Local::Kind::copy, arrived, mine}}});
  for (int distance = 1; distance < shape.ranks; ++distance) {
    const int to = group.rank_at(distance);
    schedule.steps.push_back(
        {.transfers = in_and_out(to, part_of(elements, shape.ranks, to), group.rank_at(-distance), arrived),
         .locals = {{Local::Kind::add, mine, arrived}}});
  }
  return schedule;
}

Schedule ring_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  workloads::ring_reduce_scatter(schedule, everyone(shape, rank), all_of_buffer(elements));
  return schedule;
}

Schedule recursive_halving_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  if (!joins_neighbour(schedule, power, rank, elements)) {
    receive_only(schedule, rank + 1, part_of(elements, shape.ranks, rank));
    return schedule;
  }
  halving_reduce_scatter(schedule, halves_for_ranks(power, power.member(rank), elements, First::farthest));
  if (power.paired(rank)) send_only(schedule, rank - 1, part_of(elements, shape.ranks, rank - 1));
  return schedule;
}

Schedule butterfly_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  copy_to_result(schedule, elements);
  const Power power(shape.ranks);
  const auto mirrored = [&](int member) {
    int other = 0;
    for (int bit = 1; bit < power.members; bit *= 2) other = 2 * other + ((member & bit) != 0 ? 1 : 0);
    return other;
  };
  const auto part = [&](int of) { return part_of(elements, shape.ranks, of); };
  const int self = power.member(rank);
  const int other = mirrored(self);
  if (!joins_neighbour(schedule, power, rank, elements)) {
    receive_only(schedule, power.odd_rank(other), part(rank));
    return schedule;
  }
  halving_reduce_scatter(schedule, halves_for_ranks(power, self, elements, First::nearest));
  // It holds the parts of the member with the bits in the other order.
  const int peer = power.odd_rank(other);
  if (power.paired(peer)) send_only(schedule, peer - 1, part(peer - 1));
  if (other != self && part(peer).length + part(rank).length > 0) {
    schedule.steps.push_back({.transfers = {{peer, part(peer), part(rank)}}});
  }
  return schedule;
}

namespace {

/// A staged one has all in a buffer of its own before it puts it where it belongs.
Schedule bruck(const Shape& shape, int rank, std::uint64_t elements, bool staged) {
  Schedule schedule = all_gather_of(shape, rank, elements);
  const int ranks = shape.ranks;
  const Group group = everyone(shape, rank);
  // Parts in the order in which they arrive: those from the own one on, then those before it. Of rank 0 that is theirs.
  const Slice before = parts_of(elements, ranks, 0, rank);
  const std::uint64_t behind = elements - before.length;
  const Where where = rank == 0 && !staged ? Where::data : Where::scratch;
  /// Of so many parts from the own one on, the elements.
  const auto held = [&](int parts) {
    return rank + parts <= ranks ? parts_of(elements, ranks, rank, rank + parts).length
                                 : behind + parts_of(elements, ranks, 0, rank + parts - ranks).length;
  };
  if (where == Where::scratch) {
    const Slice mine = part_of(elements, ranks, rank);
    schedule.scratch = staged ? elements : elements + behind;
    schedule.steps.push_back({.locals = {{Local::Kind::copy, {where, 0, mine.length}, mine}}});
  }
  for (int distance = 1; distance < ranks; distance *= 2) {
    const int count = std::min(distance, ranks - distance);
    const std::uint64_t from = held(distance);
    schedule.steps.push_back(
        {.transfers = in_and_out(group.rank_at(-distance), {where, 0, held(count)}, group.rank_at(distance),
                                 {where, from, held(distance + count) - from})});
  }
  const Slice own{where, 0, behind};  // from the own part on
  const Local to_begin{Local::Kind::copy, {Where::data, 0, before.length}, {where, behind, before.length}};
  const Slice end{Where::data, before.length, behind};
  if (staged) {
    schedule.steps.push_back({.locals = {{Local::Kind::copy, end, own}}});
    if (rank != 0) schedule.steps.back().locals.push_back(to_begin);
  } else if (rank != 0) {
    const Slice turned{Where::scratch, elements, behind};
    schedule.steps.push_back(
        {.locals = {{Local::Kind::copy, turned, own}, to_begin, {Local::Kind::copy, end, turned}}});
  }
  return schedule;
}

}  // namespace

Schedule bruck_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  return bruck(shape, rank, elements, false);
}

Schedule staged_bruck_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  return bruck(shape, rank, elements, true);
}

Schedule recursive_doubling_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_gather_of(shape, rank, elements);
  for (int distance = 1; distance < shape.ranks; distance *= 2) {
    const int mine = rank / distance * distance;
    const int theirs = mine ^ distance;
    schedule.steps.push_back({.transfers = {{rank ^ distance, parts_of(elements, shape.ranks, mine, mine + distance),
                                             parts_of(elements, shape.ranks, theirs, theirs + distance)}}});
  }
  return schedule;
}

Schedule neighbour_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_gather_of(shape, rank, elements);
  const int ranks = shape.ranks;
  const Group group = everyone(shape, rank);
  const bool even = rank % 2 == 0;
  const auto pair_from = [&](int first) { return parts_of(elements, ranks, first, first + 2); };
  const int own = even ? rank : rank - 1;
  schedule.steps.push_back(
      {.transfers = {{rank ^ 1, part_of(elements, ranks, rank), part_of(elements, ranks, rank ^ 1)}}});
  int sent = own;
  for (int turn = 1; turn < ranks / 2; ++turn) {
    // To the other neighbour in odd turns, whose pairs lie on that side; each side's are two further on each time.
    const int side = (turn % 2 == 1) == even ? -1 : 1;
    const int far = 2 * ((turn + 1) / 2);
    const int received = group.wrapped(own + side * far);
    schedule.steps.push_back({.transfers = {{group.rank_at(side), pair_from(sent), pair_from(received)}}});
    sent = received;
  }
  return schedule;
}

Schedule linear_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = direct_all_to_all(shape, rank, elements);
  const auto before = [&](const Transfer& each) { return (rank - each.peer + shape.ranks) % shape.ranks; };
  std::ranges::sort(schedule.steps.front().transfers, {}, before);
  return schedule;
}

Schedule pairs_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  if (!std::has_single_bit(static_cast<unsigned>(shape.ranks))) return pairwise_all_to_all(shape, rank, elements);
  Schedule schedule = direct_all_to_all(shape, rank, elements);
  std::vector<Transfer> pairs = std::move(schedule.steps.front().transfers);
  std::ranges::sort(pairs, {}, [&](const Transfer& each) { return rank ^ each.peer; });
  schedule.steps.front().transfers.clear();
  for (const Transfer& each : pairs) schedule.steps.push_back({.transfers = {each}});
  return schedule;
}

Schedule throttled_all_to_all(const Shape& shape, int rank, std::uint64_t elements) {
  constexpr int kAtOnce = 32;
  Schedule schedule = direct_all_to_all(shape, rank, elements);
  std::vector<Transfer> blocks(static_cast<std::size_t>(shape.ranks));
  for (const Transfer& each : schedule.steps.front().transfers) blocks[static_cast<std::size_t>(each.peer)] = each;
  schedule.steps.front().transfers.clear();
  const Group group = everyone(shape, rank);
  for (int first = 0; first < shape.ranks; first += kAtOnce) {
    if (first > 0) schedule.steps.emplace_back();
    std::vector<Transfer>& at_once = schedule.steps.back().transfers;
    // The first of all is the rank itself.
    for (int far = std::max(first, 1); far < std::min(first + kAtOnce, shape.ranks); ++far) {
      const int to = group.rank_at(-far);
      at_once.push_back({to, blocks[static_cast<std::size_t>(to)].send, {}});
    }
    for (int far = std::max(first, 1); far < std::min(first + kAtOnce, shape.ranks); ++far) {
      const int from = group.rank_at(far);
      const Slice received = blocks[static_cast<std::size_t>(from)].receive;
      const auto both = std::ranges::find(at_once, from, &Transfer::peer);
      if (both != at_once.end()) {
        both->receive = received;
      } else {
        at_once.push_back({from, {}, received});
      }
    }
  }
  return schedule;
}

}  // namespace twinlink::workloads::mpi
