#include "model/engine/rank/operation_table.hpp"

#include <string>
#include <utility>

namespace twinlink::model {
namespace {

/// The bits of a number that hold the place.
constexpr unsigned kPlaceBits = 24;

}  // namespace

std::size_t OperationTable::place_of(Op op) { return op.id & ((std::uint64_t{1} << kPlaceBits) - 1); }

void OperationTable::add(const OperationPtr& operation) {
  std::size_t place = entries_.size();
  if (free_.empty()) {
    entries_.emplace_back();
  } else {
    place = free_.back();
    free_.pop_back();
  }
  operation->op = Op{next_++ << kPlaceBits | place};
  entries_[place] = {.op = operation->op, .operation = operation};
}

const OperationTable::Entry& OperationTable::entry(Op op) const {
  const std::size_t place = place_of(op);
  if (place < entries_.size() && op.id != 0 && entries_[place].op == op) return entries_[place];
  throw UsageError("rank " + std::to_string(owner_.value) + " has no operation " + std::to_string(op.id) +
                   " in flight: never started, or already returned");
}

const OperationPtr& OperationTable::find(Op op) const { return entry(op).operation; }

OperationPtr OperationTable::take(Op op) {
  OperationPtr found = find(op);
  entries_[place_of(op)] = {};
  free_.push_back(place_of(op));
  return found;
}

void OperationTable::see(const Operation& operation) {
  Entry& entry = entries_[place_of(operation.op)];
  if (entry.op == operation.op) entry.seen = true;
}

std::optional<Completion> OperationTable::take_seen(std::span<const Op> ops) {
  for (std::size_t i = 0; i < ops.size(); ++i) {
    if (entry(ops[i]).seen) return Completion{i, take(ops[i])->status};
  }
  return std::nullopt;
}

}  // namespace twinlink::model
