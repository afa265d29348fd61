#include "validate/compare/visits.hpp"

#include <algorithm>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "protocols/bench/measure/expectation.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "protocols/core/errors.hpp"
#include "validate/compare/curve_settings.hpp"

namespace twinlink::validate {
namespace {

std::vector<bench::ExpectedTime> expected_of(const Visit& visit) {
  const auto expected = bench::expectation_of(visit.result.environment, visit.file);
  return expected ? expected->points : std::vector<bench::ExpectedTime>{};
}

/// What the ranks ran on: models, and not the one that it was this time.
std::vector<std::string> machine_of(const bench::Result& result) {
  std::vector<std::string> models;
  for (const nlohmann::json& rank : result.environment.value("ranks", nlohmann::json::array())) {
    models.push_back(rank.value("cpu", ""));
    models.push_back(rank.value("device", nlohmann::json::object()).value("name", ""));
  }
  return models;
}

void require_alike(const Visit& first, const Visit& other) {
  const auto differs = [&](std::string_view what) {
    throw InputError(fmt::format("{}: error: {} than in {}", other.file, what, first.file));
  };
  if (run_options(first.result.series) != run_options(other.result.series)) {
    differs("another curve, other places or other sizes");
  }
  if (machine_of(first.result) != machine_of(other.result)) differs("other devices or processors");
  if (expected_of(first) != expected_of(other)) differs("something else was expected");
}

void require_rounds(const Visit& visit) {
  if (visit.result.world != "measured") throw InputError(visit.file + ": error: not measured");
  for (const bench::Point& point : visit.result.series.points) {
    if (!point.samples_us.empty()) continue;
    throw InputError(fmt::format("{}: error: {}: no raw samples", visit.file, format_size(point.size)));
  }
}

bench::Rounds rounds_of(const bench::Point& point) {
  return {.times_us = point.samples_us, .left_out = point.time_us.left_out, .disturbed = point.time_us.disturbed};
}

}  // namespace

bench::Result together(std::vector<Visit> visits) {
  std::vector<std::string> files;
  for (const Visit& visit : visits) {
    require_rounds(visit);
    require_alike(visits.front(), visit);
    if (std::ranges::find(files, visit.file) != files.end()) throw InputError(visit.file + ": error: named twice");
    files.push_back(visit.file);
  }
  bench::Result all = std::move(visits.front().result);
  for (bench::Point& point : all.series.points) {
    std::vector<bench::Rounds> passes{rounds_of(point)};
    for (std::size_t i = 1; i < visits.size(); ++i) {
      const bench::Point& other = *std::ranges::find(visits[i].result.series.points, point.size, &bench::Point::size);
      passes.push_back(rounds_of(other));
      point.verified = point.verified && other.verified;
    }
    const double bytes = point.bandwidth_MBps * point.time_us.median;  // of all directions
    bench::Rounds rounds = bench::together(std::move(passes));
    point.samples_us = rounds.times_us;
    point.time_us = bench::summarize(std::move(rounds));
    point.bandwidth_MBps = bytes / point.time_us.median;
  }
  if (files.size() > 1)
    all.notes.push_back(fmt::format("{} visits together: {}", files.size(), fmt::join(files, ", ")));
  return all;
}

}  // namespace twinlink::validate
