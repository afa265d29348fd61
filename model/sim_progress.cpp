// SimRank's waiting: what happens while a rank's code does nothing.
#include <algorithm>

#include "model/sim_operation.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

bool reached(Seconds when, Seconds now) { return when <= now + kTimePrecision; }

}  // namespace

Seconds SimRank::now() { return Seconds{s4u::Engine::get_clock()}; }

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

/// A letter to this rank is on its way.
void SimRank::post(RankId source, Tag tag, Letter letter) {
  Channel& channel = channel_from(source, tag);
  channel.letters.push_back(std::move(letter));
  // Otherwise the hear() that will take this letter is still to come.
  if (channel.hears.size() >= channel.letters.size()) await_letter(channel, channel.letters.back());
}

/// A hear() waits for `letter`, which may still be on its way.
void SimRank::await_letter(Channel& channel, const Letter& letter) {
  schedule(letter.arrival, nullptr, &channel);
  alarm_.ring_at(letter.arrival);  // for another rank may have told it
}

void SimRank::schedule(Seconds when, OperationPtr operation, Channel* channel) {
  agenda_.push({.when = when, .number = events_++, .operation = std::move(operation), .channel = channel});
}

/// Does everything whose time has come. Other ranks may run meanwhile, and more may end or be due.
void SimRank::progress() {
  for (;;) {
    if (!ended_flows_.empty()) {
      const OperationPtr operation = ended_flows_.front()->front();
      ended_flows_.pop_front();
      end_flow(operation);
    } else if (!agenda_.empty() && reached(agenda_.top().when, now())) {
      const Event event = agenda_.top();
      agenda_.pop();
      event.operation ? become_ready(event.operation) : take_letters(*event.channel);
    } else {
      return;
    }
  }
}

/// When something will happen by itself, flows and other ranks' doings apart.
Seconds SimRank::next_event() const { return agenda_.empty() ? kNever : agenda_.top().when; }

/// The calling CPU is busy; adapters and copy engines go on.
void SimRank::be_busy(Seconds duration) {
  if (world_.aborting || duration <= Seconds{}) return;
  const Seconds until = now() + duration;
  for (progress(); !reached(until, now()); progress()) alarm_.sleep_until(std::min(until, next_event()));
}

std::optional<Completion> SimRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  for (;;) {
    progress();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const auto found = ops_.find(ops[i].id);
      if (found == ops_.end()) {
        throw UsageError("rank " + std::to_string(id_.value) + " has no operation " + std::to_string(ops[i].id) +
                         " in flight: never started, or already returned");
      }
      if (found->second->state != Operation::State::ended) continue;
      const Status status = found->second->status;
      ops_.erase(found);
      return Completion{i, status};
    }
    if (reached(deadline, now())) return std::nullopt;
    alarm_.sleep_until(std::min(deadline, next_event()));
  }
}

void SimRank::finish() {
  for (progress(); unfinished_ > 0; progress()) alarm_.sleep_until(next_event());
}

}  // namespace twinlink::model
