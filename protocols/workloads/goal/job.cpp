#include "protocols/workloads/goal/job.hpp"

#include <algorithm>
#include <tuple>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/order.hpp"

namespace twinlink::workloads::goal {

/// One end of a message.
struct Job::End {
  int rank = 0;
  std::uint32_t task = 0;
};

namespace {

/// What tells the messages of a job apart; several of the same go in the order of the file.
using Address = std::tuple<int, int, std::uint32_t>;

constexpr std::uint64_t kAlignment = 256;

std::string bytes(std::uint64_t count) { return std::to_string(count) + " B"; }

}  // namespace

std::vector<std::span<const Message>> by_peer(std::span<const Message> messages) {
  std::vector<std::span<const Message>> all;
  for (std::size_t begin = 0, end = 0; begin < messages.size(); begin = end) {
    while (end < messages.size() && messages[end].peer == messages[begin].peer) ++end;
    all.push_back(messages.subspan(begin, end - begin));
  }
  return all;
}

Bytes room_for(std::span<const Message> messages) {
  const Bytes largest = std::ranges::max_element(messages, {}, &Message::size)->size;
  return Bytes{(largest.count() + kAlignment - 1) / kAlignment * kAlignment};
}

std::set<RankId> RankJob::peers() const {
  std::set<RankId> all;
  for (const auto* messages : {&sends, &receives}) {
    for (const Message& message : *messages) all.insert(RankId{message.peer});
  }
  return all;
}

Bytes RankJob::memory() const {
  Bytes all{};
  for (const auto* messages : {&sends, &receives}) {
    for (const auto& of_peer : by_peer(*messages)) all += room_for(of_peer);
  }
  return all;
}

Bytes RankJob::sent() const {
  Bytes all{};
  for (const Message& message : sends) all += message.size;
  return all;
}

const Message* RankJob::largest() const {
  const Message* largest = nullptr;
  for (const auto* messages : {&sends, &receives}) {
    for (const Message& message : *messages) {
      if (largest == nullptr || message.size > largest->size) largest = &message;
    }
  }
  return largest;
}

Job::Job(Trace trace) : trace_(std::move(trace)), jobs_(trace_.ranks.size()) {
  std::size_t tasks = 0;
  for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
    first_.push_back(tasks);
    tasks += trace_.ranks[rank].tasks.size();
    for (const Task& task : trace_.ranks[rank].tasks) {
      if (task.kind == Task::Kind::calc) jobs_[rank].cpus.push_back(task.cpu);
    }
    auto& cpus = jobs_[rank].cpus;
    std::ranges::sort(cpus);
    cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  }
  match();
}

std::string Job::where(int rank, std::uint32_t task) const {
  return trace_.file + ":" + std::to_string(trace_of(rank).tasks[task].line);
}

void Job::match() {
  struct Found {
    Address address;
    End end;
  };
  std::vector<Found> sends;
  std::vector<Found> receives;
  for (int rank = 0; rank < ranks(); ++rank) {
    const auto& tasks = trace_of(rank).tasks;
    for (std::uint32_t i = 0; i < tasks.size(); ++i) {
      const Task& task = tasks[i];
      if (task.kind == Task::Kind::send) sends.push_back({{rank, task.peer, task.tag}, {rank, i}});
      if (task.kind == Task::Kind::receive) receives.push_back({{task.peer, rank, task.tag}, {rank, i}});
    }
  }
  std::ranges::stable_sort(sends, {}, &Found::address);
  std::ranges::stable_sort(receives, {}, &Found::address);
  Findings findings(trace_.file);
  std::vector<std::pair<End, End>> pairs;
  const auto task_of = [&](const End& end) -> const Task& { return trace_of(end.rank).tasks[end.task]; };
  for (std::size_t s = 0, r = 0; s < sends.size() || r < receives.size();) {
    const bool sent = s < sends.size() && (r == receives.size() || sends[s].address <= receives[r].address);
    const bool received = r < receives.size() && (s == sends.size() || receives[r].address <= sends[s].address);
    const Task& task = sent ? task_of(sends[s].end) : task_of(receives[r].end);
    if (!received) {
      findings.add(task.line, "nobody receives it: rank " + std::to_string(task.peer) + " has no recv from " +
                                  std::to_string(sends[s].end.rank) + " with tag " + std::to_string(task.tag) +
                                  " for it");
    } else if (!sent) {
      findings.add(task.line, "nobody sends it: rank " + std::to_string(task.peer) + " has no send to " +
                                  std::to_string(receives[r].end.rank) + " with tag " + std::to_string(task.tag) +
                                  " for it");
    } else {
      const Task& other = task_of(receives[r].end);
      if (task.amount != other.amount) {
        findings.add(other.line, "receives " + bytes(other.amount) + ", and line " + std::to_string(task.line) +
                                     " sends " + bytes(task.amount));
      }
      pairs.emplace_back(sends[s].end, receives[r].end);
    }
    s += sent ? 1 : 0;
    r += received ? 1 : 0;
  }
  findings.raise();
  put_in_order(pairs);
}

void Job::put_in_order(std::span<const std::pair<End, End>> pairs) {
  const auto number = [&](const End& end) { return first_[static_cast<std::size_t>(end.rank)] + end.task; };
  std::vector<Before> befores;
  std::vector<double> lengths;
  std::vector<int> lines;
  for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
    const RankTrace& trace = trace_.ranks[rank];
    for (const Need& need : trace.needs) {
      befores.push_back({first_[rank] + need.on, !need.at_start, first_[rank] + need.what, false});
    }
    for (const Task& task : trace.tasks) {
      lengths.push_back(task.kind == Task::Kind::calc ? static_cast<double>(task.amount) : 0);
      lines.push_back(task.line);
    }
  }
  for (const auto& [send, receive] : pairs) befores.push_back({number(send), false, number(receive), true});
  const Order order(lengths, befores);
  if (const auto& cycle = order.cycle(); !cycle.empty()) {
    constexpr std::size_t kShown = 8;
    // From its first line on.
    std::vector<int> round;
    for (const std::size_t task : cycle) round.push_back(lines[task]);
    std::ranges::rotate(round, std::ranges::min_element(round));
    std::string text = "a cycle: line " + std::to_string(round.front());
    for (std::size_t i = 1; i <= round.size(); ++i) {
      if (i == kShown && round.size() > kShown) {
        text += " waits for ... waits for line " + std::to_string(round.front());
        break;
      }
      text += " waits for line " + std::to_string(round[i % round.size()]);
    }
    Findings findings(trace_.file);
    findings.add(round.front(), text);
    findings.raise();
  }
  longest_path_ = Seconds{order.longest() * 1e-9};
  for (const auto& [send, receive] : pairs) {
    const std::uint64_t amount = trace_of(send.rank).tasks[send.task].amount;
    Message message{.task = send.task,
                    .peer = receive.rank,
                    .size = Bytes{std::max<std::uint64_t>(amount, 1)},
                    .content = Payload{number(send) + 1},
                    .order = order.start_of(number(send)),
                    .after = order.place_of(number(send))};
    jobs_[static_cast<std::size_t>(send.rank)].sends.push_back(message);
    message.task = receive.task;
    message.peer = send.rank;
    jobs_[static_cast<std::size_t>(receive.rank)].receives.push_back(message);
  }
  const auto key = [](const Message& message) { return std::tuple(message.peer, message.order, message.after); };
  for (RankJob& job : jobs_) {
    std::ranges::sort(job.sends, {}, key);
    std::ranges::sort(job.receives, {}, key);
  }
}

}  // namespace twinlink::workloads::goal
