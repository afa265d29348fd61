#include "validate/primitives/cost_fit.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <iterator>
#include <map>
#include <set>

#include "validate/primitives/least_squares.hpp"

namespace twinlink::validate {
namespace {

/// One over the variance: a relative error counts the same at every size, and less where the rounds scatter.
double weight_of(const Observation& observation) {
  const double deviation = std::hypot(kTolerance, observation.spread) * observation.time.value();
  return 1 / (deviation * deviation);
}

/// All observations of one size. Several say the same as one, only better: the tolerance is about the form of the
/// curve, and that does not become more certain when two GPUs are measured instead of one.
struct Mean {
  double size = 0;
  double time = 0;
  double weight = 0;
  double busy = 0;
  double bytes = 0;  ///< with those that count again
};

std::vector<Mean> mean_times(std::span<const Observation> observations) {
  std::map<Bytes, std::vector<Observation>> by_size;
  for (const Observation& observation : observations) by_size[observation.size].push_back(observation);
  std::vector<Mean> means;
  for (const auto& [size, same] : by_size) {
    Mean mean{.size = static_cast<double>(size.count()),
              .bytes = static_cast<double>((size + same.front().again).count())};
    for (const Observation& observation : same) {
      mean.weight += weight_of(observation);
      mean.time += weight_of(observation) * observation.time.value();
      mean.busy += weight_of(observation) * observation.busy.value();
    }
    mean.time /= mean.weight;
    mean.busy /= mean.weight;
    mean.weight /= static_cast<double>(same.size());
    means.push_back(mean);
  }
  return means;
}

/// Is the last unknown, what a byte takes, certain?
bool tells_rate(const LeastSquares& solution) {
  const double per_byte = solution.values.back();
  return per_byte > 0 && solution.standard_errors.back() <= kCertainRate * per_byte;
}

/// Which sizes have a point, by their place among the means.
using Points = std::set<std::size_t>;

/// A fit of latency and rate to means. The last point is never the largest size, for then nothing would tell the bytes'
/// time from a latency that grows.
class CurveFitter {
 public:
  /// `known_per_byte`: what a byte takes; nothing if that is to be found.
  CurveFitter(std::vector<Mean> means, double overhead, std::optional<double> known_per_byte)
      : means_(std::move(means)), overhead_(overhead), known_per_byte_(known_per_byte) {}

  [[nodiscard]] std::optional<LeastSquares> solve(const Points& points) const {
    std::vector<Equation> equations;
    for (const Mean& mean : means_) equations.push_back(equation(points, mean));
    return solve_least_squares(equations);
  }

  /// The points with the least Bayesian information criterion. All steps that add, drop or move one point are tried,
  /// from a single point and from all, until none of them gets better.
  [[nodiscard]] Points choose() const {
    Points all;
    for (std::size_t i = 0; i < candidates(); ++i) all.insert(i);
    Choice best = improve({0});
    if (const Choice other = improve(all); other.criterion < best.criterion) best = other;
    return best.points;
  }

  /// Latencies at the points that are not negative, with what a byte takes given.
  [[nodiscard]] std::vector<double> latencies(const Points& points) const {
    assert(known_per_byte_);
    std::vector<double> result(points.size(), 0.0);
    std::vector<std::size_t> free(points.size());
    for (std::size_t i = 0; i < free.size(); ++i) free[i] = i;
    while (!free.empty()) {
      const std::optional<LeastSquares> solution = solve_free(points, free);
      if (!solution) break;
      std::vector<std::size_t> kept;
      for (std::size_t i = 0; i < free.size(); ++i) {
        result[free[i]] = std::max(0.0, solution->values[i]);
        if (solution->values[i] > 0) kept.push_back(free[i]);
      }
      if (kept.size() == free.size()) break;
      free = std::move(kept);
    }
    return result;
  }

  [[nodiscard]] double size(std::size_t point) const { return means_[point].size; }

 private:
  struct Choice {
    Points points{};
    double criterion = 0;
  };

  [[nodiscard]] std::size_t candidates() const { return known_per_byte_ ? means_.size() : means_.size() - 1; }

  /// The latency at `size` as a sum of those at the points, and last the bytes.
  [[nodiscard]] Equation equation(const Points& points, const Mean& mean) const {
    Equation result{.target = mean.time - mean.busy - overhead_, .weight = mean.weight};
    result.coefficients = shares(points, mean.size);
    if (known_per_byte_) {
      result.target -= *known_per_byte_ * mean.bytes;
    } else {
      result.coefficients.push_back(mean.bytes);
    }
    return result;
  }

  [[nodiscard]] std::vector<double> shares(const Points& points, double at) const {
    std::vector<double> result(points.size(), 0.0);
    const auto above = std::ranges::find_if(points, [&](std::size_t point) { return size(point) > at; });
    const auto index = static_cast<std::size_t>(std::distance(points.begin(), above));
    if (index == 0) {
      result.front() = 1;
    } else if (above == points.end()) {
      result.back() = 1;
    } else {
      const double below = size(*std::prev(above));
      result[index] = (at - below) / (size(*above) - below);
      result[index - 1] = 1 - result[index];
    }
    return result;
  }

  [[nodiscard]] std::optional<LeastSquares> solve_free(const Points& points,
                                                       const std::vector<std::size_t>& free) const {
    std::vector<Equation> equations;
    for (const Mean& mean : means_) {
      const Equation full = equation(points, mean);
      Equation part{.target = full.target, .weight = full.weight};
      for (const std::size_t i : free) part.coefficients.push_back(full.coefficients[i]);
      equations.push_back(std::move(part));
    }
    return solve_least_squares(equations);
  }

  /// Points that leave the rate uncertain are out of the question: a latency must not take over what the bytes cost.
  [[nodiscard]] double criterion(const Points& points) const {
    const std::optional<LeastSquares> solution = solve(points);
    if (!solution || (!known_per_byte_ && !tells_rate(*solution))) return HUGE_VAL;
    // A point is two unknowns: what it costs, and where it is.
    const double unknowns = 2 * static_cast<double>(points.size());
    return solution->chi_squared + unknowns * std::log(static_cast<double>(means_.size()));
  }

  [[nodiscard]] Choice improve(const Points& start) const {
    // A gain below rounding errors would let two equal choices alternate.
    constexpr double kGain = 1e-6;
    Choice best{start, criterion(start)};
    for (bool improved = true; improved;) {
      improved = false;
      const Points current = best.points;
      const auto consider = [&](const Points& points) {
        const double value = criterion(points);
        if (value >= best.criterion - kGain) return;
        best = {points, value};
        improved = true;
      };
      for (std::size_t other = 0; other < candidates(); ++other) {
        Points changed = current;
        if (current.contains(other)) {
          changed.erase(other);
          if (!changed.empty()) consider(changed);
          continue;
        }
        changed.insert(other);
        consider(changed);
        for (const std::size_t point : current) {
          Points moved = changed;
          moved.erase(point);
          consider(moved);
        }
      }
    }
    return best;
  }

  std::vector<Mean> means_;
  double overhead_;
  std::optional<double> known_per_byte_;
};

/// Points between two others that lie on one line with them say nothing.
void drop_idle_points(std::vector<platforms::Piecewise::Knot>& latency) {
  const auto idle = [&](std::size_t i) {
    return latency[i - 1].cost == latency[i].cost && latency[i].cost == latency[i + 1].cost;
  };
  for (std::size_t i = latency.size(); i-- > 0;) {
    if (i > 0 && i + 1 < latency.size() && idle(i)) latency.erase(latency.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

CurveFit finish(const CurveFitter& fitter, const Points& points, std::optional<Rate> rate) {
  const std::vector<double> costs = fitter.latencies(points);
  CurveFit fit{.rate = rate};
  std::size_t i = 0;
  for (const std::size_t point : points) {
    fit.latency.push_back({Bytes{static_cast<std::uint64_t>(fitter.size(point))}, Seconds{costs[i++]}});
  }
  drop_idle_points(fit.latency);
  return fit;
}

/// How far a fit is from the means: the largest relative error, and the typical one.
struct Misfit {
  double worst = 0;
  double typical = 0;
};

Misfit misfit_of(const CurveFit& fit, const std::vector<Mean>& means, double overhead) {
  const platforms::Piecewise latency(fit.latency);
  Misfit misfit;
  for (const Mean& mean : means) {
    const Bytes size{static_cast<std::uint64_t>(mean.size)};
    const double flow = fit.rate ? mean.bytes / fit.rate->bytes_per_second() : 0;
    const double error = std::abs((overhead + mean.busy + latency.at(size).value() + flow) / mean.time - 1);
    misfit.worst = std::max(misfit.worst, error);
    misfit.typical += error / static_cast<double>(means.size());
  }
  return misfit;
}

/// Where caches hold what is small, large sizes have less than the best rate, and one rate for all of them would have
/// others take less than no latency. So: the best rate that any size has, and what the others take beyond it.
CurveFit fit_best_rate(const std::vector<Mean>& means, double overhead) {
  double per_byte = HUGE_VAL;
  for (const Mean& mean : means)
    per_byte = std::min(per_byte, std::max(mean.time - mean.busy - overhead, 0.0) / mean.bytes);
  const CurveFitter fitter(means, overhead, per_byte);
  return finish(fitter, fitter.choose(), per_byte > 0 ? std::optional(Rate{1 / per_byte}) : std::nullopt);
}

}  // namespace

CurveFit fit_curve(std::span<const Observation> observations, Seconds overhead, std::optional<Rate> known_rate) {
  assert(!observations.empty());
  const std::vector<Mean> means = mean_times(observations);
  if (means.size() > 1) {
    const CurveFitter free(means, overhead.value(), std::nullopt);
    const Points points = free.choose();
    if (const std::optional<LeastSquares> solution = free.solve(points); solution && tells_rate(*solution)) {
      const double per_byte = solution->values.back();
      CurveFit fit = finish(CurveFitter(means, overhead.value(), per_byte), points, Rate{1 / per_byte});
      constexpr double kPoor = 0.1;
      const Misfit misfit = misfit_of(fit, means, overhead.value());
      if (misfit.worst <= kPoor) return fit;
      CurveFit other = fit_best_rate(means, overhead.value());
      const bool better = misfit_of(other, means, overhead.value()).typical < misfit.typical / 2;
      return better && other.rate ? other : fit;
    }
  }
  const double per_byte = known_rate ? 1 / known_rate->bytes_per_second() : 0;
  const CurveFitter fitter(means, overhead.value(), per_byte);
  return finish(fitter, fitter.choose(), std::nullopt);
}

CurveFit fit_beside_rate(std::span<const Observation> observations, Seconds overhead, Rate rate) {
  assert(!observations.empty());
  const CurveFitter fitter(mean_times(observations), overhead.value(), 1 / rate.bytes_per_second());
  return finish(fitter, fitter.choose(), rate);
}

Seconds fit_constant(std::span<const Observation> observations) {
  assert(!observations.empty());
  std::vector<Equation> equations;
  for (const Observation& observation : observations) {
    equations.push_back({{1}, observation.time.value(), weight_of(observation)});
  }
  return Seconds{solve_least_squares(equations).value().values.front()};
}

std::optional<LineFit> fit_line(std::span<const Observation> observations) {
  std::vector<Equation> equations;
  for (const Observation& observation : observations) {
    const auto size = static_cast<double>(observation.size.count());
    equations.push_back({{1, size}, observation.time.value(), weight_of(observation)});
  }
  std::optional<LeastSquares> solution = solve_least_squares(equations);
  if (!solution) return std::nullopt;
  if (solution->values[0] < 0) {
    for (Equation& equation : equations) equation.coefficients.erase(equation.coefficients.begin());
    solution = solve_least_squares(equations);
    if (!solution) return std::nullopt;
    solution->values.insert(solution->values.begin(), 0.0);
  }
  if (!(solution->values[1] > 0)) return std::nullopt;
  return LineFit{.base = Seconds{solution->values[0]}, .per_byte = Seconds{solution->values[1]}};
}

std::optional<Seconds> fit_share(std::span<const CountedObservation> observations) {
  std::vector<Equation> equations;
  for (const CountedObservation& observation : observations) {
    equations.push_back(
        {{observation.count}, (observation.total.time - observation.rest).value(), weight_of(observation.total)});
  }
  if (equations.empty()) return std::nullopt;
  const std::optional<LeastSquares> solution = solve_least_squares(equations);
  if (!solution || !(solution->values.front() > 0)) return std::nullopt;
  return Seconds{solution->values.front()};
}

std::vector<platforms::Piecewise::Knot> fewest_knots(std::span<const CostAt> costs) {
  if (costs.size() == 1) return {costs.front().knot};
  // As Douglas and Peucker do: where the straight line between the ends passes too far from a point, the farthest one
  // becomes the end of two lines.
  const platforms::Piecewise line({costs.front().knot, costs.back().knot});
  std::size_t farthest = 0;
  double most = 1;
  for (std::size_t i = 1; i + 1 < costs.size(); ++i) {
    const double distance = std::abs((costs[i].knot.cost - line.at(costs[i].knot.size)).value());
    const double share = distance / std::max(costs[i].tolerance.value(), 1e-12);
    if (share > most) {
      farthest = i;
      most = share;
    }
  }
  if (farthest == 0) return {costs.front().knot, costs.back().knot};
  std::vector<platforms::Piecewise::Knot> knots = fewest_knots(costs.first(farthest + 1));
  const std::vector<platforms::Piecewise::Knot> others = fewest_knots(costs.subspan(farthest));
  knots.insert(knots.end(), others.begin() + 1, others.end());
  return knots;
}

platforms::Piecewise curve_of(const std::map<Bytes, CostAt>& costs) {
  std::vector<CostAt> ascending;
  for (const auto& [size, cost] : costs) ascending.push_back(cost);
  const CostAt& any = ascending[ascending.size() / 2];
  const bool constant = std::ranges::all_of(ascending, [&](const CostAt& other) {
    return std::abs((other.knot.cost - any.knot.cost).value()) <= other.tolerance.value();
  });
  return constant ? platforms::Piecewise({any.knot}) : platforms::Piecewise(fewest_knots(ascending));
}

}  // namespace twinlink::validate
