// Poller: how a rank learns which of its operations have ended. SimRank::complete() adds what has ended, and
// wait_any() looks before it returns anything or sleeps.
#pragma once

#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/engine/rank/cpu.hpp"
#include "model/engine/rank/operation.hpp"
#include "model/engine/rank/operation_table.hpp"
#include "model/engine/rank/transport.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// A rank asks for all that is under way, again and again, as a rank on a real machine does, and its CPU is busy with
/// that. What it has found is seen.
class Poller {
 public:
  /// `costs` on the rank's own `cpu`, that, its `transport` and its `operations` outlive it.
  Poller(const RuntimeCosts& costs, Cpu& cpu, const Transport& transport, OperationTable& operations)
      : costs_(costs), cpu_(cpu), transport_(transport), operations_(operations) {}
  Poller(const Poller&) = delete;
  Poller& operator=(const Poller&) = delete;

  /// An operation has ended; the rank does not know yet.
  void add(const OperationPtr& ended) { ended_.push_back(ended); }
  /// Nobody asks for it any more.
  void drop(const OperationPtr& operation) { std::erase(ended_, operation); }
  /// There is nothing to see.
  [[nodiscard]] bool is_empty() const { return ended_.empty(); }

  /// The rank's code looks once, in this order: control messages, signals and work of other cores, which cost nothing
  /// to find; copies, each with its `completion`; messages, likewise. It stops after the first of these groups in which
  /// something has ended, since the rank can go on with that. Returns whether anything has.
  bool poll();

 private:
  template <class Found>
  bool see(Found found);
  bool poll_copies(const Queue& stream);
  bool poll_messages();

  const RuntimeCosts& costs_;
  Cpu& cpu_;
  const Transport& transport_;
  OperationTable& operations_;
  std::vector<OperationPtr> ended_;  ///< in the order of their ends
};

}  // namespace twinlink::model
