#include "protocols/workloads/experts.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>

#include "protocols/workloads/groups.hpp"

namespace twinlink::workloads {
namespace {

/// Mixes the bits of a number (SplitMix64): neighbours become strangers.
std::uint64_t mixed(std::uint64_t x) {
  x += 0x9E3779B97F4A7C15U;
  x = (x ^ (x >> 30U)) * 0xBF58476D1CE4E5B9U;
  x = (x ^ (x >> 27U)) * 0x94D049BB133111EBU;
  return x ^ (x >> 31U);
}

/// The experts, the most popular one first.
std::vector<std::size_t> by_popularity(const Experts& experts) {
  std::vector<std::size_t> order(static_cast<std::size_t>(experts.count));
  std::iota(order.begin(), order.end(), std::size_t{0});
  const std::uint64_t seed = mixed(static_cast<std::uint64_t>(experts.seed));
  std::ranges::sort(order, {}, [&](std::size_t expert) { return std::pair(mixed(seed ^ expert), expert); });
  return order;
}

/// By expert: which part of the tokens chooses it. The parts add up to `top`.
std::vector<double> chosen_by(const Experts& experts) {
  const std::vector<std::size_t> order = by_popularity(experts);
  std::vector<double> weights;
  for (std::size_t place = 0; place < order.size(); ++place) {
    weights.push_back(std::pow(static_cast<double>(place) + 1, -experts.skew));
  }
  // From the small end: what is left behind large weights must not be the difference of two large sums.
  std::vector<double> weights_from(weights);
  for (std::size_t place = weights.size() - 1; place-- > 0;) weights_from[place] += weights_from[place + 1];
  double left = experts.top;
  std::vector<double> parts(order.size());
  for (std::size_t place = 0; place < order.size(); ++place) {
    // Whom every token chooses leaves the rest of its weight to the others.
    const double part = std::min(1.0, left * (weights[place] / weights_from[place]));
    parts[order[place]] = part;
    left -= part;
  }
  return parts;
}

/// The blocks of all ranks' messages. All senders are alike, so a block is known by the rank of its experts.
class ExpertBlocks {
 public:
  ExpertBlocks(const Shape& shape, int rank, std::uint64_t elements, bool back)
      : ranks_(shape.ranks), self_(rank), back_(back) {
    double sum = 0;
    for (const double share : expert_shares(shape.experts, shape.ranks)) {
      sum += share;
      ends_.push_back(static_cast<std::uint64_t>(std::llround(sum * static_cast<double>(elements))));
    }
    ends_.back() = elements;
  }

  [[nodiscard]] Slice to(int rank) const { return back_ ? equal(rank) : of_experts(rank); }
  [[nodiscard]] Slice from(int rank) const {
    Slice slice = back_ ? of_experts(rank) : equal(rank);
    slice.begin += sent();
    return slice;
  }
  [[nodiscard]] Schedule schedule() const {
    Schedule schedule{.data = sent() + received()};
    for (int r = 0; r < ranks_; ++r) {
      if (to(r).length > 0) schedule.before.push_back({to(r), value(self_, r)});
      if (from(r).length > 0) schedule.after.push_back({from(r), value(r, self_)});
    }
    return schedule;
  }
  /// What needs no message; nothing where the rank's experts get nothing.
  [[nodiscard]] std::vector<Local> own() const {
    if (to(self_).length == 0) return {};
    return {{Local::Kind::copy, from(self_), to(self_)}};
  }

 private:
  [[nodiscard]] Slice of_experts(int rank) const {
    const auto r = static_cast<std::size_t>(rank);
    const std::uint64_t begin = r == 0 ? 0 : ends_[r - 1];
    return {Where::data, begin, ends_[r] - begin};
  }
  /// Between this rank's experts and each rank: as much for all.
  [[nodiscard]] Slice equal(int rank) const {
    const std::uint64_t each = of_experts(self_).length;
    return {Where::data, each * static_cast<std::uint64_t>(rank), each};
  }
  [[nodiscard]] std::uint64_t all_equal() const {
    return of_experts(self_).length * static_cast<std::uint64_t>(ranks_);
  }
  [[nodiscard]] std::uint64_t sent() const { return back_ ? all_equal() : ends_.back(); }
  [[nodiscard]] std::uint64_t received() const { return back_ ? ends_.back() : all_equal(); }
  [[nodiscard]] std::uint64_t value(int sender, int receiver) const {
    return static_cast<std::uint64_t>(sender) * static_cast<std::uint64_t>(ranks_) +
           static_cast<std::uint64_t>(receiver) + 1;
  }

  int ranks_;
  int self_;
  bool back_;
  std::vector<std::uint64_t> ends_{};  ///< by rank, of the blocks to or from its experts
};

Schedule all_at_once(const Shape& shape, int rank, const ExpertBlocks& blocks) {
  Schedule schedule = blocks.schedule();
  Step step{.locals = blocks.own()};
  for (const int peer : partners(shape, rank)) {
    const Slice send = blocks.to(peer);
    const Slice receive = blocks.from(peer);
    if (send.length + receive.length > 0) step.transfers.push_back({peer, send, receive});
  }
  schedule.steps.push_back(std::move(step));
  return schedule;
}

Schedule in_turn(const Shape& shape, int rank, const ExpertBlocks& blocks) {
  Schedule schedule = blocks.schedule();
  schedule.steps.push_back({.locals = blocks.own()});
  const Group group = everyone(shape, rank);
  for (int distance = 1; distance < shape.ranks; ++distance) {
    const int to = group.rank_at(distance);
    const int from = group.rank_at(-distance);
    Step step;
    for (const Transfer& transfer : in_and_out(to, blocks.to(to), from, blocks.from(from))) {
      if (transfer.send.length + transfer.receive.length > 0) step.transfers.push_back(transfer);
    }
    if (!step.transfers.empty()) schedule.steps.push_back(std::move(step));
  }
  return schedule;
}

/// Blocks of every rank and expert. Programs move 16 B at once, so blocks begin at these.
class BlocksByExpert {
 public:
  BlocksByExpert(const Shape& shape, int rank, std::uint64_t elements)
      : shape_(shape), self_(rank), experts_((shape.experts.count + shape.ranks - 1) / shape.ranks) {
    double sum = 0;
    for (const double part : chosen_by(shape.experts)) {
      sum += part / shape.experts.top;
      ends_.push_back(std::min(
          kGrain * static_cast<std::uint64_t>(std::llround(sum * static_cast<double>(elements) / double{kGrain})),
          elements));
    }
    ends_.back() = elements;
  }

  [[nodiscard]] Schedule schedule(bool back) const {
    const std::uint64_t out = in_grains(back ? at_experts() : ends_.back());
    const std::uint64_t in = back ? ends_.back() : at_experts();
    Schedule schedule{.data = out + in};
    Together together{.what = back ? Collective::combine : Collective::dispatch,
                      .data = {Where::data, 0, schedule.data},
                      .blocks = {.experts = experts_, .longest = longest(), .sent = bytes_of(out)}};
    for (int places = 0; places < shape_.ranks; ++places) {
      for (int expert = 0; expert < experts_; ++expert) add(schedule, together.blocks, places, expert, back);
    }
    schedule.steps.push_back({.together = std::move(together)});
    return schedule;
  }

 private:
  static constexpr std::uint64_t kGrain = 2;

  static std::uint64_t in_grains(std::uint64_t elements) { return (elements + kGrain - 1) / kGrain * kGrain; }
  [[nodiscard]] int rank_at(int places) const { return (self_ + places + shape_.ranks) % shape_.ranks; }
  /// What tokens of one rank have for an expert, among those for all: nothing where the rank has fewer experts.
  [[nodiscard]] Slice of(int owner, int expert) const {
    const Slice its = part_of(ends_.size(), shape_.ranks, owner);
    if (static_cast<std::uint64_t>(expert) >= its.length) return {};
    const std::size_t number = its.begin + static_cast<std::size_t>(expert);
    const std::uint64_t begin = number == 0 ? 0 : ends_[number - 1];
    return {Where::data, begin, ends_[number] - begin};
  }
  /// Where this rank's expert has the tokens of the rank so many places before it.
  [[nodiscard]] Slice at_expert(int expert, int places) const {
    std::uint64_t begin = 0;
    for (int before = 0; before < expert; ++before) begin += of(self_, before).length;
    const std::uint64_t length = of(self_, expert).length;
    const auto ranks = static_cast<std::uint64_t>(shape_.ranks);
    return {Where::data, begin * ranks + length * static_cast<std::uint64_t>(places), length};
  }
  [[nodiscard]] std::uint64_t at_experts() const {
    const Slice last = at_expert(experts_ - 1, shape_.ranks - 1);
    return last.begin + last.length;
  }
  [[nodiscard]] Bytes longest() const {
    std::uint64_t longest = 0;
    for (std::size_t i = 0; i < ends_.size(); ++i) longest = std::max(longest, ends_[i] - (i == 0 ? 0 : ends_[i - 1]));
    return bytes_of(longest);
  }
  /// Of the tokens of a rank for one expert.
  [[nodiscard]] std::uint64_t value(int tokens_of, int owner, int expert) const {
    const std::uint64_t pair = static_cast<std::uint64_t>(tokens_of) * static_cast<std::uint64_t>(shape_.ranks) +
                               static_cast<std::uint64_t>(owner);
    return pair * static_cast<std::uint64_t>(experts_) + static_cast<std::uint64_t>(expert) + 1;
  }
  /// The block that goes so many places on, and the one that comes from so many places before.
  void add(Schedule& schedule, PortionLists& blocks, int places, int expert, bool back) const {
    const int to = rank_at(places);
    const int from = rank_at(-places);
    const Slice out = back ? at_expert(expert, (shape_.ranks - places) % shape_.ranks) : of(to, expert);
    Slice in = back ? of(from, expert) : at_expert(expert, places);
    blocks.lengths.push_back(bytes_of(out.length));
    blocks.from.push_back(bytes_of(out.begin));
    blocks.to.push_back(bytes_of(in.begin));
    in.begin += blocks.sent.count() / kElement.count();
    if (out.length > 0) schedule.before.push_back({out, back ? value(to, self_, expert) : value(self_, to, expert)});
    if (in.length > 0) schedule.after.push_back({in, back ? value(self_, from, expert) : value(from, self_, expert)});
  }

  const Shape& shape_;
  int self_;
  int experts_;                        ///< of a rank, as many as any has
  std::vector<std::uint64_t> ends_{};  ///< by expert, of the blocks for them
};

}  // namespace

std::vector<double> expert_shares(const Experts& experts, int ranks) {
  const std::vector<double> parts = chosen_by(experts);
  std::vector<double> shares;
  for (int rank = 0; rank < ranks; ++rank) {
    const Slice mine = part_of(parts.size(), ranks, rank);
    const auto first = parts.begin() + static_cast<std::ptrdiff_t>(mine.begin);
    shares.push_back(std::accumulate(first, first + static_cast<std::ptrdiff_t>(mine.length), 0.0) / experts.top);
  }
  return shares;
}

std::string refuse_experts(const Shape& shape) {
  const Experts& experts = shape.experts;
  if (experts.count < shape.ranks) {
    return std::to_string(experts.count) + " experts are fewer than the " + std::to_string(shape.ranks) + " ranks";
  }
  if (experts.top > experts.count) {
    return "a token cannot go to " + std::to_string(experts.top) + " of " + std::to_string(experts.count) + " experts";
  }
  return {};
}

Schedule direct_dispatch(const Shape& shape, int rank, std::uint64_t elements) {
  return all_at_once(shape, rank, ExpertBlocks(shape, rank, elements, false));
}
Schedule pairwise_dispatch(const Shape& shape, int rank, std::uint64_t elements) {
  return in_turn(shape, rank, ExpertBlocks(shape, rank, elements, false));
}
Schedule together_dispatch(const Shape& shape, int rank, std::uint64_t elements) {
  return BlocksByExpert(shape, rank, elements).schedule(false);
}
Schedule together_combine(const Shape& shape, int rank, std::uint64_t elements) {
  return BlocksByExpert(shape, rank, elements).schedule(true);
}
Schedule direct_combine(const Shape& shape, int rank, std::uint64_t elements) {
  return all_at_once(shape, rank, ExpertBlocks(shape, rank, elements, true));
}
Schedule pairwise_combine(const Shape& shape, int rank, std::uint64_t elements) {
  return in_turn(shape, rank, ExpertBlocks(shape, rank, elements, true));
}

}  // namespace twinlink::workloads
