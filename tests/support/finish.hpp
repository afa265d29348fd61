// finish(): waits for an operation that a test needs, and does not go on without it.
#pragma once

#include <string>

#include "protocols/core/errors.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink {

/// Waits until `deadline`. An Error where the operation is not delivered by then: what follows would test nothing.
inline void finish(Rank& rank, Op op, Seconds deadline) {
  const Status status = wait(rank, op, deadline);
  if (status != Status::delivered) throw Error("a test's operation ended as '" + std::string(to_string(status)) + "'");
}

}  // namespace twinlink
