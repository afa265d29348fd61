#include "protocols/bench/workload/message_costs.hpp"

#include <algorithm>
#include <bit>
#include <cstddef>
#include <numeric>
#include <set>
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

/// Ranks of a job whose costs are learnt at few sizes.
constexpr int kLarge = 1024;
constexpr int kPowerBits = 6;  // of an Extent

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

/// Between rank 0 and each other.
Schedule star(const workloads::Shape& shape, int self, bool in, std::uint64_t elements) {
  Schedule schedule{.data = elements, .scratch = elements};
  Step step;
  const auto add = [&](int peer, bool sends) {
    step.transfers.push_back({peer, sends ? out_of(elements) : Slice{}, sends ? Slice{} : into(elements)});
  };
  if (self != 0) add(0, in);
  for (int rank = 1; self == 0 && rank < shape.ranks; ++rank) add(rank, !in);
  schedule.steps = {step};
  return schedule;
}

Schedule locals_of(Local::Kind kind, std::size_t count, std::uint64_t elements) {
  const Local local{kind, out_of(elements), into(elements)};
  return {.data = elements, .scratch = elements, .steps = {{.locals = std::vector<Local>(count, local)}}};
}

}  // namespace

void Extent::add(const Schedule& schedule) {
  const auto widen = [](int& from, int& to, bool& any, std::uint64_t elements) {
    if (elements == 0) return;
    const int power = log2_of(elements);
    from = any ? std::min(from, power) : power;
    to = any ? std::max(to, power) : power;
    any = true;
  };
  const auto take = [&](std::uint64_t elements) { widen(least, most, any_, elements); };
  for (const Step& step : schedule.steps) {
    std::uint64_t sent = 0;
    std::uint64_t received = 0;
    for (const Transfer& transfer : step.transfers) {
      take(transfer.send.length);
      take(transfer.receive.length);
      sent += transfer.send.length;
      received += transfer.receive.length;
    }
    if (step.transfers.size() > 1 && (sent == 0) != (received == 0)) {
      (sent == 0 ? stars_in : stars_out) = true;
      for (const Transfer& transfer : step.transfers) {
        widen(star_least, star_most, any_star_, transfer.send.length + transfer.receive.length);
      }
    }
    for (const Local& local : step.locals) {
      take(local.to.length);
      (local.kind == Local::Kind::add ? adds : copies) = true;
    }
  }
}

int Extent::packed() const {
  int packed = 0;
  for (const int power : {star_least, star_most, least, most}) packed = (packed << kPowerBits) + power;
  for (const bool flag : {stars_in, stars_out, adds, copies}) packed = (packed << 1) + (flag ? 1 : 0);
  return packed;
}

Extent Extent::unpacked(int packed) {
  Extent extent;
  for (bool* flag : {&extent.copies, &extent.adds, &extent.stars_out, &extent.stars_in}) {
    *flag = (packed & 1) != 0;
    packed >>= 1;
  }
  for (int* power : {&extent.most, &extent.least, &extent.star_most, &extent.star_least}) {
    *power = packed & ((1 << kPowerBits) - 1);
    packed >>= kPowerBits;
  }
  return extent;
}

std::vector<std::uint64_t> Extent::sizes(int ranks) const {
  const int step = ranks > kLarge ? std::max(2, (most - least + 1) / 2) : 2;
  std::vector<std::uint64_t> all;
  for (int power = least; power < most; power += step) all.push_back(std::uint64_t{1} << power);
  all.push_back(std::uint64_t{1} << most);
  return all;
}

std::vector<std::uint64_t> Extent::star_sizes() const {
  std::vector<std::uint64_t> all;
  for (int power = star_least; power < star_most; power += 2) all.push_back(std::uint64_t{1} << power);
  all.push_back(std::uint64_t{1} << star_most);
  return all;
}

Schedule around(const Group& group, std::uint64_t elements, const std::vector<int>& distances) {
  Schedule schedule{.data = elements, .scratch = elements};
  if (group.size() < 2) return schedule;
  Step step;
  for (const int distance : distances) {
    for (const Transfer& transfer :
         workloads::in_and_out(group.rank_at(distance), out_of(elements), group.rank_at(-distance), into(elements))) {
      // A peer on either side, as in a group of three, is one exchange.
      const auto same = std::ranges::find(step.transfers, transfer.peer, &Transfer::peer);
      if (same == step.transfers.end()) {
        step.transfers.push_back(transfer);
        continue;
      }
      if (transfer.send.length > 0) same->send = transfer.send;
      if (transfer.receive.length > 0) same->receive = transfer.receive;
    }
  }
  schedule.steps = {step};
  return schedule;
}

namespace {

/// What messages to peers far away share, which those to the next do not: a fabric's higher levels.
void learn_far(MessageCosts& costs, const Group& group, const std::vector<std::uint64_t>& sizes,
               const std::function<double(const Schedule&)>& time,
               const std::function<bool(const Schedule&)>& allowed) {
  const std::uint64_t most = sizes.back();
  const double none = costs.all.of_none();
  const double near = costs.all.of(bytes_of(most)) - none;
  costs.by_reach = {1};
  for (int distance = 2; distance <= group.size() / 2; distance *= 2) {
    const Schedule far = around(group, most, {distance});
    if (near <= 0 || !allowed(far)) break;
    costs.by_reach.push_back(std::max(0.0, time(far) - none) / near);
  }
  // To all others, or to some of them at distances that are as far from each other.
  constexpr int kPeers = 7;
  const int peers = std::min(kPeers, group.size() - 1);
  std::vector<int> distances;
  for (int peer = 0; peer < peers; ++peer) distances.push_back(1 + peer * (group.size() - 1) / peers);
  if (peers < static_cast<int>(MessageCosts::kMany) || !allowed(around(group, sizes.front(), distances))) return;
  const auto all_of = [&](std::uint64_t elements) { return bytes_of(elements * static_cast<std::uint64_t>(peers)); };
  const std::set<std::uint64_t> learnt{sizes.front(), sizes[sizes.size() / 2], most};
  std::vector<double> us;
  for (const std::uint64_t elements : learnt) us.push_back(time(around(group, elements, distances)));
  costs.further_us = std::max(costs.further_us, (us.front() - costs.all.of(all_of(sizes.front()))) / (peers - 1));
  for (auto [elements, at] = std::pair{learnt.begin(), us.begin()}; at != us.end(); ++elements, ++at) {
    costs.spread.add(all_of(*elements), std::max(0.0, *at - (peers - 1) * costs.further_us));
  }
}

}  // namespace

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
    std::vector<int> next(static_cast<std::size_t>(std::max(at_once, 0)));
    std::iota(next.begin(), next.end(), 1);
    if (at_once < 2 || !allowed(around(group, sizes.front(), next))) return costs;
    const double one_us = costs.all.of(bytes_of(sizes.front() * static_cast<std::uint64_t>(at_once)));
    const double more_us = time(around(group, sizes.front(), next)) - one_us;
    costs.further_us = std::max(0.0, more_us / (at_once - 1));
    if (group.size() <= kLarge) learn_far(costs, group, sizes, time, allowed);
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
  for (const bool in : {true, false}) {
    if (!(in ? extent.stars_in : extent.stars_out)) continue;
    SizeCosts& of_stars = in ? costs.star.in : costs.star.out;
    for (const std::uint64_t elements : extent.star_sizes()) {
      of_stars.add(bytes_of(elements), time(star(shape, self, in, elements)));
    }
  }
  return costs;
}

}  // namespace twinlink::bench
