#include "validate/suspect/suspects.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <numeric>
#include <optional>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/compare/spread.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/suspect/parts.hpp"
#include "validate/suspect/slowness.hpp"

namespace twinlink::validate {
namespace {

using platforms::Platform;
using platforms::Topology;

/// All sizes of one line's name between the same devices, from the smallest on.
struct Curve {
  std::vector<HeldLine> lines{};

  [[nodiscard]] const Primitive& first() const { return lines.front().primitive; }
  [[nodiscard]] bool tells_parts() const { return lines.front().tells_parts(); }
};

double log_error(const bench::ProbeLine& line, Seconds predicted) {
  return std::log(predicted.microseconds() / line.time_us.median);
}

double square(double value) { return value * value; }

/// What noise adds to the squared error of a line.
double noise(const HeldLine& line) { return square(deviation_of(line.line->time_us.p5, line.line->time_us.p95)); }

/// The squared error of a line on a machine.
double error_of(const HeldLine& line, const IllMachine& machine) {
  return square(log_error(*line.line, machine(line)));
}

/// The machine as its platform says.
Seconds as_it_should_be(const HeldLine& line) { return line.predicted; }

using Lines = std::vector<const HeldLine*>;

double squares(const Lines& lines, const IllMachine& machine) {
  return std::accumulate(lines.begin(), lines.end(), 0.0,
                         [&](double sum, const HeldLine* line) { return sum + error_of(*line, machine); });
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
      for (const HeldLine& line : curve.lines) {
        error_ += error_of(line, as_it_should_be);
        if (curve.tells_parts()) rows.push_back(row_of(*line.line, line.predicted));
      }
    }
    result_.curves = curves_.size();
    farthest_ = farthest_of(kBands * curves_.size());
    if (!rows.empty()) result_.errors = summarize_errors(rows);
    judge_curves();
    for (const Possible& part : parts_of(base_, topology_)) try_part(part);
    if (!slow_.empty()) {
      for (const Possible& way : ways_of(base_, topology_)) try_way(way);
    }
    sort_suspects();
    find_alike();
    judge();
    list_unjudged();
    return std::move(result_);
  }

 private:
  void sort_curves(const ProbeSet& probes) {
    std::map<std::tuple<std::string, std::string, std::string, std::size_t>, std::size_t> places;
    for (const Probe& probe : probes.probes) {
      const bench::ProbeLine& line = probe.line;
      std::string reason;
      const std::optional<PredictedLine> held = predict_line(line, topology_, reason);
      if (!held) {
        leave_out(line.name, reason);
        continue;
      }
      seen_.insert({held->primitive.gpu, held->primitive.peer_gpu});
      const auto [place, is_new] = places.try_emplace({line.name, line.gpu, line.peer, probe.file}, curves_.size());
      if (is_new) curves_.emplace_back();
      curves_[place->second].lines.push_back({&line, held->primitive, held->time});
    }
    if (curves_.empty()) {
      throw InputError(
          fmt::format("{}: error: the probes have no line that this platform has numbers for", result_.base));
    }
    for (Curve& curve : curves_) {
      std::ranges::sort(curve.lines, {}, [](const HeldLine& line) { return line.line->size; });
    }
  }

  void leave_out(const std::string& what, const std::string& why) {
    auto found = std::ranges::find(result_.unjudged, why, &Unjudged::why);
    if (found == result_.unjudged.end()) found = result_.unjudged.insert(found, {.what = {}, .why = why});
    if (std::ranges::find(found->what, what) == found->what.end()) found->what.push_back(what);
  }

  [[nodiscard]] std::vector<Slowness> slowness(const Curve& curve, const IllMachine& machine) const {
    std::vector<HeldTime> times;
    for (const HeldLine& line : curve.lines) {
      times.push_back(
          {.size = line.line->size, .off = -log_error(*line.line, machine(line)), .deviation = std::sqrt(noise(line))});
    }
    return slowness_of(times, facts_of(curve.first().kind), result_.tolerance, farthest_);
  }
  static std::string name_of(const Curve& curve) {
    const bench::ProbeLine& line = *curve.lines.front().line;
    return fmt::format("{}, {}", line.name, devices(row_of(line, Seconds{}).key));
  }

  void judge_curves() {
    for (const Curve& curve : curves_) {
      const std::string plural(plural_of(curve.first()));
      const std::vector<Slowness> bands = slowness(curve, as_it_should_be);
      auto judged = std::ranges::find(result_.judged, plural, &Judged::plural);
      if (judged == result_.judged.end()) {
        judged = result_.judged.insert(judged, {.plural = plural, .allowed = bands.front().allowed});
      }
      ++judged->curves;
      note_fast(curve);
      for (const Slowness& band : bands) {
        judged->slowest = std::max(judged->slowest, band.slower);
        judged->allowed = std::min(judged->allowed, band.allowed);
        judged->widest = std::max(judged->widest, band.allowed);
        if (!band.is_slow()) continue;
        for (const HeldLine& line : curve.lines) {
          if (band_of(line.line->size) == band.band) slow_.push_back(&line);
        }
      }
      const Slowness& worst = worst_of(bands);
      if (!worst.is_slow()) continue;
      ++judged->slow;
      const bench::ProbeLine& line = *curve.lines.front().line;
      result_.slow.push_back({line.name, devices(row_of(line, Seconds{}).key), plural, worst.band, worst.slower});
    }
    std::ranges::stable_sort(result_.slow, std::ranges::greater{}, &SlowCurve::slower);
  }

  /// What a machine has twice, its platform knows nothing of.
  void note_fast(const Curve& curve) {
    const HeldLine& largest = curve.lines.back();
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

  /// Whose largest line takes longer where the part has next to nothing: no part makes anything faster, nor a small one
  /// slower than a large one.
  [[nodiscard]] std::vector<const Curve*> slowed_by(const Possible& part, double least) const {
    const IllMachine machine = part.at(least);
    std::vector<const Curve*> slowed;
    for (const Curve& curve : curves_) {
      const HeldLine& largest = curve.lines.back();
      if (part.concerns(largest) && machine(largest) > largest.predicted) slowed.push_back(&curve);
    }
    return slowed;
  }

  static Lines lines_of(const std::vector<const Curve*>& curves) {
    Lines lines;
    for (const Curve* curve : curves) {
      for (const HeldLine& line : curve->lines) lines.push_back(&line);
    }
    return lines;
  }

  /// The share of its bandwidth down to which a part can lack some and no curve is slower by more than the tolerance: a
  /// link that nothing probed fills.
  [[nodiscard]] double unseen_down_to(const Possible& part, const std::vector<const Curve*>& slowed,
                                      double least) const {
    constexpr double kExact = 0.01;
    const auto seen = [&](double share) {
      const IllMachine machine = part.at(share);
      return std::ranges::any_of(slowed, [&](const Curve* curve) {
        const HeldLine& largest = curve->lines.back();
        return machine(largest) > largest.predicted * (1 + result_.tolerance);
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
  void try_part(const Possible& part) {
    constexpr int kSteps = 32;
    constexpr double kLeast = 0.01;
    const std::vector<const Curve*> slowed = slowed_by(part, kLeast);
    const bool in_graph = part.degradable || part.kind == "fabric";
    if (slowed.empty()) {
      if (in_graph) uncrossed_.push_back(part.part);
      return;
    }
    const double unseen = unseen_down_to(part, slowed, kLeast);
    if (in_graph) note_unseen(part.part, unseen);
    const Lines lines = lines_of(slowed);
    const auto error_at = [&](double log_share) { return squares(lines, part.at(std::exp(log_share))); };
    const double step = -std::log(kLeast) / kSteps;
    int best = 0;
    double least = 0;
    for (int i = 0; i <= kSteps; ++i) {
      const double error = error_at(-step * i);
      if (i > 0 && error >= least) continue;
      least = error;
      best = i;
    }
    const double share =
        std::exp(least_between(-step * std::min(best + 1, kSteps), -step * std::max(best - 1, 0), error_at));
    add_suspect(part, slowed, share, unseen);
  }

  /// What has no share changes what it changes. Not every adapter or memory of a domain has a way to every GPU.
  void try_way(const Possible& way) {
    if (std::ranges::none_of(slow_, [&](const HeldLine* line) { return way.concerns(*line); })) return;
    try {
      hold_way(way);
    } catch (const InputError&) {
      return;
    }
  }

  void hold_way(const Possible& way) {
    const IllMachine machine = way.at(1);
    std::vector<const Curve*> changed;
    bool seen = false;
    for (const Curve& curve : curves_) {
      bool any = false;
      for (const HeldLine& line : curve.lines) {
        if (!way.concerns(line)) continue;
        const Seconds time = machine(line);
        any = any || is_material(line, time);
        seen = seen || time > line.predicted * (1 + result_.tolerance);
      }
      if (any) changed.push_back(&curve);
    }
    if (seen) add_suspect(way, changed, 1, 1);
  }

  void add_suspect(const Possible& part, const std::vector<const Curve*>& slowed, double share, double unseen) {
    const IllMachine machine = part.at(share);
    const Lines lines = lines_of(slowed);
    const double before = squares(lines, as_it_should_be);
    const double after = squares(lines, machine);
    if (!(after < before)) return;
    Suspect suspect{.part = part.part,
                    .kind = part.kind,
                    .of_what = part.of_what,
                    .degradable = part.degradable,
                    .gpus = part.gpus,
                    .share = share,
                    .curves = slowed.size(),
                    .explained = share_explained(lines, machine),
                    .seen_from = unseen,
                    .least = error_ - before + after,
                    .alike = {}};
    if (!slow_.empty()) suspect.of_slow = 1 - squares(slow_, machine) / squares(slow_, as_it_should_be);
    for (const Curve* curve : slowed) {
      if (suspect.contradicted_by.empty() && contradicts(*curve, machine)) suspect.contradicted_by = name_of(*curve);
    }
    weigh(suspect, machine);
    result_.suspects.push_back(std::move(suspect));
  }

  /// Is the line clearly another one on that machine?
  static bool is_material(const HeldLine& line, Seconds time) {
    constexpr double kClearly = 0.01;
    return std::abs(std::log(time.value() / line.predicted.value())) >= kClearly;
  }

  /// The share of the error that is gone, over the lines that are others on that machine. What noise makes of it no
  /// part can take away, so it counts in neither, if there is clearly more.
  [[nodiscard]] static double share_explained(const Lines& lines, const IllMachine& machine) {
    constexpr double kClearly = 3;  // standard deviations of a sum of squares
    double noisy = 0;
    double before = 0;
    double after = 0;
    std::size_t count = 0;
    for (const HeldLine* line : lines) {
      if (!is_material(*line, machine(*line))) continue;
      noisy += noise(*line);
      before += error_of(*line, as_it_should_be);
      after += error_of(*line, machine);
      ++count;
    }
    if (count == 0 || !(before > 0)) return 0;
    const double by_chance = noisy * (1 + kClearly * std::sqrt(2 / static_cast<double>(count)));
    if (before <= by_chance) return 1 - after / before;
    return 1 - std::max(0.0, after - noisy) / (before - noisy);
  }

  /// What crosses a part at full rate says that it is well: in one of its bands the part would slow the curve by more
  /// than twice what is allowed, and the curve is nearer to a machine that has nothing.
  [[nodiscard]] bool contradicts(const Curve& curve, const IllMachine& machine) const {
    for (const Slowness& band : slowness(curve, as_it_should_be)) {
      double expected = 0;
      double measured = 0;
      double count = 0;
      for (const HeldLine& line : curve.lines) {
        if (band_of(line.line->size) != band.band) continue;
        expected += std::log(machine(line).value() / line.predicted.value());
        measured -= log_error(*line.line, line.predicted);
        ++count;
      }
      if (expected > 2 * count * std::log1p(band.allowed) && measured < expected / 2) return true;
    }
    return false;
  }

  /// Fills in what is left of all curves.
  void weigh(Suspect& suspect, const IllMachine& machine) const {
    std::vector<Row> rows;
    for (const Curve& curve : curves_) {
      if (curve.tells_parts()) {
        for (const HeldLine& line : curve.lines) rows.push_back(row_of(*line.line, machine(line)));
      }
      if (worst_of(slowness(curve, machine)).is_slow()) ++suspect.left_slow;
    }
    if (!rows.empty()) suspect.errors = summarize_errors(rows);
  }

  void sort_suspects() {
    std::ranges::stable_sort(result_.suspects, {}, &Suspect::least);
    std::ranges::stable_partition(result_.suspects, [&](const Suspect& suspect) { return explains(suspect); });
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
    constexpr std::ptrdiff_t kMost = 4;
    for (auto other = result_.suspects.begin() + 1; other != end; ++other) {
      if (other - result_.suspects.begin() > kMost) {
        first.alike.push_back(fmt::format("{} more", end - other));
        break;
      }
      const std::string name = other->gpus.empty() && other->of_what == "bandwidth"
                                   ? other->part
                                   : fmt::format("{} {}", other->kind, other->part);
      first.alike.push_back(other->has_share() ? fmt::format("{}={:.0f}%", name, other->share * 100) : other->part);
    }
  }

  /// One call that takes long is that call's, and no processor's.
  [[nodiscard]] bool explains(const Suspect& suspect) const {
    constexpr std::size_t kLeastCalls = 3;
    if (suspect.of_what == "speed" && suspect.curves < kLeastCalls) return false;
    return suspect.share <= suspect.seen_from && suspect.explained >= kExplains && suspect.of_slow >= kOfSlow &&
           suspect.contradicted_by.empty();
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
  double farthest_ = 0;  ///< standard deviations: so far one of all bands is off by chance
  double error_ = 0;     ///< squared logarithms of all lines, with the platform as it is
  Lines slow_{};         ///< of the bands that are slower than allowed
  std::set<std::pair<std::size_t, std::size_t>> seen_{};  ///< GPUs and peers that have a curve
  std::vector<std::string> uncrossed_{};                  ///< parts that slow no curve
  Suspicion result_{};
};

}  // namespace

std::string in_words(const Suspect& suspect) {
  if (!suspect.has_share()) return suspect.part;
  return fmt::format("{} '{}' at {:.0f} % of its {}", suspect.kind, suspect.part, suspect.share * 100, suspect.of_what);
}

Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force) {
  return Inspector(probes, base, tolerance, force).run();
}

}  // namespace twinlink::validate
