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
#include "validate/compare/spread.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using platforms::Platform;
using platforms::Topology;

/// One line.
struct Point {
  const bench::ProbeLine* line = nullptr;
  Primitive primitive{};
  Seconds predicted{};  ///< with the platform as it is

  [[nodiscard]] Seconds predicted_on(const Topology& topology) const {
    return predict(primitive, line->size, topology).value_or(predicted);
  }
};

/// All sizes of one line's name between the same devices, from the smallest on.
struct Curve {
  std::vector<Point> points{};

  [[nodiscard]] const Primitive& first() const { return points.front().primitive; }
  /// Does it tell the bandwidth of the parts that it crosses? What is on top of a copy, or queues, repeats them.
  [[nodiscard]] bool tells_parts() const {
    using enum Primitive::Kind;
    return first().kind == copy || first().kind == message || first().kind == gap;
  }
};

double log_error(const bench::ProbeLine& line, Seconds predicted) {
  return std::log(predicted.microseconds() / line.time_us.median);
}

double square(double value) { return value * value; }

/// What noise adds to the squared errors.
double noise(const Curve& curve) {
  return std::accumulate(curve.points.begin(), curve.points.end(), 0.0, [](double sum, const Point& point) {
    return sum + square(deviation_of(point.line->time_us.p5, point.line->time_us.p95));
  });
}

/// Squared errors of the platform as it is.
double squares(const Curve& curve) {
  return std::accumulate(curve.points.begin(), curve.points.end(), 0.0, [](double sum, const Point& point) {
    return sum + square(log_error(*point.line, point.predicted));
  });
}

double squares(std::span<const Curve* const> curves, const Topology& topology) {
  double sum = 0;
  for (const Curve* curve : curves) {
    for (const Point& point : curve->points) sum += square(log_error(*point.line, point.predicted_on(topology)));
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
      : base_(platforms::read_platform(base)), topology_(base_) {
    result_.base = base_.file = base.string();
    result_.origins = probes.files;
    result_.tolerance = tolerance;
    result_.notes = check_machine(probes, base_, force);
    sort_curves(probes);
  }

  Suspicion run() {
    std::vector<Row> rows;
    for (const Curve& curve : curves_) {
      if (!curve.tells_parts()) continue;
      for (const Point& point : curve.points) rows.push_back(row_of(*point.line, point.predicted));
      error_ += squares(curve);
    }
    result_.curves = curves_.size();
    farthest_ = farthest_of(curves_.size());
    if (!rows.empty()) result_.errors = summarize_errors(rows);
    judge_curves();
    const platforms::Node& graph = topology_.graph();
    for (const platforms::Link& link : graph.links) try_part(link.name, "link");
    for (const platforms::HostMemory& memory : graph.memories) try_part(memory.name, "memory");
    for (const platforms::Hub& hub : graph.hubs) try_part(hub.name, "hub");
    for (const platforms::Nic& nic : graph.nics) try_part(nic.name, "adapter");
    if (base_.fabric) try_part(std::string(kFabric), std::string(kFabric));
    std::ranges::stable_sort(result_.suspects, {}, &Suspect::least);
    std::ranges::stable_partition(result_.suspects, [&](const Suspect& suspect) { return explains(suspect); });
    find_alike();
    judge();
    list_unjudged();
    return std::move(result_);
  }

 private:
  static constexpr std::string_view kFabric = "fabric";

  void sort_curves(const ProbeSet& probes) {
    std::map<std::tuple<std::string, std::string, std::string, std::size_t>, std::size_t> places;
    for (const Probe& probe : probes.probes) {
      const bench::ProbeLine& line = probe.line;
      std::string reason;
      const std::optional<Primitive> primitive = find_primitive(line, topology_, reason);
      const auto time = primitive ? predict(*primitive, line.size, topology_) : std::nullopt;
      if (primitive && !time) reason = "the platform lacks a number of it";
      if (time && !(*time > Seconds{})) reason = "on the platform it takes no time";
      if (!time || !(*time > Seconds{})) {
        leave_out(line.name, reason);
        continue;
      }
      seen_.insert({primitive->gpu, primitive->peer_gpu});
      const auto [place, is_new] = places.try_emplace({line.name, line.gpu, line.peer, probe.file}, curves_.size());
      if (is_new) curves_.emplace_back();
      curves_[place->second].points.push_back({&line, *primitive, *time});
    }
    if (curves_.empty()) {
      throw InputError(
          fmt::format("{}: error: the probes have no line that this platform has numbers for", result_.base));
    }
    for (Curve& curve : curves_) {
      std::ranges::sort(curve.points, {}, [](const Point& point) { return point.line->size; });
    }
  }

  void leave_out(const std::string& what, const std::string& why) {
    auto found = std::ranges::find(result_.unjudged, why, &Unjudged::why);
    if (found == result_.unjudged.end()) found = result_.unjudged.insert(found, {.what = {}, .why = why});
    if (std::ranges::find(found->what, what) == found->what.end()) found->what.push_back(what);
  }

  /// The geometric mean of measured over predicted, less 1, where lines that are faster count as equal.
  [[nodiscard]] static double slowness(const Curve& curve, const Topology& topology) {
    double sum = 0;
    for (const Point& point : curve.points) {
      sum += std::max(0.0, -log_error(*point.line, point.predicted_on(topology)));
    }
    return std::expm1(sum / static_cast<double>(curve.points.size()));
  }

  [[nodiscard]] double allowed(const Curve& curve) const {
    return std::max(result_.tolerance, facts_of(curve.first().kind).own_error);
  }
  /// Or by chance, of so many curves.
  [[nodiscard]] double allowed_by_chance(const Curve& curve) const {
    return std::max(allowed(curve), chance_of_one_sided(noise(curve), curve.points.size(), farthest_));
  }

  void judge_curves() {
    for (const Curve& curve : curves_) {
      const std::string plural(plural_of(curve.first()));
      auto judged = std::ranges::find(result_.judged, plural, &Judged::plural);
      if (judged == result_.judged.end()) {
        judged = result_.judged.insert(judged, {.plural = plural, .allowed = allowed(curve)});
      }
      const double slower = slowness(curve, topology_);
      ++judged->curves;
      judged->slowest = std::max(judged->slowest, slower);
      const double most = allowed_by_chance(curve);
      judged->widest = std::max(judged->widest, most);
      note_fast(curve);
      if (slower <= most) continue;
      ++judged->slow;
      const bench::ProbeLine& line = *curve.points.front().line;
      result_.slow.push_back({line.name, devices(row_of(line, Seconds{}).key), plural, slower});
    }
    std::ranges::stable_sort(result_.slow, std::ranges::greater{}, &SlowCurve::slower);
  }

  /// What a machine has twice, its platform knows nothing of.
  void note_fast(const Curve& curve) {
    const Point& largest = curve.points.back();
    if (!curve.tells_parts() || 2 * largest.line->time_us.median >= largest.predicted.microseconds()) return;
    result_.fast.push_back(fmt::format("{}, {}", largest.line->name, devices(row_of(*largest.line, Seconds{}).key)));
  }

  /// GPUs of the nodes that were probed, and parts that no copy and no message crosses.
  void list_unjudged() {
    std::set<std::size_t> gpus;
    for (const auto& [gpu, peer] : seen_) gpus.insert({gpu, peer});
    const auto of_seen_node = [&](std::size_t gpu) {
      return std::ranges::any_of(
          gpus, [&](std::size_t other) { return topology_.part_with(other) == topology_.part_with(gpu); });
    };
    for (std::size_t gpu = 0; gpu < topology_.graph().gpus.size(); ++gpu) {
      if (!gpus.contains(gpu) && of_seen_node(gpu)) leave_out(topology_.graph().gpus[gpu].name, "no probe is of it");
    }
    for (const std::string& part : uncrossed_) leave_out(part, "no copy and no message depends on it");
  }

  /// What no curve is limited by may lack more than the tolerance.
  void note_unseen(const std::string& part, double share) {
    constexpr double kMuch = 0.8;
    if (share < kMuch * (1 - result_.tolerance)) {
      leave_out(fmt::format("{}={:.0f}%", part, share * 100), "so little of its bandwidth would not be seen yet");
    }
  }

  [[nodiscard]] Platform with(const std::string& part, double share) const {
    Platform platform = base_;
    if (part == kFabric) {
      const auto shrink = [share](Rate& rate) { rate = Rate{rate.bytes_per_second() * share}; };
      shrink(platform.fabric->link.value);
      if (auto& duplex = platform.fabric->duplex) shrink(duplex->value);
    } else {
      platforms::degrade(platform, part, share, "a suspect");
    }
    return platform;
  }

  /// Whose largest copy or message takes longer where the part has next to nothing: no part makes anything faster, nor
  /// a small one slower than a large one.
  [[nodiscard]] std::vector<const Curve*> slowed_by(const std::string& part, double least) const {
    const Platform platform = with(part, least);
    const Topology topology(platform);
    std::vector<const Curve*> slowed;
    for (const Curve& curve : curves_) {
      const Point& largest = curve.points.back();
      if (curve.tells_parts() && largest.predicted_on(topology) > largest.predicted) slowed.push_back(&curve);
    }
    return slowed;
  }

  /// The share of its bandwidth down to which a part can lack some and no curve is slower by more than the tolerance: a
  /// link that nothing probed fills.
  [[nodiscard]] double unseen_down_to(const std::string& part, std::span<const Curve* const> slowed,
                                      double least) const {
    constexpr double kExact = 0.01;
    const double allowed = 1 + result_.tolerance;
    const auto seen = [&](double share) {
      const Platform platform = with(part, share);
      const Topology topology(platform);
      return std::ranges::any_of(slowed, [&](const Curve* curve) {
        const Point& largest = curve->points.back();
        return largest.predicted_on(topology) > largest.predicted * allowed;
      });
    };
    if (!seen(least)) return 0;
    double low = least;
    for (double high = 1; high - low > kExact;) {
      const double middle = (low + high) / 2;
      (seen(middle) ? low : high) = middle;
    }
    return low;
  }

  /// The error has several minima where ways or limits change. So steps find the best one, and the golden section its
  /// place.
  void try_part(const std::string& part, const std::string& kind) {
    constexpr int kSteps = 32;
    constexpr double kLeast = 0.01;
    if (!tried_.insert(part).second) return;  // --degrade takes a link for it
    const std::vector<const Curve*> slowed = slowed_by(part, kLeast);
    if (slowed.empty()) {
      uncrossed_.push_back(part);
      return;
    }
    const double unseen = unseen_down_to(part, slowed, kLeast);
    note_unseen(part, unseen);
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
                    .explained = share_explained(slowed, before, after),
                    .seen_from = unseen,
                    .least = error_ - before + after,
                    .alike = {}};
    weigh(suspect);
    result_.suspects.push_back(std::move(suspect));
  }

  /// The share of the error that is gone. What noise makes of it no part can take away, so it counts in neither, if
  /// there is clearly more.
  [[nodiscard]] static double share_explained(std::span<const Curve* const> slowed, double before, double after) {
    constexpr double kClearly = 3;  // standard deviations of a sum of squares
    double noisy = 0;
    std::size_t points = 0;
    for (const Curve* curve : slowed) {
      noisy += noise(*curve);
      points += curve->points.size();
    }
    const double by_chance = noisy * (1 + kClearly * std::sqrt(2 / static_cast<double>(points)));
    if (before <= by_chance) return 1 - after / before;
    return 1 - std::max(0.0, after - noisy) / (before - noisy);
  }

  /// Fills in what is left of all curves.
  void weigh(Suspect& suspect) const {
    const Platform platform = with(suspect.part, suspect.share);
    const Topology topology(platform);
    std::vector<Row> rows;
    for (const Curve& curve : curves_) {
      if (curve.tells_parts()) {
        for (const Point& point : curve.points) {
          rows.push_back(row_of(*point.line, point.predicted_on(topology)));
        }
      }
      if (slowness(curve, topology) > allowed_by_chance(curve)) ++suspect.left_slow;
    }
    suspect.errors = summarize_errors(rows);
  }

  /// Parts that explain as much: links come first, for a hub stands for its links; then the one that lacks least.
  void find_alike() {
    constexpr double kAlike = 0.01;
    if (result_.suspects.empty()) return;
    const double gained = error_ - result_.suspects.front().least;
    const double limit = result_.suspects.front().least + kAlike * gained;
    const auto end = std::ranges::find_if(result_.suspects, [&](const Suspect& other) {
      return other.least > limit || explains(other) != explains(result_.suspects.front());
    });
    std::stable_sort(result_.suspects.begin(), end, [](const Suspect& a, const Suspect& b) {
      return std::tuple(a.kind != "link", a.curves, -a.share) < std::tuple(b.kind != "link", b.curves, -b.share);
    });
    Suspect& first = result_.suspects.front();
    for (auto other = result_.suspects.begin() + 1; other != end; ++other) {
      first.alike.push_back(fmt::format("{}={:.0f}%", other->part, other->share * 100));
    }
  }

  [[nodiscard]] bool explains(const Suspect& suspect) const {
    return suspect.share <= suspect.seen_from && suspect.explained >= kExplains;
  }

  void judge() {
    using enum Suspicion::Verdict;
    if (!result_.suspects.empty() && explains(result_.suspects.front())) {
      result_.verdict = one_part;
    } else {
      result_.verdict = !result_.slow.empty() ? unexplained : result_.fast.empty() ? as_fast : too_fast;
    }
  }

  Platform base_;
  Topology topology_;
  std::vector<Curve> curves_{};
  double farthest_ = 0;  ///< standard deviations: so far one of all curves is off by chance
  double error_ = 0;     ///< squared logarithms, of all copies and messages, with the platform as it is
  std::set<std::pair<std::size_t, std::size_t>> seen_{};  ///< GPUs and peers that have a curve
  std::set<std::string> tried_{};
  std::vector<std::string> uncrossed_{};  ///< parts that slow no curve
  Suspicion result_{};
};

}  // namespace

Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force) {
  return Inspector(probes, base, tolerance, force).run();
}

}  // namespace twinlink::validate
