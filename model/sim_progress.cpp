// SimRank's waiting: what happens while a rank's code does nothing.
#include <algorithm>
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

/// The calling CPU is busy; adapters and copy engines go on, and the messages that it copies wait for it.
void SimRank::be_busy(Seconds duration) {
  if (world_.aborting || duration <= Seconds{}) return;
  world_.machine.leave_messages(id_);
  alarm_.sleep_until(now() + duration);
  world_.machine.return_to_messages(id_);
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

/// The first of them that the rank knows to have ended, which is used up with that.
std::optional<Completion> SimRank::take_seen(std::span<const Op> ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto found = ops_.find(ops[i].id);
    if (found == ops_.end()) {
      throw UsageError("rank " + std::to_string(id_.value) + " has no operation " + std::to_string(ops[i].id) +
                       " in flight: never started, or already returned");
    }
    if (!found->second->seen) continue;
    const Status status = found->second->status;
    ops_.erase(found);
    return Completion{i, status};
  }
  return std::nullopt;
}

/// Looks once at all that is under way, as a rank on a real machine does, and takes the CPU's time for it. Letters and
/// signals cost nothing, and where some have come, it looks no further. False: in vain.
bool SimRank::look() {
  const auto is_letter = [](const OperationPtr& ended) { return ended->kind == Operation::Kind::hear; };
  const auto others = std::stable_partition(ended_.begin(), ended_.end(), is_letter);
  const bool letters = others != ended_.begin();
  const auto unseen = letters ? others : ended_.end();
  const std::vector<OperationPtr> seen(ended_.begin(), unseen);
  ended_.erase(ended_.begin(), unseen);
  Seconds busy = letters ? Seconds{} : look_in_vain(seen);
  for (const OperationPtr& operation : seen) {
    operation->seen = true;
    busy += operation->report.completion;
  }
  be_busy(busy);
  return !seen.empty();
}

/// What it takes to look at streams and messages of which nothing is among `ended`: the copies of a stream end one
/// after the other, and the first that has not ended is looked at in vain.
Seconds SimRank::look_in_vain(std::span<const OperationPtr> ended) const {
  Seconds time{};
  if (const auto& look = world_.topology.platform().runtime.look) {
    const auto asked = std::ranges::count_if(streams_, [](const auto& stream) {
      const std::list<OperationPtr>& copies = stream.second.operations;
      return !copies.empty() && copies.front()->by_event;
    });
    time += look->value * static_cast<double>(asked);
  }
  if (std::ranges::any_of(ended, &Operation::is_message)) return time;
  Seconds messages{};  // all are asked for at once
  for (const auto& [id, operation] : ops_) {
    if (!operation->is_message() || operation->state == Operation::State::ended) continue;
    if (const auto& look = network_to(operation->peer).look) messages = std::max(messages, look->value);
  }
  return time + messages;
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
      wait_for_change(deadline);
    }
  }
}

void SimRank::finish() {
  while (unfinished_ > 0) wait_for_change(kNever);
  finished_ = true;
  timer_.clear();
}

}  // namespace twinlink::model
