// The option --pairs, in both programs: which pairs run at once, and what each runs.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/bench/measure/pairs.hpp"

namespace CLI {
class App;
class Option;
}  // namespace CLI

namespace twinlink::bench {

struct DefaultRepeats;
struct RunOptions;

/// One entry of --pairs: FIRST-SECOND[:PROTOCOL[:NAME=VALUE...]].
struct PairWish {
  std::string first{};  ///< a rank in the program's own words
  std::string second{};
  std::string protocol{};  ///< exists; empty: runs as the other options say
  /// "chunk", "depth", "preset" or an option of the protocol, with its value.
  std::vector<std::pair<std::string, std::string>> settings{};
};

/// Entries between commas. A UsageError that says what is wrong with which; names and values of settings are checked by
/// make_pair_plans().
std::vector<PairWish> parse_pairs(std::string_view text);

/// Adds --pairs. `form` and `example` are the program's own way to name a pair: "RANK-RANK", "0-1,2-3".
CLI::Option* add_pairs_option(CLI::App& app, RunOptions& options, const std::string& form, const std::string& example);

/// A plan for each of options.pairs. `rank_of` reads the program's own words, and throws a UsageError. A UsageError for
/// options that contradict each other and for pairs that share a rank.
std::vector<PairPlan> make_pair_plans(const RunOptions& options, const DefaultRepeats& defaults,
                                      const std::function<RankId(const std::string&)>& rank_of);

}  // namespace twinlink::bench
