#include "validate/history/regressions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "validate/compare/spread.hpp"

namespace twinlink::validate {
namespace {

/// The larger of what the values scatter around their middle and of what each says of itself.
double deviation_of(std::vector<double> values, const std::vector<double>& own) {
  const double told = spread_of(own).middle;
  if (values.size() < kLeastEquals) return told;
  return std::max(told, spread_of(std::move(values)).deviation);
}

struct Split {
  std::size_t at = 0;
  double step = 0;
  double deviation = 0;  ///< of one value
  double sure = 0;       ///< the step in standard errors
  double rest = 0;  ///< what both halves are off their middles, in sum: a single odd day belongs where it is less odd
};

/// How far apart the middles of the two halves are, whose own spreads tell what one value's is.
Split split_at(const std::vector<DatedFigure>& dated, std::size_t at) {
  std::vector<double> before;
  std::vector<double> after;
  std::vector<double> own;
  for (std::size_t i = 0; i < dated.size(); ++i) {
    (i < at ? before : after).push_back(dated[i].log_us);
    own.push_back(dated[i].deviation);
  }
  const double low = spread_of(before).middle;
  const double high = spread_of(after).middle;
  std::vector<double> rest;
  for (const double value : before) rest.push_back(value - low);
  for (const double value : after) rest.push_back(value - high);
  double sum = 0;
  for (const double off : rest) sum += std::abs(off);
  Split split{.at = at, .step = high - low, .deviation = deviation_of(rest, own), .rest = sum};
  constexpr double kOfMedian = 1.57;  // variance of a median over that of a mean
  const double variance = 1 / static_cast<double>(before.size()) + 1 / static_cast<double>(after.size());
  const double error = std::max(1e-6, split.deviation * std::sqrt(kOfMedian * variance));
  split.sure = split.step / error;
  return split;
}

}  // namespace

std::vector<Regression> steps_of(const FigureHistory& figure, double tolerance, std::size_t trials) {
  std::vector<DatedFigure> stable;
  for (const DatedFigure& dated : figure.dated) {
    if (!dated.unstable) stable.push_back(dated);
  }
  if (stable.size() < 2 || figure.dated.back().unstable) return {};
  Split best;
  for (std::size_t at = 1; at < stable.size(); ++at) {
    const Split split = split_at(stable, at);
    if (split.step > 0 && (best.at == 0 || split.rest < best.rest)) best = split;
  }
  if (best.at == 0) return {};
  // Where nothing tells a point's own spread, that of so few is uncertain itself.
  const bool told = std::ranges::any_of(stable, [](const DatedFigure& dated) { return dated.deviation > 0; });
  const bool from_scatter = !told && stable.size() >= kLeastEquals;
  const double farthest = from_scatter ? farthest_of(trials, stable.size()) : farthest_of(trials);
  const double chance = best.step / std::max(best.sure, 1e-9) * farthest;
  const double allowed = std::max(std::log1p(tolerance), chance);
  if (best.step <= allowed) return {};
  // What has recovered is no failure: the newest must still be in the upper half.
  if (stable.back().log_us < stable[best.at].log_us - best.step / 2) return {};
  return {{.key = figure.key,
           .band = figure.band,
           .slower = std::expm1(best.step),
           .allowed = std::expm1(allowed),
           .since = stable[best.at].date,
           .dated = figure.dated}};
}

std::vector<NodeHistory> find_regressions(const std::vector<NodeResultsOverTime>& nodes, double tolerance) {
  std::size_t trials = 0;
  for (const NodeResultsOverTime& node : nodes) {
    for (const FigureHistory& figure : node.figures) trials += figure.dated.size() > 1 ? 1 : 0;
  }
  std::vector<NodeHistory> all;
  for (const NodeResultsOverTime& node : nodes) {
    NodeHistory history{.dates = node.dates.size()};
    for (const FigureHistory& figure : node.figures) {
      const auto stable = std::ranges::count_if(figure.dated, [](const DatedFigure& dated) { return !dated.unstable; });
      if (figure.dated.back().unstable) {
        ++history.unstable;
      } else if (stable < 2) {
        ++history.single;
      } else {
        ++history.judged;
        for (Regression& step : steps_of(figure, tolerance, trials)) history.regressions.push_back(std::move(step));
      }
    }
    std::ranges::stable_sort(history.regressions, std::ranges::greater{}, &Regression::slower);
    all.push_back(std::move(history));
  }
  return all;
}

std::vector<std::string> in_words(const std::vector<NodeHistory>& history) {
  std::vector<std::string> all;
  for (const NodeHistory& node : history) {
    if (node.regressions.empty()) {
      all.emplace_back();
      continue;
    }
    std::set<std::string> tests;
    for (const Regression& regression : node.regressions) tests.insert(regression.key.test);
    const Regression& worst = node.regressions.front();
    all.push_back(fmt::format(
        "{} slower by {:.0f} % since {}{}", worst.key.name, worst.slower * 100, worst.since,
        tests.size() > 1 ? fmt::format(", and {} more test{}", tests.size() - 1, tests.size() > 2 ? "s" : "") : ""));
  }
  return all;
}

}  // namespace twinlink::validate
