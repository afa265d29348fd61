// How exact a fit is. What it finds is in cost_fit_test.cpp.
#include "validate/primitives/least_squares.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace twinlink::validate {
namespace {

/// Columns that differ in a millionth (Laeuchli's), and targets that 1, 2 and 3 of them make.
std::vector<Equation> nearly_dependent() {
  constexpr double kLittle = 1e-6;
  return {{.coefficients = {1, 1, 1}, .target = 6},
          {.coefficients = {kLittle, 0, 0}, .target = 1 * kLittle},
          {.coefficients = {0, kLittle, 0}, .target = 2 * kLittle},
          {.coefficients = {0, 0, kLittle}, .target = 3 * kLittle}};
}

TEST(LeastSquaresOf, NearlyDependentColumnsAreExact) {
  const auto solution = solve_least_squares(nearly_dependent());
  ASSERT_TRUE(solution);
  for (const std::size_t i : {0U, 1U, 2U}) EXPECT_NEAR(solution->values[i], static_cast<double>(i) + 1, 1e-12);
  EXPECT_LT(solution->chi_squared, 1e-25);
  // Of 1 1^T + e^2 I the inverse has (1 - 1 / (3 + e^2)) / e^2 on its diagonal.
  for (const double error : solution->standard_errors) EXPECT_NEAR(error / (std::sqrt(2.0 / 3) * 1e6), 1, 1e-9);
}

}  // namespace
}  // namespace twinlink::validate
