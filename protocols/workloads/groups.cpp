#include "protocols/workloads/groups.hpp"

#include <algorithm>

namespace twinlink::workloads {
namespace {

Slice part_within(const Slice& whole, const Group& group, int number) {
  Slice part = part_of(whole.length, group.size(), group.wrapped(number));
  part.begin += whole.begin;
  return part;
}

}  // namespace

Slice part_of(std::uint64_t elements, int count, int index) {
  const auto n = static_cast<std::uint64_t>(count);
  const auto i = static_cast<std::uint64_t>(index);
  const std::uint64_t each = elements / n;
  const std::uint64_t longer = elements % n;
  return {Where::data, each * i + std::min(i, longer), each + (i < longer ? 1 : 0)};
}

int Group::wrapped(int number) const { return ((number % size()) + size()) % size(); }

int Group::rank_at(int distance) const { return ranks[static_cast<std::size_t>(wrapped(self + distance))]; }

Group everyone(const Shape& shape, int rank) {
  Group group{.self = rank};
  for (int r = 0; r < shape.ranks; ++r) group.ranks.push_back(r);
  return group;
}

Group node_of(const Shape& shape, int rank) {
  Group group{.self = rank % shape.per_node};
  for (int place = 0; place < shape.per_node; ++place) group.ranks.push_back(rank - group.self + place);
  return group;
}

Group same_place_of(const Shape& shape, int rank) {
  Group group{.self = rank / shape.per_node};
  for (int r = rank % shape.per_node; r < shape.ranks; r += shape.per_node) group.ranks.push_back(r);
  return group;
}

std::vector<Transfer> in_and_out(int to, const Slice& send, int from, const Slice& receive) {
  if (to == from) return {{to, send, receive}};
  return {{to, send, {}}, {from, {}, receive}};
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

}  // namespace twinlink::workloads
