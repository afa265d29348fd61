#include "protocols/bench/workload/turns.hpp"

#include <algorithm>
#include <bit>
#include <cstdlib>
#include <map>
#include <numeric>
#include <ranges>

namespace twinlink::bench {

using workloads::Algorithm;
using workloads::Local;
using workloads::Schedule;
using workloads::Shape;
using workloads::Transfer;

namespace {

/// Of the kinds of turns of one algorithm, about so many messages are timed.
constexpr std::size_t kMostTimed = 5000;

bool has_bytes(const Transfer& transfer) { return transfer.send.length + transfer.receive.length > 0; }

/// Peer and directions as one number, in the order of the peers.
class End {
 public:
  End(int peer, bool sends, bool receives) : number_(4 * peer + (sends ? 2 : 0) + (receives ? 1 : 0)) {}
  explicit End(int number) : number_(number) {}

  [[nodiscard]] int number() const { return number_; }
  [[nodiscard]] int peer() const { return number_ / 4; }
  /// What the peer has, whose peer is `rank`.
  [[nodiscard]] End mirrored(int rank) const { return {rank, (number_ & 1) != 0, (number_ & 2) != 0}; }

 private:
  int number_;
};

std::size_t messages_of_step(const workloads::Step& step) {
  return static_cast<std::size_t>(std::ranges::count_if(step.transfers, has_bytes));
}

std::size_t messages_of_schedule(const Schedule& schedule) {
  return std::accumulate(schedule.steps.begin(), schedule.steps.end(), std::size_t{0},
                         [](std::size_t sum, const workloads::Step& step) { return sum + messages_of_step(step); });
}

/// The finalizer of splitmix64.
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15;
  value = (value ^ value >> 30U) * 0xBF58476D1CE4E5B9;
  value = (value ^ value >> 27U) * 0x94D049BB133111EB;
  return value ^ value >> 31U;
}

class Content {
 public:
  void add(std::uint64_t value) { sum_ = mixed(sum_ ^ value); }
  [[nodiscard]] std::uint64_t sum() const { return sum_; }

 private:
  std::uint64_t sum_ = 0;
};

bool is_empty(const workloads::Step& step) {
  return messages_of_step(step) == 0 &&
         std::ranges::none_of(step.locals, [](const Local& l) { return l.to.length > 0; });
}

std::uint64_t content_of(int rank, const workloads::Step& step) {
  Content content;
  content.add(static_cast<std::uint64_t>(rank));
  for (const Transfer& transfer : step.transfers) {
    for (const std::uint64_t value :
         {static_cast<std::uint64_t>(transfer.peer), transfer.send.length, transfer.receive.length})
      content.add(value);
  }
  for (const Local& local : step.locals) {
    content.add(static_cast<std::uint64_t>(local.kind));
    content.add(local.to.length);
  }
  return content.sum();
}

}  // namespace

Turns::Turns(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements) : ranks_(shape.ranks) {
  const Schedule first = algorithm.schedule(shape, 0, elements);
  const std::size_t messages = messages_of(algorithm, shape, elements);
  all_alike_ = messages > kMostMessages;
  known_ = !all_alike_ || messages_of_schedule(first) == messages / static_cast<std::size_t>(shape.ranks);
  for (int rank = 0; rank < (all_alike_ ? 1 : shape.ranks); ++rank) {
    first_of_.push_back(steps_.size());
    add(rank, rank == 0 ? first : algorithm.schedule(shape, rank, elements));
  }
  first_of_.push_back(steps_.size());
  if (all_alike_) {
    for (std::size_t i = 0; i < steps_.size(); ++i) steps_[i].turn = i;
  } else {
    known_ = find_turns();
  }
  if (known_) find_kinds();
}

void Turns::add(int rank, const Schedule& schedule) {
  for (std::size_t i = 0; i < schedule.steps.size(); ++i) {
    const workloads::Step& step = schedule.steps[i];
    if (is_empty(step)) continue;
    Step one{.rank = rank, .number = static_cast<int>(i), .first = ends_.size()};
    for (const Transfer& transfer : step.transfers) {
      const End end(transfer.peer, transfer.send.length > 0, transfer.receive.length > 0);
      if (has_bytes(transfer)) ends_.push_back(end.number());
    }
    one.last = ends_.size();
    std::sort(ends_.begin() + static_cast<std::ptrdiff_t>(one.first), ends_.end());
    steps_.push_back(one);
    contents_.push_back(content_of(rank, step));
  }
}

/// Steps that have messages with each other are in the same turn: the one behind those that their ranks had before.
/// False: some wait for each other in a circle.
bool Turns::find_turns() {
  std::vector<std::size_t> set(steps_.size());
  std::iota(set.begin(), set.end(), std::size_t{0});
  const auto set_of = [&](std::size_t step) {
    while (set[step] != step) step = set[step] = set[set[step]];
    return step;
  };
  ends([](std::size_t) { return 1.0; }, [&](std::size_t one, std::size_t other) { set[set_of(one)] = set_of(other); });
  std::vector<std::size_t> missing(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) ++missing[set_of(i)];
  std::vector<std::vector<std::size_t>> there(steps_.size());
  std::vector<std::size_t> ready;
  const auto come = [&](std::size_t step, std::size_t turn) {
    const std::size_t of = set_of(step);
    steps_[of].turn = std::max(steps_[of].turn, turn);
    there[of].push_back(step);
    if (--missing[of] == 0) ready.push_back(of);
  };
  for (int rank = 0; rank < ranks_; ++rank) {
    const auto r = static_cast<std::size_t>(rank);
    if (first_of_[r] < first_of_[r + 1]) come(first_of_[r], 0);
  }
  std::size_t through = 0;
  while (!ready.empty()) {
    const std::size_t of = ready.back();
    ready.pop_back();
    const std::size_t turn = steps_[of].turn;
    for (const std::size_t step : there[of]) {
      ++through;
      steps_[step].turn = turn;
      if (step + 1 < first_of_[static_cast<std::size_t>(steps_[step].rank) + 1]) come(step + 1, turn + 1);
    }
  }
  return through == steps_.size();
}

void Turns::find_kinds() {
  std::size_t turns = 0;
  for (const Step& step : steps_) turns = std::max(turns, step.turn + 1);
  std::vector<Content> contents(turns);
  std::vector<Kind> of_turns(turns);
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Step& step = steps_[i];
    contents[step.turn].add(contents_[i]);
    Kind& kind = of_turns[step.turn];
    kind.messages += (step.last - step.first) * static_cast<std::size_t>(all_alike_ ? ranks_ : 1);
    kind.most = std::max(kind.most, step.last - step.first);
  }
  contents_.clear();
  std::map<std::uint64_t, std::size_t> known;
  for (std::size_t turn = 0; turn < turns; ++turn) {
    const auto [kind, is_new] = known.try_emplace(contents[turn].sum(), kinds_.size());
    if (is_new) {
      kinds_.push_back(of_turns[turn]);
      first_turn_.push_back(turn);
    }
    kind_of_.push_back(kind->second);
  }
}

std::vector<int> Turns::steps_of(std::size_t kind) const {
  std::vector<int> numbers(static_cast<std::size_t>(ranks_), -1);
  for (const Step& step : steps_) {
    if (step.turn != first_turn_[kind]) continue;
    if (all_alike_) std::ranges::fill(numbers, step.number);
    numbers[static_cast<std::size_t>(step.rank)] = step.number;
  }
  return numbers;
}

double Turns::longest_us(const std::vector<std::vector<double>>& us) const {
  std::vector<std::size_t> timed;
  for (std::size_t kind = 0; kind < us.size(); ++kind) {
    if (!us[kind].empty()) timed.push_back(kind);
  }
  if (timed.empty()) return 0;
  // Of each kind the slowest rank; where it was not timed, between those beside it.
  std::vector<double> slowest;
  for (std::size_t kind = 0; kind < us.size(); ++kind) {
    const auto above = std::ranges::lower_bound(timed, kind);
    const std::size_t next = above == timed.end() ? timed.back() : *above;
    const std::size_t before = above == timed.begin() ? next : *(above - 1);
    const double share =
        next > before && kind < next ? static_cast<double>(kind - before) / static_cast<double>(next - before) : 1;
    slowest.push_back((1 - share) * std::ranges::max(us[before]) + share * std::ranges::max(us[next]));
  }
  if (all_alike_) {
    return std::accumulate(kind_of_.begin(), kind_of_.end(), 0.0,
                           [&](double sum, std::size_t kind) { return sum + slowest[kind]; });
  }
  const std::vector<double> all = ends(
      [&](std::size_t i) {
        const std::size_t kind = kind_of_[steps_[i].turn];
        return us[kind].empty() ? slowest[kind] : us[kind][static_cast<std::size_t>(steps_[i].rank)];
      },
      [](std::size_t, std::size_t) {});
  return all.empty() ? 0 : std::ranges::max(all);
}

/// When each step ends that takes `cost(step)` from the moment on in which its rank and its peers are there. `meet` is
/// told of any two steps that have a message with each other.
template <class Cost, class Meet>
std::vector<double> Turns::ends(const Cost& cost, const Meet& meet) const {
  std::vector<double> begins(steps_.size());
  std::vector<double> meets(steps_.size());
  std::vector<double> ends(steps_.size());
  std::vector<bool> met(ends_.size());
  std::vector<std::size_t> left(steps_.size());
  std::vector<std::size_t> now(first_of_.begin(), first_of_.end() - 1);  // of each rank its step
  std::vector<int> going;
  const auto begin = [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t step = now[r];
    if (step == first_of_[r + 1]) return;
    begins[step] = meets[step] = step == first_of_[r] ? 0 : ends[step - 1];
    left[step] = steps_[step].last - steps_[step].first;
    going.push_back(rank);
  };
  const auto end_if_through = [&](int rank) {
    const auto r = static_cast<std::size_t>(rank);
    const std::size_t step = now[r];
    if (left[step] > 0) return;
    ends[step] = meets[step] + cost(step);
    ++now[r];
    begin(rank);
  };
  for (int rank = 0; rank < ranks_; ++rank) begin(rank);
  while (!going.empty()) {
    const int rank = going.back();
    going.pop_back();
    const std::size_t step = now[static_cast<std::size_t>(rank)];
    if (step == first_of_[static_cast<std::size_t>(rank) + 1]) continue;
    for (std::size_t m = steps_[step].first; m < steps_[step].last; ++m) {
      const End one(ends_[m]);
      const auto p = static_cast<std::size_t>(one.peer());
      const std::size_t theirs = now[p];
      if (met[m] || theirs == first_of_[p + 1]) continue;
      const auto back = find(steps_[theirs], one.mirrored(rank).number(), met);
      if (back == steps_[theirs].last) continue;
      met[m] = met[back] = true;
      meet(step, theirs);
      meets[step] = std::max(meets[step], begins[theirs]);
      meets[theirs] = std::max(meets[theirs], begins[step]);
      --left[step];
      if (--left[theirs] == 0) end_if_through(one.peer());
    }
    end_if_through(rank);
  }
  return ends;
}

/// The message of a step with that end, if it is still to come; else the step's last.
std::size_t Turns::find(const Step& step, int end, const std::vector<bool>& met) const {
  const auto first = ends_.begin() + static_cast<std::ptrdiff_t>(step.first);
  const auto last = ends_.begin() + static_cast<std::ptrdiff_t>(step.last);
  const auto [from, to] = std::equal_range(first, last, end);
  const auto number = [&](auto place) { return static_cast<std::size_t>(place - ends_.begin()); };
  // Of those with one end the first ones have been met.
  const auto all = std::views::iota(number(from), number(to));
  const auto next = std::ranges::partition_point(all, [&](std::size_t message) { return met[message]; });
  return next == all.end() ? step.last : *next;
}

std::vector<TimedTurn> turns_to_time(const Turns& turns) {
  const std::size_t kinds = turns.kinds().size();
  const std::size_t messages =
      std::accumulate(turns.kinds().begin(), turns.kinds().end(), std::size_t{0},
                      [](std::size_t sum, const Turns::Kind& kind) { return sum + kind.messages; });
  std::size_t some = kinds;
  if (messages > kMostTimed)
    some = std::max<std::size_t>(std::min<std::size_t>(kinds, 2), kinds * kMostTimed / messages);
  std::vector<TimedTurn> timed;
  for (std::size_t i = 0; i < some; ++i) {
    const std::size_t kind = some == 1 ? 0 : i * (kinds - 1) / (some - 1);
    const Turns::Kind& of = turns.kinds()[kind];
    // A rank keeps so many that they share wires as all of them do.
    constexpr std::size_t kLeast = 8;
    const std::size_t one_in = std::min(of.messages * some / kMostTimed, of.most / kLeast);
    if (one_in < 2) {
      timed.push_back({kind});
      continue;
    }
    timed.push_back({kind, static_cast<int>(2 * one_in)});
    timed.push_back({kind, static_cast<int>(one_in)});
  }
  return timed;
}

workloads::Step part_of(const workloads::Step& step, const Shape& shape, int rank, int one_in) {
  workloads::Step part = step;
  // Who sends nothing does not come to the turn.
  std::erase_if(part.transfers, [](const Transfer& transfer) { return !has_bytes(transfer); });
  if (one_in == 1) return part;
  std::map<int, std::uint64_t> with;
  std::erase_if(part.transfers, [&](const Transfer& transfer) {
    // Pairs of a power of two differ in the same bits, and others are as far round the circle.
    const bool bits = std::has_single_bit(static_cast<unsigned>(shape.ranks));
    const int apart = bits ? transfer.peer ^ rank : std::abs(transfer.peer - rank);
    // Both ends number what they have with each other alike. Those that stay are as far from each other as chance has
    // it: a step as long as a node would stay on one rail.
    const auto way = static_cast<std::uint64_t>(bits ? apart : std::min(apart, shape.ranks - apart));
    return mixed(mixed(way) + with[transfer.peer]++) % static_cast<std::uint64_t>(one_in) != 0;
  });
  return part;
}

std::vector<std::vector<double>> times_of_kinds(const Turns& turns, const std::vector<TimedTurn>& timed,
                                                const std::vector<std::vector<double>>& us,
                                                const std::vector<std::size_t>& messages) {
  std::vector<std::vector<double>> all(turns.kinds().size());
  for (std::size_t i = 0; i < timed.size(); ++i) {
    std::vector<double>& of = all[timed[i].kind];
    if (of.empty()) {
      of = us[i];
      continue;
    }
    // Of the part before, half as many: what is between the two is because of the messages.
    const auto more = static_cast<double>(messages[i]) - static_cast<double>(messages[i - 1]);
    const double left = static_cast<double>(turns.kinds()[timed[i].kind].messages) - static_cast<double>(messages[i]);
    for (std::size_t rank = 0; rank < of.size(); ++rank) {
      const double one = more > 0 ? std::max(0.0, us[i][rank] - of[rank]) / more : 0;
      of[rank] = us[i][rank] + one * left;
    }
  }
  return all;
}

std::size_t messages_of(const Algorithm& algorithm, const Shape& shape, std::uint64_t elements) {
  const std::size_t two = messages_of_schedule(algorithm.schedule(shape, 0, elements)) +
                          messages_of_schedule(algorithm.schedule(shape, shape.ranks / 2, elements));
  return two * static_cast<std::size_t>(shape.ranks) / 2;
}

}  // namespace twinlink::bench
