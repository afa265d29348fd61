#include "protocols/bench/workload/prediction.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <limits>
#include <map>
#include <numeric>
#include <ranges>

namespace twinlink::bench {

using workloads::Algorithm;
using workloads::bytes_of;
using workloads::Local;
using workloads::Schedule;
using workloads::Shape;
using workloads::Step;
using workloads::Transfer;

double SizeCosts::of(Bytes size) const {
  if (points_.empty()) return 0;
  const auto bytes = static_cast<double>(size.count());
  if (points_.size() == 1 || bytes <= points_.front().first) return points_.front().second;
  auto above = std::ranges::lower_bound(points_, bytes, {}, &std::pair<double, double>::first);
  if (above == points_.end()) --above;
  const auto below = above - 1;
  const double slope = (above->second - below->second) / (above->first - below->first);
  return std::max(0.0, below->second + slope * (bytes - below->first));
}

double MessageCosts::of(Bytes bytes, std::size_t messages, double share, std::size_t reach) const {
  const double one = alone.of(bytes);
  const bool many = messages >= kMany && !spread.empty();
  double together = many ? spread.of(bytes) : all.of(bytes);
  if (!many && !by_reach.empty()) {
    const double none = all.of_none();
    together = none + (together - none) * by_reach[std::min(reach, by_reach.size() - 1)];
  }
  return one + share * std::max(0.0, together - one) + static_cast<double>(messages - 1) * further_us;
}

double LocalCosts::further(Bytes bytes) const {
  if (several.empty()) return one.of(bytes);
  return std::max(0.0, several.of(bytes) - one.of(bytes)) / (kSeveral - 1);
}

namespace {

/// What a rank has to do in a step within its node, or between nodes.
struct Traffic {
  std::uint64_t sent = 0;
  std::uint64_t received = 0;
  std::uint32_t sends = 0;
  std::uint32_t receives = 0;
  std::uint32_t reach = 0;  ///< as MessageCosts::of() has it

  /// `places`: so far the peer is away.
  void add(const Transfer& transfer, int places) {
    reach = std::max(reach, static_cast<std::uint32_t>(std::bit_width(static_cast<unsigned>(places)) - 1));
    sent += transfer.send.length;
    received += transfer.receive.length;
    sends += transfer.send.length > 0 ? 1 : 0;
    receives += transfer.receive.length > 0 ? 1 : 0;
  }
  [[nodiscard]] bool any() const { return sends + receives > 0; }
  [[nodiscard]] std::uint32_t messages() const { return std::max(sends, receives); }
  [[nodiscard]] std::uint64_t elements() const { return std::max(sent, received); }
  [[nodiscard]] double us(const MessageCosts& costs, double share) const {
    return any() ? costs.of(bytes_of(elements()), messages(), share, reach) : 0;
  }
  /// What its messages add to others that the same CPU begins, which go on meanwhile: all but one.
  [[nodiscard]] double further_us(const MessageCosts& costs) const {
    return any() ? (messages() - 1) * costs.further_us : 0;
  }
};

/// What a step's messages take within the node, and between nodes.
struct StepTimes {
  double within = 0;
  double between = 0;
};

/// The CPU begins the messages of both one after the other. A rank with a message from or to each of many others, and
/// none back, takes what a star does.
StepTimes times_of(const Traffic& within, const Traffic& between, double share_within, double share_between, int ranks,
                   const StepCosts& costs) {
  const std::uint32_t sends = within.sends + between.sends;
  const std::uint32_t receives = within.receives + between.receives;
  const SizeCosts& star = sends == 0 ? costs.star.in : costs.star.out;
  if ((sends == 0 || receives == 0) && sends + receives > 1 && !star.empty()) {
    const std::uint32_t messages = sends + receives;
    const double us = star.of(bytes_of((within.elements() + between.elements()) / messages));
    const double all = us * messages / std::max(1, ranks - 1);
    return {all, all};
  }
  const StepTimes alone{within.us(costs.within, share_within), between.us(costs.between, share_between)};
  if (!within.any() || !between.any()) return alone;
  const double both =
      std::max(alone.within + between.further_us(costs.between), alone.between + within.further_us(costs.within));
  return {both, both};
}

/// How many ends of messages there are at the same time within a node, and how many of its ends between nodes.
struct Load {
  int within = 0;
  int between = 0;

  void add(const Traffic& inside, const Traffic& outside) {
    within += ends_of(inside);
    between += ends_of(outside);
  }
  /// Alone there are both ends of one message within the node, and one of one between nodes; at the most both of each
  /// rank.
  [[nodiscard]] double share_within(int ranks) const { return share(within - 2, 2 * ranks - 2); }
  [[nodiscard]] double share_between(int ranks) const { return share(between - 1, 2 * ranks - 1); }

 private:
  static int ends_of(const Traffic& traffic) { return (traffic.sends > 0 ? 1 : 0) + (traffic.receives > 0 ? 1 : 0); }
  static double share(int more, int most) { return most > 0 ? std::max(0.0, static_cast<double>(more) / most) : 0; }
};

double local_us(const Step& step, const StepCosts& costs) {
  double us = 0;
  const LocalCosts* before = nullptr;
  for (const Local& local : step.locals) {
    if (local.to.length == 0) continue;
    const LocalCosts& kind = local.kind == Local::Kind::add ? costs.adds : costs.copies;
    const Bytes bytes = bytes_of(local.to.length);
    us += &kind == before ? kind.further(bytes) : kind.one.of(bytes);
    before = &kind;
  }
  return us;
}

bool moves(const Transfer& transfer) { return transfer.send.length + transfer.receive.length > 0; }

/// How far a peer is away: nodes, or of one node ranks, the shorter way round.
int places_between(const Shape& shape, int rank, const Transfer& transfer) {
  const bool within = rank / shape.per_node == transfer.peer / shape.per_node;
  const int all = within ? shape.per_node : shape.ranks / shape.per_node;
  const int apart =
      within ? std::abs(rank - transfer.peer) : std::abs(rank / shape.per_node - transfer.peer / shape.per_node);
  return std::max(1, std::min(apart, all - apart));
}

/// The steps of all ranks, and with whom each has its messages.
class Steps {
 public:
  Steps(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements, const StepCosts& costs)
      : shape_(shape) {
    for (int rank = 0; rank < shape.ranks; ++rank) {
      first_of_.push_back(steps_.size());
      for (const Step& step : algorithm.schedule(shape, rank, elements).steps) add(rank, step, costs);
    }
    first_of_.push_back(steps_.size());
  }

  double longest_us(const StepCosts& costs) const {
    // When all steps take as long, those that end together go on at the same time.
    const std::vector<double> turns = ends([](std::size_t, bool) { return 1.0; }, false);
    std::map<std::pair<int, int>, Load> loads;  // by node and turn
    const auto load_at = [&](std::size_t step) -> Load& {
      return loads[{steps_[step].rank / shape_.per_node, static_cast<int>(turns[step])}];
    };
    for (std::size_t i = 0; i < steps_.size(); ++i) load_at(i).add(steps_[i].within, steps_[i].between);
    std::vector<StepTimes> us;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Load& load = load_at(i);
      us.push_back(times_of(steps_[i].within, steps_[i].between, load.share_within(shape_.per_node),
                            load.share_between(shape_.per_node), shape_.ranks, costs));
    }
    const std::vector<double> all =
        ends([&](std::size_t step, bool within) { return within ? us[step].within : us[step].between; }, true);
    return all.empty() ? 0 : std::ranges::max(all);
  }

 private:
  struct OneStep {
    int rank = 0;
    std::size_t first = 0;  ///< of its messages
    std::size_t last = 0;
    Traffic within{};
    Traffic between{};
    double local_us = 0;
  };

  void add(int rank, const Step& step, const StepCosts& costs) {
    OneStep one{.rank = rank, .first = peers_.size(), .local_us = local_us(step, costs)};
    for (const Transfer& transfer : step.transfers) {
      if (!moves(transfer)) continue;
      peers_.push_back(transfer.peer);
      (is_within(rank, transfer.peer) ? one.within : one.between).add(transfer, places_between(shape_, rank, transfer));
    }
    one.last = peers_.size();
    std::sort(peers_.begin() + static_cast<std::ptrdiff_t>(one.first), peers_.end());
    steps_.push_back(one);
  }

  [[nodiscard]] bool is_within(int rank, int peer) const { return rank / shape_.per_node == peer / shape_.per_node; }

  /// When each step ends, where its messages take `cost(step, within)` from the moment on in which both ends are there.
  template <class Cost>
  std::vector<double> ends(const Cost& cost, bool with_locals) const {
    std::vector<double> begins(steps_.size());
    std::vector<double> ends(steps_.size());
    std::vector<bool> met(peers_.size());
    std::vector<std::size_t> left(steps_.size());
    std::vector<std::size_t> now(first_of_.begin(), first_of_.end() - 1);  // of each rank its step
    std::vector<int> going;
    // A step begins when the one before it has ended; it meets the peers that are there.
    const auto begin = [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::size_t step = now[r];
      if (step == first_of_[r + 1]) return;
      begins[step] = ends[step] = step == first_of_[r] ? 0 : ends[step - 1];
      left[step] = steps_[step].last - steps_[step].first;
      going.push_back(rank);
    };
    const auto end_if_through = [&](int rank) {
      const auto r = static_cast<std::size_t>(rank);
      const std::size_t step = now[r];
      if (left[step] > 0) return;
      if (with_locals) ends[step] += steps_[step].local_us;
      ++now[r];
      begin(rank);
    };
    for (int rank = 0; rank < shape_.ranks; ++rank) begin(rank);
    while (!going.empty()) {
      const int rank = going.back();
      going.pop_back();
      const std::size_t step = now[static_cast<std::size_t>(rank)];
      if (step == first_of_[static_cast<std::size_t>(rank) + 1]) continue;
      for (std::size_t m = steps_[step].first; m < steps_[step].last; ++m) {
        const int peer = peers_[m];
        const auto p = static_cast<std::size_t>(peer);
        const std::size_t theirs = now[p];
        if (met[m] || theirs == first_of_[p + 1]) continue;
        const auto back = find(steps_[theirs], rank, met);
        if (back == steps_[theirs].last) continue;
        met[m] = met[back] = true;
        const bool within = is_within(rank, peer);
        const double end = std::max(begins[step], begins[theirs]) + std::max(cost(step, within), cost(theirs, within));
        ends[step] = std::max(ends[step], end);
        ends[theirs] = std::max(ends[theirs], end);
        --left[step];
        if (--left[theirs] == 0) end_if_through(peer);
      }
      end_if_through(rank);
    }
    return ends;
  }

  /// The message of a step with that peer, if it is still to come; else the step's last.
  [[nodiscard]] std::size_t find(const OneStep& step, int peer, const std::vector<bool>& met) const {
    const auto first = peers_.begin() + static_cast<std::ptrdiff_t>(step.first);
    const auto last = peers_.begin() + static_cast<std::ptrdiff_t>(step.last);
    const auto [from, to] = std::equal_range(first, last, peer);
    const auto number = [&](auto place) { return static_cast<std::size_t>(place - peers_.begin()); };
    // Of those with one peer the first ones have been met.
    const auto all = std::views::iota(number(from), number(to));
    const auto next = std::ranges::partition_point(all, [&](std::size_t message) { return met[message]; });
    return next == all.end() ? step.last : *next;
  }

  Shape shape_;
  std::vector<OneStep> steps_;
  std::vector<int> peers_;             ///< of the messages, in the order of the steps, ascending in each
  std::vector<std::size_t> first_of_;  ///< of each rank its first step, and behind them where the last one ends
};

std::size_t messages_in(const Schedule& schedule) {
  return std::accumulate(schedule.steps.begin(), schedule.steps.end(), std::size_t{0},
                         [](std::size_t sum, const Step& step) {
                           return sum + static_cast<std::size_t>(std::ranges::count_if(step.transfers, moves));
                         });
}

/// Step by step on the slowest rank of the first node.
double sum_of_steps_us(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements, const StepCosts& costs) {
  std::vector<double> all;
  for (int rank = 0; rank < shape.per_node; ++rank) {
    const Schedule schedule = algorithm.schedule(shape, rank, elements);
    all.resize(std::max(all.size(), schedule.steps.size()));
    for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
      Traffic within;
      Traffic between;
      for (const Transfer& transfer : schedule.steps[i].transfers) {
        if (!moves(transfer)) continue;
        (transfer.peer / shape.per_node == 0 ? within : between).add(transfer, places_between(shape, rank, transfer));
      }
      const StepTimes us = times_of(within, between, 1, 1, shape.ranks, costs);
      all[i] = std::max(all[i], std::max(us.within, us.between) + local_us(schedule.steps[i], costs));
    }
  }
  return std::accumulate(all.begin(), all.end(), 0.0);
}

}  // namespace

std::size_t messages_of(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements) {
  const std::size_t two = messages_in(algorithm.schedule(shape, 0, elements)) +
                          messages_in(algorithm.schedule(shape, shape.ranks / 2, elements));
  return two * static_cast<std::size_t>(shape.ranks) / 2;
}

double predicted_us(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements, const StepCosts& costs) {
  const std::size_t messages = messages_of(algorithm, shape, elements);
  if (messages <= kMostMessages) return Steps(algorithm, shape, elements, costs).longest_us(costs);
  const std::size_t of_first = messages_in(algorithm.schedule(shape, 0, elements));
  const bool alike = of_first == messages / static_cast<std::size_t>(shape.ranks);
  return alike ? sum_of_steps_us(algorithm, shape, elements, costs) : std::numeric_limits<double>::infinity();
}

}  // namespace twinlink::bench
