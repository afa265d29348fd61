#include "protocols/bench/workload/prediction.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <numeric>

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

double MessageCosts::of(Bytes bytes, std::size_t messages, double share) const {
  const double one = alone.of(bytes);
  return one + share * std::max(0.0, all.of(bytes) - one) + static_cast<double>(messages - 1) * further_us;
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

  void add(const Transfer& transfer) {
    sent += transfer.send.length;
    received += transfer.receive.length;
    sends += transfer.send.length > 0 ? 1 : 0;
    receives += transfer.receive.length > 0 ? 1 : 0;
  }
  [[nodiscard]] bool any() const { return sends + receives > 0; }
  [[nodiscard]] double us(const MessageCosts& costs, double share) const {
    return any() ? costs.of(bytes_of(std::max(sent, received)), std::max(sends, receives), share) : 0;
  }
};

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
  static double share(int more, int most) {
    return most > 0 ? std::clamp(static_cast<double>(more) / most, 0.0, 1.0) : 0;
  }
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
    std::vector<std::pair<double, double>> us;
    for (std::size_t i = 0; i < steps_.size(); ++i) {
      const Load& load = load_at(i);
      us.emplace_back(steps_[i].within.us(costs.within, load.share_within(shape_.per_node)),
                      steps_[i].between.us(costs.between, load.share_between(shape_.per_node)));
    }
    const std::vector<double> all =
        ends([&](std::size_t step, bool within) { return within ? us[step].first : us[step].second; }, true);
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
      (is_within(rank, transfer.peer) ? one.within : one.between).add(transfer);
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
    auto at = static_cast<std::size_t>(std::lower_bound(first, last, peer) - peers_.begin());
    while (at < step.last && peers_[at] == peer && met[at]) ++at;
    return at < step.last && peers_[at] == peer ? at : step.last;
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
        (transfer.peer / shape.per_node == 0 ? within : between).add(transfer);
      }
      const double us = std::max(within.us(costs.within, 1), between.us(costs.between, 1));
      all[i] = std::max(all[i], us + local_us(schedule.steps[i], costs));
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
