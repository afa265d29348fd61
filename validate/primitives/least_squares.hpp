// Weighted linear least squares, in closed form.
#pragma once

#include <optional>
#include <vector>

namespace twinlink::validate {

/// One equation: the sum of coefficient times unknown should be `target`.
struct Equation {
  std::vector<double> coefficients{};  ///< as many in every equation as there are unknowns
  double target = 0;
  double weight = 1;  ///< one over the variance of the target; positive
};

struct LeastSquares {
  std::vector<double> values{};           ///< of the unknowns
  std::vector<double> standard_errors{};  ///< of the values, if the weights are what they claim to be
  double chi_squared = 0;                 ///< sum of weight times squared residual
};

/// The unknowns that make chi_squared least; nothing if the equations do not determine all of them.
std::optional<LeastSquares> solve_least_squares(const std::vector<Equation>& equations);

}  // namespace twinlink::validate
