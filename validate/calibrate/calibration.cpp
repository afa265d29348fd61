#include "validate/calibrate/calibration.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "validate/calibrate/calibration_caches.hpp"
#include "validate/calibrate/calibration_copies.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/calibrate/calibration_messages.hpp"
#include "validate/calibrate/calibration_programs.hpp"
#include "validate/calibrate/calibration_windows.hpp"
#include "validate/calibrate/calibration_written.hpp"
#include "validate/calibrate/contention.hpp"
#include "validate/calibrate/own_speed.hpp"
#include "validate/primitives/cost_fit.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

PlatformEdit own_software(const std::filesystem::path& base) {
  PlatformEdit edit(base);
  take_own_speed(edit);
  return edit;
}

using platforms::Platform;
using platforms::Topology;
using Fit = KindFacts::Fit;
using Kind = Primitive::Kind;

/// By less rates are alike.
constexpr double kNarrower = 0.999;

class Calibrator {
 public:
  Calibrator(const ProbeSet& probes, const std::filesystem::path& base, bool force)
      : probes_(probes), edit_(own_software(base)), base_(edit_.platform()), topology_(base_) {
    result_.base = base_.file = base.string();
    result_.origins = probes.files;
    result_.notes = check_machine(probes_, base_, force);
    sort_probes();
  }

  Calibration run() {
    // What the CPU does comes first: the latency is what is left beside it.
    copies_.fit_cpu();
    messages_.fit_cpu();
    // Messages that CPUs copy get no more than their copies.
    const auto is_of_messages = [](const Group& group) {
      return facts_of(group.first().kind).fit == Fit::latency_of_messages;
    };
    for (const bool messages : {false, true}) {
      for (const Group& group : groups_) {
        if (is_of_messages(group) == messages) fit(group);
      }
    }
    // What comes on top of copies is told apart from them by the copies' own fits.
    const Platform with_copies = fitted();
    const Topology topology(with_copies);
    for (const Group& group : groups_) fit_on_top(group, topology);
    copies_.fit_gaps_alike(topology);
    // And what lies behind signals is told from them, and from gaps.
    const Platform with_signals = fitted();
    const Topology all_else(with_signals);
    for (const Group& group : groups_) {
      const Fit how = facts_of(group.first().kind).fit;
      if (how == Fit::rest) fit_rest(group, all_else, probes_, edit_, result_.notes);
      if (how == Fit::ring) fit_ring(group, all_else, probes_, edit_);  // what lies between two programs is known now
    }
    finish_uncached(all_else);
    const Platform with_rings = fitted();
    const Topology but_cold(with_rings);
    for (const Group& group : groups_) {
      if (facts_of(group.first().kind).fit == Fit::cold) fit_cold(group, but_cold, probes_, edit_);
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
    for (Group& group : groups_) split_longer_ways(group);
    uncached_ = split_uncached(groups_, topology_, probes_, edit_);
  }

  /// Copies that cross more links than others of their kind, such as those of far memory, tell of these links. The kind
  /// is told by the others.
  void split_longer_ways(Group& group) {
    if (group.path.find(".copies.") == std::string::npos) return;
    const auto hops = [&](const GroupedProbe& grouped) {
      return topology_.copy_route(grouped.primitive.from.location, grouped.primitive.to.location).size();
    };
    const std::size_t fewest = hops(std::ranges::min(group.lines, {}, hops));
    const auto longer =
        std::ranges::stable_partition(group.lines, [&](const GroupedProbe& m) { return hops(m) == fewest; });
    if (longer.empty()) return;
    longer_ways_.push_back({.path = group.path, .lines = {longer.begin(), longer.end()}});
    group.lines.erase(longer.begin(), longer.end());
  }

  /// The platform with all fits so far. An InputError where they give numbers that no machine has.
  [[nodiscard]] Platform fitted() const {
    try {
      return edit_.platform();
    } catch (const InputError& error) {
      std::vector<std::string> files;
      for (const ProbeOrigin& origin : probes_.files) files.push_back(origin.file);
      throw InputError(fmt::format("{}: error: fits of these probes are no numbers of a platform:\n{}",
                                   fmt::join(files, ", "), error.what()));
    }
  }

  // ---- fits ---------------------------------------------------------------------------------------------------------

  template <class Value>
  void set(const std::string& path, const Value& value, const Group& group) {
    set_fit(edit_, path, value, group, probes_);
  }

  void fit(const Group& group) {
    switch (facts_of(group.first().kind).fit) {
      case Fit::constant:
        return set(group.path, fit_constant(observations_of(group)), group);
      case Fit::constant_beside_way:
        return set(group.path, fit_constant(observations_of(group)) - message_way(group.first(), {}, topology_), group);
      case Fit::latency_of_copies:
        return copies_.fit(group);
      case Fit::latency_of_messages:
        return fit_messages(group);
      case Fit::line_over_size:
        return fit_pinning(group);
      case Fit::hop_of_blocks:
        return fit_hop(group, topology_, probes_, edit_);
      case Fit::rate_of_blocks:
        return fit_rate_of_blocks(group, probes_, edit_);
      case Fit::cpus_part:  // CopyFits and MessageFits have told them
      case Fit::gap_of_copies:
      case Fit::gap_of_messages:
      case Fit::share_of_blocks:
      case Fit::share_of_signals:
      case Fit::signal_by_size:
      case Fit::written:
      case Fit::launch:
      case Fit::graph:
      case Fit::passing:
      case Fit::ring:
      case Fit::cold:
      case Fit::rest:
        return;  // fit_on_top()
    }
  }

  void fit_messages(const Group& group) {
    const bool within = group.first().same_node;
    const platforms::NetworkCosts& costs = within ? base_.intra_node : *base_.network;
    const Bytes largest = std::ranges::max(group.lines, {}, &GroupedProbe::size).size();
    std::optional<Rate> known = narrowest_link(group.first(), largest, topology_);
    const double parts = adapters_of(group.first(), largest, topology_);
    if (costs.rate) known = Rate{costs.rate->value.bytes_per_second() * parts};
    // Where the base says that a message gets what the adapter's link has, the message tells that.
    std::string rate_path = within || costs.rate ? group.path + ".rate" : "fabric.link";
    // Several adapters may share a link that is narrower than theirs together.
    const bool by_links = rate_path == "fabric.link";
    if (by_links && parts > 1 && known && known->bytes_per_second() < kNarrower * parts * link_of_base()) {
      rate_path.clear();
      result_.notes.push_back("fabric.link: what adapters share on a message's way is narrower; it stays");
    }
    KnownOfLatency what{.base = known, .parts = parts, .queues = find_group(groups_, group.path + ".gap")};
    if (within && costs.copied_by != platforms::CopiedBy::none) what.most = most_of_copied_messages(fitted());
    const std::optional<Rate> rate =
        fit_latency(group, messages_.observations_beside_cpu(group), what, rate_path, probes_, edit_, result_.notes);
    if (rate && within) limit_uncached(*rate);
  }

  [[nodiscard]] double link_of_base() const { return base_.fabric->link.value.bytes_per_second(); }

  /// Where the base says what bytes take that no cache holds: not less than those that one holds, until the probes
  /// tell.
  void limit_uncached(Rate rate) {
    const auto& known = base_.intra_node.uncached;
    if (!known || known->value <= rate) return;
    edit_.set(std::string(kUncached), rate, platforms::Quality::derived, "not above the rate of what the caches hold");
  }

  /// Where the probes show no such bytes that should be there by the base, these take no longer.
  void finish_uncached(const Topology& all_else) {
    if (uncached_) {
      fit_uncached(*uncached_, all_else, probes_, edit_, result_.notes);
      groups_.push_back(*std::move(uncached_));
    } else if (base_.intra_node.uncached && lacks_in_caches(groups_, topology_)) {
      edit_.set(std::string(kUncached), all_else.platform().intra_node.rate->value, platforms::Quality::derived,
                "the rate of what the caches hold: the probes show no difference");
    }
  }

  void fit_pinning(const Group& group) {
    if (const std::optional<LineFit> line = fit_line(observations_of(group))) {
      set("driver.runtime.pin_base", line->base, group);
      set("driver.runtime.pin_per_gib", line->per_byte * static_cast<double>((1_GiB).count()), group);
    } else {
      result_.notes.push_back(
          "driver.runtime.pin_base, pin_per_gib: the sizes of the probes do not tell them; they stay");
    }
  }

  void fit_on_top(const Group& group, const Topology& topology) {
    switch (facts_of(group.first().kind).fit) {
      case Fit::gap_of_copies:
        return copies_.fit_gap(group, topology);
      case Fit::gap_of_messages:
        return fit_gap(group, topology, probes_, edit_);
      case Fit::signal_by_size:
        return copies_.fit_kernel_signal(group, topology);
      case Fit::written:
        return fit_written(group, topology, probes_, edit_, result_.notes);
      case Fit::share_of_blocks:
        return fit_shares(group, [&](const GroupedProbe& grouped) {
          return Below{predict_below(grouped.primitive, grouped.size(), topology), grouped.primitive.blocks};
        });
      case Fit::launch:
        return fit_launch(group, topology, probes_, edit_);
      case Fit::graph:
        return fit_graph(group, topology, probes_, edit_, result_.notes);
      case Fit::passing:
        return fit_passing(group, topology, probes_, edit_, result_.notes);
      case Fit::share_of_signals:
        return fit_shares(group, [&](const GroupedProbe& grouped) {
          return Below{copies_.put_alone(grouped, topology), 1};
        });
      case Fit::constant:
      case Fit::constant_beside_way:
      case Fit::latency_of_copies:
      case Fit::latency_of_messages:
      case Fit::line_over_size:
      case Fit::hop_of_blocks:
      case Fit::rate_of_blocks:
      case Fit::cpus_part:
      case Fit::ring:
      case Fit::cold:
      case Fit::rest:
        return;  // fit(), fit_rest(), fit_ring() and fit_cold()
    }
  }

  /// What a line takes without the number that is looked for, and how often that is in it.
  struct Below {
    std::optional<Seconds> time{};
    double count = 1;
  };

  void fit_shares(const Group& group, const auto& below) {
    std::vector<CountedObservation> observations;
    for (const GroupedProbe& grouped : group.lines) {
      const Below rest = below(grouped);
      if (rest.time) observations.push_back({observation_of(grouped), *rest.time, rest.count});
    }
    if (const std::optional<Seconds> each = fit_share(observations)) {
      set(group.path, *each, group);
    } else {
      result_.notes.push_back(fmt::format("{}: the probes take no longer than the copies alone", group.path));
    }
  }

  // ---- what came of it ----------------------------------------------------------------------------------------------

  /// Those of one name that go to one entry.
  struct Lines {
    std::vector<Row> rows{};
    TimeShares shares{};  ///< their sum
  };

  void describe_fits() {
    const Platform platform = fitted();
    const Topology topology(platform);
    const TimeSplit split(platform);
    std::map<std::pair<std::string, std::string>, Lines> lines_by_probe;
    const auto rows_of = [&](const Group& group) {
      std::vector<Row> all;
      for (const GroupedProbe& grouped : group.lines) {
        const bench::ProbeLine& line = grouped.probe->line;
        const std::optional<Seconds> time = predict(grouped.primitive, line.size, topology);
        if (!time || !(*time > Seconds{})) continue;
        all.push_back({.key = {line.name, line.gpu, line.peer, line.size},
                       .measured_us = line.time_us.median,
                       .simulated_us = time->microseconds()});
        Lines& lines = lines_by_probe[{group.path, line.name}];
        lines.rows.push_back(all.back());
        lines.shares += split.shares(grouped.primitive, line.size, grouped.time()).value();
      }
      return all;
    };
    for (const Group& group : longer_ways_) rows_of(group);
    for (const Group& group : groups_) {
      const std::vector<Row> all = rows_of(group);
      if (all.empty()) continue;
      edit_.set_source(source_name(group.path), source_text(group, probes_, summarize_errors(all)));
      note_narrow_links(group, topology);
    }
    std::vector<Group> described = groups_;
    std::ranges::copy(longer_ways_, std::back_inserter(described));
    std::size_t count = 0;
    for (const Group& group : described) {
      for (const GroupedProbe& grouped : group.lines) {
        auto found = lines_by_probe.extract({group.path, grouped.probe->line.name});
        if (!found) continue;
        auto& [rows, shares] = found.mapped();
        result_.shares += shares;
        count += rows.size();
        shares /= static_cast<double>(rows.size());
        result_.fits.push_back({grouped.probe->line.name, group.path, summarize_errors(rows), shares});
      }
    }
    if (count > 0) result_.shares /= static_cast<double>(count);
  }

  /// A rate that the base's links do not let through would be of no use, silently.
  void note_narrow_links(const Group& group, const Topology& topology) {
    const Primitive& first = group.first();
    if (first.kind != Kind::copy) return;
    const std::optional<Rate> rate = find_copy_cost(topology, first.from, first.to).rate;
    const std::optional<Rate> narrowest = narrowest_link(first, {}, topology);
    if (!rate || !narrowest || *rate <= *narrowest) return;
    result_.notes.push_back(fmt::format("{}.rate: {}, but the base has only {} on the way", group.path,
                                        format_rate(*rate), format_rate(*narrowest)));
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
    for (platforms::NumberEntry& entry : all_numbers(edit_.platform())) {
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
  std::vector<Group> longer_ways_{};  ///< predicted, and not fitted
  std::optional<Group> uncached_{};   ///< one of them when it is fitted, which is last
  Calibration result_{};
  CopyFits copies_{probes_, groups_, topology_, edit_, result_.notes};
  MessageFits messages_{probes_, groups_, topology_, edit_, result_.notes};
};

}  // namespace

Calibration calibrate(const ProbeSet& probes, const std::filesystem::path& base, bool force) {
  return Calibrator(probes, base, force).run();
}

}  // namespace twinlink::validate
