#include "validate/history/regressions.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "validate/compare/spread.hpp"
#include "validate/nodes/dates.hpp"

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

/// A line through dated values: by the median of all slopes between two of them.
struct Drift {
  double change = 0;  ///< from the first date to the last
  double sure = 0;    ///< Kendall's statistic in standard deviations: how much more pairs rise than fall
  double rest = 0;    ///< as Split::rest
};

std::vector<double> days_of(const std::vector<DatedFigure>& dated) {
  std::vector<double> days;
  for (const DatedFigure& each : dated) {
    const auto day = day_of(each.date);
    days.push_back(day ? static_cast<double>(day->time_since_epoch().count()) : static_cast<double>(days.size()));
  }
  return days;
}

/// Of many dates the medians of neighbours, so that there are few pairs.
std::vector<DatedFigure> thinned(const std::vector<DatedFigure>& dated) {
  constexpr std::size_t kMost = 60;
  const std::size_t each = (dated.size() + kMost - 1) / kMost;
  if (each < 2) return dated;
  std::vector<DatedFigure> few;
  for (std::size_t at = 0; at < dated.size(); at += each) {
    const std::size_t end = std::min(at + each, dated.size());
    std::vector<double> values;
    for (std::size_t i = at; i < end; ++i) values.push_back(dated[i].log_us);
    few.push_back(dated[(at + end - 1) / 2]);
    few.back().log_us = spread_of(std::move(values)).middle;
  }
  return few;
}

Drift drift_of(const std::vector<DatedFigure>& all) {
  const std::vector<DatedFigure> dated = thinned(all);
  const std::vector<double> days = days_of(dated);
  std::vector<double> slopes;
  double rising = 0;
  for (std::size_t i = 0; i < dated.size(); ++i) {
    for (std::size_t j = i + 1; j < dated.size(); ++j) {
      const double more = dated[j].log_us - dated[i].log_us;
      rising += more > 0 ? 1 : more < 0 ? -1 : 0;
      if (days[j] > days[i]) slopes.push_back(more / (days[j] - days[i]));
    }
  }
  if (slopes.empty()) return {};
  const double slope = spread_of(std::move(slopes)).middle;
  std::vector<double> off;
  for (std::size_t i = 0; i < dated.size(); ++i) off.push_back(dated[i].log_us - slope * days[i]);
  const double middle = spread_of(off).middle;
  const auto n = static_cast<double>(dated.size());
  Drift drift{.change = slope * (days.back() - days.front()),
              .sure = (rising - 1) / std::sqrt(n * (n - 1) * (2 * n + 5) / 18)};
  const std::vector<double> all_days = days_of(all);
  for (std::size_t i = 0; i < all.size(); ++i) drift.rest += std::abs(all[i].log_us - slope * all_days[i] - middle);
  return drift;
}

/// The mean of all curves of a test on the dates that all of them have, each less its own middle.
std::vector<FigureHistory> means_of(const std::vector<FigureHistory>& figures) {
  std::map<std::tuple<std::string, std::string, Band>, std::vector<const FigureHistory*>> tests;
  for (const FigureHistory& figure : figures) tests[{figure.key.kind, figure.key.test, figure.band}].push_back(&figure);
  std::vector<FigureHistory> means;
  for (const auto& [place, curves] : tests) {
    if (curves.size() < 2) continue;
    const auto& [kind, test, band] = place;
    const auto count = static_cast<double>(curves.size());
    std::map<std::string, std::pair<std::size_t, DatedFigure>> dates;
    double middle = 0;
    for (const FigureHistory* curve : curves) {
      std::vector<double> values;
      for (const DatedFigure& dated : curve->dated) values.push_back(dated.log_us);
      const double own = spread_of(values).middle;
      middle += own / count;
      for (const DatedFigure& dated : curve->dated) {
        auto& [have, sum] = dates[dated.date];
        if (dated.unstable) continue;
        ++have;
        sum.log_us += (dated.log_us - own) / count;
        sum.deviation = std::hypot(sum.deviation, dated.deviation / count);
      }
    }
    FigureHistory mean{.key = {.kind = kind, .test = test, .name = test + ", all"}, .band = band};
    for (auto& [date, entry] : dates) {
      auto& [have, sum] = entry;
      if (have < curves.size()) continue;
      mean.dated.push_back({.date = date, .log_us = middle + sum.log_us, .deviation = sum.deviation});
    }
    // Of a day that not all curves have nothing is said, and least of the newest.
    if (!mean.dated.empty() && mean.dated.back().date == dates.rbegin()->first) means.push_back(std::move(mean));
  }
  return means;
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
  const double tolerated = std::log1p(tolerance);
  const Drift drift = drift_of(stable);
  if (drift.rest < best.rest && drift.change > tolerated && drift.sure > farthest_of(trials) &&
      stable.back().log_us > stable.front().log_us + drift.change / 2) {
    return {{.key = figure.key,
             .band = figure.band,
             .slower = std::expm1(drift.change),
             .allowed = std::expm1(std::max(tolerated, drift.change * farthest_of(trials) / drift.sure)),
             .since = stable.front().date,
             .drift = true,
             .dated = figure.dated}};
  }
  // Where nothing tells a point's own spread, that of so few is uncertain itself.
  const bool told = std::ranges::any_of(stable, [](const DatedFigure& dated) { return dated.deviation > 0; });
  const bool from_scatter = !told && stable.size() >= kLeastEquals;
  const double farthest = from_scatter ? farthest_of(trials, stable.size()) : farthest_of(trials);
  const double chance = best.step / std::max(best.sure, 1e-9) * farthest;
  const double allowed = std::max(tolerated, chance);
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
  std::vector<std::vector<FigureHistory>> means;
  for (const NodeResultsOverTime& node : nodes) {
    means.push_back(means_of(node.figures));
    for (const FigureHistory& figure : node.figures) trials += figure.dated.size() > 1 ? 1 : 0;
    trials += means.back().size();
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
    for (const FigureHistory& mean : means[all.size()]) {
      for (Regression& step : steps_of(mean, tolerance, trials)) history.regressions.push_back(std::move(step));
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
        "{} slower by {:.0f} % {}since {}{}", worst.key.name, worst.slower * 100,
        worst.drift ? "little by little " : "", worst.since,
        tests.size() > 1 ? fmt::format(", and {} more test{}", tests.size() - 1, tests.size() > 2 ? "s" : "") : ""));
  }
  return all;
}

}  // namespace twinlink::validate
