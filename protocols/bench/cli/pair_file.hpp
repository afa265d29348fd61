// The file of results between all pairs of ranks, or of pairs that ran at once.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/results/json_value.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

inline constexpr int kPairsSchema = 1;
inline constexpr std::string_view kPairsKind = "twinlink-pairs";

/// What `all` of one program run have in common, and its series.
struct PairFile {
  std::string world{};
  std::string program{};
  std::string command{};
  JsonValue environment{};
  PairSeries pairs{};
};

std::vector<Result> results_of(const PairFile& file);
/// {"kind", "schema", "notes", "results"}: each result as in a file of its own.
nlohmann::json to_json(const PairFile& file);
nlohmann::json to_json(std::span<const Result> results, const std::vector<std::string>& notes = {});

}  // namespace twinlink::bench
