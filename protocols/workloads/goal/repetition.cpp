#include "protocols/workloads/goal/repetition.hpp"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <optional>
#include <ranges>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

namespace twinlink::workloads::goal {
namespace {

/// A rank's tasks, to be compared with each other.
class Sequence {
  /// What is equal.
  static auto facts_of(const Task& task) {
    return std::tuple(task.kind, task.what, task.peer, task.amount, task.tag, task.cpu, task.nic);
  }

 public:
  explicit Sequence(const RankTrace& trace) : tasks_(trace.tasks), needs_(trace.needs) {
    const auto key = [](const Need& need) { return std::tuple(need.what, distance(need), need.at_start); };
    std::ranges::sort(needs_, {}, key);
    first_need_.assign(tasks_.size() + 1, 0);
    for (const Need& need : needs_) ++first_need_[need.what + 1];
    for (std::size_t i = 0; i < tasks_.size(); ++i) first_need_[i + 1] += first_need_[i];
    for (std::uint32_t i = 0; i < tasks_.size(); ++i) hashes_.push_back(hash_of(i));
  }

  [[nodiscard]] std::size_t size() const { return tasks_.size(); }
  [[nodiscard]] std::span<const std::uint64_t> hashes() const { return hashes_; }
  [[nodiscard]] bool alike(std::size_t a, std::size_t b) const {
    return hashes_[a] == hashes_[b] && facts_of(tasks_[a]) == facts_of(tasks_[b]) &&
           std::ranges::equal(needs_of(a), needs_of(b), [](const Need& left, const Need& right) {
             return distance(left) == distance(right) && left.at_start == right.at_start;
           });
  }

 private:
  static std::int64_t distance(const Need& need) {
    return static_cast<std::int64_t>(need.what) - static_cast<std::int64_t>(need.on);
  }
  [[nodiscard]] std::span<const Need> needs_of(std::size_t task) const {
    return std::span(needs_).subspan(first_need_[task], first_need_[task + 1] - first_need_[task]);
  }
  [[nodiscard]] std::uint64_t hash_of(std::size_t task) const {
    std::uint64_t hash = 0;
    const auto add = [&hash](auto value) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9E3779B97F4A7C15U;
      hash ^= hash >> 29U;
    };
    std::apply([&](auto... fact) { (add(fact), ...); }, facts_of(tasks_[task]));
    for (const Need& need : needs_of(task)) {
      add(distance(need));
      add(need.at_start);
    }
    return hash;
  }

  std::span<const Task> tasks_;
  std::vector<Need> needs_;
  std::vector<std::size_t> first_need_{};
  std::vector<std::uint64_t> hashes_{};
};

/// Of each place how much from there on is as it is from the beginning on.
std::vector<std::size_t> as_the_beginning(std::span<const std::uint64_t> all) {
  std::vector<std::size_t> same(all.size(), 0);
  std::size_t from = 0;
  std::size_t to = 0;  // of the known stretch that reaches furthest
  for (std::size_t i = 1; i < all.size(); ++i) {
    if (i < to) same[i] = std::min(to - i, same[i - from]);
    while (i + same[i] < all.size() && all[same[i]] == all[i + same[i]]) ++same[i];
    if (i + same[i] > to) std::tie(from, to) = std::pair(i, i + same[i]);
  }
  return same;
}

/// The bodies of a rank.
struct Bodies {
  std::size_t begin = 0;   ///< of the first one, a task
  std::size_t end = 0;     ///< of what goes on so; a part of a body may be left over
  std::size_t length = 0;  ///< 0: the rank has no tasks

  [[nodiscard]] std::uint64_t count() const {
    return length == 0 ? std::numeric_limits<std::uint64_t>::max() : (end - begin) / length;
  }
};

/// The longest stretch around the middle task in which all comes again after the shortest length.
std::optional<Bodies> bodies_of(const RankTrace& trace) {
  const Sequence tasks(trace);
  if (tasks.size() == 0) return Bodies{};
  const std::size_t middle = tasks.size() / 2;
  const std::vector<std::size_t> same = as_the_beginning(tasks.hashes().subspan(middle));
  Bodies found;
  for (std::size_t length = 1; length < same.size(); ++length) {
    if (same[length] < length || middle + length + same[length] <= found.end) continue;
    found.length = length;
    found.end = middle + length + same[length];
  }
  if (found.length == 0) return {};
  for (found.begin = middle; found.begin > 0 && tasks.alike(found.begin - 1, found.begin - 1 + found.length);) {
    --found.begin;
  }
  // Hashes only propose.
  for (std::size_t task = middle; task + found.length < found.end; ++task) {
    if (!tasks.alike(task, task + found.length)) return {};
  }
  return found;
}

/// What an end of it has before its bodies, and in each.
struct Counts {
  std::size_t rank = 0;
  std::int64_t before = 0;
  std::int64_t each = 0;
};
/// Messages of a pair and tag, or collectives of a group: what goes together in the order of the file.
using Ends = std::map<std::tuple<bool, int, int, std::uint64_t>, std::map<std::pair<std::size_t, bool>, Counts>>;

Ends count_in(const Trace& trace, std::span<const Bodies> bodies) {
  Ends all;
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    const Bodies& mine = bodies[rank];
    const std::vector<Task>& tasks = trace.ranks[rank].tasks;
    for (std::size_t i = 0; i < mine.begin + mine.length; ++i) {
      const Task& task = tasks[i];
      if (task.kind == Task::Kind::calc) continue;
      const bool joint = task.kind == Task::Kind::collective;
      const bool sends = task.kind == Task::Kind::send;
      const auto self = static_cast<int>(rank);
      const auto key = joint ? std::tuple(true, task.peer, 0, std::uint64_t{0})
                             : std::tuple(false, sends ? self : task.peer, sends ? task.peer : self, task.tag);
      Counts& counts = all[key].try_emplace({rank, sends}, Counts{.rank = rank}).first->second;
      ++(i < mine.begin ? counts.before : counts.each);
    }
  }
  return all;
}

/// Bodies of all ranks, so that those of one number belong together, or as nearly so as where they begin allows. False:
/// their messages do not find each other within them.
bool line_up(const Trace& trace, std::vector<Bodies>& bodies) {
  const Ends all = count_in(trace, bodies);
  std::vector<std::int64_t> later(bodies.size(), 0);  // bodies that belong to what comes before
  constexpr int kMostPasses = 64;
  bool moves = true;
  for (int pass = 0; moves && pass < kMostPasses; ++pass) {
    moves = false;
    for (const auto& [key, ends] : all) {
      const auto& [joint, from, to, tag] = key;
      const std::int64_t each = ends.begin()->second.each;
      const std::size_t wanted = joint ? trace.groups[static_cast<std::size_t>(from)].size() : 2;
      if (std::ranges::any_of(ends, [&](const auto& end) { return end.second.each != each; })) return false;
      if (each == 0) continue;
      if (ends.size() != wanted) return false;
      const auto before = [&](const auto& end) { return end.second.before + later[end.second.rank] * each; };
      const std::int64_t most = std::ranges::max(ends | std::views::transform(before));
      for (const auto& end : ends) {
        const std::int64_t behind = std::max<std::int64_t>(most - before(end) - 1, 0) / each;
        later[end.second.rank] += behind;
        moves = moves || behind > 0;
      }
    }
  }
  for (std::size_t rank = 0; rank < bodies.size(); ++rank) {
    Bodies& mine = bodies[rank];
    if (later[rank] > 0 && static_cast<std::uint64_t>(later[rank]) >= mine.count()) return false;
    mine.begin += static_cast<std::size_t>(later[rank]) * mine.length;
  }
  return !moves;
}

/// A rank's tasks without `count` of its bodies; nothing where somebody waits across them.
std::optional<RankTrace> without(const RankTrace& trace, const Bodies& mine, std::uint64_t count) {
  constexpr std::size_t kHalf = kKeptBodies / 2;
  const std::size_t cut = mine.begin + kHalf * mine.length;
  const std::size_t go_on = cut + static_cast<std::size_t>(count) * mine.length;
  const std::size_t end = go_on + kHalf * mine.length;
  RankTrace left;
  for (std::size_t i = 0; i < trace.tasks.size(); ++i) {
    if (i >= cut && i < go_on) continue;
    left.tasks.push_back(trace.tasks[i]);
    if (i < mine.begin || i >= end) continue;
    const std::size_t of_kept = (i < cut ? i : i - (go_on - cut)) - mine.begin;
    left.tasks.back().body = static_cast<std::uint8_t>(1 + of_kept / mine.length);
  }
  const auto is_out = [&](std::size_t task) { return task >= cut && task < go_on; };
  const auto moved = [&](std::size_t task) { return task < go_on ? task : task - (go_on - cut); };
  for (const Need& need : trace.needs) {
    if (is_out(need.what)) continue;
    const bool of_body = need.what >= mine.begin && need.what < end;
    std::size_t on = moved(need.on);
    if (of_body || is_out(need.on)) {
      // All bodies wait for what is so far from them, so what has come nearer stands for it.
      const std::int64_t far = static_cast<std::int64_t>(moved(need.what)) + need.on - need.what;
      if (!of_body || far < 0 || far >= static_cast<std::int64_t>(left.tasks.size())) return {};
      on = static_cast<std::size_t>(far);
    } else if (need.on >= mine.begin && need.on < end && (need.what < mine.begin) != (need.on < cut)) {
      return {};
    }
    left.needs.push_back(
        {static_cast<std::uint32_t>(moved(need.what)), static_cast<std::uint32_t>(on), need.at_start, need.line});
  }
  return left;
}

}  // namespace

bool shorten(Trace& trace, std::uint64_t iterations_of_body) {
  const std::uint64_t least = iterations_of_body == 1 ? kFewestBodies : kFewestLargerBodies;
  std::vector<Bodies> bodies;
  for (const RankTrace& rank : trace.ranks) {
    const auto of_any = [](const Task& task) {
      return task.kind == Task::Kind::receive && (task.peer == kAnyRank || task.tag == kAnyTag);
    };
    if (std::ranges::any_of(rank.tasks, of_any)) return false;  // what it takes is planned over the whole job
    const std::optional<Bodies> mine = bodies_of(rank);
    if (!mine || mine->count() / iterations_of_body < least) return false;
    bodies.push_back(*mine);
  }
  const auto fewest = [&] {
    return std::ranges::min(bodies | std::views::transform([](const Bodies& each) { return each.count(); }));
  };
  // What a rank has several times in each iteration of the others counts as one body.
  const std::uint64_t common = fewest();
  if (common == std::numeric_limits<std::uint64_t>::max()) return false;
  for (Bodies& each : bodies) {
    if (each.length > 0)
      each.length *= static_cast<std::size_t>((each.count() + common / 2) / common * iterations_of_body);
  }
  if (fewest() < least || !line_up(trace, bodies)) return false;
  const std::uint64_t count = fewest();
  if (count < least) return false;
  std::vector<RankTrace> left;
  for (std::size_t rank = 0; rank < bodies.size(); ++rank) {
    std::optional<RankTrace> mine =
        bodies[rank].length == 0 ? RankTrace{} : without(trace.ranks[rank], bodies[rank], count - kKeptBodies);
    if (!mine) return false;
    left.push_back(std::move(*mine));
  }
  trace.ranks = std::move(left);
  trace.left_out = count - kKeptBodies;
  trace.iterations_of_body = iterations_of_body;
  return true;
}

}  // namespace twinlink::workloads::goal
