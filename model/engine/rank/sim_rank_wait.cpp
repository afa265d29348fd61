// How a simulated rank waits for what it has started, and gives it up.
#include <optional>
#include <span>

#include "model/engine/rank/sim_rank.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

void SimRank::abandon(Op op) {
  const OperationPtr operation = operations_.take(op);
  poller_.drop(operation);
  if (operation->state == Operation::State::ended) return;
  operation->abandoned = true;
  operation->let_go();
  if (operation->program) operation->program->give_up();
  operation->slot.reset();
  // Nobody waits any more for what has not begun to come. A send stays: the peer may have been told of it.
  mailbox_.withdraw(operation);
}

/// Until an operation of this rank may have ended, or the deadline has passed.
void SimRank::wait_for_one_of(std::span<const Op> ops, Seconds deadline) {
  struct Forget {  // however the wait ends
    std::span<const Op>& awaited;
    ~Forget() { awaited = {}; }
  };
  const Forget forget{awaited_ = ops};
  cpu_.sleep(deadline);
}

std::optional<Completion> SimRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  if (ops.empty()) throw UsageError("wait_any() was given no operation to wait for");
  for (;;) {
    event_queue_.run();
    if (const auto completion = operations_.take_seen(ops)) return completion;
    if (poller_.poll()) continue;  // also beyond the deadline: it has ended
    // A rank looks again and again; when there is something to see it has just begun to.
    for (event_queue_.run(); poller_.is_empty(); event_queue_.run()) {
      if (reached(deadline, now())) return std::nullopt;
      wait_for_one_of(ops, deadline);
    }
  }
}

}  // namespace twinlink::model
