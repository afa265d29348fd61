// How far the simulation is off, in figures. validate/README.md defines them for users.
#pragma once

#include <cstddef>
#include <span>

#include "validate/compare/join.hpp"

namespace twinlink::validate {

/// (simulated - measured) / measured, as a fraction: +0.1 is a simulation that takes 10 % longer.
double relative_error(const Row& row);

/// All errors are fractions.
struct ErrorSummary {
  std::size_t n = 0;          ///< lines compared
  double geometric_mean = 0;  ///< exp(mean |ln(simulated / measured)|) - 1; the same when the two are swapped
  double bias = 0;            ///< exp(mean ln(simulated / measured)) - 1; positive: the simulation is too slow
  double slower = 0;          ///< exp(mean max(0, ln(measured / simulated))) - 1: lines measured faster count as equal
  double p95 = 0;             ///< of |relative error|, by linear interpolation between closest ranks
  double max = 0;             ///< of |relative error|
  Key max_at{};               ///< the first line that has it
};

/// `rows` must not be empty.
ErrorSummary summarize_errors(std::span<const Row> rows);

}  // namespace twinlink::validate
