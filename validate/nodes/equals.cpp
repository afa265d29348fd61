#include "validate/nodes/equals.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <fmt/format.h>

#include "validate/compare/spread.hpp"

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
};

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
    list_figures();
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
    std::set<std::pair<const NodeFile*, const NodeFile*>> alike;
    for (const NodeFile& file : files_.nodes[node].files) {
      for (const NodeCurve& curve : file.curves) {
        const std::size_t key = key_of(file, curve);
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
    for (auto& [key, held] : newest) result_.nodes[node].curves.push_back(std::move(held));
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

  void list_figures() {
    std::map<std::pair<std::size_t, Band>, Figure> curves;
    std::map<std::tuple<std::string, std::string, Band>, Figure> tests;
    std::map<std::tuple<std::string, std::string, std::string, Band>, Figure> gpus;
    for (std::size_t node = 0; node < result_.nodes.size(); ++node) {
      std::map<std::tuple<std::string, std::string, Band>, std::vector<double>> of_test;
      std::map<std::tuple<std::string, std::string, std::string, Band>, std::vector<double>> of_gpu;
      for (const HeldCurve& held : result_.nodes[node].curves) {
        const CurveKey& key = result_.keys[held.key];
        for (const auto& [band, off] : held.band_off) {
          Figure& figure = curves[{held.key, band}];
          if (figure.values.empty()) {
            figure = {
                .of = Slower::Of::curve, .test = key.test, .curve = key.name, .places = places_of(key), .band = band};
          }
          figure.values.emplace_back(node, off);
          of_test[{key.kind, key.test, band}].push_back(off);
          for (const std::string& place : places_of(key)) {
            if (place.starts_with(kOwnPlaces)) of_gpu[{key.kind, key.test, place, band}].push_back(off);
          }
        }
      }
      for (const auto& [place, offs] : of_test) {
        const double mean = mean_of(offs);
        note_map(node, std::get<1>(place), mean);
        if (offs.size() < 2) continue;
        Figure& figure = tests[place];
        if (figure.values.empty()) {
          figure = {.of = Slower::Of::test, .test = std::get<1>(place), .band = std::get<2>(place)};
        }
        figure.values.emplace_back(node, mean);
      }
      for (const auto& [place, offs] : of_gpu) {
        if (offs.size() < 2) continue;
        Figure& figure = gpus[place];
        if (figure.values.empty()) {
          figure = {.of = Slower::Of::gpu,
                    .test = std::get<1>(place),
                    .places = {std::get<2>(place)},
                    .band = std::get<3>(place)};
        }
        figure.values.emplace_back(node, mean_of(offs));
      }
    }
    for (auto& [place, figure] : curves) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : tests) figures_.push_back(std::move(figure));
    for (auto& [place, figure] : gpus) figures_.push_back(std::move(figure));
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

  void judge() {
    for (const Figure& figure : figures_) {
      if (figure.values.size() >= kLeastEquals) result_.trials += figure.values.size();
    }
    for (const Figure& figure : figures_) {
      if (figure.values.size() < kLeastEquals) continue;
      std::vector<double> values;
      for (const auto& [node, value] : figure.values) values.push_back(value);
      const Spread spread = spread_of(std::move(values));
      const double tolerance = figure.of == Slower::Of::curve ? plan_.tolerance : plan_.of_many_curves;
      const double chance = farthest_of(result_.trials, spread.n) * spread.deviation;
      const double allowed = std::max(log_of(tolerance), chance);
      for (const auto& [node, value] : figure.values) {
        if (value - spread.middle <= allowed) continue;
        result_.nodes[node].slower.push_back({.of = figure.of,
                                              .test = figure.test,
                                              .curve = figure.curve,
                                              .places = figure.places,
                                              .band = figure.band,
                                              .slower = std::expm1(value - spread.middle),
                                              .allowed = std::expm1(allowed)});
      }
    }
    for (HeldNode& node : result_.nodes) std::ranges::stable_sort(node.slower, std::ranges::greater{}, &Slower::slower);
  }

  FleetFiles& files_;
  const EqualsPlan& plan_;
  std::map<CurveKey, std::size_t> places_;
  std::vector<Figure> figures_;
  Equals result_{};
};

}  // namespace

Band band_of(Bytes size) {
  if (size < 32_KiB) return Band::small;
  return size < 1_MiB ? Band::middle : Band::large;
}

std::string_view to_string(Band band) {
  return band == Band::small ? "small sizes" : band == Band::middle ? "middle sizes" : "large sizes";
}

Equals hold_among_equals(FleetFiles& files, const EqualsPlan& plan) { return Holder(files, plan).hold(); }

}  // namespace twinlink::validate
