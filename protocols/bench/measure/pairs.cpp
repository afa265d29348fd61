#include "protocols/bench/measure/pairs.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/files.hpp"

namespace twinlink::bench {

bool repeats_a_place(const Rank& rank, RankId later) {
  for (RankId earlier{0}; earlier < later; ++earlier.value) {
    if (rank.place(earlier) == rank.place(later)) return true;
  }
  return false;
}

PairSeries measure_all_pairs(MeasuredRank& rank, const Protocol& protocol, const Plan& plan) {
  const Patience turn = Patience::of_turn(plan.settings.timeout);
  nlohmann::json mine{{"notes", nlohmann::json::array()}, {"results", nlohmann::json::array()}};
  for (RankId first{0}; first.value < rank.ranks(); ++first.value) {
    for (RankId second{0}; second.value < rank.ranks(); ++second.value) {
      // The first of the ranks on one GPU stands for all: the matrix has one place for them.
      if (first == second || repeats_a_place(rank, first) || repeats_a_place(rank, second)) continue;
      meet_all(rank, turn);
      if (rank.id() != first && rank.id() != second) continue;
      const Support support = protocol.supports(rank.path_to(rank.id() == first ? second : first));
      if (!support.usable()) {
        if (rank.id() == first) {
          mine["notes"].push_back(
              fmt::format("{} to {}: {}", to_string(rank.place(first)), to_string(rank.place(second)), support.reason));
        }
        continue;
      }
      Plan pair = plan;
      pair.first = first;
      pair.second = second;
      Series series = measure(rank, protocol, pair);
      // Only the series matters here; the program knows the rest, and says it in the file.
      if (rank.id() == first)
        mine["results"].push_back(to_json(Result{.world = "measured", .series = std::move(series)}));
    }
  }
  meet_all(rank, turn);

  PairSeries all;
  for (const std::string& text : gather(rank, to_text(mine), turn)) {
    const nlohmann::json json = nlohmann::json::parse(text);
    for (const auto& note : json.at("notes")) all.notes.push_back(note);
    for (const auto& result : json.at("results")) {
      all.series.push_back(result_from_json(result, "a rank's results").series);
    }
  }
  return all;
}

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
