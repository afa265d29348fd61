#include "model/cli/run_pairs.hpp"

#include <algorithm>
#include <charconv>
#include <iostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/referee.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

/// All GPUs of the first node, or of all nodes where a node has one; or those that --place gives to --ranks.
std::vector<Place> all_places(const RunOptions& options, const Platform& platform) {
  if (!options.place.empty()) return places_of_ranks(platform, options.place, options.ranks);
  const Topology topology(platform);
  const auto gpus = static_cast<int>(topology.part_of(0).gpus);
  std::vector<Place> places;
  for (int node = 0; node < (gpus > 1 ? 1 : topology.nodes()); ++node) {
    for (int gpu = 0; gpu < gpus; ++gpu) {
      if (topology.why_gone({node, gpu, {}}).empty()) places.push_back({node, gpu, {}});
    }
  }
  return places;
}

/// The GPUs of --pairs, each with a rank of its own, numbered as they are named: by their places, or with --place by
/// the numbers of the job's ranks.
class PairPlaces {
 public:
  PairPlaces(const Platform& platform, const std::string& how)
      : topology_(platform),
        job_(how.empty() ? std::vector<Place>{} : places_of_ranks(platform, how)),
        by_rank_(!how.empty()) {}

  RankId add(const std::string& text) {
    const Place place = by_rank_ ? place_of_rank(text) : parse_place(text);
    topology_.require(place);
    if (!by_rank_ && std::ranges::find(places_, place) != places_.end()) throw UsageError(text + " is in two pairs");
    places_.push_back(place);
    return RankId{static_cast<int>(places_.size()) - 1};
  }
  [[nodiscard]] const std::vector<Place>& places() const { return places_; }
  [[nodiscard]] Path path(RankId first, RankId second) const { return topology_.path(place(first), place(second)); }

 private:
  [[nodiscard]] const Place& place(RankId rank) const { return places_[static_cast<std::size_t>(rank.value)]; }

  [[nodiscard]] Place place_of_rank(const std::string& text) const {
    std::size_t rank = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), rank);
    if (error == std::errc{} && end == text.data() + text.size() && rank < job_.size()) return job_[rank];
    throw UsageError(fmt::format("'{}' is no rank: --place gives places to ranks 0 to {}", text, job_.size() - 1));
  }

  Topology topology_;
  std::vector<Place> job_;  ///< by rank, where --place says so
  bool by_rank_;
  std::vector<Place> places_;
};

}  // namespace

void note_fallback(const Protocol& protocol, const Path& path) {
  const Support support = protocol.supports(path);
  if (support.kind == Support::Kind::fallback) std::cerr << "twinlink-sim: note: " << support.reason << "\n";
}

void note_idle_settings(const RunOptions& options, const Platform& platform, std::span<const bench::PairPlan> pairs,
                        const PathsOn& paths_on) {
  const std::vector<Path> paths = paths_on(platform);
  std::vector<UsedProtocol> used;
  std::vector<std::string> notes;
  bool idle = true;
  for (std::size_t i = 0; i < paths.size(); ++i) {
    const auto& [protocol, plan] = pairs[std::min(i, pairs.size() - 1)];
    used.push_back({options.chosen ? nullptr : protocol, &plan.settings});
    notes = idle_pieces(options.run.settings, {*protocol, plan.settings, plan.sizes, paths[i], plan.window});
    idle = idle && !notes.empty();
  }
  note_all(idle_switches(platform, paths_on, used, pairs.front().plan.sizes));
  if (idle) note_all(notes);
}

const Protocol& choose_protocol(const RunOptions& options) {
  const Platform platform = read_platform(options.platform);
  if (options.run.all_pairs) return shortest_way(paths_between(platform, all_places(options, platform)));
  std::vector<Path> paths;
  if (options.run.pairs.empty()) {
    const std::vector<Place> places = read_pair(options.pair, platform);
    paths.push_back(Topology(platform).path(places[0], places[1]));
  }
  PairPlaces all(platform, options.place);
  for (const bench::PairWish& pair : options.run.pairs) {
    const RankId first = all.add(pair.first);
    const RankId second = all.add(pair.second);
    if (pair.protocol.empty()) paths.push_back(all.path(first, second));
  }
  return shortest_way(paths);
}

ExitCode run_all_pairs(RunOptions options, const std::string& command_line) {
  const Protocol& protocol = find_protocol(options.run.protocol);
  const Platform platform = read_platform(options.platform, protocol, options.run.settings);
  const std::vector<Place> places = all_places(options, platform);
  note_all(idle_within_node(options.platform.within_node, platform, places));
  const bench::Plan plan = make_plan(options.run, bench::simulated_repeats());
  const bench::PairPlan all{&protocol, plan};
  note_idle_settings(options, platform, {&all, 1}, [&](const Platform& on) { return paths_between(on, places); });
  require_watched(options.timeline, options.report);
  require_writable(options.run);
  bench::PairSeries pairs;
  simulate_to(
      options.timeline, platform, all_places(options, platform),
      [&](MeasuredRank& rank) {
        bench::PairSeries mine = bench::measure_all_pairs(rank, protocol, plan);
        if (rank.id() == RankId{0}) pairs = std::move(mine);
      },
      options.simulation);
  const Referee referee(platform);
  for (bench::Series& series : pairs.series) {
    series.clock = "simulated";
    referee.judge(series);
  }
  note_all(idle_buffers(pairs.series));
  bench::deliver(bench::PairFile{.world = "simulated",
                                 .program = program_name(),
                                 .command = command_line,
                                 .environment = environment_of(platform, options.platform),
                                 .pairs = std::move(pairs)},
                 options.run.output, std::cout);
  return ExitCode::ok;
}

ExitCode run_pairs(RunOptions options, const std::string& command_line) {
  const Protocol& common = find_protocol(options.run.protocol);
  const Platform platform = read_platform(options.platform, common, options.run.settings);
  PairPlaces all(platform, options.place);
  const bool several = options.run.pairs.size() > 1;
  const bench::DefaultRepeats repeats = several ? bench::simulated_repeats_at_once() : bench::simulated_repeats();
  const std::vector<bench::PairPlan> pairs =
      make_pair_plans(options.run, repeats, [&all](const std::string& text) { return all.add(text); });
  require_watched(options.timeline, options.report);
  require_writable(options.run);
  for (const auto& [protocol, plan] : pairs) note_fallback(*protocol, all.path(plan.first, plan.second));
  note_all(idle_within_node(options.platform.within_node, platform, all.places()));
  note_idle_settings(options, platform, pairs, [&](const Platform& on) {
    const Topology topology(on);
    std::vector<Path> paths;
    for (std::size_t i = 0; i + 1 < all.places().size(); i += 2) {
      paths.push_back(topology.path(all.places()[i], all.places()[i + 1]));
    }
    return paths;
  });
  std::vector<bench::Result> results;
  simulate_to(
      options.timeline, platform, all.places(),
      [&](MeasuredRank& rank) {
        for (bench::Series& series : bench::measure_at_once(rank, pairs)) {
          series.clock = "simulated";
          results.push_back({.world = "simulated",
                             .program = program_name(),
                             .command = command_line,
                             .environment = environment_of(platform, options.platform),
                             .series = std::move(series)});
        }
      },
      options.simulation);
  const Referee referee(platform);
  for (const bench::Result& result : results) referee.judge(result.series);
  bench::deliver(results, options.run.output, std::cout);
  return ExitCode::ok;
}

}  // namespace twinlink::model
