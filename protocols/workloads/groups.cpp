#include "protocols/workloads/groups.hpp"

#include <algorithm>
#include <bit>
#include <ranges>

namespace twinlink::workloads {

Slice part_within(const Slice& whole, const Group& group, int number) {
  Slice part = part_of(whole.length, group.size(), group.wrapped(number));
  part.begin += whole.begin;
  return part;
}

Slice part_of(std::uint64_t elements, int count, int index) {
  const auto n = static_cast<std::uint64_t>(count);
  const auto i = static_cast<std::uint64_t>(index);
  const std::uint64_t each = elements / n;
  const std::uint64_t longer = elements % n;
  return {Where::data, each * i + std::min(i, longer), each + (i < longer ? 1 : 0)};
}

Slice parts_of(std::uint64_t elements, int ranks, int first, int behind) {
  if (first >= behind) return {Where::data, elements, 0};
  Slice slice = part_of(elements, ranks, first);
  const Slice last = part_of(elements, ranks, behind - 1);
  slice.length = last.begin + last.length - slice.begin;
  return slice;
}

int Group::wrapped(int number) const { return ((number % size()) + size()) % size(); }

Group everyone(const Shape& shape, int rank) { return {.members = shape.ranks, .self = rank}; }

Group node_of(const Shape& shape, int rank) {
  const int self = rank % shape.per_node;
  return {.first = rank - self, .members = shape.per_node, .self = self};
}

Group same_place_of(const Shape& shape, int rank) {
  return {.first = rank % shape.per_node,
          .distance = shape.per_node,
          .members = shape.ranks / shape.per_node,
          .self = rank / shape.per_node};
}

namespace {

/// Of one node, or of nodes with one rank.
int partner_in_round(const Shape& shape, int self, int round) {
  const int circle = shape.ranks - 1;
  if (std::has_single_bit(static_cast<unsigned>(shape.ranks))) return self ^ (round + 1);
  if (shape.ranks % 2 == 1 || shape.per_node > 1) return (self + 1 + round) % shape.ranks;
  const int across = self == circle ? round : (2 * round - self + circle) % circle;
  return across == self ? circle : across;
}

}  // namespace

std::vector<int> partners(const Shape& shape, int self) {
  std::vector<int> in_turn;
  const int each = shape.per_node;
  const int nodes = shape.ranks / each;
  if (each == 1 || nodes == 1 || std::has_single_bit(static_cast<unsigned>(shape.ranks))) {
    for (int round = 0; round + 1 < shape.ranks; ++round) in_turn.push_back(partner_in_round(shape, self, round));
    return in_turn;
  }
  const int node = self / each;
  const int place = self % each;
  for (int turn = 0; turn < each; ++turn) {
    for (int of_nodes = 0; of_nodes < nodes; ++of_nodes) {
      const int other = (of_nodes - node + nodes) % nodes;
      const int there = other == node ? (place + turn) % each : (turn - place + each) % each;
      if (other != node || there != place) in_turn.push_back(other * each + there);
    }
  }
  return in_turn;
}

std::vector<Transfer> in_and_out(int to, const Slice& send, int from, const Slice& receive) {
  if (to == from) return {{to, send, receive}};
  return {{to, send, {}}, {from, {}, receive}};
}

void exchange_and_add(Schedule& schedule, int peer, const Slice& send, const Slice& into) {
  const Slice arrived{Where::scratch, 0, into.length};
  schedule.scratch = std::max(schedule.scratch, into.length);
  schedule.steps.push_back({.transfers = {{peer, send, arrived}}, .locals = {{Local::Kind::add, into, arrived}}});
}

void receive_and_add(Schedule& schedule, int peer, const Slice& into) { exchange_and_add(schedule, peer, {}, into); }

void send_only(Schedule& schedule, int peer, const Slice& what) {
  if (what.length == 0) return;
  schedule.steps.push_back({.transfers = {{peer, what, {}}}});
}

void receive_only(Schedule& schedule, int peer, const Slice& into) {
  if (into.length == 0) return;
  schedule.steps.push_back({.transfers = {{peer, {}, into}}});
}

void ring_reduce_scatter(Schedule& schedule, const Group& group, const Slice& whole) {
  for (int step = 0; step + 1 < group.size(); ++step) {
    const Slice send = part_within(whole, group, group.self - step - 1);
    const Slice into = part_within(whole, group, group.self - step - 2);
    const Slice arrived{Where::scratch, 0, into.length};
    schedule.scratch = std::max(schedule.scratch, into.length);
    schedule.steps.push_back({.transfers = in_and_out(group.rank_at(1), send, group.rank_at(-1), arrived),
                              .locals = {{Local::Kind::add, into, arrived}}});
  }
}

void ring_all_gather(Schedule& schedule, const Group& group, const Slice& whole) {
  for (int step = 0; step + 1 < group.size(); ++step) {
    const Slice send = part_within(whole, group, group.self - step);
    const Slice into = part_within(whole, group, group.self - step - 1);
    schedule.steps.push_back({.transfers = in_and_out(group.rank_at(1), send, group.rank_at(-1), into)});
  }
}

void direct_reduce_scatter(Schedule& schedule, const Group& group, const Slice& whole) {
  const Slice mine = part_within(whole, group, group.self);
  Step step;
  for (const int peer : partners({.ranks = group.size(), .per_node = group.size()}, group.self)) {
    const Slice arrived{Where::scratch, mine.length * step.transfers.size(), mine.length};
    step.transfers.push_back({group.rank(peer), part_within(whole, group, peer), arrived});
    step.locals.push_back({Local::Kind::add, mine, arrived});
  }
  schedule.scratch = std::max(schedule.scratch, mine.length * step.transfers.size());
  schedule.steps.push_back(std::move(step));
}

void direct_all_gather(Schedule& schedule, const Group& group, const Slice& whole) {
  Step step;
  for (const int peer : partners({.ranks = group.size(), .per_node = group.size()}, group.self)) {
    step.transfers.push_back(
        {group.rank(peer), part_within(whole, group, group.self), part_within(whole, group, peer)});
  }
  schedule.steps.push_back(std::move(step));
}

std::vector<Half> halves_of(int members, int self, const Slice& whole, const std::function<int(int)>& rank_of,
                            First first) {
  std::vector<Half> halves;
  Slice mine = whole;
  for (int step = 1; step < members; step *= 2) {
    const int distance = first == First::nearest ? step : members / 2 / step;
    const Slice lower{Where::data, mine.begin, mine.length / 2};
    const Slice upper{Where::data, mine.begin + lower.length, mine.length - lower.length};
    const bool low = (self & distance) == 0;
    halves.push_back({rank_of(self ^ distance), low ? lower : upper, low ? upper : lower});
    mine = halves.back().mine;
  }
  return halves;
}

void halving_reduce_scatter(Schedule& schedule, std::span<const Half> halves) {
  for (const Half& half : halves) {
    const Slice arrived{Where::scratch, 0, half.mine.length};
    schedule.scratch = std::max(schedule.scratch, half.mine.length);
    schedule.steps.push_back(
        {.transfers = {{half.peer, half.theirs, arrived}}, .locals = {{Local::Kind::add, half.mine, arrived}}});
  }
}

void doubling_all_gather(Schedule& schedule, std::span<const Half> halves) {
  for (const Half& half : std::views::reverse(halves)) {
    schedule.steps.push_back({.transfers = {{half.peer, half.mine, half.theirs}}});
  }
}

}  // namespace twinlink::workloads
