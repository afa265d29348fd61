#include "protocols/workloads/goal/job.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <optional>
#include <ranges>
#include <tuple>
#include <utility>

#include "protocols/core/errors.hpp"
#include "protocols/workloads/goal/any_source.hpp"
#include "protocols/workloads/goal/repetition.hpp"
#include "protocols/workloads/goal/steady.hpp"

namespace twinlink::workloads::goal {

namespace {

/// What tells the messages of a job apart; several of the same go in the order of the file.
using Address = std::tuple<int, int, std::uint64_t>;

constexpr std::uint64_t kAlignment = 256;

std::string bytes(std::uint64_t count) { return std::to_string(count) + " B"; }

template <class T>
std::vector<std::span<const T>> split_where(std::span<const T> all, const auto& same) {
  std::vector<std::span<const T>> parts;
  for (std::size_t begin = 0, end = 0; begin < all.size(); begin = end) {
    while (end < all.size() && same(all[begin], all[end])) ++end;
    parts.push_back(all.subspan(begin, end - begin));
  }
  return parts;
}

/// A lane has the same messages of the third body, the fourth and the fifth, in the same windows, each of one body.
bool goes_on_in(const RankTrace& trace, std::span<const std::size_t> first_of_body, std::span<const Message> lane) {
  constexpr std::size_t kThird = 3;
  std::array<std::vector<std::pair<std::size_t, std::size_t>>, 3> bodies;  // place in the body, and window
  std::array<std::size_t, 3> windows{};
  for (std::size_t i = 0; i < lane.size(); ++i) {
    const std::uint8_t body = trace.tasks[lane[i].task].body;
    if (i > 0 && lane[i].window == lane[i - 1].window && body != trace.tasks[lane[i - 1].task].body) return false;
    if (body < kThird || body >= kThird + bodies.size()) continue;
    auto& messages = bodies.at(body - kThird);
    if (messages.empty()) windows.at(body - kThird) = lane[i].window;
    messages.emplace_back(lane[i].task - first_of_body[body], lane[i].window - windows.at(body - kThird));
  }
  return bodies[0] == bodies[1] && bodies[1] == bodies[2];
}

}  // namespace

std::vector<std::span<const Message>> by_lane(std::span<const Message> messages) {
  return split_where(messages, [](const Message& a, const Message& b) { return a.peer == b.peer && a.lane == b.lane; });
}

std::vector<std::span<const Message>> by_window(std::span<const Message> messages) {
  return split_where(messages, [](const Message& a, const Message& b) { return a.window == b.window; });
}

std::vector<std::span<const Collected>> by_group(std::span<const Collected> collectives) {
  return split_where(collectives, [](const Collected& a, const Collected& b) { return a.group == b.group; });
}

Bytes room_for(const Message& message) {
  return Bytes{(message.size.count() + kAlignment - 1) / kAlignment * kAlignment};
}

Bytes room_for(std::span<const Message> messages) {
  Bytes most{};
  for (const auto& window : by_window(messages)) {
    Bytes all{};
    for (const Message& message : window) all += room_for(message);
    most = std::max(most, all);
  }
  return most;
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
    for (const auto& of_lane : by_lane(*messages)) all += room_for(of_lane);
  }
  Bytes largest{};
  for (const Message& message : own) largest = std::max(largest, room_for(message));
  return all + largest * 2;
}

Bytes RankJob::memory_of_collectives() const {
  Bytes all{};
  for (const auto& of_group : by_group(collectives)) {
    // An all-to-all has what goes and what comes.
    const auto room = [](const Collected& each) {
      return bytes_of(each.elements) * (each.how->together == Collective::all_to_all ? 2 : 1);
    };
    all += std::ranges::max(of_group | std::views::transform(room));
  }
  return all;
}

Bytes RankJob::sent() const {
  Bytes all = sent_left_out;
  for (const Collected& each : collectives) all += each.wire;
  for (const auto* messages : {&sends, &own}) {
    for (const Message& message : *messages) all += message.size;
  }
  return all;
}

const Message* RankJob::largest() const {
  const Message* largest = nullptr;
  for (const auto* messages : {&sends, &receives, &own}) {
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
    jobs_[rank].tasks = trace_.ranks[rank].tasks.size();
    for (const Task& task : trace_.ranks[rank].tasks) {
      if (task.kind == Task::Kind::calc) jobs_[rank].cpus.push_back(task.cpu);
      has_nics_ = has_nics_ || task.nic != 0;
    }
    auto& cpus = jobs_[rank].cpus;
    std::ranges::sort(cpus);
    cpus.erase(std::ranges::unique(cpus).begin(), cpus.end());
  }
  Findings findings(trace_.file);
  planned_ = settle_any(trace_, findings);
  findings.raise();
  take_collectives();
  put_in_order(match());
}

/// Those that are left are the protocol's.
void Job::take_collectives() {
  Findings findings(trace_.file);
  joints_ = joints_of(trace_, findings);
  findings.raise();
  const auto conflicts = conflicts_of(trace_, joints_);
  for (const Joint& joint : joints_) {
    const Task& task = trace_.of(joint.members.front());
    const std::string_view what = kCollectives[task.what];
    const Algorithm* const how = together_of(what);
    if (how == nullptr) throw UsageError("a recorded job: no protocol does " + std::string(what) + " by itself");
    const double share = find_workload(what).bus_factor(static_cast<int>(joint.members.size()));
    for (const TaskId& id : joint.members) {
      jobs_[static_cast<std::size_t>(id.rank)].collectives.push_back(
          {.task = id.task,
           .group = joint.group,
           .how = how,
           .elements = elements_of(Bytes{task.amount}),
           .wire = Bytes{static_cast<std::uint64_t>(std::llround(share * static_cast<double>(task.amount)))}});
    }
  }
  for (RankJob& job : jobs_) {
    std::ranges::sort(job.collectives, {}, &Collected::task);
    std::map<std::size_t, std::uint32_t> last;  // of each group
    for (Collected& each : job.collectives) {
      for (const auto& [group, task] : last) {
        if (group == each.group || conflicts.contains(std::minmax(group, each.group))) each.after.push_back(task);
      }
      last[each.group] = each.task;
    }
    std::ranges::stable_sort(job.collectives, {}, &Collected::group);
  }
}

std::string Job::where(int rank, std::uint32_t task) const {
  return trace_.file + ":" + std::to_string(trace_of(rank).tasks[task].line);
}

std::vector<Job::Pair> Job::match() {
  struct Found {
    Address address;
    TaskId end;
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
  std::vector<Pair> pairs;
  for (std::size_t s = 0, r = 0; s < sends.size() || r < receives.size();) {
    const bool sent = s < sends.size() && (r == receives.size() || sends[s].address <= receives[r].address);
    const bool received = r < receives.size() && (s == sends.size() || receives[r].address <= sends[s].address);
    const Task& task = trace_.of(sent ? sends[s].end : receives[r].end);
    if (!received) {
      findings.add(task.line, "nobody receives it: rank " + std::to_string(task.peer) + " has no recv from " +
                                  std::to_string(sends[s].end.rank) + " with tag " + std::to_string(task.tag) +
                                  " for it");
    } else if (!sent) {
      findings.add(task.line, "nobody sends it: rank " + std::to_string(task.peer) + " has no send to " +
                                  std::to_string(receives[r].end.rank) + " with tag " + std::to_string(task.tag) +
                                  " for it");
    } else {
      const Task& other = trace_.of(receives[r].end);
      if (other.amount < task.amount) {
        findings.add(other.line, "receives " + bytes(other.amount) + ", and line " + std::to_string(task.line) +
                                     " sends " + bytes(task.amount) + ": MPI would cut it off");
      }
      pairs.emplace_back(sends[s].end, receives[r].end);
    }
    s += sent ? 1 : 0;
    r += received ? 1 : 0;
  }
  findings.raise();
  return pairs;
}

void Job::put_in_order(std::span<const Pair> pairs) {
  std::vector<Before> befores;
  std::vector<double> lengths;
  std::vector<double> messages;
  std::vector<int> lines;
  for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
    const RankTrace& trace = trace_.ranks[rank];
    for (const Need& need : trace.needs) {
      befores.push_back({first_[rank] + need.on, !need.at_start, first_[rank] + need.what, false});
    }
    for (const Task& task : trace.tasks) {
      lengths.push_back(task.kind == Task::Kind::calc ? static_cast<double>(task.amount) : 0);
      messages.push_back(task.kind == Task::Kind::send || task.kind == Task::Kind::collective ? 1 : 0);
      lines.push_back(task.line);
    }
  }
  for (const auto& [send, receive] : pairs) befores.push_back({number(send), false, number(receive), true});
  // None of the members is through before all have come.
  for (const Joint& joint : joints_) {
    const std::size_t meeting = lengths.size();
    lengths.push_back(0);
    messages.push_back(0);
    lines.push_back(trace_.of(joint.members.front()).line);
    for (const TaskId& each : joint.members) {
      befores.push_back({number(each), false, meeting, false});
      befores.push_back({meeting, true, number(each), true});
    }
  }
  for (std::size_t rank = 0; rank < jobs_.size(); ++rank) {
    for (const Collected& each : jobs_[rank].collectives) {
      for (const std::uint32_t before : each.after) {
        befores.push_back({first_[rank] + before, true, first_[rank] + each.task, false});
      }
    }
  }
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
  // A message is one more on the chain once its receive has ended, not only its send.
  for (Before& before : befores) {
    if (before.then_ends) before.first_ends = true;
  }
  const Order chains(messages, befores);
  std::vector<Planned> all;
  for (const auto& [send, receive] : pairs) {
    const std::size_t at = number(send);
    all.push_back({.send = send,
                   .receive = receive,
                   .order = order.start_of(at),
                   .after = order.place_of(at),
                   .chain = static_cast<std::size_t>(chains.start_of(at))});
  }
  assign_lanes(trace_, all);
  take(all);
  if (left_out() > 0) add_left_out(order, chains, !all.empty());
}

/// The figures of the whole job, if its bodies are planned alike.
void Job::add_left_out(const Order& order, const Order& chains, bool has_messages) {
  const auto bodies = static_cast<double>(left_out());
  const auto period_by = [&](const Order& by) {
    Pace all;
    for (std::size_t rank = 0; rank < trace_.ranks.size(); ++rank) {
      const RankTrace& trace = trace_.ranks[rank];
      std::vector<double> begins;
      std::vector<double> ends;
      for (std::size_t task = first_[rank]; task < first_[rank] + trace.tasks.size(); ++task) {
        begins.push_back(by.start_of(task));
        ends.push_back(by.end_of(task));
      }
      all.merge(pace_of(trace, begins, ends));
    }
    return all.period();
  };
  const std::optional<double> period = period_by(order);
  const std::optional<double> chain = period_by(chains);
  goes_on_ = period && chain && (!has_messages || *chain > 0);
  longest_path_ += Seconds{period.value_or(0) * 1e-9} * bodies;
  for (std::size_t rank = 0; rank < jobs_.size(); ++rank) {
    RankJob& job = jobs_[rank];
    const RankTrace& trace = trace_.ranks[rank];
    std::array<std::size_t, kKeptBodies + 1> first_of_body{};
    for (std::size_t task = trace.tasks.size(); task-- > 0;) first_of_body.at(trace.tasks[task].body) = task;
    for (const auto* messages : {&job.sends, &job.receives, &job.own}) {
      for (const auto& lane : by_lane(*messages)) goes_on_ = goes_on_ && goes_on_in(trace, first_of_body, lane);
    }
    const auto of_one_body = [&](std::uint32_t task) { return trace.tasks[task].body == 1; };
    std::uint64_t sent = 0;
    for (const Collected& each : job.collectives) sent += of_one_body(each.task) ? each.wire.count() : 0;
    for (const auto* messages : {&job.sends, &job.own}) {
      for (const Message& message : *messages) sent += of_one_body(message.task) ? message.size.count() : 0;
    }
    job.sent_left_out = Bytes{sent * left_out()};
    job.tasks += left_out() * static_cast<std::size_t>(std::ranges::count(trace.tasks, 1, &Task::body));
  }
}

void Job::take(std::span<const Planned> messages) {
  for (const Planned& planned : messages) {
    const Task& send = trace_.of(planned.send);
    Message message{.task = planned.send.task,
                    .peer = planned.receive.rank,
                    .size = Bytes{std::max<std::uint64_t>(send.amount, 1)},
                    .content = Payload{number(planned.send) + 1},
                    .turn = {send.nic, trace_.of(planned.receive).nic, has_nics_},
                    .lane = planned.lane,
                    .window = planned.window,
                    .place = static_cast<std::size_t>(&planned - messages.data()),
                    .taken = planned.receive.task};
    RankJob& sender = jobs_[static_cast<std::size_t>(planned.send.rank)];
    if (planned.send.rank == planned.receive.rank) {
      sender.own.push_back(message);
      continue;
    }
    sender.sends.push_back(message);
    message.task = planned.receive.task;
    message.peer = planned.send.rank;
    jobs_[static_cast<std::size_t>(planned.receive.rank)].receives.push_back(message);
  }
  const auto key = [](const Message& message) { return std::tuple(message.peer, message.lane, message.place); };
  for (RankJob& job : jobs_) {
    std::ranges::sort(job.sends, {}, key);
    std::ranges::sort(job.receives, {}, key);
  }
}

}  // namespace twinlink::workloads::goal
