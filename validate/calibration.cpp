#include "validate/calibration.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "validate/calibration_groups.hpp"
#include "validate/calibration_messages.hpp"
#include "validate/calibration_windows.hpp"
#include "validate/calibration_written.hpp"
#include "validate/contention.hpp"
#include "validate/cost_fit.hpp"
#include "validate/primitive.hpp"

namespace twinlink::validate {
namespace {

using model::Platform;
using model::Topology;
using Kind = Primitive::Kind;

/// Where the rate is not told, what is left of a time at the known rate is the latency only if the bytes take little of
/// it: otherwise it is the error of that rate. Latencies of copies and messages are microseconds.
bool tells_latency(std::span<const Observation> observations, std::optional<Rate> known) {
  constexpr Seconds kLittle = 50.0_us;
  return !known || std::ranges::any_of(observations, [&](const Observation& o) { return o.size / *known < kLittle; });
}

class Calibrator {
 public:
  Calibrator(const ProbeSet& probes, const std::filesystem::path& base, bool force)
      : probes_(probes), edit_(base), base_(edit_.platform()), topology_(base_) {
    result_.base = base_.file = base.string();
    result_.origins = probes.files;
    result_.notes = check_machine(probes_, base_, force);
    sort_probes();
  }

  Calibration run() {
    // What the CPU does comes first: the latency is what is left beside it.
    for (const Group& group : groups_) fit_cpu(group);
    for (const Group& group : groups_) limit_completion(group);
    for (const Group& group : groups_) limit_host(group);
    messages_.fit_cpu();
    for (const Group& group : groups_) fit(group);
    // What comes on top of copies is told apart from them by the copies' own fits.
    const Platform with_copies = edit_.platform();
    const Topology topology(with_copies);
    for (const Group& group : groups_) fit_on_top(group, topology);
    fit_turnarounds_alike(topology);
    // And what lies behind signals is told from them, and from turnarounds.
    const Platform with_signals = edit_.platform();
    const Topology all_else(with_signals);
    for (const Group& group : groups_) {
      if (group.first().tells_rest()) fit_rest(group, all_else, probes_, edit_, result_.notes);
    }
    if (edit_.changes().empty()) {
      throw InputError(fmt::format("{}: error: the probes tell no number of this platform", result_.base));
    }
    describe_fits();
    std::ranges::move(contention_notes(probes_), std::back_inserter(result_.notes));
    result_.platform_text = edit_.text(heading());
    list_numbers();
    return std::move(result_);
  }

 private:
  // ---- what belongs together ----------------------------------------------------------------------------------------

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
    set_fit(edit_, path, value, group, probes_);
  }

  /// A part of a copy has its place only where the base or the probes have the copy.
  bool has_copy(const Group& group) {
    const Primitive& first = group.first();
    const std::string path = copy_path(first, topology_);
    if (topology_.find_copy_cost(first.from, first.to).cost != nullptr || find_group(groups_, path) != nullptr)
      return true;
    result_.notes.push_back(group.path + ": neither the base nor the probes tell what the copy itself takes");
    return false;
  }

  void fit_cpu(const Group& group) {
    const Kind kind = group.first().kind;
    const bool of_cpu = kind == Kind::finish || (kind == Kind::start && has_copy(group));
    if (!of_cpu) return;
    const Seconds time = fit_constant(observations_of(group));
    set(group.path, time, group);
    measured_[group.path] = time;
  }

  /// A queued copy takes no less than the CPU needs to start it and to learn of its end. By itself, after the CPU has
  /// done other things, learning of an end can take several times as long as in the midst of such a queue.
  void limit_completion(const Group& group) {
    const auto completion = measured_.find("costs.runtime.completion");
    if (group.first().kind != Kind::queued || completion == measured_.end()) return;
    const auto host = measured_.find(copy_path(group.first(), topology_) + ".host");
    if (host == measured_.end() || host->second >= group.shortest()) return;
    const Seconds most = group.shortest() - host->second;
    if (completion->second <= most) return;
    completion->second = most;
    edit_.set(completion->first, most, model::Quality::derived,
              fmt::format("what '{}' leaves beside its start; 'finish ended copy' is longer",
                          group.lines.front().probe->line.name));
  }

  /// Nor do queued puts with signals take less than the CPU needs to start them, of which the first takes as long as
  /// one alone: starting them one after the other can take less than starting one after the CPU has done other things.
  /// By the tolerance less, so that what lies behind signals is still told by such puts and not hidden by the start.
  void limit_host(const Group& group) {
    constexpr double kQueued = bench::kQueuedCopies;
    const Kind kind = group.first().kind;
    if (kind != Kind::queued_signal && kind != Kind::queued_kernel_signal) return;
    const std::string below = kind == Kind::queued_signal ? "costs.runtime.signal" : "costs.runtime.kernel_signal";
    const Group* const alone = find_group(groups_, below);
    const auto host = measured_.find(copy_path(group.first(), topology_) + ".host");
    if (alone == nullptr || host == measured_.end()) return;
    const Seconds most = (group.shortest() * kQueued - alone->shortest()) / (kQueued - 1) * (1 - kTolerance);
    if (most <= Seconds{} || host->second <= most) return;
    host->second = most;
    edit_.set(host->first, most, model::Quality::derived,
              fmt::format("what '{}' leaves for each; the start of one alone is longer",
                          group.lines.front().probe->line.name));
  }

  /// What was measured of `part`, "host", of the copy at `path`, or of one that is alike; then the source says so.
  std::optional<Seconds> measured_or_alike(const std::string& path, const std::string& part) {
    if (const auto own = measured_.find(path + part); own != measured_.end()) return own->second;
    const std::optional<std::string> alike = path_alike(path);
    if (!alike) return std::nullopt;
    const std::string probed = *alike + part;
    const auto other = measured_.find(probed);
    if (other == measured_.end()) return std::nullopt;
    edit_.set(path + part, other->second, model::Quality::derived,
              fmt::format("that of {}: the same engine, and no probe tells this one", probed));
    return other->second;
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
      case Kind::kernel_signal:
      case Kind::queued:
      case Kind::queued_signal:
      case Kind::queued_kernel_signal:
      case Kind::gap:
      case Kind::completion:
      case Kind::step:
      case Kind::written_copy:
      case Kind::written_message:
      case Kind::start:
      case Kind::start_message:
      case Kind::start_receive:
      case Kind::start_control:
      case Kind::bare_control:
      case Kind::finish:
        return;  // fit_on_top(), fit_cpu() and MessageFits
      default:
        return set(group.path, fit_constant(observations_of(group)), group);
    }
  }

  /// What the CPU does to start a copy, `host`, unless all takes less. Beside it there is `completion`.
  Seconds host_share(const Group& group, const std::string& path, Seconds host, Seconds completion) {
    const Seconds shortest = std::max(group.shortest() - completion, Seconds{});
    if (host <= shortest) return host;
    result_.notes.push_back(fmt::format("{}: {} {}, but all takes only {}", path, format_seconds(host),
                                        measured_.contains(path) ? "measured" : "in the base",
                                        format_seconds(shortest)));
    edit_.set(path, shortest, model::Quality::derived, "no more than the shortest probe takes as a whole");
    return shortest;
  }

  void fit_copy(const Group& group) {
    const Primitive& first = group.first();
    const model::CopyCost found = topology_.find_copy_cost(first.from, first.to);
    const model::Cost* cost = found.cost;
    const Seconds completion = model::ends_by_event(first.from, first.to) ? completion_time() : Seconds{};
    std::optional<Seconds> host = measured_or_alike(group.path, ".host");
    if (cost != nullptr && "costs.copies." + found.name != group.path) begin_as(group.path, found);
    if (!host && cost != nullptr) host = cost->host.value;
    if (!host) {
      edit_.set(group.path + ".host", Seconds{}, model::Quality::assumed, "a probe does not tell it from the latency");
    }
    const Seconds busy = host_share(group, group.path + ".host", host.value_or(Seconds{}), completion) + completion;
    std::optional<Rate> known = narrowest_link(first, topology_);
    if (cost != nullptr && cost->rate) known = cost->rate->value;
    const std::optional<Rate> rate = fit_latency(group, observations_of(group), busy, known, group.path + ".rate");
    if (!rate || group.path != "costs.copies." + std::string(to_string(model::CopyClass::host_to_host))) return;
    for (const std::string& memory : memories_of(group)) {
      set(fmt::format("nodes.memories.{}.copy_rate", memory), *rate, group);
    }
  }

  /// A class that the base has under another's name begins as that one; the probes replace what they tell.
  void begin_as(const std::string& path, const model::CopyCost& other) {
    const std::string source =
        fmt::format("that of costs.copies.{}: the same engine, and no probe tells this one", other.name);
    const auto derive = [&](const std::string& key, const auto& value) {
      edit_.set(path + key, value, model::Quality::derived, source);
    };
    derive(".host", other.cost->host.value);
    derive(".latency", other.cost->latency.value);
    if (other.cost->rate) derive(".rate", other.cost->rate->value);
    if (other.cost->turnaround) derive(".turnaround", other.cost->turnaround->value);
  }

  [[nodiscard]] Seconds completion_time() const {
    const auto measured = measured_.find("costs.runtime.completion");
    if (measured != measured_.end()) return measured->second;
    return base_.runtime.completion ? base_.runtime.completion->value : Seconds{};
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
    std::optional<Rate> known = narrowest_link(group.first(), topology_);
    if (costs.rate) known = costs.rate->value;
    // Where the base says that a message gets what the adapter's link has, the message tells that.
    const std::string rate_path = within || costs.rate ? group.path + ".rate" : "fabric.link";
    fit_latency(group, messages_.observations_beside_cpu(group), Seconds{}, known, rate_path);
  }

  /// `busy`: what the CPU does of it.
  std::optional<Rate> fit_latency(const Group& group, std::span<const Observation> observations, Seconds busy,
                                  std::optional<Rate> known, const std::string& rate_path) {
    const CurveFit curve = fit_curve(observations, busy, known);
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
    if (kind == Kind::queued) return fit_turnaround(group, topology);
    if (group.first().tells_rest()) return;  // fit_rest()
    if (kind == Kind::completion) return;    // MessageFits
    if (kind == Kind::gap) return fit_gap(group, topology, probes_, edit_);
    if (group.first().is_written()) return fit_written(group, topology, probes_, edit_, result_.notes);
    if (!group.first().copies() || kind == Kind::copy || kind == Kind::start) return;
    const bool signals = group.first().signals();
    std::vector<CountedObservation> observations;
    for (const Meant& meant : group.lines) {
      std::optional<Seconds> rest = signals ? measured_put(meant) : std::nullopt;
      if (!rest) rest = predict_below(meant.primitive, meant.size(), topology);
      if (!rest) continue;
      observations.push_back({observation_of(meant), *rest, signals ? 1 : meant.primitive.blocks});
    }
    if (const std::optional<Seconds> each = fit_share(observations)) {
      set(group.path, *each, group);
    } else if (kind == Kind::kernel_signal && !observations.empty()) {
      // Without the number the simulation would charge the copy engine's.
      set(group.path, Seconds{}, group);
    } else {
      result_.notes.push_back(fmt::format("{}: the probes take no longer than the copies alone", group.path));
    }
  }

  /// What lies between two copies at the sizes where the engine makes them wait and not the CPU that starts them. Where
  /// the bytes take much longer, the error of their rate is as much as what is looked for.
  void fit_turnaround(const Group& group, const Topology& topology) {
    constexpr double kLongFlow = 2;
    constexpr double kTooLong = 16;
    constexpr double kQueued = bench::kQueuedCopies;
    const Seconds started = group.shortest();
    std::vector<double> gaps;
    for (const Meant& meant : group.lines) {
      const Seconds flow = flow_alone(meant.primitive, meant.size(), topology);
      const std::optional<Seconds> alone = predict_below(meant.primitive, meant.size(), topology);
      if (!alone || flow <= started * kLongFlow || flow > started * kTooLong) continue;
      // The first takes what one takes alone.
      const Seconds each = (meant.time() * kQueued - *alone) / (kQueued - 1);
      gaps.push_back((each - flow).value());
    }
    if (gaps.empty()) {
      result_.notes.push_back(group.path + ": at no size of the probes does the engine alone tell it; it stays");
      return;
    }
    const Seconds turnaround{std::max(0.0, middle(gaps))};
    set(group.path, turnaround, group);
    measured_[group.path] = turnaround;
  }

  void fit_turnarounds_alike(const Topology& topology) {
    for (const auto& [copy, cost] : topology.platform().copies) measured_or_alike(copy_path(copy), ".turnaround");
  }

  /// The same puts there and back without their signals, measured in the same job: closer than any fit. The peer goes
  /// on while the sender learns of the end.
  [[nodiscard]] std::optional<Seconds> measured_put(const Meant& signal) const {
    const bench::ProbeLine& line = signal.probe->line;
    const std::string_view name =
        signal.primitive.kind == Kind::kernel_signal ? "copy kernel-push" : "peer copy write ";
    const auto write = [&](const std::string& from, const std::string& to) -> std::optional<Seconds> {
      const auto found = std::ranges::find_if(probes_.probes, [&](const Probe& probe) {
        return probe.file == signal.probe->file && probe.line.name.starts_with(name) && probe.line.gpu == from &&
               probe.line.peer == to && probe.line.size == line.size;
      });
      if (found == probes_.probes.end()) return std::nullopt;
      return Seconds{found->line.time_us.median * 1e-6};
    };
    const auto there = write(line.gpu, line.peer);
    const auto back = write(line.peer, line.gpu);
    if (!there || !back) return std::nullopt;
    const Seconds put = (*there + *back) / 2;
    return put > completion_time() ? put - completion_time() : Seconds{};
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
      edit_.set_source(source_name(group.path), source_text(group, probes_, summarize_errors(all)));
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
  std::map<std::string, Seconds> measured_{};  ///< parts of copies that probes tell, by path
  Calibration result_{};
  MessageFits messages_{probes_, groups_, topology_, edit_, result_.notes};
};

}  // namespace

Calibration calibrate(const ProbeSet& probes, const std::filesystem::path& base, bool force) {
  return Calibrator(probes, base, force).run();
}

}  // namespace twinlink::validate
