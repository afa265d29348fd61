// Whether the kept bodies of a shortened job (repetition.hpp) go on alike: then so would all that were left out.
//
// What happens from one moment on follows from what is under way then. Once all before the third body has ended, only
// bodies from the third on are under way; if a period later the same is, a body further, then each period goes like the
// one before, until the ends of the job come into sight. So tasks of the fourth body must begin and end one period
// after those of the third, those of the fifth one after the fourth's, on all ranks the same; and meanwhile nothing may
// be under way of what comes before or behind.
#pragma once

#include <limits>
#include <optional>
#include <span>

#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// How far the times of a period may be apart, of it: a thousand times more than arithmetic loses.
inline constexpr double kSamePeriod = 1e-9;

/// What is seen of the bodies on some ranks, in any unit of time.
struct Pace {
  static constexpr double kNever = std::numeric_limits<double>::max();  ///< texts have no infinity
  double shortest = kNever;  ///< from a task of the third or fourth body to that of the next, beginnings and ends
  double longest = -kNever;
  double early = -kNever;  ///< the last end of what comes before the third body
  double third = -kNever;  ///< and of that
  double fifth = kNever;   ///< the first beginning of the fifth body, or of what comes behind
  double sixth = kNever;   ///< and behind the fifth

  void merge(const Pace& other);
  /// What each further body takes; nothing: that is not said.
  [[nodiscard]] std::optional<double> period() const;
};

/// Of a rank's tasks, whose times are these.
Pace pace_of(const RankTrace& trace, std::span<const double> begins, std::span<const double> ends);

}  // namespace twinlink::workloads::goal
