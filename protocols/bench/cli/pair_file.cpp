#include "protocols/bench/cli/pair_file.hpp"

#include <nlohmann/json.hpp>

namespace twinlink::bench {

std::vector<Result> results_of(const PairFile& file) {
  std::vector<Result> results;
  for (const Series& series : file.pairs.series) {
    results.push_back({.world = file.world,
                       .program = file.program,
                       .command = file.command,
                       .environment = file.environment,
                       .series = series});
  }
  return results;
}

nlohmann::json to_json(std::span<const Result> results, const std::vector<std::string>& notes) {
  nlohmann::json json{
      {"kind", kPairsKind}, {"schema", kPairsSchema}, {"notes", notes}, {"results", nlohmann::json::array()}};
  for (const Result& result : results) json["results"].push_back(to_json(result));
  return json;
}

nlohmann::json to_json(const PairFile& file) { return to_json(results_of(file), file.pairs.notes); }

}  // namespace twinlink::bench
