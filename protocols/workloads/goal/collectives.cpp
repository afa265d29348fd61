#include "protocols/workloads/goal/collectives.hpp"

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/execution.hpp"

namespace twinlink::workloads::goal {
namespace {

/// A UsageError where the library's messages are the host's, and all of a job are of GPUs' buffers.
void require_on_gpus(const mpi::Library& library, std::string_view what) {
  std::string why;
  if (mpi::has_no_buffer(what)) {
    why = "has no buffer, and its messages are the host's, while all of a recorded job go by one protocol";
  } else if (mpi::adds_up(library, what)) {
    why = mpi::copies_gpus(library, what)
              ? "has GPUs' buffers copied to the host, which a recorded job does not say"
              : "has its sums by the CPU, and no copy of GPUs' buffers to the host is known here";
  }
  if (why.empty()) return;
  throw UsageError("--algorithm tuned: " + std::string(what) + " of " + std::string(library.name) + " " + why +
                   "; -p host, or COLLECTIVE=tuned for others");
}

const Algorithm& algorithm_for(const Task& task, std::size_t members, const Algorithms& algorithms) {
  const std::string_view what = kCollectives[task.what];
  if (const auto named = algorithms.named.find(what); named != algorithms.named.end()) return *named->second;
  if (algorithms.by_library(what)) {
    if (algorithms.on_gpus) require_on_gpus(*algorithms.library, what);
    return *mpi::choose(*algorithms.library, what, {.ranks = static_cast<int>(members), .on_gpus = algorithms.on_gpus},
                        Bytes{task.amount})
                .algorithm;
  }
  const auto& all = find_workload(what).algorithms;
  // Rings, as libraries take for large messages; what goes from each to each goes at once.
  for (const std::string_view name : {"ring", "direct"}) {
    const auto found = std::ranges::find(all, name, &Algorithm::name);
    if (found != all.end() && what != "reduce" && found->refuses({.ranks = 2}).empty()) return *found;
  }
  return all.front();
}

/// A rank's tasks once more, with messages.
class Expansion {
 public:
  Expansion(const Trace& trace, int rank, const Algorithms& algorithms)
      : trace_(trace), rank_(rank), algorithms_(algorithms) {}

  void keep(const Task& task) {
    const std::uint32_t place = add(task);
    begins_.push_back(place);
    ends_.push_back(place);
  }

  void expand(const Task& task, std::uint64_t tag) {
    const std::vector<int>& members = trace_.groups[static_cast<std::size_t>(task.peer)];
    const auto self = static_cast<int>(std::ranges::lower_bound(members, rank_) - members.begin());
    const Algorithm& algorithm = algorithm_for(task, members.size(), algorithms_);
    std::uint32_t after = add({.body = task.body, .line = task.line});
    begins_.push_back(after);
    // Elements are bytes here, for what is not there needs no numbers.
    const Schedule schedule =
        algorithm.schedule({.ranks = static_cast<int>(members.size())}, self, std::max<std::uint64_t>(task.amount, 1));
    for (const Step& step : schedule.steps) {
      std::vector<std::uint32_t> messages;
      const auto message = [&](Task::Kind kind, std::uint64_t bytes, int peer) {
        if (bytes == 0) return;
        messages.push_back(add({.kind = kind,
                                .body = task.body,
                                .peer = members[static_cast<std::size_t>(peer)],
                                .amount = bytes,
                                .tag = tag,
                                .line = task.line}));
        need(messages.back(), after);
      };
      for (const Transfer& transfer : step.transfers) {
        message(Task::Kind::send, transfer.send.length, transfer.peer);
        message(Task::Kind::receive, transfer.receive.length, transfer.peer);
      }
      if (messages.empty()) continue;
      after = add({.body = task.body, .line = task.line});
      for (const std::uint32_t each : messages) need(after, each);
    }
    ends_.push_back(after);
  }

  RankTrace take(std::span<const Need> needs) {
    for (const Need& each : needs) {
      all_.needs.push_back({begins_[each.what], (each.at_start ? begins_ : ends_)[each.on], each.at_start, each.line});
    }
    return std::move(all_);
  }

 private:
  std::uint32_t add(const Task& task) {
    all_.tasks.push_back(task);
    return static_cast<std::uint32_t>(all_.tasks.size() - 1);
  }
  void need(std::uint32_t what, std::uint32_t on) {
    all_.needs.push_back({.what = what, .on = on, .line = all_.tasks[what].line});
  }

  const Trace& trace_;
  int rank_;
  const Algorithms& algorithms_;
  RankTrace all_{};
  std::vector<std::uint32_t> begins_{};  ///< of each task as it was, where it begins now
  std::vector<std::uint32_t> ends_{};
};

/// What a send or receive takes while a job is built and played, with its part of the steps: the largest resident set
/// of `workload`, of 64 ranks' rings 455 B each, of their trees 770 B.
constexpr Bytes kOfMessage{768};
/// For all of a job.
constexpr Bytes kForMessages = 16_GiB;

/// An InputError before messages fill the memory: rings of n ranks have 2 n (n - 1).
void require_few(const Trace& trace, std::span<const Joint> joints, const Algorithms& algorithms,
                 const std::function<bool(std::string_view what)>& stays) {
  constexpr std::uint64_t kMost = kForMessages.count() / kOfMessage.count();
  std::map<std::tuple<int, std::size_t, std::uint64_t>, std::uint64_t> messages;  // of a collective, ranks and bytes
  std::uint64_t all = 0;
  for (const Joint& joint : joints) {
    const Task& task = trace.of(joint.members.front());
    const std::string_view what = kCollectives[task.what];
    if (stays(what)) continue;
    const std::size_t ranks = joint.members.size();
    const auto [place, is_new] = messages.try_emplace({task.what, ranks, task.amount});
    if (is_new) {
      const Shape shape{.ranks = static_cast<int>(ranks)};
      const Algorithm& algorithm = algorithm_for(task, ranks, algorithms);
      const std::uint64_t bytes = std::max<std::uint64_t>(task.amount, 1);
      // No further than is refused: of many ranks that would take as long as the job.
      for (int rank = 0; rank < shape.ranks && all + place->second <= kMost; ++rank) {
        place->second += 2 * sent_in(algorithm.schedule(shape, rank, bytes));  // each is received
      }
    }
    all += place->second;
    if (all <= kMost) continue;
    const std::string by_itself = together_of(what) == nullptr ? "" : "-p nccl does it by itself, ";
    throw InputError(trace.file + ":" + std::to_string(task.line) + ": error: up to this " + std::string(what) +
                     " its collectives are more than " + std::to_string(kMost) +
                     " sends and receives as messages, which would take more than 16 GiB of memory: " + by_itself +
                     "--algorithm " + std::string(what) +
                     "=NAME may name one with fewer, and a part of the job has fewer");
  }
}

}  // namespace

void expand(Trace& trace, const Algorithms& algorithms, const std::function<bool(std::string_view what)>& stays) {
  if (trace.groups.empty()) return;
  Findings findings(trace.file);
  const std::vector<Joint> joints = joints_of(trace, findings);
  findings.raise();
  require_few(trace, joints, algorithms, stays);
  std::uint64_t tag = 0;
  for (const RankTrace& rank : trace.ranks) {
    for (const Task& task : rank.tasks) {
      if (task.kind != Task::Kind::collective && task.tag != kAnyTag) tag = std::max(tag, task.tag);
    }
  }
  if (tag > kMostTag - joints.size()) {
    throw InputError(trace.file + ": error: its tags leave none for the messages of its collectives");
  }
  std::vector<std::vector<std::uint64_t>> tags;  // of each task that is one
  for (const RankTrace& rank : trace.ranks) tags.emplace_back(rank.tasks.size(), 0);
  for (const Joint& joint : joints) {
    ++tag;
    const std::string_view what = kCollectives[trace.of(joint.members.front()).what];
    if (!stays(what) && !algorithms.named.contains(what) && algorithms.by_library(what)) trace.by_library.insert(what);
    for (const TaskId& each : joint.members) tags[static_cast<std::size_t>(each.rank)][each.task] = tag;
  }
  for (std::size_t r = 0; r < trace.ranks.size(); ++r) {
    Expansion expansion(trace, static_cast<int>(r), algorithms);
    const std::vector<Task>& tasks = trace.ranks[r].tasks;
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const bool is_kept = tasks[i].kind != Task::Kind::collective || stays(kCollectives[tasks[i].what]);
      is_kept ? expansion.keep(tasks[i]) : expansion.expand(tasks[i], tags[r][i]);
    }
    trace.ranks[r] = expansion.take(trace.ranks[r].needs);
  }
}

std::string list_of(const std::vector<int>& ranks) {
  std::string text;
  for (std::size_t i = 0, end = 0; i < ranks.size(); i = end) {
    for (end = i + 1; end < ranks.size() && ranks[end] == ranks[end - 1] + 1;) ++end;
    text += (i == 0 ? "" : " ") + std::to_string(ranks[i]);
    if (end - i > 1) text += "-" + std::to_string(ranks[end - 1]);
  }
  return text;
}

std::string name_of(std::string_view what, const std::vector<int>& ranks) {
  constexpr std::size_t kLongest = 60;
  const std::string list = list_of(ranks);
  return std::string(what) + " among ranks " + (list.size() > kLongest ? list.substr(0, kLongest) + "..." : list);
}

std::vector<Joint> joints_of(const Trace& trace, Findings& findings) {
  std::vector<std::vector<Joint>> by_group(trace.groups.size());
  for (std::size_t g = 0; g < trace.groups.size(); ++g) {
    const std::vector<int>& members = trace.groups[g];
    for (const int rank : members) {
      std::size_t count = 0;
      const std::vector<Task>& tasks = trace.ranks[static_cast<std::size_t>(rank)].tasks;
      for (std::uint32_t i = 0; i < tasks.size(); ++i) {
        if (tasks[i].kind != Task::Kind::collective || tasks[i].peer != static_cast<int>(g)) continue;
        const TaskId id{rank, i};
        if (rank == members.front()) {
          by_group[g].push_back({g, {id}});
        } else if (count < by_group[g].size()) {
          const Task& first = trace.of(by_group[g][count].members.front());
          if (first.what != tasks[i].what || first.amount != tasks[i].amount) {
            findings.add(tasks[i].line, "it is not what rank " + std::to_string(members.front()) +
                                            " does then in line " + std::to_string(first.line));
          }
          by_group[g][count].members.push_back(id);
        } else {
          findings.add(tasks[i].line, "rank " + std::to_string(members.front()) + " has no such collective");
        }
        ++count;
      }
      if (count < by_group[g].size()) {
        findings.add(trace.of(by_group[g][count].members.front()).line,
                     "rank " + std::to_string(rank) + " has no such collective");
      }
    }
  }
  std::vector<Joint> all;
  for (std::vector<Joint>& each : by_group) std::ranges::move(each, std::back_inserter(all));
  return all;
}

std::set<std::pair<std::size_t, std::size_t>> conflicts_of(const Trace& trace, std::span<const Joint> joints) {
  std::vector<std::set<std::size_t>> groups_of(trace.ranks.size());
  for (const Joint& joint : joints) {
    for (const TaskId& each : joint.members) {
      std::set<std::size_t>& groups = groups_of[static_cast<std::size_t>(each.rank)];
      groups.insert(joint.group);
      if (groups.size() <= kMostGroupsOfRank) continue;
      throw InputError(trace.file + ": error: rank " + std::to_string(each.rank) + " has collectives in more than " +
                       std::to_string(kMostGroupsOfRank) + " groups");
    }
  }
  std::map<std::pair<std::size_t, std::size_t>, int> shared;
  std::set<std::pair<std::size_t, std::size_t>> conflicts;
  for (const std::set<std::size_t>& groups : groups_of) {
    for (auto one = groups.begin(); one != groups.end(); ++one) {
      for (auto other = std::next(one); other != groups.end(); ++other) {
        if (++shared[{*one, *other}] == 2) conflicts.insert({*one, *other});
      }
    }
  }
  return conflicts;
}

}  // namespace twinlink::workloads::goal
