#include "validate/nodes/equals.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <ranges>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

double log_of(double fraction) { return std::log1p(fraction); }

/// A figure of every node that has it; those of a test or GPU are means over curves.
struct Figure {
  Slower::Of of = Slower::Of::curve;
  std::string test{};
  std::string curve{};
  std::vector<std::string> places{};
  Band band = Band::small;
  std::vector<std::pair<std::size_t, double>> values{};  ///< by node
  std::map<std::size_t, double> newest{};                ///< by node, of a mean over days
  const Pattern* pattern = nullptr;                      ///< of a part
  Spread spread{};
  double expected = 0;  ///< deviation, if all its times were by themselves
  std::string kind{};   ///< of the curves
  std::size_t key = 0;  ///< of a single curve
};

/// How likely at least `k` of `n` are, each with a probability of `each`.
double at_least(std::size_t k, std::size_t n, double each) {
  if (k == 0) return 1;
  if (each <= 0) return 0;
  double term = std::pow(1 - each, static_cast<double>(n));
  double below = 0;
  for (std::size_t i = 0; i < k; ++i) {
    below += term;
    term *= static_cast<double>(n - i) / static_cast<double>(i + 1) * each / (1 - each);
  }
  return std::max(0.0, 1 - below);
}

class Holder {
 public:
  Holder(FleetFiles& files, const EqualsPlan& plan) : files_(files), plan_(plan) {}

  Equals hold() {
    result_.nodes.resize(files_.nodes.size());
    for (std::size_t node = 0; node < files_.nodes.size(); ++node) take_newest(node);
    list_kinds();
    find_middles();
    find_offs();
    find_missing();
    find_odd();
    list_figures();
    list_parts();
    judge();
    return std::move(result_);
  }

 private:
  // --- What counts -------------------------------------------------------------------------------------------------

  std::size_t key_of(const NodeFile& file, const NodeCurve& curve) {
    const auto [place, is_new] =
        places_.try_emplace(CurveKey{file.kind(), curve.test, curve.name, curve.from, curve.to}, result_.keys.size());
    if (is_new) result_.keys.push_back(place->first);
    return place->second;
  }

  void take_newest(std::size_t node) {
    std::map<std::size_t, HeldCurve> newest;
    std::map<std::size_t, std::map<std::string, const NodeCurve*>> days;
    std::set<std::pair<const NodeFile*, const NodeFile*>> alike;
    for (const NodeFile& file : files_.nodes[node].files) {
      for (const NodeCurve& curve : file.curves) {
        const std::size_t key = key_of(file, curve);
        if (!file.to_come && !file.date.empty()) days[key][file.date] = &curve;
        const auto [place, is_new] = newest.try_emplace(key, HeldCurve{.key = key, .file = &file, .curve = &curve});
        if (is_new) continue;
        const NodeFile& other = *place->second.file;
        if (other.date == file.date && &other != &file) alike.insert({&other, &file});
        const auto age = [](const NodeFile& of) { return std::pair(!of.to_come, of.date); };
        if (age(other) < age(file)) place->second = {.key = key, .file = &file, .curve = &curve};
      }
    }
    for (const auto& [one, other] : alike) {
      files_.nodes[node].remarks.push_back(
          fmt::format("{} and {} hold the same measurements, and {}: neither counts in them", one->file, other->file,
                      one->date.empty() ? "no date" : "the same date"));
      std::erase_if(newest, [&, one = one, other = other](const auto& held) {
        return (held.second.file == one || held.second.file == other) && in_both(held.first, *one, *other);
      });
    }
    for (auto& [key, held] : newest) {
      for (const auto& [date, curve] : std::views::reverse(days[key])) {
        if (curve != held.curve && held.days.size() + 1 < plan_.days) held.days.push_back(curve);
      }
      result_.nodes[node].curves.push_back(std::move(held));
    }
  }

  [[nodiscard]] bool in_both(std::size_t key, const NodeFile& one, const NodeFile& other) const {
    const CurveKey& wanted = result_.keys[key];
    const auto has = [&](const NodeFile& file) {
      return std::ranges::any_of(file.curves, [&](const NodeCurve& curve) {
        return std::tie(curve.name, curve.from, curve.to) == std::tie(wanted.name, wanted.from, wanted.to);
      });
    };
    return has(one) && has(other);
  }

  void list_kinds() {
    std::map<std::string, Kind> kinds;
    std::map<std::string, std::set<std::string>> versions;
    for (const HeldNode& node : result_.nodes) {
      std::set<const NodeFile*> files;
      std::set<std::string> own;
      for (const HeldCurve& held : node.curves) files.insert(held.file);
      for (const NodeFile* file : files) {
        Kind& kind = kinds[file->kind()];
        kind.name = file->kind();
        if (!file->software.empty()) kind.software.insert(file->software);
        own.insert(file->kind());
        versions[file->program.substr(0, file->program.find(' '))].insert(file->program);
      }
      for (const std::string& kind : own) ++kinds[kind].nodes;
    }
    for (auto& [name, kind] : kinds) result_.kinds.push_back(std::move(kind));
    for (const auto& [program, all] : versions) {
      if (all.size() < 2) continue;
      result_.remarks.push_back(
          fmt::format("two versions: {}; each is held against its own only", fmt::join(all, ", ")));
    }
    for (const Kind& kind : result_.kinds) {
      if (kind.nodes < kLeastEquals) {
        result_.remarks.push_back(fmt::format("{}: {} {}, and fewer than {} say nothing of each other", kind.name,
                                              kind.nodes, kind.nodes == 1 ? "node" : "nodes", kLeastEquals));
      }
      if (kind.software.size() > 1) {
        result_.remarks.push_back(
            fmt::format("{}: not all nodes have the same software: {}", kind.name, fmt::join(kind.software, "; ")));
      }
    }
  }

  // --- How far off each is ---------------------------------------------------------------------------------------

  void find_middles() {
    std::map<std::pair<std::size_t, Bytes>, std::vector<double>> times;
    for (HeldNode& node : result_.nodes) {
      for (const HeldCurve& held : node.curves) {
        for (const NodePoint& point : held.curve->points) {
          if (point.unstable) {
            ++node.unstable;
          } else {
            times[{held.key, point.size}].push_back(point.log_us);
          }
        }
      }
    }
    for (auto& [place, values] : times) {
      if (values.size() < kLeastEquals) continue;
      const Spread spread = spread_of(std::move(values));
      result_.middle[place] = spread.middle;
      result_.deviation[place] = spread.deviation;
    }
  }

  void find_offs() {
    for (HeldNode& node : result_.nodes) {
      for (HeldCurve& held : node.curves) {
        std::map<Band, std::pair<double, std::size_t>> sums;
        for (const NodePoint& point : held.curve->points) {
          const auto middle = result_.middle.find({held.key, point.size});
          const bool judged = middle != result_.middle.end() && !point.unstable;
          held.off.push_back(judged ? std::optional(point.log_us - middle->second) : std::nullopt);
          if (!judged) continue;
          auto& [sum, count] = sums[band_of(point.size)];
          sum += *held.off.back();
          ++count;
        }
        for (const auto& [band, sum] : sums) held.band_off[band] = sum.first / static_cast<double>(sum.second);
        if (sums.empty()) ++node.unjudged;
      }
    }
  }

  /// What nine of ten others of a kind have, and what one of ten others has.
  void find_missing() {
    std::vector<std::size_t> have(result_.keys.size());
    std::map<std::string, std::size_t> nodes;
    for (const HeldNode& node : result_.nodes) {
      for (const HeldCurve& held : node.curves) ++have[held.key];
    }
    for (const Kind& kind : result_.kinds) nodes[kind.name] = kind.nodes;
    for (HeldNode& node : result_.nodes) {
      std::set<std::string> kinds;
      std::set<std::size_t> own;
      for (const HeldCurve& held : node.curves) {
        own.insert(held.key);
        kinds.insert(result_.keys[held.key].kind);
      }
      for (std::size_t key = 0; key < have.size(); ++key) {
        const std::string& kind = result_.keys[key].kind;
        if (!kinds.contains(kind) || nodes[kind] < kLeastEquals) continue;
        const std::size_t others = nodes[kind] - 1;
        if (!own.contains(key) && 10 * have[key] >= 9 * others) node.missing.push_back(key);
        if (own.contains(key) && 10 * (have[key] - 1) <= others) node.extra.push_back(key);
      }
    }
  }

  // --- What is too far off ----------------------------------------------------------------------------------------

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

  /// The mean of a curve over the sizes of a band, on its days; nothing where it has only one.
  [[nodiscard]] std::optional<double> off_of_days(const HeldCurve& held, Band band) const {
    if (held.days.empty()) return std::nullopt;
    std::vector<double> days{held.band_off.at(band)};
    for (const NodeCurve* curve : held.days) {
      std::vector<double> offs;
      for (const NodePoint& point : curve->points) {
        const auto middle = result_.middle.find({held.key, point.size});
        if (band_of(point.size) != band || point.unstable || middle == result_.middle.end()) continue;
        offs.push_back(point.log_us - middle->second);
      }
      if (!offs.empty()) days.push_back(mean_of(offs));
    }
    return days.size() > 1 ? std::optional(mean_of(days)) : std::nullopt;
  }

  /// Figures of the newest results, and of the means over days.
  void list_figures() {
    list_figures([](const HeldCurve&, Band, double off) { return std::optional(off); }, false);
    list_figures([this](const HeldCurve& held, Band band, double) { return off_of_days(held, band); }, true);
  }

  void list_figures(const auto& off_of, bool of_days) {
    std::map<std::pair<std::size_t, Band>, Figure> curves;
    std::map<std::tuple<std::string, std::string, Band>, Figure> tests;
    std::map<std::tuple<std::string, std::string, std::string, Band>, Figure> gpus;
    struct Offs {
      std::vector<double> judged{};
      std::vector<double> newest{};
    };
    for (std::size_t node = 0; node < result_.nodes.size(); ++node) {
      std::map<std::tuple<std::string, std::string, Band>, Offs> of_test;
      std::map<std::tuple<std::string, std::string, std::string, Band>, Offs> of_gpu;
      const auto enter = [&](Figure& figure, const Figure& heading, const Offs& offs) {
        if (figure.values.empty()) figure = heading;
        figure.values.emplace_back(node, mean_of(offs.judged));
        if (of_days) figure.newest[node] = mean_of(offs.newest);
      };
      for (const HeldCurve& held : result_.nodes[node].curves) {
        const CurveKey& key = result_.keys[held.key];
        for (const auto& [band, newest] : held.band_off) {
          const std::optional<double> off = off_of(held, band, newest);
          if (!off) continue;
          enter(curves[{held.key, band}],
                {.of = Slower::Of::curve,
                 .test = key.test,
                 .curve = key.name,
                 .places = places_of(key),
                 .band = band,
                 .kind = key.kind,
                 .key = held.key},
                {{*off}, {newest}});
          const auto add = [&, band = band, newest = newest](Offs& offs) {
            offs.judged.push_back(*off);
            offs.newest.push_back(newest);
          };
          add(of_test[{key.kind, key.test, band}]);
          for (const std::string& place : places_of(key)) {
            if (place.starts_with(kOwnPlaces)) add(of_gpu[{key.kind, key.test, place, band}]);
          }
        }
      }
      for (const auto& [place, offs] : of_test) {
        const auto& [kind, test, band] = place;
        if (!of_days) note_map(node, test, mean_of(offs.judged));
        if (offs.judged.size() < 2) continue;
        enter(tests[place], {.of = Slower::Of::test, .test = test, .band = band, .kind = kind}, offs);
      }
      for (const auto& [place, offs] : of_gpu) {
        if (offs.judged.size() < 2) continue;
        const auto& [kind, test, gpu, band] = place;
        enter(gpus[place], {.of = Slower::Of::gpu, .test = test, .places = {gpu}, .band = band, .kind = kind}, offs);
      }
    }
    for (auto& [place, figure] : curves) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : tests) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : gpus) figures_.push_back(std::move(figure));
  }

  /// By how much each part would have to be slower, from all that it slows together: noise adds up to less there than
  /// in one curve.
  void list_parts() {
    if (!plan_.patterns) return;
    constexpr double kEnough = 0.5;  // of a pattern
    std::vector<std::pair<std::size_t, Bytes>> places;
    for (const auto& [place, middle] : result_.middle) places.push_back(place);
    patterns_ = plan_.patterns(result_.keys, places);
    for (const Pattern& pattern : patterns_) {
      std::map<std::string, double> whole;  // by kind
      for (const auto& [place, share] : pattern.share) whole[result_.keys[place.first].kind] += share * share;
      Figure figure{.of = Slower::Of::part, .curve = pattern.part, .places = pattern.places, .pattern = &pattern};
      for (std::size_t node = 0; node < result_.nodes.size(); ++node) {
        double product = 0;
        double square = 0;
        double full = 0;
        std::set<std::string> kinds;
        for_points(
            result_.nodes[node], figure,
            [&](double off, double share, double) {
              product += off * share;
              square += share * share;
            },
            &kinds);
        for (const std::string& kind : kinds) full += whole[kind];
        if (square > 0 && square >= kEnough * full) figure.values.emplace_back(node, product / square);
      }
      figures_.push_back(std::move(figure));
    }
  }

  /// Calls `visit(off, share, deviation)` with all of a node's times that a figure is of.
  void for_points(const HeldNode& node, const Figure& figure, const auto& visit,
                  std::set<std::string>* kinds = nullptr) const {
    for (const HeldCurve& held : node.curves) {
      const CurveKey& key = result_.keys[held.key];
      if (figure.of == Slower::Of::curve && held.key != figure.key) continue;
      if (figure.of != Slower::Of::part && (key.kind != figure.kind || key.test != figure.test)) continue;
      if (figure.of == Slower::Of::gpu && key.from != figure.places[0] && key.to != figure.places[0]) continue;
      if (figure.pattern != nullptr) {
        const auto first = figure.pattern->share.lower_bound({held.key, Bytes{}});
        if (first == figure.pattern->share.end() || first->first.first != held.key) continue;
      }
      if (kinds != nullptr) kinds->insert(key.kind);
      for (std::size_t i = 0; i < held.off.size(); ++i) {
        const Bytes size = held.curve->points[i].size;
        if (!held.off[i]) continue;
        double share = 1;
        if (figure.pattern != nullptr) {
          const auto found = figure.pattern->share.find({held.key, size});
          if (found == figure.pattern->share.end()) continue;
          share = found->second;
        } else if (band_of(size) != figure.band) {
          continue;
        }
        visit(*held.off[i], share, result_.deviation.at({held.key, size}));
      }
    }
  }

  /// Would a few odd times, as all nodes have them, do that to the figure?
  [[nodiscard]] bool is_of_odd_times(const Figure& figure, std::size_t node, double slower) const {
    constexpr double kCounts = 0.3;
    if (result_.odd <= 0) return false;
    std::size_t all = 0;
    std::size_t slow = 0;
    double least = std::numeric_limits<double>::infinity();  // of what each would have to be off, in deviations
    for_points(result_.nodes[node], figure, [&](double off, double share, double deviation) {
      if (share < kCounts) return;
      ++all;
      slow += off > slower * share / 2 ? 1 : 0;
      least = std::min(least, slower * share / 2 / deviation);
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

  static double mean_of(const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value;
    return sum / static_cast<double>(values.size());
  }

  void note_map(std::size_t node, const std::string& test, double off) {
    const double slower = std::expm1(off);
    const auto [place, is_new] = result_.nodes[node].map.try_emplace(test, slower);
    if (!is_new) place->second = std::max(place->second, slower);
  }

  /// What a figure is off by chance if its times are so by themselves, each as much as on all nodes.
  [[nodiscard]] double expected_deviation(const Figure& figure) const {
    double squares = 0;
    double whole = 0;
    for_points(result_.nodes[figure.values.front().first], figure, [&](double, double share, double deviation) {
      squares += share * share * deviation * deviation;
      whole += share * share;
    });
    return whole > 0 ? std::sqrt(squares) / whole : 0;
  }

  using Family = std::tuple<Slower::Of, Band, bool>;
  static Family family_of(const Figure& figure) { return {figure.of, figure.band, !figure.newest.empty()}; }

  /// A few nodes tell the spread of one figure badly, and that of many alike well: how much more it is than expected,
  /// since times of a node go together, or less, of a mean over days.
  [[nodiscard]] std::map<Family, double> ratios_of_families() const {
    constexpr std::size_t kLeastFigures = 20;
    std::map<Family, std::vector<double>> all;
    for (const Figure& figure : figures_) {
      if (figure.expected > 0) all[family_of(figure)].push_back(figure.spread.deviation / figure.expected);
    }
    std::map<Family, double> ratios;
    for (auto& [family, each] : all) {
      if (each.size() >= kLeastFigures) ratios[family] = spread_of(std::move(each)).middle;
    }
    return ratios;
  }

  /// How far off one of all figures is by chance, whose nodes have this spread, and `pooled` by what its family tells;
  /// 0: that tells nothing. Where its own is more by more than its own error, its own counts.
  [[nodiscard]] double chance_of(const Spread& spread, double pooled) const {
    const double own = farthest_of(result_.trials, spread.n);
    const double alone = farthest_of(result_.trials);
    if (pooled <= 0 || spread.deviation * alone > pooled * own) return own * spread.deviation;
    return alone * pooled;
  }

  void judge() {
    std::size_t odd = 0;
    std::erase_if(figures_, [](const Figure& figure) { return figure.values.size() < kLeastEquals; });
    for (Figure& figure : figures_) {
      result_.trials += figure.values.size();
      std::vector<double> values;
      for (const auto& [node, value] : figure.values) values.push_back(value);
      figure.spread = spread_of(std::move(values));
      figure.expected = expected_deviation(figure);
    }
    const auto ratios = ratios_of_families();
    for (const Figure& figure : figures_) {
      const Spread& spread = figure.spread;
      const double tolerance = figure.of == Slower::Of::curve ? plan_.tolerance : plan_.of_many_curves;
      const auto ratio = ratios.find(family_of(figure));
      const double pooled = ratio == ratios.end() ? 0 : ratio->second * figure.expected;
      const double chance = chance_of(spread, pooled);
      const double allowed = std::max(log_of(tolerance), chance);
      for (const auto& [node, value] : figure.values) {
        const double slower = value - spread.middle;
        if (slower <= allowed) continue;
        // What has been mended is slow no more.
        if (!figure.newest.empty() && figure.newest.at(node) - spread.middle < slower / 2) continue;
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
                                              .days = figure.newest.empty() ? 1 : plan_.days,
                                              .sure = slower / std::max(chance, 1e-6)});
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

  FleetFiles& files_;
  const EqualsPlan& plan_;
  std::map<CurveKey, std::size_t> places_;
  std::vector<Figure> figures_;
  std::vector<std::pair<double, std::ptrdiff_t>> odd_;  ///< how far off each odd time is, in deviations, and its node
  std::vector<Pattern> patterns_;
  Equals result_{};
};

}  // namespace

Equals hold_among_equals(FleetFiles& files, const EqualsPlan& plan) { return Holder(files, plan).hold(); }

}  // namespace twinlink::validate
