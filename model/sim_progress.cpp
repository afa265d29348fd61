// SimRank's waiting: what happens while a rank's code does nothing.
#include <utility>

#include "model/sim_operation.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
void SimWorld::abort() {
  if (!failure) failure = std::current_exception();
  aborting = true;
  s4u::Actor::kill_all();
}

// ---- what happens while the rank's own code waits -------------------------------------------------------------------

/// The latency of `operation` is over at `when`, or a letter of `channel` arrives.
void SimRank::schedule(Seconds when, OperationPtr operation, Channel* channel) {
  agenda_.push({.when = when, .number = events_++, .operation = std::move(operation), .channel = channel});
  if (when < timer_.when()) timer_.set(when);
}

/// By the timer, outside of any actor.
void SimRank::act() {
  if (finished_ || world_.aborting) return;
  try {
    run_agenda();
    if (!agenda_.empty()) timer_.set(agenda_.top().when);
  } catch (...) {
    world_.abort();
  }
}

void SimRank::run_agenda() {
  while (!agenda_.empty() && reached(agenda_.top().when, now())) {
    const Event event = agenda_.top();
    agenda_.pop();
    event.operation ? become_ready(event.operation) : take_letters(*event.channel);
  }
}

/// By SimGrid, outside of any actor. The operation is at the front of its queue until its flow has ended.
void SimRank::flow_has_ended(Queue& queue) {
  if (world_.aborting) return;
  try {
    end_flow(queue.operations.front());
  } catch (...) {
    world_.abort();
  }
}

/// A letter to this rank is on its way.
void SimRank::post(RankId source, Tag tag, const Letter& letter) {
  Channel& channel = channel_from(source, tag);
  channel.letters.push_back(letter);
  // Otherwise the hear() that will take this letter is still to come.
  if (channel.hears.size() >= channel.letters.size()) await_letter(channel, channel.letters.back());
}

/// A hear() waits for `letter`, which may still be on its way.
void SimRank::await_letter(Channel& channel, const Letter& letter) { schedule(letter.arrival, nullptr, &channel); }

/// Takes letters that have arrived.
void SimRank::take_letters(Channel& channel) {
  while (!channel.hears.empty() && !channel.letters.empty() && reached(channel.letters.front().arrival, now())) {
    const OperationPtr hear = channel.hears.front();
    channel.hears.pop_front();
    if (hear->into != nullptr) *hear->into = channel.letters.front().message;
    if (hear->signal_value != nullptr) *hear->signal_value = channel.letters.front().message.as<std::uint64_t>();
    channel.letters.pop_front();
    complete(hear, Status::delivered);
  }
}

// ---- how it waits ---------------------------------------------------------------------------------------------------

/// The calling CPU is busy; adapters and copy engines go on.
void SimRank::be_busy(Seconds duration) {
  if (world_.aborting || duration <= Seconds{}) return;
  alarm_.sleep_until(now() + duration);
}

/// Until an operation of this rank may have ended, or the deadline has passed.
void SimRank::wait_for_change(Seconds deadline) {
  if (ended_flows_.empty()) return alarm_.wait_until(deadline);
  // Nothing else to do: time to tidy up. Others run meanwhile, and something may have changed after it.
  for (const std::unique_ptr<Flow>& flow : std::exchange(ended_flows_, {})) flow->close();
}

void SimRank::wait_until_ended(const Operation& operation) {
  while (operation.state != Operation::State::ended) wait_for_change(kNever);
}

std::optional<Completion> SimRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  for (;;) {
    run_agenda();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto found = ops_.find(ops[i].id);
      if (found == ops_.end()) {
        throw UsageError("rank " + std::to_string(id_.value) + " has no operation " + std::to_string(ops[i].id) +
                         " in flight: never started, or already returned");
      }
      if (found->second->state != Operation::State::ended) continue;
      const Status status = found->second->status;
      const Seconds completion = found->second->report.completion;
      ops_.erase(found);
      be_busy(completion);  // also beyond the deadline: it has ended
      return Completion{i, status};
    }
    if (reached(deadline, now())) return std::nullopt;
    wait_for_change(deadline);
  }
}

void SimRank::finish() {
  while (unfinished_ > 0) wait_for_change(kNever);
  finished_ = true;
  timer_.clear();
}

}  // namespace twinlink::model
