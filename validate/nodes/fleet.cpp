#include "validate/nodes/fleet.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/enum_table.hpp"
#include "protocols/core/errors.hpp"
#include "validate/compare/spread.hpp"
#include "validate/nodes/dates.hpp"
#include "validate/nodes/patterns.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/suspect/slowness.hpp"

namespace twinlink::validate {
namespace {

using State = FleetRow::State;

/// What the platform says of a line; the same for all nodes.
class Predictions {
 public:
  explicit Predictions(const platforms::Platform& platform) : topology_(platform) {}

  struct Line {
    double log_us = 0;
    const KindFacts* facts = nullptr;
  };

  const std::optional<Line>& of(const NodeCurve& curve, Bytes size) {
    const auto [place, is_new] = lines_.try_emplace({curve.name, curve.from, curve.to, size});
    if (is_new) place->second = predicted(curve, size);
    return place->second;
  }

 private:
  [[nodiscard]] std::optional<Line> predicted(const NodeCurve& curve, Bytes size) const {
    const bench::ProbeLine line{.name = curve.name, .gpu = curve.from, .peer = curve.to, .size = size};
    std::string reason;
    const std::optional<PredictedLine> found = predict_line(line, topology_, reason);
    if (!found) return std::nullopt;
    return Line{.log_us = std::log(found->time.microseconds()), .facts = &facts_of(found->primitive.kind)};
  }

  platforms::Topology topology_;
  std::map<std::tuple<std::string, std::string, std::string, Bytes>, std::optional<Line>> lines_;
};

class Judge {
 public:
  Judge(FleetFiles files, const FleetPlan& plan) {
    result_.files = std::move(files);
    result_.plan = plan;
  }

  Fleet run() {
    if (!result_.plan.base.empty()) base_ = platforms::read_platform(result_.plan.base);
    if (base_) require_machine();
    EqualsPlan plan = result_.plan.equals;
    if (base_ && !plan.patterns) {
      plan.patterns = [this](const auto& keys, const auto& places) { return patterns_of(*base_, keys, places); };
    }
    result_.equals = hold_among_equals(result_.files, plan);
    for (const auto* remarks : {&result_.files.remarks, &result_.equals.remarks}) {
      result_.remarks.insert(result_.remarks.end(), remarks->begin(), remarks->end());
    }
    note_lacks();
    for (const FleetNode& node : result_.files.nodes) newest_ = std::max(newest_, node.newest());
    for (std::size_t node = 0; node < result_.files.nodes.size(); ++node) add_row(node);
    if (base_) hold_whole();
    std::ranges::stable_sort(result_.rows, [](const FleetRow& a, const FleetRow& b) {
      return std::tuple(rank_of(a.state), -a.worst) < std::tuple(rank_of(b.state), -b.worst);
    });
    explain_worst();
    tell_health();
    return std::move(result_);
  }

 private:
  static int rank_of(State state) {
    using enum FleetRow::State;
    constexpr std::array kWorstFirst{slower, was_faster, unread, silent, incomplete, unjudged, alike};
    return static_cast<int>(std::ranges::find(kWorstFirst, state) - kWorstFirst.begin());
  }

  /// Probes of another model than the platform's are nothing to hold against it.
  void require_machine() {
    const platforms::Topology topology(*base_);
    const std::vector<Place> places = topology.places();
    std::map<std::string, std::size_t> findings;
    for (const FleetNode& node : result_.files.nodes) {
      for (const NodeFile& file : node.files) {
        if (file.simulated && file.machine != base_->name) {
          ++findings[fmt::format("probes of platform '{}', but the base is '{}'", file.machine, base_->name)];
        }
        if (!file.probes || file.simulated) continue;
        for (const NamedGpu& gpu : file.gpus) {
          const Place place = parse_place(gpu.place);
          if (std::ranges::find(places, place) == places.end() || gpu.model.empty()) continue;
          const std::string& known = topology.type_of(topology.gpu_of(place)).model;
          if (known != gpu.model) ++findings[fmt::format("a '{}', but the base has a '{}'", gpu.model, known)];
        }
      }
    }
    std::string text;
    for (const auto& [finding, count] : findings) {
      text += fmt::format("{}{}: error: {} files: {}", text.empty() ? "" : "\n", result_.plan.base.string(), count,
                          finding);
    }
    if (text.empty()) return;
    if (!result_.plan.force) throw InputError(text);
    result_.remarks.push_back("--force: " + text);
  }

  /// Which kinds of results some nodes lack.
  void note_lacks() {
    std::map<std::string, std::size_t> with;
    std::size_t nodes = 0;
    std::vector<std::set<std::string>> own;
    for (const FleetNode& node : result_.files.nodes) {
      std::set<std::string> programs;
      for (const NodeFile& file : node.files) programs.insert(file.program.substr(0, file.program.find(' ')));
      for (const std::string& program : programs) ++with[program];
      nodes += programs.empty() ? 0 : 1;
      own.push_back(std::move(programs));
    }
    for (std::size_t i = 0; i < own.size(); ++i) {
      if (own[i].empty()) continue;
      for (const auto& [program, count] : with) {
        if (!own[i].contains(program) && 2 * count > nodes) {
          result_.files.nodes[i].remarks.push_back(
              fmt::format("has no result of {}, which others have: not looked at", program));
        }
      }
    }
  }

  void add_row(std::size_t node) {
    const HeldNode& held = result_.equals.nodes[node];
    FleetRow row{.node = node};
    if (base_) row.platform = against_platform(held);
    if (!held.slower.empty()) {
      row.worst = held.slower.front().slower;
      row.what = name_of(held.slower.front());
    }
    const bool slow_alone = row.platform && row.platform->alone > 0;
    const bool judged = held.unjudged < held.curves.size() || (row.platform && row.platform->curves > 0);
    row.age = age_of(result_.files.nodes[node]);
    if (held.curves.empty()) {
      row.state = State::unread;
    } else if (!held.slower.empty() || slow_alone || lacks_peers(result_.equals, held)) {
      row.state = State::slower;
    } else if (!result_.became(node).empty()) {
      row.state = State::was_faster;
    } else if (row.age && static_cast<std::size_t>(*row.age) > result_.plan.max_age) {
      row.state = State::silent;
    } else if (!held.missing.empty()) {
      row.state = State::incomplete;
    } else {
      row.state = judged ? State::alike : State::unjudged;
    }
    if (held.slower.empty() && slow_alone) {
      row.worst = row.platform->slowest;
      row.what = row.platform->what;
    }
    if (row.state == State::alike) {
      for (const auto& [test, off] : held.map) row.worst = std::max(row.worst, off);
    }
    result_.rows.push_back(std::move(row));
  }

  [[nodiscard]] std::optional<int> age_of(const FleetNode& node) const {
    const auto day = day_of(node.newest());
    const auto newest = day_of(newest_);
    if (!day || !newest) return std::nullopt;
    return static_cast<int>((*newest - *day).count());
  }

  static std::string name_of(const Slower& slower) {
    if (slower.of == Slower::Of::part) return slower.curve;
    const std::string& what = slower.of == Slower::Of::curve ? slower.curve : slower.test;
    return fmt::format("{}, {}", what, to_string(slower.band));
  }

  /// As find_suspects() judges a curve: what is faster counts as equal, and the model's own error is allowed.
  AgainstPlatform against_platform(const HeldNode& node) {
    if (!predictions_) predictions_.emplace(*base_);
    AgainstPlatform against;
    const double farthest = farthest_of(kBands * std::max<std::size_t>(1, node.curves.size()));
    for (const HeldCurve& held : node.curves) {
      if (!held.file->probes) continue;
      std::vector<HeldTime> times;
      const KindFacts* facts = nullptr;
      for (const NodePoint& point : held.curve->points) {
        const auto& line = predictions_->of(*held.curve, point.size);
        if (!line || point.unstable) continue;
        times.push_back(
            {.size = point.size, .off = point.log_us - line->log_us, .deviation = deviation_at(held.key, point)});
        facts = line->facts;
      }
      if (times.empty()) continue;
      ++against.curves;
      const Slowness worst = worst_of(slowness_of(times, *facts, result_.plan.equals.tolerance, farthest));
      if (!worst.is_slow()) continue;
      ++against.slow;
      if (held.band_off.empty()) ++against.alone;
      if (worst.slower <= against.slowest) continue;
      against.slowest = worst.slower;
      against.what = fmt::format("{}, {}", held.curve->name, to_string(worst.band));
      against.places = {held.curve->from};
      if (!held.curve->to.empty()) against.places.push_back(held.curve->to);
    }
    return against;
  }

  /// How far equals lie apart; where they are too few, how far rounds do.
  [[nodiscard]] double deviation_at(std::size_t key, const NodePoint& point) const {
    const auto found = result_.equals.deviation.find({key, point.size});
    return found == result_.equals.deviation.end() ? point.deviation : found->second;
  }

  /// The whole fleet may be slow: its middle is held against the platform as a node is.
  void hold_whole() {
    for (const Kind& kind : result_.equals.kinds) {
      const ProbeSet probes = middle_probes(result_.equals, kind.name);
      if (probes.probes.empty()) continue;
      try {
        const Suspicion suspicion = find_suspects(probes, result_.plan.base, result_.plan.equals.tolerance, true);
        result_.as_a_whole.push_back(fmt::format("{} ({} nodes): {}", kind.name, kind.nodes, words(suspicion)));
        if (!suspicion.slow.empty() || suspicion.verdict == Suspicion::Verdict::one_part)
          result_.slow_as_a_whole = true;
      } catch (const InputError&) {
        result_.as_a_whole.push_back(fmt::format("{}: nothing that {} has numbers for", kind.name, base_->name));
      }
    }
  }

  static std::string words(const Suspicion& suspicion) {
    using enum Suspicion::Verdict;
    if (suspicion.verdict == as_fast) return "in the middle as fast as the platform says";
    if (suspicion.verdict == too_fast) return "in the middle more than twice as fast as the platform says";
    if (suspicion.verdict == one_part)
      return fmt::format("all are slower than the platform says: {} explains it", in_words(suspicion.suspects.front()));
    return fmt::format("all are slower than the platform says: {} of {} curves, the worst by {:.0f} % ({})",
                       suspicion.slow.size(), suspicion.curves, suspicion.slow.front().slower * 100,
                       suspicion.slow.front().name);
  }

  /// What the driver told of the GPUs when the node's newest result was measured; of a slow node it stands beside what
  /// explains it, which it may be the reason of.
  void tell_health() {
    constexpr std::size_t kBeside = 2;
    for (FleetRow& row : result_.rows) {
      FleetNode& node = result_.files.nodes[row.node];
      const NodeFile* newest = nullptr;
      for (const NodeFile& file : node.files) {
        if (!file.to_come && !file.health.empty() && file.date == node.newest()) newest = &file;
      }
      if (newest == nullptr) continue;
      for (std::size_t i = 0; i < newest->health.size(); ++i) {
        node.remarks.push_back(newest->health[i]);
        if (!row.explanation.text.empty() && i < kBeside) row.explanation.text += "; " + newest->health[i];
      }
    }
  }

  void explain_worst() {
    std::size_t looked_into = 0;
    for (FleetRow& row : result_.rows) {
      if (row.state != State::slower) continue;
      const HeldNode& held = result_.equals.nodes[row.node];
      if (++looked_into > result_.plan.explained) {
        ++result_.unexplained;
        row.explanation = explain_by_tests(result_.equals, held);
      } else if (held.slower.empty() && held.missing.empty()) {
        row.explanation = {.text = result_.equals.trials > 0 ? "as its equals, but slower than the platform says"
                                                             : "slower than the platform says",
                           .places = row.platform->places};
      } else {
        row.explanation = base_ ? explain(result_.equals, held, result_.plan.base, result_.plan.equals.of_many_curves)
                                : explain_by_tests(result_.equals, held);
      }
    }
  }

  Fleet result_{};
  std::optional<platforms::Platform> base_{};
  std::optional<Predictions> predictions_{};
  std::string newest_{};  ///< the date of the fleet's newest result
};

}  // namespace

std::size_t Fleet::count(FleetRow::State state) const {
  return static_cast<std::size_t>(std::ranges::count(rows, state, &FleetRow::state));
}

const std::string& Fleet::became(std::size_t node) const {
  static const std::string nothing;
  return node < plan.became.size() ? plan.became[node] : nothing;
}

std::string_view to_string(FleetRow::State state) {
  constexpr Words<State> kNames{"alike", "slower", "was faster", "incomplete", "silent", "not judged", "no result"};
  return kNames[state];
}

Fleet judge_fleet(FleetFiles files, const FleetPlan& plan) { return Judge(std::move(files), plan).run(); }

}  // namespace twinlink::validate
