#include "tests/protocols/scripted_rank.hpp"

#include <algorithm>

namespace twinlink {

Op ScriptedRank::begin(std::optional<Seconds> duration, Status status) {
  ends_[++last_op_] = {duration ? std::optional(now_ + *duration) : std::nullopt, status};
  return Op{last_op_};
}

std::optional<Completion> ScriptedRank::wait_any(std::span<const Op> ops, Seconds deadline) {
  std::optional<std::size_t> earliest;
  Seconds when{};
  for (std::size_t i = 0; i < ops.size(); ++i) {
    const auto found = ends_.find(ops[i].id);
    if (found == ends_.end()) throw UsageError("waiting for an operation that is not in flight");
    const auto end = found->second.when;
    // What has ended already is equally early, and then the first in the span is returned.
    if (end && (!earliest || std::max(*end, now_) < when)) {
      earliest = i;
      when = std::max(*end, now_);
    }
  }
  if (!earliest || when > std::max(deadline, now_)) {
    now_ = std::max(now_, deadline);
    return std::nullopt;
  }
  now_ = when;
  const auto found = ends_.find(ops[*earliest].id);
  const Completion completion{*earliest, found->second.status};
  ends_.erase(found);
  return completion;
}

void ScriptedRank::abandon(Op op) {
  if (ends_.erase(op.id) == 0) throw UsageError("abandoning an operation that is not in flight");
  ++abandoned_;
}

}  // namespace twinlink
