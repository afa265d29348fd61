#include "validate/calibration.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "validate/cost_fit.hpp"
#include "validate/primitive.hpp"

namespace twinlink::validate {
namespace {

using model::Platform;
using model::Topology;
using Kind = Primitive::Kind;

/// A line that a number of the platform stands for.
struct Meant {
  const Probe* probe = nullptr;
  Primitive primitive{};

  [[nodiscard]] Bytes size() const { return probe->line.size; }
  [[nodiscard]] Seconds time() const { return Seconds{probe->line.time_us.median * 1e-6}; }
};

/// All lines that the simulation would charge with the same numbers; not empty.
struct Group {
  std::string path{};
  std::vector<Meant> lines{};

  [[nodiscard]] const Primitive& first() const { return lines.front().primitive; }
};

Observation observation_of(const Meant& meant) {
  // Of a normal distribution, 5th and 95th percentile are this many standard deviations apart.
  constexpr double kDeviations = 3.29;
  const bench::Statistics& time_us = meant.probe->line.time_us;
  return {
      .size = meant.size(), .time = meant.time(), .spread = (time_us.p95 - time_us.p5) / kDeviations / time_us.median};
}

std::vector<Observation> observations_of(const Group& group) {
  std::vector<Observation> observations;
  for (const Meant& meant : group.lines) observations.push_back(observation_of(meant));
  return observations;
}

/// Where the rate is not told, what is left of a time at the known rate is the latency only if the bytes take little of
/// it: otherwise it is the error of that rate. Latencies of copies and messages are microseconds.
bool tells_latency(std::span<const Observation> observations, std::optional<Rate> known) {
  constexpr Seconds kLittle = 50.0_us;
  return !known || std::ranges::any_of(observations, [&](const Observation& o) { return o.size / *known < kLittle; });
}

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

/// "costs.copies.peer" -> "fit-peer".
std::string source_name(std::string_view path) {
  for (const std::string_view prefix : {"costs.", "copies.", "runtime."}) {
    if (path.starts_with(prefix)) path.remove_prefix(prefix.size());
  }
  std::string name(kSourcePrefix);
  for (const char c : path) name += c == '.' || c == '_' ? '-' : c;
  return name;
}

double middle(std::vector<double> values) {
  std::ranges::sort(values);
  return values[values.size() / 2];
}

class Calibrator {
 public:
  Calibrator(const ProbeSet& probes, const std::filesystem::path& base, bool force)
      : probes_(probes), edit_(base), base_(edit_.platform()), topology_(base_) {
    result_.base = base_.file = base.string();
    result_.origins = probes.files;
    check_machine(force);
    sort_probes();
  }

  Calibration run() {
    for (const Group& group : groups_) fit(group);
    // What comes on top of copies is told apart from them by the copies' own fits.
    const Platform with_copies = edit_.platform();
    const Topology topology(with_copies);
    for (const Group& group : groups_) fit_on_top(group, topology);
    if (edit_.changes().empty()) {
      throw InputError(fmt::format("{}: error: the probes tell no number of this platform", result_.base));
    }
    describe_fits();
    result_.platform_text = edit_.text(heading());
    list_numbers();
    return std::move(result_);
  }

 private:
  // ---- what belongs together ----------------------------------------------------------------------------------------

  void check_machine(bool force) {
    std::set<std::string> findings;
    for (const ProbeOrigin& origin : probes_.files) {
      if (!origin.platform.empty() && origin.platform != base_.name) {
        findings.insert(fmt::format("{}: error: probes of platform '{}', but the base is '{}'", origin.file,
                                    origin.platform, base_.name));
      }
      for (const auto& [place, model] : origin.devices) {
        const auto gpu = static_cast<std::size_t>(parse_place(place).gpu);
        if (gpu >= base_.node.gpus.size() || base_.node.gpus[gpu].model == model) continue;
        findings.insert(fmt::format("{}: error: probes of a '{}', but GPU {} of the base is a '{}'", origin.file, model,
                                    gpu, base_.node.gpus[gpu].model));
      }
    }
    if (findings.empty()) return;
    if (!force) throw InputError(fmt::format("{}", fmt::join(findings, "\n")));
    for (const std::string& finding : findings) result_.notes.push_back("--force: " + finding);
  }

  void sort_probes() {
    std::map<std::string, std::size_t> places;
    std::set<std::string> unused;
    for (const Probe& probe : probes_.probes) {
      std::string reason;
      const std::optional<Primitive> primitive = find_primitive(probe.line, topology_, reason);
      if (!primitive) {
        if (unused.insert(probe.line.name).second) result_.unused.push_back({probe.line.name, reason});
        continue;
      }
      const std::string path = cost_path(*primitive, topology_);
      const auto [place, is_new] = places.try_emplace(path, groups_.size());
      if (is_new) groups_.push_back({.path = path});
      groups_[place->second].lines.push_back({&probe, *primitive});
    }
  }

  // ---- fits ---------------------------------------------------------------------------------------------------------

  template <class Value>
  void set(const std::string& path, const Value& value, const Group& group) {
    edit_.set(path, value, probes_.simulated ? model::Quality::derived : model::Quality::measured,
              source_name(group.path));
    // The text follows when all numbers are there; a reader wants one now.
    edit_.set_source(source_name(group.path), "a fit of probes");
  }

  void fit(const Group& group) {
    switch (group.first().kind) {
      case Kind::copy:
        return fit_copy(group);
      case Kind::message:
        return fit_messages(group);
      case Kind::pin:
        return fit_pinning(group);
      case Kind::engine_block:
      case Kind::kernel_block:
      case Kind::signal:
        return;  // fit_on_top()
      default:
        return set(group.path, fit_constant(observations_of(group)), group);
    }
  }

  /// What the CPU does of it a probe cannot tell, which waits for the end; so that stays, unless all takes less.
  Seconds host_share(const Group& group, const std::string& path, Seconds host) {
    const Seconds shortest = std::ranges::min(group.lines, {}, &Meant::time).time();
    if (host <= shortest) return host;
    result_.notes.push_back(
        fmt::format("{}: {} in the base, but all takes only {}", path, format_seconds(host), format_seconds(shortest)));
    edit_.set(path, shortest, model::Quality::derived, "no more than the shortest probe takes as a whole");
    return shortest;
  }

  void fit_copy(const Group& group) {
    const Primitive& first = group.first();
    const model::Cost* cost = topology_.find_copy_cost(first.from, first.to).cost;
    Seconds host{};
    if (cost == nullptr) {
      edit_.set(group.path + ".host", host, model::Quality::assumed, "a probe does not tell it from the latency");
    } else {
      host = host_share(group, group.path + ".host", cost->host.value);
    }
    std::optional<Rate> known = narrowest_link(first, topology_);
    if (cost != nullptr && cost->rate) known = cost->rate->value;
    const Seconds fixed = host + completion(first, base_);
    const std::optional<Rate> rate = fit_latency(group, fixed, known, group.path + ".rate");
    if (!rate || group.path != "costs.copies." + std::string(to_string(model::CopyClass::host_to_host))) return;
    for (const std::string& memory : memories_of(group)) {
      set(fmt::format("nodes.memories.{}.copy_rate", memory), *rate, group);
    }
  }

  /// Where the host's own copies were measured.
  [[nodiscard]] std::set<std::string> memories_of(const Group& group) const {
    std::set<std::string> names;
    for (const Meant& meant : group.lines) names.insert(topology_.name(meant.primitive.from.location));
    return names;
  }

  void fit_messages(const Group& group) {
    const bool within = group.first().same_node;
    const model::NetworkCosts& costs = within ? base_.intra_node : *base_.network;
    const Seconds host = host_share(group, group.path + ".send_host", costs.send_host.value);
    std::optional<Rate> known = narrowest_link(group.first(), topology_);
    if (costs.rate) known = costs.rate->value;
    // Where the base says that a message gets what the adapter's link has, the message tells that.
    fit_latency(group, host, known, within || costs.rate ? group.path + ".rate" : "fabric.link");
  }

  /// `fixed`: what each takes beside latency and flow.
  std::optional<Rate> fit_latency(const Group& group, Seconds fixed, std::optional<Rate> known,
                                  const std::string& rate_path) {
    const std::vector<Observation> observations = observations_of(group);
    const CurveFit curve = fit_curve(observations, fixed, known);
    if (curve.rate || tells_latency(observations, known)) {
      set(group.path + ".latency", model::Piecewise(curve.latency), group);
    } else {
      result_.notes.push_back(group.path + ".latency: the bytes of these sizes take longer; it stays");
    }
    if (curve.rate) {
      set(rate_path, *curve.rate, group);
    } else {
      result_.notes.push_back(fmt::format("{}: the sizes of the probes do not tell it; it stays", rate_path));
    }
    return curve.rate;
  }

  void fit_pinning(const Group& group) {
    if (const std::optional<LineFit> line = fit_line(observations_of(group))) {
      set("costs.runtime.pin_base", line->base, group);
      set("costs.runtime.pin_per_gib", line->per_byte * static_cast<double>((1_GiB).count()), group);
    } else {
      result_.notes.push_back(
          "costs.runtime.pin_base, pin_per_gib: the sizes of the probes do not tell them; they stay");
    }
  }

  void fit_on_top(const Group& group, const Topology& topology) {
    const Kind kind = group.first().kind;
    if (!group.first().copies() || kind == Kind::copy) return;
    std::vector<CountedObservation> observations;
    for (const Meant& meant : group.lines) {
      std::optional<Seconds> rest = kind == Kind::signal ? measured_put(meant) : std::nullopt;
      if (!rest) rest = predict_below(meant.primitive, meant.size(), topology);
      if (!rest) continue;
      observations.push_back({observation_of(meant), *rest, kind == Kind::signal ? 1 : meant.primitive.blocks});
    }
    if (const std::optional<Seconds> each = fit_share(observations)) {
      set(group.path, *each, group);
    } else {
      result_.notes.push_back(fmt::format("{}: the probes take no longer than the copies alone", group.path));
    }
  }

  /// The same puts there and back without their signals, measured in the same job: closer than any fit.
  [[nodiscard]] std::optional<Seconds> measured_put(const Meant& signal) const {
    const bench::ProbeLine& line = signal.probe->line;
    const auto write = [&](const std::string& from, const std::string& to) -> std::optional<Seconds> {
      const auto found = std::ranges::find_if(probes_.probes, [&](const Probe& probe) {
        return probe.file == signal.probe->file && probe.line.name.starts_with("peer copy write ") &&
               probe.line.gpu == from && probe.line.peer == to && probe.line.size == line.size;
      });
      if (found == probes_.probes.end()) return std::nullopt;
      return Seconds{found->line.time_us.median * 1e-6};
    };
    const auto there = write(line.gpu, line.peer);
    const auto back = write(line.peer, line.gpu);
    if (!there || !back) return std::nullopt;
    return (*there + *back) / 2 - completion(signal.primitive, base_);
  }

  // ---- what came of it ----------------------------------------------------------------------------------------------

  void describe_fits() {
    const Platform platform = edit_.platform();
    const Topology topology(platform);
    std::map<std::pair<std::string, std::string>, std::vector<Row>> rows_by_probe;
    for (const Group& group : groups_) {
      std::vector<Row> all;
      for (const Meant& meant : group.lines) {
        const bench::ProbeLine& line = meant.probe->line;
        const std::optional<Seconds> time = predict(meant.primitive, line.size, topology);
        if (!time || !(*time > Seconds{})) continue;
        all.push_back({.key = {line.name, line.gpu, line.peer, line.size},
                       .measured_us = line.time_us.median,
                       .simulated_us = time->microseconds()});
        rows_by_probe[{group.path, line.name}].push_back(all.back());
      }
      if (all.empty()) continue;
      edit_.set_source(source_name(group.path), source_text(group, summarize_errors(all)));
      note_narrow_links(group, topology);
    }
    for (const Group& group : groups_) {
      for (const Meant& meant : group.lines) {
        auto found = rows_by_probe.extract({group.path, meant.probe->line.name});
        if (found) result_.fits.push_back({meant.probe->line.name, group.path, summarize_errors(found.mapped())});
      }
    }
  }

  /// A rate that the base's links do not let through would be of no use, silently.
  void note_narrow_links(const Group& group, const Topology& topology) {
    const Primitive& first = group.first();
    if (first.kind != Kind::copy) return;
    const model::Cost* cost = topology.find_copy_cost(first.from, first.to).cost;
    const std::optional<Rate> narrowest = narrowest_link(first, topology);
    if (cost == nullptr || !cost->rate || !narrowest || cost->rate->value <= *narrowest) return;
    result_.notes.push_back(fmt::format("{}.rate: {}, but a link of the base on the way has only {}", group.path,
                                        format_rate(cost->rate->value), format_rate(*narrowest)));
  }

  [[nodiscard]] std::string source_text(const Group& group, const ErrorSummary& errors) const {
    std::vector<std::string> names;
    std::set<std::size_t> files;
    std::vector<double> below;
    std::vector<double> above;
    Bytes least = group.lines.front().size();
    Bytes most = least;
    for (const Meant& meant : group.lines) {
      const bench::ProbeLine& line = meant.probe->line;
      if (std::ranges::find(names, line.name) == names.end()) names.push_back(line.name);
      files.insert(meant.probe->file);
      if (line.time_us.n > 0) {  // other tools tell a single figure
        below.push_back(line.time_us.p5 / line.time_us.median - 1);
        above.push_back(line.time_us.p95 / line.time_us.median - 1);
      }
      least = std::min(least, line.size);
      most = std::max(most, line.size);
    }
    constexpr std::size_t kMostNames = 3;
    if (names.size() > kMostNames) {
      names[1] = fmt::format("and {} more of the kind", names.size() - 1);
      names.resize(2);
    }
    std::set<std::string> origins;
    for (const std::size_t file : files) origins.insert(describe(probes_.files[file]));
    const std::string sizes = least == most
                                  ? model::format_bytes(least)
                                  : fmt::format("{} to {}", model::format_bytes(least), model::format_bytes(most));
    const std::string spread = below.empty() ? "spread of the rounds not told"
                                             : fmt::format("spread of the rounds {:+.1f} % to {:+.1f} % (p5, p95)",
                                                           middle(below) * 100, middle(above) * 100);
    return fmt::format("{}: {}; {}, {} median{}; {}; fit within {} (geometric mean), {} (worst)",
                       fmt::join(origins, " and "), fmt::join(names, ", "), sizes, group.lines.size(),
                       group.lines.size() == 1 ? "" : "s", spread, percent(errors.geometric_mean), percent(errors.max));
  }

  static std::string describe(const ProbeOrigin& origin) {
    return fmt::format("{}{}{}{}", origin.date.empty() ? "" : origin.date + ", ", origin.program,
                       origin.machine.empty() ? "" : " on ", origin.machine);
  }

  [[nodiscard]] std::vector<std::string> heading() const {
    std::vector<std::string> lines{
        "Made by twinlink-validate calibrate: numbers whose source begins with 'fit-' are fits of the probes, all",
        "others are the base's.", "", "base    " + result_.base};
    for (const ProbeOrigin& origin : probes_.files) {
      lines.push_back(fmt::format("probes  {} ({})", origin.file, describe(origin)));
    }
    return lines;
  }

  void list_numbers() {
    std::set<std::string> listed;
    result_.replaced = edit_.changes();
    for (const NumberChange& change : result_.replaced) listed.insert(change.path);
    for (model::NumberEntry& entry : all_numbers(edit_.platform())) {
      if (const std::size_t point = entry.path.find('['); point != std::string::npos) {
        entry.path.resize(point);
        entry.text = "a curve";
      }
      if (listed.insert(entry.path).second) result_.kept.push_back(std::move(entry));
    }
  }

  const ProbeSet& probes_;
  PlatformEdit edit_;
  Platform base_;
  Topology topology_;
  std::vector<Group> groups_{};
  Calibration result_{};
};

}  // namespace

Calibration calibrate(const ProbeSet& probes, const std::filesystem::path& base, bool force) {
  return Calibrator(probes, base, force).run();
}

}  // namespace twinlink::validate
