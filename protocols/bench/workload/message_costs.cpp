#include "protocols/bench/workload/message_costs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <vector>

namespace twinlink::bench {
namespace {

using workloads::bytes_of;
using workloads::Group;
using workloads::Local;
using workloads::Schedule;
using workloads::Slice;
using workloads::Step;
using workloads::Transfer;
using workloads::Where;

/// Rounded down.
int log2_of(std::uint64_t elements) { return static_cast<int>(std::bit_width(elements)) - 1; }

Slice out_of(std::uint64_t elements) { return {Where::data, 0, elements}; }
Slice into(std::uint64_t elements) { return {Where::scratch, 0, elements}; }

/// From each member of an even number to the next one, which sends nothing. `others` of the node stand by.
Schedule one_way(const Group& group, bool others, std::uint64_t elements) {
  Schedule schedule{.data = elements, .scratch = elements};
  const bool sends = group.self % 2 == 0 && group.self + 1 < group.size();
  if (others || (group.self % 2 == 0 && !sends)) return schedule;
  Step step;
  if (sends) step.transfers.push_back({group.rank_at(1), out_of(elements), {}});
  if (!sends) step.transfers.push_back({group.rank_at(-1), {}, into(elements)});
  schedule.steps = {step};
  return schedule;
}

Schedule locals_of(Local::Kind kind, std::size_t count, std::uint64_t elements) {
  const Local local{kind, out_of(elements), into(elements)};
  return {.data = elements, .scratch = elements, .steps = {{.locals = std::vector<Local>(count, local)}}};
}

}  // namespace

void Extent::add(const Schedule& schedule) {
  const auto take = [this](std::uint64_t elements) {
    if (elements == 0) return;
    const int power = log2_of(elements);
    least = any_ ? std::min(least, power) : power;
    most = any_ ? std::max(most, power) : power;
    any_ = true;
  };
  for (const Step& step : schedule.steps) {
    for (const Transfer& transfer : step.transfers) {
      take(transfer.send.length);
      take(transfer.receive.length);
    }
    for (const Local& local : step.locals) {
      take(local.to.length);
      (local.kind == Local::Kind::add ? adds : copies) = true;
    }
  }
}

int Extent::packed() const { return (least << 8) + (most << 2) + (adds ? 2 : 0) + (copies ? 1 : 0); }

Extent Extent::unpacked(int packed) {
  Extent extent;
  extent.least = packed >> 8;
  extent.most = packed >> 2 & 63;
  extent.adds = (packed & 2) != 0;
  extent.copies = (packed & 1) != 0;
  return extent;
}

std::vector<std::uint64_t> Extent::sizes(int ranks) const {
  constexpr int kLarge = 1024;
  const int step = ranks > kLarge ? std::max(2, (most - least + 1) / 2) : 2;
  std::vector<std::uint64_t> all;
  for (int power = least; power < most; power += step) all.push_back(std::uint64_t{1} << power);
  all.push_back(std::uint64_t{1} << most);
  return all;
}

Schedule around(const Group& group, std::uint64_t elements, int distances) {
  Schedule schedule{.data = elements, .scratch = elements};
  if (group.size() < 2) return schedule;
  Step step;
  for (int distance = 1; distance <= distances; ++distance) {
    for (const Transfer& transfer :
         workloads::in_and_out(group.rank_at(distance), out_of(elements), group.rank_at(-distance), into(elements))) {
      step.transfers.push_back(transfer);
    }
  }
  schedule.steps = {step};
  return schedule;
}

StepCosts learn_costs(const workloads::Shape& shape, int self, const Extent& extent,
                      const std::function<double(const Schedule&)>& time,
                      const std::function<bool(const Schedule&)>& allowed) {
  const std::vector<std::uint64_t> sizes = extent.sizes(shape.ranks);
  const auto messages = [&](const Group& group, bool others) {
    MessageCosts costs;
    if (group.size() < 2) return costs;
    for (const std::uint64_t elements : sizes) costs.all.add(bytes_of(elements), time(around(group, elements)));
    // Behind them, for some connections become what they are only where both ends send.
    for (const std::uint64_t elements : sizes) {
      costs.alone.add(bytes_of(elements), time(one_way(group, others, elements)));
    }
    // With different peers, and both ways with each or one way with twice as many.
    constexpr int kMost = 3;
    const int at_once = group.size() == 4 ? 2 : std::min(kMost, (group.size() - 1) / 2);
    if (at_once < 2 || !allowed(around(group, sizes.front(), at_once))) return costs;
    const double one_us = costs.all.of(bytes_of(sizes.front() * static_cast<std::uint64_t>(at_once)));
    const double more_us = time(around(group, sizes.front(), at_once)) - one_us;
    costs.further_us = std::max(0.0, more_us / (at_once - 1));
    return costs;
  };
  const auto locals = [&](Local::Kind kind, bool several) {
    LocalCosts costs;
    for (const std::uint64_t elements : sizes) {
      costs.one.add(bytes_of(elements), time(locals_of(kind, 1, elements)));
      if (several) costs.several.add(bytes_of(elements), time(locals_of(kind, LocalCosts::kSeveral, elements)));
    }
    return costs;
  };
  StepCosts costs;
  const Group node = workloads::node_of(shape, self);
  costs.within = messages(node, node.self > 1);
  costs.between = messages(workloads::same_place_of(shape, self), node.self > 0);
  if (extent.adds) costs.adds = locals(Local::Kind::add, false);
  if (extent.copies) costs.copies = locals(Local::Kind::copy, true);
  return costs;
}

}  // namespace twinlink::bench
