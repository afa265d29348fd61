#include "validate/suspect/suspects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using model::Platform;
using model::Topology;

/// A copy at one size.
struct Point {
  const bench::ProbeLine* line = nullptr;
  Seconds predicted{};  ///< with the platform as it is
};

/// All sizes of one line's name between the same devices, from the smallest on.
struct Curve {
  Primitive primitive{};
  std::vector<Point> points{};
};

double log_error(const bench::ProbeLine& line, Seconds predicted) {
  return std::log(predicted.microseconds() / line.time_us.median);
}

double square(double value) { return value * value; }

/// Of the platform as it is.
double squares(const Curve& curve) {
  return std::accumulate(curve.points.begin(), curve.points.end(), 0.0, [](double sum, const Point& point) {
    return sum + square(log_error(*point.line, point.predicted));
  });
}

double squares(std::span<const Curve* const> curves, const Topology& topology) {
  double sum = 0;
  for (const Curve* curve : curves) {
    for (const Point& point : curve->points) {
      const auto time = predict(curve->primitive, point.line->size, topology);
      sum += square(log_error(*point.line, time.value_or(point.predicted)));
    }
  }
  return sum;
}

Row row_of(const bench::ProbeLine& line, Seconds predicted) {
  return {.key = {line.name, line.gpu, line.peer, line.size},
          .measured_us = line.time_us.median,
          .simulated_us = predicted.microseconds()};
}

/// Where `error` of a logarithm is least, from `low` to `high`, by the golden section; it has one minimum there.
double least_between(double low, double high, const auto& error) {
  constexpr double kGolden = 0.6180339887498949;
  constexpr double kExact = 1e-5;
  double left = high - kGolden * (high - low);
  double right = low + kGolden * (high - low);
  double at_left = error(left);
  double at_right = error(right);
  while (high - low > kExact) {
    if (at_left < at_right) {
      high = std::exchange(right, left);
      at_right = std::exchange(at_left, error(left = high - kGolden * (high - low)));
    } else {
      low = std::exchange(left, right);
      at_left = std::exchange(at_right, error(right = low + kGolden * (high - low)));
    }
  }
  return (low + high) / 2;
}

class Inspector {
 public:
  Inspector(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force)
      : base_(model::read_platform(base)), topology_(base_) {
    result_.base = base_.file = base.string();
    result_.origins = probes.files;
    result_.tolerance = tolerance;
    result_.notes = check_machine(probes, base_, force);
    sort_curves(probes);
  }

  Suspicion run() {
    std::vector<Row> rows;
    for (const Curve& curve : curves_) {
      for (const Point& point : curve.points) rows.push_back(row_of(*point.line, point.predicted));
      error_ += squares(curve);
    }
    result_.curves = curves_.size();
    result_.errors = summarize_errors(rows);
    list_slow_curves();
    for (const model::Link& link : base_.node.links) try_part(link.name, "link");
    for (const model::HostMemory& memory : base_.node.memories) try_part(memory.name, "memory");
    for (const model::Hub& hub : base_.node.hubs) try_part(hub.name, "hub");
    std::ranges::stable_sort(result_.suspects, {}, &Suspect::least);
    find_alike();
    judge();
    return std::move(result_);
  }

 private:
  void sort_curves(const ProbeSet& probes) {
    std::map<std::tuple<std::string, std::string, std::string, std::size_t>, std::size_t> places;
    for (const Probe& probe : probes.probes) {
      std::string reason;
      const std::optional<Primitive> primitive = find_primitive(probe.line, topology_, reason);
      if (!primitive || primitive->kind != Primitive::Kind::copy) continue;
      const auto time = predict(*primitive, probe.line.size, topology_);
      if (!time || !(*time > Seconds{})) continue;
      const auto [place, is_new] =
          places.try_emplace({probe.line.name, probe.line.gpu, probe.line.peer, probe.file}, curves_.size());
      if (is_new) curves_.push_back({.primitive = *primitive});
      curves_[place->second].points.push_back({&probe.line, *time});
    }
    if (curves_.empty()) {
      throw InputError(
          fmt::format("{}: error: the probes have no copy that this platform has numbers for", result_.base));
    }
    for (Curve& curve : curves_) {
      std::ranges::sort(curve.points, {}, [](const Point& point) { return point.line->size; });
    }
  }

  /// The geometric mean of measured over predicted, less 1, where lines that are faster count as equal.
  [[nodiscard]] static double slowness(const Curve& curve, const Topology& topology) {
    double sum = 0;
    for (const Point& point : curve.points) {
      const auto time = predict(curve.primitive, point.line->size, topology);
      sum += std::max(0.0, -log_error(*point.line, time.value_or(point.predicted)));
    }
    return std::expm1(sum / static_cast<double>(curve.points.size()));
  }

  void list_slow_curves() {
    for (const Curve& curve : curves_) {
      const double slower = slowness(curve, topology_);
      if (slower <= result_.tolerance) continue;
      const bench::ProbeLine& line = *curve.points.front().line;
      result_.slow.push_back({line.name, devices(row_of(line, Seconds{}).key), slower});
    }
    std::ranges::stable_sort(result_.slow, std::ranges::greater{}, &SlowCurve::slower);
  }

  [[nodiscard]] Platform with(const std::string& part, double share) const {
    Platform platform = base_;
    model::degrade(platform, part, share, "a suspect");
    return platform;
  }

  /// Whose largest copy takes longer where the part has next to nothing: no part makes anything faster, nor a small
  /// copy slower than a large one.
  [[nodiscard]] std::vector<const Curve*> slowed_by(const std::string& part, double least) const {
    const Platform platform = with(part, least);
    const Topology topology(platform);
    std::vector<const Curve*> slowed;
    for (const Curve& curve : curves_) {
      const Point& largest = curve.points.back();
      const auto time = predict(curve.primitive, largest.line->size, topology);
      if (time && *time > largest.predicted) slowed.push_back(&curve);
    }
    return slowed;
  }

  /// The error has several minima where ways or limits change. So steps find the best one, and the golden section its
  /// place.
  void try_part(const std::string& part, const std::string& kind) {
    constexpr int kSteps = 32;
    constexpr double kLeast = 0.01;
    if (!tried_.insert(part).second) return;  // --degrade takes a link for it
    const std::vector<const Curve*> slowed = slowed_by(part, kLeast);
    if (slowed.empty()) return;
    const auto error_at = [&](double log_share) {
      const Platform platform = with(part, std::exp(log_share));
      return squares(slowed, Topology(platform));
    };
    const double step = -std::log(kLeast) / kSteps;
    int best = 0;
    double least = 0;
    double before = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double error = error_at(-step * i);
      if (i == 0) before = error;
      if (i > 0 && error >= least) continue;
      least = error;
      best = i;
    }
    const double share =
        std::exp(least_between(-step * std::min(best + 1, kSteps), -step * std::max(best - 1, 0), error_at));
    const double after = error_at(std::log(share));
    if (!(after < before)) return;
    Suspect suspect{.part = part,
                    .kind = kind,
                    .share = share,
                    .curves = slowed.size(),
                    .explained = 1 - after / before,
                    .least = error_ - before + after,
                    .alike = {}};
    weigh(suspect);
    result_.suspects.push_back(std::move(suspect));
  }

  /// Fills in what is left of all copies.
  void weigh(Suspect& suspect) const {
    const Platform platform = with(suspect.part, suspect.share);
    const Topology topology(platform);
    std::vector<Row> rows;
    for (const Curve& curve : curves_) {
      for (const Point& point : curve.points) {
        const auto time = predict(curve.primitive, point.line->size, topology);
        rows.push_back(row_of(*point.line, time.value_or(point.predicted)));
      }
      if (slowness(curve, topology) > result_.tolerance) ++suspect.left_slow;
    }
    suspect.errors = summarize_errors(rows);
  }

  /// Of parts that explain as much, links come first, for a hub stands for its links; then the one that lacks least.
  void find_alike() {
    constexpr double kAlike = 0.01;
    if (result_.suspects.empty()) return;
    const double gained = error_ - result_.suspects.front().least;
    const double limit = result_.suspects.front().least + kAlike * gained;
    const auto end = std::ranges::find_if(result_.suspects, [&](const Suspect& other) { return other.least > limit; });
    std::stable_sort(result_.suspects.begin(), end, [](const Suspect& a, const Suspect& b) {
      return std::tuple(a.kind != "link", a.curves, -a.share) < std::tuple(b.kind != "link", b.curves, -b.share);
    });
    Suspect& first = result_.suspects.front();
    for (auto other = result_.suspects.begin() + 1; other != end; ++other) {
      first.alike.push_back(fmt::format("{}={:.0f}%", other->part, other->share * 100));
    }
  }

  void judge() {
    constexpr double kExplains = 0.5;
    const auto explains = [&](const Suspect& suspect) {
      return suspect.share <= 1 - result_.tolerance && suspect.explained >= kExplains;
    };
    using enum Suspicion::Verdict;
    if (!result_.suspects.empty() && explains(result_.suspects.front())) {
      result_.verdict = one_part;
    } else {
      result_.verdict = result_.slow.empty() ? as_fast : unexplained;
    }
  }

  Platform base_;
  Topology topology_;
  std::vector<Curve> curves_{};
  double error_ = 0;  ///< squared logarithms, of all curves, with the platform as it is
  std::set<std::string> tried_{};
  Suspicion result_{};
};

}  // namespace

Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force) {
  return Inspector(probes, base, tolerance, force).run();
}

}  // namespace twinlink::validate
