// What the parts of one copy take.
#pragma once

#include "protocols/units.hpp"

namespace twinlink::validate {

/// The parts of one copy, in the order in which they come.
struct CopyTimes {
  Seconds host{};
  Seconds marking{};  ///< beside it, of one that is alone in its stream
  Seconds latency{};
  Seconds flow{};
  Seconds completion{};
  Seconds completion_alone{};  ///< instead of it, of one that is alone in its stream
  Seconds turnaround{};

  // Of one that is alone.
  [[nodiscard]] Seconds until_there() const { return host + marking + latency + flow; }
  [[nodiscard]] Seconds total() const { return until_there() + completion_alone; }
};

}  // namespace twinlink::validate
