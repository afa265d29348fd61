#include "validate/error_metrics.hpp"

#include <cassert>
#include <cmath>
#include <vector>

#include "protocols/bench/results.hpp"

namespace twinlink::validate {

double relative_error(const Row& row) { return (row.simulated_us - row.measured_us) / row.measured_us; }

ErrorSummary summarize_errors(std::span<const Row> rows) {
  assert(!rows.empty());
  ErrorSummary summary{.n = rows.size(), .max = -1};
  std::vector<double> errors;
  double log_sum = 0;
  double log_magnitude_sum = 0;
  for (const auto& row : rows) {
    // A difference of logarithms: the quotient of two extreme times could overflow.
    const double log_ratio = std::log(row.simulated_us) - std::log(row.measured_us);
    log_sum += log_ratio;
    log_magnitude_sum += std::abs(log_ratio);

    errors.push_back(std::abs(relative_error(row)));
    if (errors.back() > summary.max) {
      summary.max = errors.back();
      summary.max_at = row.key;
    }
  }
  const auto n = static_cast<double>(rows.size());
  summary.geometric_mean = std::expm1(log_magnitude_sum / n);
  summary.bias = std::expm1(log_sum / n);
  summary.p95 = bench::summarize(std::move(errors)).p95;
  return summary;
}

}  // namespace twinlink::validate
