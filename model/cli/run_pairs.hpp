// `run` with --pairs or --all-pairs: several pairs of ranks; and what these have in common with one pair.
#pragma once

#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/cli/commands.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/pairs.hpp"

namespace twinlink::model {

struct RunOptions {
  PlatformOptions platform{};
  PairOptions pair{};
  bench::RunOptions run{};
  std::string place{};  ///< of --all-pairs and --pairs: see places_of_ranks(); empty: not said
  int ranks = 0;        ///< of --all-pairs with a place; 0: all
  SimulationOptions simulation{};
  RoundWishes why{};
  std::filesystem::path timeline{};
  std::filesystem::path report{};  ///< of one pair
  bool chosen = false;             ///< the protocol, by the program
};

using PathsOn = std::function<std::vector<Path>(const Platform&)>;

void note_fallback(const Protocol& protocol, const Path& path);
/// What is said of protocols and of what they find, and changes nothing on any path: each has a pair, or the only one
/// has all.
void note_idle_settings(const RunOptions& options, const Platform& platform, std::span<const bench::PairPlan> pairs,
                        const PathsOn& paths_on);
/// The protocol where the user names none: the shortest way that all pairs which take it have.
const Protocol& choose_protocol(const RunOptions& options);

/// The matrix of --all-pairs.
ExitCode run_all_pairs(RunOptions options, const std::string& command_line);
/// The pairs of --pairs, at once.
ExitCode run_pairs(RunOptions options, const std::string& command_line);

}  // namespace twinlink::model
