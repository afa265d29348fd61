// OperationTable: the operations that a rank has started and not yet got back, by their numbers: what Op::id names. An
// Op that was used up is a UsageError, also when its place in the table has another operation.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "model/engine/rank/operation.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

/// A number holds the operation's place, which others use again later, and a count that makes it unique.
class OperationTable {
 public:
  explicit OperationTable(RankId owner) : owner_(owner) {}

  /// Gives the operation its number.
  void add(const OperationPtr& operation);
  /// The operation goes out of the table. A UsageError where there is none.
  OperationPtr take(Op op);
  /// The rank knows that it has ended. Nothing of one that is not in the table.
  void see(const Operation& operation);
  /// The first of them that the rank knows to have ended, which goes out of the table. A UsageError for an operation
  /// that is not in it.
  std::optional<Completion> take_seen(std::span<const Op> ops);
  /// A UsageError where there is none.
  [[nodiscard]] const OperationPtr& find(Op op) const;

 private:
  /// Of a place: what a wait for many looks at lies side by side.
  struct Entry {
    Op op{};  ///< no operation: the place is free
    bool seen = false;
    OperationPtr operation{};
  };
  [[nodiscard]] static std::size_t place_of(Op op);
  [[nodiscard]] const Entry& entry(Op op) const;

  RankId owner_;
  std::uint64_t next_ = 1;
  std::vector<Entry> entries_;  ///< by place
  std::vector<std::size_t> free_;
};

}  // namespace twinlink::model
