#include "protocols/workloads/goal/any_source.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <optional>
#include <queue>
#include <set>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

namespace twinlink::workloads::goal {
namespace {

/// A receiver with a source and a tag, or any of them.
using Address = std::tuple<int, int, std::uint64_t>;

bool takes_any(const Task& task) {
  return task.kind == Task::Kind::receive && (task.peer == kAnyRank || task.tag == kAnyTag);
}

/// The job on a machine whose messages take no time.
class IdealRun {
 public:
  explicit IdealRun(Trace& trace) : trace_(trace) {
    for (const RankTrace& all : trace.ranks) {
      Rank& mine = ranks_.emplace_back();
      mine.left.resize(all.tasks.size());
      mine.waiting.resize(all.tasks.size());
      for (const Need& need : all.needs) {
        ++mine.left[need.what];
        mine.waiting[need.on].push_back(need);
      }
    }
  }

  void run() {
    for (std::size_t rank = 0; rank < ranks_.size(); ++rank) {
      for (std::uint32_t task = 0; task < ranks_[rank].left.size(); ++task) {
        if (ranks_[rank].left[task] == 0) happens(now_, {static_cast<int>(rank), task}, false);
      }
    }
    while (!events_.empty()) {
      const Event event = events_.top();
      events_.pop();
      now_ = event.at;
      event.ends ? tell(event.task, false) : begin(event.task);
    }
  }

 private:
  struct Rank {
    std::vector<std::uint32_t> left{};         ///< of each task what it waits for
    std::vector<std::vector<Need>> waiting{};  ///< for each task
  };
  struct Event {
    double at = 0;  ///< ns
    std::uint64_t number = 0;
    TaskId task{};
    bool ends = false;
    friend bool operator<(const Event& a, const Event& b) {  // the queue's top is its greatest
      return std::tie(a.at, a.number) > std::tie(b.at, b.number);
    }
  };
  using Waiting = std::map<Address, std::set<std::pair<std::uint64_t, std::uint32_t>>>;  ///< the first first

  void happens(double at, TaskId task, bool ends) { events_.push({at, ++events_so_far_, task, ends}); }

  void begin(TaskId id) {
    ++turn_;
    tell(id, true);
    const Task& task = trace_.of(id);
    if (task.kind == Task::Kind::calc) return happens(now_ + static_cast<double>(task.amount), id, true);
    if (task.kind == Task::Kind::receive) return receive(id);
    happens(now_, id, true);
    send(id);
  }

  void tell(TaskId id, bool starts) {
    Rank& rank = ranks_[static_cast<std::size_t>(id.rank)];
    for (const Need& need : rank.waiting[id.task]) {
      if (need.at_start == starts && --rank.left[need.what] == 0) happens(now_, {id.rank, need.what}, false);
    }
  }

  /// What a message with this source and tag may be asked for by.
  static std::array<Address, 4> addresses(int receiver, int source, std::uint64_t tag) {
    return {Address{receiver, source, tag}, Address{receiver, kAnyRank, tag}, Address{receiver, source, kAnyTag},
            Address{receiver, kAnyRank, kAnyTag}};
  }

  void send(TaskId id) {
    const Task& task = trace_.of(id);
    const auto all = addresses(task.peer, id.rank, task.tag);
    std::optional<Address> asked;
    for (const Address& address : all) {
      const auto found = asked_.find(address);
      if (found == asked_.end()) continue;
      if (!asked || *found->second.begin() < *asked_.at(*asked).begin()) asked = address;
    }
    if (asked) return meet(id, {task.peer, take_first(asked_, *asked)});
    senders_.push_back(id);
    for (const Address& address : all) {
      sent_[address].emplace(turn_, static_cast<std::uint32_t>(senders_.size() - 1));
    }
    sent_at_.push_back(turn_);
  }

  void receive(TaskId id) {
    const Task& task = trace_.of(id);
    const Address address{id.rank, task.peer, task.tag};
    const auto found = sent_.find(address);
    if (found == sent_.end()) {
      asked_[address].emplace(turn_, id.task);
      return;
    }
    const std::uint32_t which = found->second.begin()->second;
    const TaskId from = senders_[which];
    for (const Address& each : addresses(id.rank, from.rank, trace_.of(from).tag)) {
      const auto entry = sent_.find(each);
      entry->second.erase({sent_at_[which], which});
      if (entry->second.empty()) sent_.erase(entry);
    }
    meet(from, id);
  }

  static std::uint32_t take_first(Waiting& waiting, const Address& address) {
    const auto found = waiting.find(address);
    const std::uint32_t task = found->second.begin()->second;
    found->second.erase(found->second.begin());
    if (found->second.empty()) waiting.erase(found);
    return task;
  }

  void meet(TaskId from, TaskId to) {
    Task& task = trace_.ranks[static_cast<std::size_t>(to.rank)].tasks[to.task];
    task.peer = from.rank;
    task.tag = trace_.of(from).tag;
    happens(now_, to, true);
  }

  Trace& trace_;
  std::vector<Rank> ranks_{};
  std::priority_queue<Event> events_{};
  std::uint64_t events_so_far_ = 0;
  std::uint64_t turn_ = 0;  ///< tasks that have begun
  double now_ = 0;
  std::vector<TaskId> senders_{};  ///< of messages that nobody had asked for
  std::vector<std::uint64_t> sent_at_{};
  Waiting sent_{};   ///< by each address that takes it, places in senders_
  Waiting asked_{};  ///< tasks of the receiver
};

/// Messages that no recv takes yet, by receiver, source and tag.
std::map<Address, std::size_t> left_over(const Trace& trace) {
  std::map<Address, std::size_t> all;
  const auto each = [&](Task::Kind kind, const auto& use) {
    for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
      for (const Task& task : trace.ranks[rank].tasks) {
        if (task.kind == kind) use(static_cast<int>(rank), task);
      }
    }
  };
  each(Task::Kind::send, [&](int rank, const Task& task) { ++all[{task.peer, rank, task.tag}]; });
  each(Task::Kind::receive, [&](int rank, const Task& task) {
    const auto found = takes_any(task) ? all.end() : all.find({rank, task.peer, task.tag});
    if (found != all.end() && --found->second == 0) all.erase(found);
  });
  return all;
}

}  // namespace

std::size_t settle_any(Trace& trace, Findings& findings) {
  std::size_t count = 0;
  for (const RankTrace& rank : trace.ranks)
    count += static_cast<std::size_t>(std::ranges::count_if(rank.tasks, takes_any));
  if (count == 0) return 0;
  const auto has_collectives = [](const RankTrace& rank) {
    return std::ranges::count(rank.tasks, Task::Kind::collective, &Task::kind) > 0;
  };
  if (std::ranges::any_of(trace.ranks, has_collectives)) {
    findings.add(trace.line, "receives take any message, and ranks have collectives: which comes first nobody knows");
    return 0;
  }
  IdealRun(trace).run();
  // Where the job comes to a stop, what is left goes to them in the order of the file: there may be a way all the same.
  std::map<Address, std::size_t> left = left_over(trace);
  for (std::size_t rank = 0; rank < trace.ranks.size(); ++rank) {
    for (Task& task : trace.ranks[rank].tasks) {
      if (!takes_any(task)) continue;
      const auto fits = [&](const auto& entry) {
        const auto& [receiver, source, tag] = entry.first;
        return receiver == static_cast<int>(rank) && (task.peer == kAnyRank || task.peer == source) &&
               (task.tag == kAnyTag || task.tag == tag);
      };
      const auto found = std::ranges::find_if(left.lower_bound({static_cast<int>(rank), 0, 0}), left.end(), fits);
      if (found == left.end()) {
        findings.add(task.line, "nobody sends it: no rank has a send to " + std::to_string(rank) + " left for it");
        continue;
      }
      task.peer = std::get<1>(found->first);
      task.tag = std::get<2>(found->first);
      if (--found->second == 0) left.erase(found);
    }
  }
  return count;
}

}  // namespace twinlink::workloads::goal
