#include "validate/nodes/slower.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

double log_of(double fraction) { return std::log1p(fraction); }

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

/// A figure of every node that has it; those of a test or GPU are means over curves.
struct Figure {
  struct Value {
    std::size_t node = 0;
    double off = 0;
    double newest = 0;    ///< the same of the newest day alone
    double days = 1;      ///< of which it is the mean
    double variance = 0;  ///< by chance, if all its times were by themselves
  };
  Slower::Of of = Slower::Of::curve;
  std::string test{};
  std::string curve{};
  std::vector<std::string> places{};
  Band band = Band::small;
  bool of_days = false;  ///< the means over days of those nodes that have several
  std::vector<Value> values{};
  const Pattern* pattern = nullptr;  ///< of a part
  Spread spread{};
  double expected = 0;  ///< the deviation of the node in the middle by its variance
  std::string kind{};   ///< of the curves
  std::size_t key = 0;  ///< of a single curve
};

/// How likely at least `k` of `n` are, each with a probability of `each`.
double at_least(std::size_t k, std::size_t n, double each) {
  if (k == 0) return 1;
  if (each <= 0) return 0;
  if (k > n) return 0;
  if (each >= 1) return 1;
  // In logarithms: the first terms of many draws are below what a number can be.
  const auto all = static_cast<double>(n);
  double sum = 0;
  for (std::size_t i = k; i <= n; ++i) {
    const auto some = static_cast<double>(i);
    const double term = std::exp(std::lgamma(all + 1) - std::lgamma(some + 1) - std::lgamma(all - some + 1) +
                                 some * std::log(each) + (all - some) * std::log1p(-each));
    sum += term;
    if (some > all * each && term < 1e-12 * sum) break;  // they fall from there on
  }
  return std::min(sum, 1.0);
}

/// Of so many days an odd one can be told.
constexpr std::size_t kTellOneOdd = 5;

/// What of a curve a figure is made of.
const std::vector<std::optional<double>>& offs_of(const HeldCurve& held, bool of_days) {
  return of_days ? held.of_days : held.off;
}

class SlowerFinder {
 public:
  SlowerFinder(Equals& equals, const EqualsPlan& plan) : result_(equals), plan_(plan) {}

  void run() {
    find_odd();
    if (plan_.patterns) {
      std::vector<std::pair<std::size_t, Bytes>> places;
      for (const auto& [place, middle] : result_.middle) places.push_back(place);
      patterns_ = plan_.patterns(result_.keys, places);
    }
    for (const bool of_days : {false, true}) {
      list_figures(of_days);
      list_parts(of_days);
    }
    judge();
  }

 private:
  /// What fewer nodes have is theirs, and not odd.
  [[nodiscard]] static std::size_t nodes_with_odd(std::size_t all) { return std::max<std::size_t>(3, all / 10); }

  /// Times that are far off here and there, on nodes that are well otherwise: whoever has no more of them than others
  /// is not ill. A curve with several of them is slow, and not odd.
  void find_odd() {
    constexpr double kMostOfOne = 0.05;  // beyond, a node is ill and not odd
    std::size_t points = 0;
    std::size_t odd = 0;
    std::size_t nodes = 0;
    std::size_t all = 0;
    for (const HeldNode& node : result_.nodes) {
      std::size_t judged = 0;
      std::size_t far = 0;
      std::vector<double> alone;
      for (const HeldCurve& held : node.curves) {
        const std::size_t before = far;
        double last = 0;
        for (std::size_t i = 0; i < held.off.size(); ++i) {
          if (!held.off[i]) continue;
          const double deviation = result_.deviation.at({held.key, held.curve->points[i].size});
          ++judged;
          if (*held.off[i] <= std::max(log_of(plan_.tolerance), kFarOff * deviation)) continue;
          ++far;
          last = *held.off[i] / deviation;
        }
        if (far == before + 1) alone.push_back(last);
      }
      if (judged == 0) continue;
      ++all;
      if (static_cast<double>(far) > kMostOfOne * static_cast<double>(judged)) continue;
      points += judged;
      odd += alone.size();
      nodes += alone.empty() ? 0 : 1;
      for (const double off : alone) odd_.emplace_back(off, &node - result_.nodes.data());
    }
    if (nodes < nodes_with_odd(all)) return odd_.clear();
    result_.odd = static_cast<double>(odd) / static_cast<double>(points);
  }

  /// The mean of values that are by themselves.
  class Mean {
   public:
    void add(const Figure::Value& value) {
      ++n_;
      sum_.off += value.off;
      sum_.newest += value.newest;
      sum_.days += value.days;
      sum_.variance += value.variance;
    }
    [[nodiscard]] std::size_t count() const { return n_; }
    [[nodiscard]] Figure::Value of(std::size_t node) const {
      const auto n = static_cast<double>(n_);
      return {.node = node,
              .off = sum_.off / n,
              .newest = sum_.newest / n,
              .days = sum_.days / n,
              .variance = sum_.variance / (n * n)};
    }

   private:
    std::size_t n_ = 0;
    Figure::Value sum_{.days = 0};
  };

  [[nodiscard]] Figure::Value value_of(const HeldCurve& held, std::size_t point, bool of_days) const {
    const double scatter = of_days ? scatter_of_mean(held.days_of[point]) : 1;
    return {.off = *offs_of(held, of_days)[point],
            .newest = *held.off[point],
            .days = of_days ? static_cast<double>(held.days_of[point]) : 1,
            .variance = std::pow(deviation_at(held, point), 2) * scatter};
  }

  /// Figures of the newest results, or of the means over days.
  void list_figures(bool of_days) {
    std::map<std::pair<std::size_t, Band>, Figure> curves;
    std::map<std::tuple<std::string, std::string, Band>, Figure> tests;
    std::map<std::tuple<std::string, std::string, std::string, Band>, Figure> gpus;
    for (std::size_t node = 0; node < result_.nodes.size(); ++node) {
      std::map<std::tuple<std::string, std::string, Band>, Mean> of_test;
      std::map<std::tuple<std::string, std::string, std::string, Band>, Mean> of_gpu;
      const auto enter = [&](Figure& figure, const Figure& heading, const Mean& mean) {
        if (figure.values.empty()) figure = heading;
        figure.of_days = of_days;
        figure.values.push_back(mean.of(node));
      };
      for (const HeldCurve& held : result_.nodes[node].curves) {
        const CurveKey& key = result_.keys[held.key];
        std::map<Band, Mean> bands;
        for (std::size_t i = 0; i < held.off.size(); ++i) {
          if (offs_of(held, of_days)[i]) bands[band_of(held.curve->points[i].size)].add(value_of(held, i, of_days));
        }
        for (const auto& [band, mean] : bands) {
          enter(curves[{held.key, band}],
                {.of = Slower::Of::curve,
                 .test = key.test,
                 .curve = key.name,
                 .places = places_of(key),
                 .band = band,
                 .kind = key.kind,
                 .key = held.key},
                mean);
          of_test[{key.kind, key.test, band}].add(mean.of(node));
          for (const std::string& place : places_of(key)) {
            if (place.starts_with(kOwnPlaces)) of_gpu[{key.kind, key.test, place, band}].add(mean.of(node));
          }
        }
      }
      for (const auto& [place, mean] : of_test) {
        const auto& [kind, test, band] = place;
        if (!of_days) note_map(node, test, mean.of(node).off);
        if (mean.count() < 2) continue;
        enter(tests[place], {.of = Slower::Of::test, .test = test, .band = band, .kind = kind}, mean);
      }
      for (const auto& [place, mean] : of_gpu) {
        if (mean.count() < 2) continue;
        const auto& [kind, test, gpu, band] = place;
        enter(gpus[place], {.of = Slower::Of::gpu, .test = test, .places = {gpu}, .band = band, .kind = kind}, mean);
      }
    }
    for (auto& [place, figure] : curves) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : tests) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : gpus) figures_.push_back(std::move(figure));
  }

  /// By how much each part would have to be slower, from all that it slows together: noise adds up to less there than
  /// in one curve.
  void list_parts(bool of_days) {
    constexpr double kEnough = 0.5;  // of a pattern
    for (const Pattern& pattern : patterns_) {
      std::map<std::string, double> whole;  // by kind
      for (const auto& [place, share] : pattern.share) whole[result_.keys[place.first].kind] += share * share;
      Figure figure{.of = Slower::Of::part,
                    .curve = pattern.part,
                    .places = pattern.places,
                    .of_days = of_days,
                    .pattern = &pattern};
      for (std::size_t node = 0; node < result_.nodes.size(); ++node) {
        Figure::Value sum{.node = node, .days = 0};
        double square = 0;
        std::set<std::string> kinds;
        for_points(result_.nodes[node], figure, [&](const HeldCurve& held, std::size_t point, double share) {
          const Figure::Value value = value_of(held, point, of_days);
          square += share * share;
          sum.off += value.off * share;
          sum.newest += value.newest * share;
          sum.days += value.days * share * share;
          sum.variance += value.variance * share * share;
          kinds.insert(held.file->kind());
        });
        double full = 0;
        for (const std::string& kind : kinds) full += whole[kind];
        if (square <= 0 || square < kEnough * full) continue;
        figure.values.push_back({.node = node,
                                 .off = sum.off / square,
                                 .newest = sum.newest / square,
                                 .days = sum.days / square,
                                 .variance = sum.variance / (square * square)});
      }
      figures_.push_back(std::move(figure));
    }
  }

  /// Calls `visit(curve, point, share)` with all of a node's times that a figure is of.
  void for_points(const HeldNode& node, const Figure& figure, const auto& visit) const {
    for (const HeldCurve& held : node.curves) {
      const CurveKey& key = result_.keys[held.key];
      if (figure.of == Slower::Of::curve && held.key != figure.key) continue;
      if (figure.of != Slower::Of::part && (key.kind != figure.kind || key.test != figure.test)) continue;
      if (figure.of == Slower::Of::gpu && key.from != figure.places[0] && key.to != figure.places[0]) continue;
      if (figure.pattern != nullptr) {
        const auto first = figure.pattern->share.lower_bound({held.key, Bytes{}});
        if (first == figure.pattern->share.end() || first->first.first != held.key) continue;
      }
      for (std::size_t i = 0; i < held.off.size(); ++i) {
        const Bytes size = held.curve->points[i].size;
        if (!offs_of(held, figure.of_days)[i]) continue;
        double share = 1;
        if (figure.pattern != nullptr) {
          const auto found = figure.pattern->share.find({held.key, size});
          if (found == figure.pattern->share.end()) continue;
          share = found->second;
        } else if (band_of(size) != figure.band) {
          continue;
        }
        visit(held, i, share);
      }
    }
  }

  [[nodiscard]] double deviation_at(const HeldCurve& held, std::size_t point) const {
    return result_.deviation.at({held.key, held.curve->points[point].size});
  }

  /// Would a few odd times, as all nodes have them, do that to the figure? Of a mean over days each day's count.
  [[nodiscard]] bool is_of_odd_times(const Figure& figure, std::size_t node, double slower) const {
    constexpr double kCounts = 0.3;
    if (result_.odd <= 0) return false;
    std::size_t all = 0;
    std::size_t slow = 0;
    double least = std::numeric_limits<double>::infinity();  // of what each would have to be off, in deviations
    for_points(result_.nodes[node], figure, [&](const HeldCurve& held, std::size_t point, double share) {
      if (share < kCounts) return;
      const std::vector<double> days =
          figure.of_days ? offs_of_days(result_, held, point) : std::vector{*held.off[point]};
      all += days.size();
      slow +=
          static_cast<std::size_t>(std::ranges::count_if(days, [&](double off) { return off > slower * share / 2; }));
      least = std::min(least, slower * share / 2 / deviation_at(held, point));
    });
    // Only others' that are as far off, and there as many nodes must have any, too: noise alone has some that are a
    // little too far.
    std::set<std::ptrdiff_t> nodes;
    double as_far = 0;
    for (const auto& [far, of] : odd_) {
      if (far < least || of == static_cast<std::ptrdiff_t>(node)) continue;
      ++as_far;
      nodes.insert(of);
    }
    if (nodes.size() < nodes_with_odd(result_.nodes.size())) return false;
    const double rate = result_.odd * as_far / static_cast<double>(odd_.size());
    constexpr double kChance = 0.01;
    return rate > 0 && at_least(slow, all, rate) * static_cast<double>(result_.trials) > kChance;
  }

  static std::vector<std::string> places_of(const CurveKey& key) {
    std::vector<std::string> places;
    if (!key.from.empty()) places.push_back(key.from);
    if (!key.to.empty() && key.to != key.from) places.push_back(key.to);
    return places;
  }

  void note_map(std::size_t node, const std::string& test, double off) {
    const double slower = std::expm1(off);
    const auto [place, is_new] = result_.nodes[node].map.try_emplace(test, slower);
    if (!is_new) place->second = std::max(place->second, slower);
  }

  /// Figures that tell the spread of each other: those alike of a band, of all bands, and all.
  using Family = std::tuple<std::optional<Slower::Of>, std::optional<Band>, bool>;
  static std::array<Family, 3> families_of(const Figure& figure) {
    return {Family{figure.of, figure.band, figure.of_days}, Family{figure.of, std::nullopt, figure.of_days},
            Family{std::nullopt, std::nullopt, figure.of_days}};
  }

  /// A few nodes tell the spread of one figure badly, and that of many alike well: how much more it is than expected,
  /// since times of a node go together, or less, of a mean over days. Families of a few figures tell nothing.
  [[nodiscard]] std::map<Family, double> ratios_of_families() const {
    std::map<Family, std::vector<double>> all;
    for (const Figure& figure : figures_) {
      if (figure.expected <= 0) continue;
      const double ratio = figure.spread.deviation * correction_of(figure.spread.n) / figure.expected;
      for (const Family& family : families_of(figure)) all[family].push_back(ratio);
    }
    std::map<Family, double> ratios;
    for (auto& [family, each] : all) {
      if (each.size() >= kLeastAlike) ratios[family] = spread_of(std::move(each)).middle;
    }
    return ratios;
  }

  /// What a figure's deviation is by the smallest family that tells it; 0: none does.
  static double pooled_of(const Figure& figure, const std::map<Family, double>& ratios) {
    for (const Family& family : families_of(figure)) {
      if (const auto found = ratios.find(family); found != ratios.end()) return found->second * figure.expected;
    }
    return 0;
  }

  /// How far off one of all figures is by chance, whose nodes have this spread, and `pooled` by what its family tells;
  /// 0: that tells nothing. Where its own is more by more than its own error, its own counts.
  [[nodiscard]] double chance_of(const Spread& spread, double pooled) const {
    constexpr std::size_t kDays = 100;  // one of the figures of so many days is off with a probability of 1 %
    const double own = farthest_of(kDays * result_.trials, spread.n);
    const double alone = farthest_of(kDays * result_.trials);
    if (pooled <= 0 || spread.deviation * alone > pooled * own) return own * spread.deviation;
    return alone * pooled;
  }

  void judge() {
    std::size_t odd = 0;
    std::erase_if(figures_, [](const Figure& figure) { return figure.values.size() < kLeastEquals; });
    for (Figure& figure : figures_) {
      result_.trials += figure.values.size();
      std::vector<double> values;
      std::vector<double> expected;
      for (const Figure::Value& value : figure.values) {
        values.push_back(value.off);
        expected.push_back(std::sqrt(value.variance));
      }
      figure.spread = spread_of(std::move(values));
      figure.expected = spread_of(std::move(expected)).middle;
    }
    const auto ratios = ratios_of_families();
    for (const Figure& figure : figures_) {
      const Spread& spread = figure.spread;
      const double tolerance = figure.of == Slower::Of::curve ? plan_.tolerance : plan_.of_many_curves;
      const double chance = chance_of(spread, pooled_of(figure, ratios));
      for (const auto& [node, off, newest, days, variance] : figure.values) {
        const double slower = off - spread.middle;
        // A mean over fewer days or sizes than the others' scatters more.
        const double own = chance * (figure.expected > 0 ? std::max(1.0, std::sqrt(variance) / figure.expected) : 1);
        const double allowed = std::max(log_of(tolerance), own);
        if (slower <= allowed) continue;
        // What has been mended is slow no more.
        if (newest - spread.middle < slower / 2) continue;
        if (is_of_odd_times(figure, node, slower)) {
          ++odd;
          continue;
        }
        result_.nodes[node].slower.push_back({.of = figure.of,
                                              .test = figure.test,
                                              .curve = figure.curve,
                                              .places = figure.places,
                                              .band = figure.band,
                                              .slower = std::expm1(slower),
                                              .allowed = std::expm1(allowed),
                                              .days = static_cast<std::size_t>(std::lround(days)),
                                              .sure = slower / std::max(own, 1e-6)});
      }
    }
    for (HeldNode& node : result_.nodes) std::ranges::stable_sort(node.slower, std::ranges::greater{}, &Slower::slower);
    if (odd > 0) {
      result_.remarks.push_back(fmt::format(
          "{:.1f} % of all times are far off on nodes that are well otherwise: {} figures are off by no more "
          "than such times make them, and accuse nobody",
          result_.odd * 100, odd));
    }
  }

  static constexpr double kFarOff = 4;  // deviations

  Equals& result_;
  const EqualsPlan& plan_;
  std::vector<Figure> figures_;
  std::vector<std::pair<double, std::ptrdiff_t>> odd_;  ///< how far off each odd time is, in deviations, and its node
  std::vector<Pattern> patterns_;
};

}  // namespace

std::vector<double> offs_of_days(const Equals& equals, const HeldCurve& held, std::size_t point) {
  std::vector<double> offs{*held.off[point]};
  const Bytes size = held.curve->points[point].size;
  const double middle = equals.middle.at({held.key, size});
  for (const NodeCurve* curve : held.days) {
    const auto found = std::ranges::lower_bound(curve->points, size, {}, &NodePoint::size);
    if (found == curve->points.end() || found->size != size || found->unstable) continue;
    offs.push_back(found->log_us - middle);
  }
  return offs;
}

double robust_mean(std::vector<double> values) {
  if (values.size() >= kTellOneOdd) {
    std::ranges::sort(values);
    values.erase(values.begin());
    values.pop_back();
  }
  return mean_of(values);
}

double scatter_of_mean(std::size_t days) {
  constexpr double kCost = 0.6;  // days, of leaving out the least and the most: of five 0.595, of many 0.5
  return 1 / (static_cast<double>(days) - (days >= kTellOneOdd ? kCost : 0));
}

std::map<Band, double> means_of_bands(const HeldCurve& held, const std::vector<std::optional<double>>& offs) {
  std::map<Band, std::vector<double>> bands;
  for (std::size_t i = 0; i < offs.size(); ++i) {
    if (offs[i]) bands[band_of(held.curve->points[i].size)].push_back(*offs[i]);
  }
  std::map<Band, double> means;
  for (const auto& [band, all] : bands) means[band] = mean_of(all);
  return means;
}

void find_slower(Equals& equals, const EqualsPlan& plan) { SlowerFinder(equals, plan).run(); }

}  // namespace twinlink::validate
