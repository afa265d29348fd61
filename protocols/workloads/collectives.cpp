#include "protocols/workloads/collectives.hpp"

#include <algorithm>
#include <bit>

#include "protocols/workloads/groups.hpp"

namespace twinlink::workloads {
namespace {

/// What rank `rank` has before it is added up: different for each, and no sum of few is another.
std::uint64_t value_of(const Shape& shape, int rank) {
  const auto r = static_cast<std::uint64_t>(shape.content_of(rank)) + 1;
  return r * r * r;
}

/// Cubes of 1 to n add up to the square of what 1 to n add up to.
std::uint64_t sum_of_all(const Shape& shape) {
  const auto n = static_cast<std::uint64_t>(shape.distinct());
  const std::uint64_t sum = n * (n + 1) / 2;
  return sum * sum * (static_cast<std::uint64_t>(shape.ranks) / n);
}

Slice all_of(std::uint64_t elements) { return {Where::data, 0, elements}; }

/// Of the whole buffer. Where ranks have contents again, stretches that lie elsewhere on who has them are alike.
std::vector<Mark> marks_of(const Shape& shape, std::uint64_t elements, std::uint64_t value) {
  const Standing& standing = shape.standing;
  if (standing.each() == 1) return {{all_of(elements), value}};
  const int parts =
      standing.within_count > 1 ? shape.ranks : shape.ranks / std::max(1, standing.stride / shape.per_node);
  if (elements % static_cast<std::uint64_t>(parts) == 0) {
    return {{all_of(elements), value, elements / static_cast<std::uint64_t>(parts)}};
  }
  std::vector<Mark> marks;
  for (int part = 0; part < parts; ++part) marks.push_back({part_of(elements, parts, part), value});
  return marks;
}

}  // namespace

Schedule all_reduce_of(const Shape& shape, int rank, std::uint64_t elements) {
  return {.data = elements,
          .before = marks_of(shape, elements, value_of(shape, rank)),
          .after = marks_of(shape, elements, sum_of_all(shape))};
}

Schedule all_gather_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements};
  schedule.before = {{part_of(elements, shape.ranks, rank), value_of(shape, rank)}};
  for (int r = 0; r < shape.ranks; ++r)
    schedule.after.push_back({part_of(elements, shape.ranks, r), value_of(shape, r)});
  return schedule;
}

Schedule reduce_scatter_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements};
  const auto factor = [&](int part) { return static_cast<std::uint64_t>(shape.content_of(part)) + 1; };
  for (int part = 0; part < shape.ranks; ++part) {
    schedule.before.push_back({part_of(elements, shape.ranks, part), value_of(shape, rank) * factor(part)});
  }
  schedule.after = {{part_of(elements, shape.ranks, rank), sum_of_all(shape) * factor(rank)}};
  return schedule;
}

Schedule reduce_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  if (rank != 0) schedule.after.clear();
  return schedule;
}

Schedule broadcast_of(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule{.data = elements, .after = {{all_of(elements), value_of(shape, 0)}}};
  if (rank == 0) schedule.before = schedule.after;
  return schedule;
}

Schedule barrier_of(const Shape& shape, int rank) {
  return {.data = 1, .before = {{all_of(1), value_of(shape, rank)}}};
}

namespace {

void reduce_to_first(Schedule& schedule, int ranks, int rank, const Slice& whole) {
  for (int distance = 1; distance < ranks; distance *= 2) {
    if ((rank & distance) != 0) return send_only(schedule, rank - distance, whole);
    if (rank + distance < ranks) receive_and_add(schedule, rank + distance, whole);
  }
}

void broadcast_from_first(Schedule& schedule, int ranks, int rank, const Slice& whole) {
  for (int distance = static_cast<int>(std::bit_ceil(static_cast<unsigned>(ranks))) / 2; distance > 0; distance /= 2) {
    if (rank % (2 * distance) == distance) receive_only(schedule, rank - distance, whole);
    if (rank % (2 * distance) == 0 && rank + distance < ranks) send_only(schedule, rank + distance, whole);
  }
}

}  // namespace

Schedule ring_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  const Group group = everyone(shape, rank);
  ring_reduce_scatter(schedule, group, all_of(elements));
  ring_all_gather(schedule, group, all_of(elements));
  return schedule;
}

Schedule tree_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  reduce_to_first(schedule, shape.ranks, rank, all_of(elements));
  broadcast_from_first(schedule, shape.ranks, rank, all_of(elements));
  return schedule;
}

Schedule halving_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  const Slice whole = all_of(elements);
  const int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(shape.ranks)));
  const int beyond = shape.ranks - power;
  // The first 2 * beyond ranks are pairs, of which the odd ones take part.
  const bool paired = rank < 2 * beyond;
  if (paired && rank % 2 == 0) {
    send_only(schedule, rank + 1, whole);
    receive_only(schedule, rank + 1, whole);
    return schedule;
  }
  if (paired) receive_and_add(schedule, rank - 1, whole);
  const int self = paired ? rank / 2 : rank - beyond;
  const auto rank_of = [&](int number) { return number < beyond ? 2 * number + 1 : number + beyond; };
  const std::vector<Half> halves = halves_of(power, self, whole, rank_of);
  halving_reduce_scatter(schedule, halves);
  doubling_all_gather(schedule, halves);
  if (paired) send_only(schedule, rank - 1, whole);
  return schedule;
}

namespace {

/// A part of `whole` for each member, added up over all, and then `between` with that, and all parts for all. Halves,
/// of a power of two: as many bytes as in a ring, in fewer steps.
template <class Between>
void all_reduce_in(Schedule& schedule, const Group& group, const Slice& whole, First first, Between between) {
  if (!std::has_single_bit(static_cast<unsigned>(group.size()))) {
    ring_reduce_scatter(schedule, group, whole);
    between(part_within(whole, group, group.self));
    return ring_all_gather(schedule, group, whole);
  }
  const std::vector<Half> halves = halves_of(
      group.size(), group.self, whole, [&](int member) { return group.rank(member); }, first);
  halving_reduce_scatter(schedule, halves);
  between(halves.empty() ? whole : halves.back().mine);
  doubling_all_gather(schedule, halves);
}

}  // namespace

/// Of a node's halves the large ones stay with neighbours, which are below one switch.
Schedule hierarchical_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  all_reduce_in(schedule, node_of(shape, rank), all_of(elements), First::nearest, [&](const Slice& mine) {
    all_reduce_in(schedule, same_place_of(shape, rank), mine, First::farthest, [](const Slice&) {});
  });
  return schedule;
}

Schedule direct_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  const Group group = everyone(shape, rank);
  direct_reduce_scatter(schedule, group, all_of(elements));
  direct_all_gather(schedule, group, all_of(elements));
  return schedule;
}

Schedule one_shot_all_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_reduce_of(shape, rank, elements);
  Step step;
  for (const int peer : partners(shape, rank)) {
    const Slice arrived{Where::scratch, schedule.scratch, elements};
    step.transfers.push_back({peer, all_of(elements), arrived});
    step.locals.push_back({Local::Kind::add, all_of(elements), arrived});
    schedule.scratch += elements;
  }
  schedule.steps.push_back(std::move(step));
  return schedule;
}

Schedule ring_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_gather_of(shape, rank, elements);
  ring_all_gather(schedule, everyone(shape, rank), all_of(elements));
  return schedule;
}

Schedule direct_all_gather(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = all_gather_of(shape, rank, elements);
  direct_all_gather(schedule, everyone(shape, rank), all_of(elements));
  return schedule;
}

Schedule ring_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  ring_reduce_scatter(schedule, everyone(shape, rank), all_of(elements));
  return schedule;
}

Schedule direct_reduce_scatter(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_scatter_of(shape, rank, elements);
  direct_reduce_scatter(schedule, everyone(shape, rank), all_of(elements));
  return schedule;
}

Schedule tree_broadcast(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = broadcast_of(shape, rank, elements);
  broadcast_from_first(schedule, shape.ranks, rank, all_of(elements));
  return schedule;
}

Schedule tree_reduce(const Shape& shape, int rank, std::uint64_t elements) {
  Schedule schedule = reduce_of(shape, rank, elements);
  reduce_to_first(schedule, shape.ranks, rank, all_of(elements));
  return schedule;
}

Schedule chain_broadcast(const Shape& shape, int rank, std::uint64_t elements) {
  // Long enough that a piece's latency does not show, and enough of them to fill the chain.
  constexpr std::uint64_t kPiece = (std::uint64_t{256} << 10U) / kElement.count();
  constexpr std::uint64_t kMost = 64;
  const auto pieces = static_cast<int>(std::clamp<std::uint64_t>(elements / kPiece, 1, kMost));
  Schedule schedule{.data = elements};
  for (int p = 0; p < pieces; ++p) schedule.after.push_back({part_of(elements, pieces, p), value_of(shape, p)});
  if (rank == 0) schedule.before = schedule.after;
  for (int p = 0; p <= pieces; ++p) {
    Step step;
    if (rank > 0 && p < pieces) step.transfers.push_back({rank - 1, {}, part_of(elements, pieces, p)});
    if (rank + 1 < shape.ranks && p > 0) step.transfers.push_back({rank + 1, part_of(elements, pieces, p - 1), {}});
    schedule.steps.push_back(step);
  }
  return schedule;
}

Schedule dissemination_barrier(const Shape& shape, int rank, std::uint64_t) {
  Schedule schedule = barrier_of(shape, rank);
  for (int distance = 1; distance < shape.ranks; distance *= 2) {
    const Slice arrived{Where::scratch, schedule.scratch++, 1};
    const int to = (rank + distance) % shape.ranks;
    const int from = (rank + shape.ranks - distance) % shape.ranks;
    schedule.steps.push_back({.transfers = in_and_out(to, all_of(1), from, arrived)});
  }
  return schedule;
}

}  // namespace twinlink::workloads
