// SimRank's waiting: what happens while a rank's code does nothing.
#include <algorithm>
#include <functional>
#include <utility>

#include "model/engine/sim_operation.hpp"

namespace twinlink::model {

const CopyCost& SimWorld::copy_cost(End from, End to) {
  const std::pair ends{from, to};
  const auto known = copy_costs.find(ends);
  return known != copy_costs.end() ? known->second
                                   : copy_costs.emplace(ends, topology.copy_cost(from, to)).first->second;
}

// ---- what happens while the rank's own code waits -------------------------------------------------------------------

/// The latency of `operation` is over at `when`, or a control message of `inbox` comes in.
void SimRank::schedule(Seconds when, OperationPtr operation, Inbox* inbox) {
  agenda_.push({.when = when, .number = events_++, .operation = std::move(operation), .inbox = inbox});
  if (when < timer_.when()) timer_.set(when);
}

/// By the timer.
void SimRank::act() {
  if (finished_) return;
  run_agenda();
  if (!agenda_.empty()) timer_.set(agenda_.top().when);
}

void SimRank::run_agenda() {
  while (!agenda_.empty() && reached(agenda_.top().when, now())) {
    const Due event = agenda_.top();
    agenda_.pop();
    event.operation ? become_ready(event.operation) : take_arrivals(*event.inbox);
  }
}

/// A control message to this rank is on its way.
void SimRank::post(RankId source, Tag tag, const Arrival& arrival) {
  Inbox& inbox = inbox_from(source, tag);
  inbox.arrivals.push_back(arrival);
  // Otherwise the recv_control() that will take this arrival is still to come.
  if (inbox.awaited.size() >= inbox.arrivals.size()) await_arrival(inbox, inbox.arrivals.back());
}

/// A recv_control() waits for `arrival`, which may still be on its way.
void SimRank::await_arrival(Inbox& inbox, const Arrival& arrival) { schedule(arrival.arrival, nullptr, &inbox); }

/// Takes the control messages that have come.
void SimRank::take_arrivals(Inbox& inbox) {
  while (!inbox.awaited.empty() && !inbox.arrivals.empty() && reached(inbox.arrivals.front().arrival, now())) {
    const OperationPtr receiver = inbox.awaited.front();
    inbox.awaited.erase(inbox.awaited.begin());
    if (receiver->into != nullptr) *receiver->into = inbox.arrivals.front().message;
    if (receiver->signal_value != nullptr) *receiver->signal_value = inbox.arrivals.front().message.as<std::uint64_t>();
    inbox.arrivals.pop_front();
    complete(receiver, Status::delivered);
  }
}

// ---- how it waits ---------------------------------------------------------------------------------------------------

/// The calling CPU is busy; adapters and copy engines go on, and the messages that it copies wait for it.
void SimRank::be_busy(Seconds duration) {
  if (world_.aborting() || duration <= Seconds{}) return;
  world_.machine.leave_messages(id_);
  begin_work();
  alarm_.sleep_until(now() + duration);
  end_work();
  world_.machine.return_to_messages(id_);
}

/// The CPU has one more thing to do at once; what it does twice at a time counts once.
void SimRank::begin_work() {
  if (works_++ == 0) works_since_ = now();
}

void SimRank::end_work() {
  if (--works_ == 0) worked_ += now() - works_since_;
}

std::optional<Seconds> SimRank::cpu_time() const {
  return works_ == 0 ? worked_ : worked_ + (world_.loop.clock().now() - works_since_);
}

/// Until an operation of this rank may have ended, or the deadline has passed.
void SimRank::wait_for_change(Seconds deadline) { alarm_.wait_until(deadline); }

/// The same, where the rank does nothing but wait for one of them.
void SimRank::wait_for_one_of(std::span<const Op> ops, Seconds deadline) {
  struct Forget {  // however the wait ends
    std::span<const Op>& awaited;
    ~Forget() { awaited = {}; }
  };
  const Forget forget{awaited_ = ops};
  wait_for_change(deadline);
}

void SimRank::wait_until_ended(const Operation& operation) {
  while (operation.state != Operation::State::ended) wait_for_one_of({&operation.op, 1}, kNever);
}

/// The first of them that the rank knows to have ended, which is used up with that.
std::optional<Completion> SimRank::take_seen(std::span<const Op> ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const OperationPtr& found = find(ops[i]);
    if (!found) {
      throw UsageError("rank " + std::to_string(id_.value) + " has no operation " + std::to_string(ops[i].id) +
                       " in flight: never started, or already returned");
    }
    if (!found->seen) continue;
    const Status status = found->status;
    forget(ops[i]);
    return Completion{i, status};
  }
  return std::nullopt;
}

/// Looks once at all that is under way, as a rank on a real machine does, and takes the CPU's time for it: at arrivals
/// and signals, which cost nothing, then at copies, then at messages. What has ended can be gone on with at once, so it
/// looks no further then. False: in vain.
bool SimRank::look() {
  if (see([](const OperationPtr& ended) { return ended->kind == Operation::Kind::recv_control; })) return true;
  bool seen = false;
  for (const auto& [index, stream] : streams_) seen = look_at_copies(stream) || seen;
  return seen || look_at_messages();
}

/// The rank knows of the ends of all that `found` says yes to. False: of none.
template <class Found>
bool SimRank::see(Found found) {
  const auto others = std::stable_partition(ended_.begin(), ended_.end(), std::not_fn(found));
  for (auto ended = others; ended != ended_.end(); ++ended) (*ended)->seen = true;
  const bool any = others != ended_.end();
  ended_.erase(others, ended_.end());
  return any;
}

/// Asks for the copies of a stream, which end one after the other: for the oldest first, and where that has ended for
/// the newest, which tells for all. Others go on meanwhile. What is told by a word in memory costs nothing.
bool SimRank::look_at_copies(const Queue& stream) {
  const auto& failed_poll = world_.topology.platform().runtime.failed_poll;
  const auto of_stream = [&](const OperationPtr& ended) { return ended->is_copy() && ended->queue == &stream; };
  const auto fail = [&](const OperationPtr& copy) {
    if (failed_poll && copy->by_event) be_busy(failed_poll->value);
  };
  for (bool any = false;; any = true) {
    const auto oldest = std::ranges::find_if(ended_, of_stream);
    if (oldest == ended_.end()) {
      if (!stream.operations.empty()) fail(stream.operations.front());
      return any;
    }
    const OperationPtr first = std::move(*oldest);
    ended_.erase(oldest);
    be_busy(first->report.completion);
    first->seen = true;
    const auto left = std::ranges::count_if(ended_, of_stream) + std::ssize(stream.operations);
    if (left < 2) continue;
    if (!stream.operations.empty()) {
      fail(stream.operations.back());
      continue;
    }
    be_busy((*std::find_if(ended_.rbegin(), ended_.rend(), of_stream))->report.completion);
    return see(of_stream);
  }
}

/// The same for messages, which are all asked for at once. To take in what has come costs.
bool SimRank::look_at_messages() {
  Seconds time{};
  for (const OperationPtr& operation : ended_) {
    if (operation->is_message()) time += operation->report.completion;
  }
  const bool any = see(&Operation::is_message);
  be_busy(time);
  return any;
}

std::optional<Completion> SimRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  for (;;) {
    run_agenda();
    if (const auto completion = take_seen(ops)) return completion;
    if (look()) continue;  // also beyond the deadline: it has ended
    // A rank looks again and again; when there is something to see it has just begun to.
    for (run_agenda(); ended_.empty(); run_agenda()) {
      if (reached(deadline, now())) return std::nullopt;
      wait_for_one_of(ops, deadline);
    }
  }
}

void SimRank::finish() {
  while (unfinished_ > 0) wait_for_change(kNever);
  finished_ = true;
  timer_.clear();
}

}  // namespace twinlink::model
