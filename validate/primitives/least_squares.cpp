#include "validate/primitives/least_squares.hpp"

#include <cassert>
#include <cmath>
#include <cstddef>
#include <utility>

namespace twinlink::validate {
namespace {

using Vector = std::vector<double>;

/// What is left of a column, relative to its length, when it is a sum of others.
constexpr double kDependent = 1e-9;

double dot(const Vector& a, const Vector& b) {
  assert(a.size() == b.size());
  double sum = 0;
  for (std::size_t i = 0; i < a.size(); ++i) sum += a[i] * b[i];
  return sum;
}

void subtract(Vector& from, double factor, const Vector& what) {
  for (std::size_t i = 0; i < from.size(); ++i) from[i] -= factor * what[i];
}

/// The equations' columns with the weights in them, orthogonal to each other and of length one, and the upper triangle
/// that makes the columns of them again: a QR factorisation by modified Gram-Schmidt.
struct Factors {
  std::vector<Vector> q{};
  std::vector<Vector> r{};  ///< r[row][column]
};

std::optional<Factors> factorize(std::vector<Vector> columns) {
  const std::size_t n = columns.size();
  Factors factors{.r = std::vector<Vector>(n, Vector(n, 0.0))};
  for (std::size_t j = 0; j < n; ++j) {
    const double length = std::sqrt(dot(columns[j], columns[j]));
    // Each share is of what the ones before have left, here as of the targets: then one pass is as exact as any other
    // factorisation, also where columns are nearly dependent (Bjoerck 1967).
    for (std::size_t i = 0; i < j; ++i) {
      factors.r[i][j] = dot(factors.q[i], columns[j]);
      subtract(columns[j], factors.r[i][j], factors.q[i]);
    }
    const double rest = std::sqrt(dot(columns[j], columns[j]));
    if (!(rest > kDependent * length)) return std::nullopt;
    factors.r[j][j] = rest;
    for (double& value : columns[j]) value /= rest;
    factors.q.push_back(std::move(columns[j]));
  }
  return factors;
}

/// Solves r x = b from the last row up.
Vector solve_triangle(const std::vector<Vector>& r, Vector b) {
  for (std::size_t i = b.size(); i-- > 0;) {
    for (std::size_t j = i + 1; j < b.size(); ++j) b[i] -= r[i][j] * b[j];
    b[i] /= r[i][i];
  }
  return b;
}

/// The square roots of the diagonal of (r^T r)^-1: the lengths of the rows of r^-1.
Vector standard_errors(const std::vector<Vector>& r) {
  Vector squares(r.size(), 0.0);
  for (std::size_t j = 0; j < r.size(); ++j) {
    Vector unit(r.size(), 0.0);
    unit[j] = 1;
    const Vector column = solve_triangle(r, std::move(unit));
    for (std::size_t i = 0; i < r.size(); ++i) squares[i] += column[i] * column[i];
  }
  for (double& square : squares) square = std::sqrt(square);
  return squares;
}

}  // namespace

std::optional<LeastSquares> solve_least_squares(const std::vector<Equation>& equations) {
  assert(!equations.empty());
  const std::size_t unknowns = equations.front().coefficients.size();
  std::vector<Vector> columns(unknowns);
  Vector targets;
  for (const Equation& equation : equations) {
    const double root = std::sqrt(equation.weight);
    for (std::size_t j = 0; j < unknowns; ++j) columns[j].push_back(equation.coefficients[j] * root);
    targets.push_back(equation.target * root);
  }
  const std::optional<Factors> factors = factorize(std::move(columns));
  if (!factors) return std::nullopt;

  Vector projected;
  for (const Vector& direction : factors->q) {
    projected.push_back(dot(direction, targets));
    subtract(targets, projected.back(), direction);
  }
  return LeastSquares{.values = solve_triangle(factors->r, std::move(projected)),
                      .standard_errors = standard_errors(factors->r),
                      .chi_squared = dot(targets, targets)};
}

}  // namespace twinlink::validate
