// SimRank's waiting: what happens while a rank's code does nothing.
#include <algorithm>
#include <limits>

#include "model/sim_operation.hpp"

namespace twinlink::model {
namespace s4u = simgrid::s4u;
namespace {

constexpr Seconds kNever{std::numeric_limits<double>::infinity()};

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

void SimRank::progress() {
  for (auto& [key, channel] : channels_) take_letters(channel);
  // Ending one operation may start another, and so may other ranks: the list may grow while it is walked.
  // NOLINTNEXTLINE(modernize-loop-convert)
  for (std::size_t i = 0; i < active_.size(); ++i) {
    const OperationPtr operation = active_[i];
    if (operation->state == Operation::State::delayed && reached(operation->due, now())) become_ready(operation);
  }
  std::erase_if(active_, [](const OperationPtr& o) { return o->state == Operation::State::ended; });
}

/// When something will happen by itself, flows and other ranks' doings apart.
Seconds SimRank::next_event() {
  Seconds next = kNever;
  for (const OperationPtr& operation : active_) {
    if (operation->state == Operation::State::delayed) next = std::min(next, operation->due);
  }
  for (const auto& [key, channel] : channels_) {
    if (!channel.hears.empty() && !channel.letters.empty()) next = std::min(next, channel.letters.front().arrival);
  }
  return next;
}

/// Sleeps until `wake`, the end of one flow, or the bell, whatever comes first.
void SimRank::sleep_until(Seconds wake) {
  // From here on others ring: posting the bell lets them run, and what they change must not be slept through.
  asleep_ = true;
  const double timeout = wake == kNever ? -1 : std::max(0.0, (wake - now()).value());
  std::vector<s4u::ActivityPtr> activities;
  std::vector<OperationPtr> owners;
  for (const OperationPtr& operation : active_) {
    if (operation->state != Operation::State::flowing) continue;
    activities.push_back(operation->flow);
    owners.push_back(operation);
  }
  if (!bell_) bell_ = mailbox_->get_async<void>(&bell_payload_);
  activities.push_back(bell_);

  const auto index = s4u::Activity::wait_any_for(activities, timeout);
  asleep_ = false;
  if (index < 0) return;
  if (const auto i = static_cast<std::size_t>(index); i < owners.size()) {
    end_flow(owners[i]);
  } else {
    bell_.reset();
    rung_ = false;
  }
}

/// Wakes this rank because something has changed for it. Called by other ranks.
void SimRank::ring() {
  if (!asleep_ || rung_) return;
  rung_ = true;
  static int nothing = 0;  // the bell carries no data; SimGrid wants an address
  // Detached: SimGrid 3.32 keeps a sent message that its sender does not wait for in a list, and scans that list at the
  // end of every communication of the sender.
  mailbox_->put_init(&nothing, 0)->detach();
}

/// The calling CPU is busy; adapters and copy engines go on.
void SimRank::be_busy(Seconds duration) {
  if (world_.aborting || duration <= Seconds{}) return;
  const Seconds until = now() + duration;
  for (progress(); !reached(until, now()); progress()) sleep_until(std::min(until, next_event()));
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
    sleep_until(std::min(deadline, next_event()));
  }
}

void SimRank::finish() {
  for (progress(); !active_.empty(); progress()) sleep_until(next_event());
  if (bell_) bell_->cancel();
}

}  // namespace twinlink::model
