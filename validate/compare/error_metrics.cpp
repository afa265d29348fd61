#include "validate/compare/error_metrics.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "protocols/bench/results/statistics.hpp"

namespace twinlink::validate {

double relative_error(const Row& row) { return (row.simulated_us - row.measured_us) / row.measured_us; }

ErrorSummary summarize_errors(std::span<const Row> rows) {
  assert(!rows.empty());
  ErrorSummary summary{.n = rows.size(), .max = -1};
  std::vector<double> errors;
  double log_sum = 0;
  double slower_sum = 0;
  std::vector<double> log_ratios;
  for (const auto& row : rows) {
    log_ratios.push_back(bench::log_ratio(row.simulated_us, row.measured_us));
    log_sum += log_ratios.back();
    slower_sum += std::max(0.0, -log_ratios.back());

    errors.push_back(std::abs(relative_error(row)));
    if (errors.back() > summary.max) {
      summary.max = errors.back();
      summary.max_at = row.key;
    }
  }
  summary.geometric_mean = bench::geometric_mean_error(log_ratios);
  summary.bias = std::expm1(log_sum / static_cast<double>(rows.size()));
  summary.slower = std::expm1(slower_sum / static_cast<double>(rows.size()));
  summary.p95 = bench::summarize(std::move(errors)).p95;
  return summary;
}

}  // namespace twinlink::validate
