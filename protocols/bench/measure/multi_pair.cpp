#include "protocols/bench/measure/multi_pair.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {

void put_side_by_side(std::span<PairPlan> pairs) {
  std::set<RankId> seen;
  for (const PairPlan& pair : pairs) {
    if (pair.plan.first == pair.plan.second) throw UsageError("a message needs two different ranks");
    for (const RankId rank : {pair.plan.first, pair.plan.second}) {
      if (!seen.insert(rank).second) throw UsageError(fmt::format("rank {} is in two pairs", rank.value));
    }
  }
  for (PairPlan& pair : pairs) {
    pair.plan.beside.clear();
    for (const PairPlan& other : pairs) {
      if (&other == &pair) continue;
      pair.plan.beside.push_back({.first = other.plan.first,
                                  .second = other.plan.second,
                                  .protocol = std::string(other.protocol->name()),
                                  .settings = other.plan.settings,
                                  .facts = other.plan.facts});
    }
  }
}

namespace {

Seconds longest_timeout(std::span<const PairPlan> pairs) {
  Seconds longest{};
  for (const PairPlan& pair : pairs) longest = std::max(longest, pair.plan.settings.timeout);
  return longest;
}

}  // namespace

std::vector<Series> measure_at_once(MeasuredRank& rank, std::span<const PairPlan> pairs) {
  std::string mine;
  for (const PairPlan& pair : pairs) {
    const Series series = measure(rank, *pair.protocol, pair.plan);
    // Only the series matters here; the program knows the rest, and says it in the file.
    if (rank.id() == pair.plan.first) mine = to_text(to_json(Result{.world = "measured", .series = series}));
  }
  const std::vector<std::string> texts = gather(rank, mine, Patience::of_turn(longest_timeout(pairs)));
  std::vector<Series> all;
  if (texts.empty()) return all;
  for (const PairPlan& pair : pairs) {
    const auto leader = static_cast<std::size_t>(pair.plan.first.value);
    all.push_back(result_from_json(nlohmann::json::parse(texts.at(leader)), "a pair's result").series);
  }
  return all;
}

std::filesystem::path file_of_pair(const std::filesystem::path& file, std::size_t pair) {
  if (file.empty() || pair == 0) return file;
  const std::string name = fmt::format("{}-{}{}", file.stem().string(), pair + 1, file.extension().string());
  return file.parent_path() / name;
}

}  // namespace twinlink::bench
