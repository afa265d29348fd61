#include "validate/compare/comparison.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "validate/compare/comparability.hpp"
#include "validate/compare/curve_settings.hpp"

namespace twinlink::validate {
namespace {

struct FourTimes {
  bench::TwoTimes measured{};
  bench::TwoTimes simulated{};
};

/// The sizes that both pairs hold in both worlds, ascending.
std::vector<FourTimes> common_sizes(const Pair& a, const Pair& b) {
  std::map<Bytes, Row> rows_of_b;
  for (const auto& row : b.joined.rows) rows_of_b.emplace(row.key.size, row);

  std::vector<FourTimes> result;
  for (const auto& row : a.joined.rows) {
    const auto other = rows_of_b.find(row.key.size);
    if (other == rows_of_b.end()) continue;
    const Bytes size = row.key.size;
    result.push_back({.measured = {.size = size, .a_us = row.measured_us, .b_us = other->second.measured_us},
                      .simulated = {.size = size, .a_us = row.simulated_us, .b_us = other->second.simulated_us}});
  }
  return result;
}

CurveOrder order_curves(const std::vector<Pair>& pairs, std::size_t a, std::size_t b) {
  CurveOrder order{.a = a, .b = b};
  std::vector<bench::TwoTimes> measured;
  std::vector<bench::TwoTimes> simulated;
  for (const auto& times : common_sizes(pairs[a], pairs[b])) {
    measured.push_back(times.measured);
    simulated.push_back(times.simulated);
    const auto in_measured = times.measured.a_us <=> times.measured.b_us;
    const auto in_simulated = times.simulated.a_us <=> times.simulated.b_us;
    if (in_measured == in_simulated) ++order.same_order;
  }
  order.sizes = measured.size();
  order.measured = leads(measured);
  order.simulated = leads(simulated);
  order.crossovers = match_crossovers(order.measured, order.simulated);
  return order;
}

bool same_pattern(const Pair& a, const Pair& b) {
  return a.measured.series && b.measured.series && a.measured.series->pattern == b.measured.series->pattern;
}

std::string name_of(const Recording& recording) {
  if (recording.workload) return recording.workload->workload;
  return recording.series ? recording.series->label : "probes";
}

/// "--chunk 1M"; empty for a protocol's defaults.
std::string settings_of(const Recording& recording) {
  if (!recording.series) return {};
  const std::string label = settings_label(*recording.series);
  const std::string& protocol = recording.series->protocol;
  return label.starts_with(protocol + ' ') ? label.substr(protocol.size() + 1) : "";
}

/// Curves of one name are told apart by the first of these that differ: pattern, settings, files, place in the list.
void make_labels_unique(std::vector<Pair>& pairs) {
  std::vector<std::vector<std::string>> details(pairs.size());
  const auto tell_apart = [&](const auto& detail_of) {
    std::map<std::string, std::set<std::string>> found;
    for (std::size_t i = 0; i < pairs.size(); ++i) found[pairs[i].label].insert(detail_of(i));
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const auto detail = detail_of(i);
      if (found[pairs[i].label].size() < 2 || detail.empty()) continue;
      details[i].push_back(detail);
      pairs[i].label = fmt::format("{} ({})", name_of(pairs[i].measured), fmt::join(details[i], ", "));
    }
  };
  tell_apart([&](std::size_t i) {
    return std::string(pairs[i].measured.series ? to_string(pairs[i].measured.series->pattern) : "");
  });
  tell_apart([&](std::size_t i) { return settings_of(pairs[i].measured); });
  tell_apart([&](std::size_t i) { return pairs[i].measured.file; });
  tell_apart([&](std::size_t i) { return pairs[i].simulated.file; });
  tell_apart([](std::size_t i) { return fmt::format("pair {}", i + 1); });
}

void check_limit(Comparison& comparison, const Pair& pair, const LimitedFigure& figure) {
  const double error = pair.errors.*figure.error;
  if (!figure.limit || error <= *figure.limit) return;
  comparison.exceeded.push_back(fmt::format("{}: {} {} {:.2f} % exceeds {:g} %", pair.label, figure.name,
                                            pair.difference(), error * 100, *figure.limit * 100));
}

std::map<Bytes, std::vector<std::string>> algorithms_by_size(const std::vector<Sample>& samples) {
  std::map<Bytes, std::vector<std::string>> algorithms;
  for (const Sample& sample : samples) algorithms[sample.key.size].push_back(sample.key.name);
  return algorithms;
}

/// Gives a workload's lines whose algorithm nobody told the one of the other file, so that they are joined by size.
void take_algorithms(Recording& recording, const Recording& other) {
  if (!recording.workload) return;
  const auto own = algorithms_by_size(recording.samples);
  auto others = algorithms_by_size(other.samples);
  for (Sample& sample : recording.samples) {
    if (sample.key.name != kUntoldAlgorithm) continue;
    const Bytes size = sample.key.size;
    const std::vector<std::string>& found = others[size];
    if (found.size() > 1 || own.at(size).size() > 1) {
      throw InputError(
          fmt::format("{}: error: does not tell the algorithm that it took, and {} has several at {} ({}): which is to "
                      "be compared?",
                      recording.file, found.size() > 1 ? other.file : "it", format_size(size),
                      fmt::join(found.size() > 1 ? found : own.at(size), ", ")));
    }
    sample.key.name = found.empty() ? "" : found.front();
  }
}

/// A wish that no file takes was meant for another one.
void require_use(const ImportWishes& wishes, const std::vector<Recording>& recordings) {
  const auto of_copies = [](const Recording& recording) { return recording.tool == Tool::nvbandwidth; };
  const auto of_curve = [](const Recording& recording) {
    return recording.tool && *recording.tool != Tool::nvbandwidth;
  };
  if (wishes.size && std::ranges::none_of(recordings, of_copies)) {
    throw UsageError("--size: none of the files is nvbandwidth's");
  }
  for (const auto& [option, wished] :
       {std::pair("--table", wishes.table.has_value()), std::pair("--ranks", wishes.ranks.has_value()),
        std::pair("--test", !wishes.test.empty())}) {
    if (!wished || std::ranges::any_of(recordings, of_curve)) continue;
    throw UsageError(fmt::format("{}: none of the files is of the OSU micro-benchmarks or nccl-tests", option));
  }
}

}  // namespace

Verdict Comparison::verdict() const {
  if (!exceeded.empty()) return Verdict::exceeded;
  const auto figures = limited_figures(limits);
  const bool any = std::ranges::any_of(figures, [](const LimitedFigure& figure) { return figure.limit.has_value(); });
  return any ? Verdict::passed : Verdict::no_limit;
}

std::vector<LimitedFigure> limited_figures(const Limits& limits) {
  return {{"geometric mean", &ErrorSummary::geometric_mean, limits.geometric_mean},
          {"p95", &ErrorSummary::p95, limits.p95},
          {"one-sided", &ErrorSummary::slower, limits.slower}};
}

Pair compare_pair(Recording measured, Recording simulated, bool force) {
  Pair pair;
  pair.notes = check_comparable(measured, simulated, force);
  pair.label = name_of(measured);
  take_algorithms(measured, simulated);
  take_algorithms(simulated, measured);
  pair.joined = join(measured.samples, simulated.samples);
  if (pair.joined.rows.empty()) {
    throw InputError(
        fmt::format("{} ({} lines) and {} ({} lines): error: no line in common; nothing is interpolated, "
                    "so both must hold the same sizes",
                    measured.file, measured.samples.size(), simulated.file, simulated.samples.size()));
  }
  pair.errors = summarize_errors(pair.joined.rows);
  if (measured.series && measured.label.empty()) pair.prediction = prediction_of(measured, simulated);
  pair.measured = std::move(measured);
  pair.simulated = std::move(simulated);
  return pair;
}

Comparison compare(std::vector<Pair> pairs, const Limits& limits) {
  assert(!pairs.empty());
  make_labels_unique(pairs);
  Comparison comparison{.limits = limits};
  for (const auto& pair : pairs) {
    for (const LimitedFigure& figure : limited_figures(limits)) check_limit(comparison, pair, figure);
  }
  for (std::size_t a = 0; a < pairs.size(); ++a) {
    for (std::size_t b = a + 1; b < pairs.size(); ++b) {
      if (same_pattern(pairs[a], pairs[b])) comparison.orders.push_back(order_curves(pairs, a, b));
    }
  }
  comparison.pairs = std::move(pairs);
  return comparison;
}

Comparison compare_files(std::span<const std::filesystem::path> files, const Limits& limits, bool force,
                         const ImportWishes& wishes, std::span<const std::string> labels) {
  assert(labels.empty() || labels.size() == 2);
  if (files.empty() || files.size() % 2 != 0) {
    throw UsageError(fmt::format("compare takes files in pairs, {}; {} were named",
                                 labels.empty() ? "MEASURED SIMULATED" : labels[0] + " " + labels[1], files.size()));
  }
  std::string findings;
  const auto collect = [&findings](const InputError& error) {
    findings += (findings.empty() ? "" : "\n") + std::string(error.what());
  };
  std::vector<Recording> recordings;
  for (const auto& file : files) {
    try {
      recordings.push_back(read_recording(file, wishes));
      if (!labels.empty()) recordings.back().label = labels[(recordings.size() - 1) % 2];
    } catch (const InputError& error) {
      collect(error);
    }
  }
  if (!findings.empty()) throw InputError(findings);
  require_use(wishes, recordings);

  std::vector<Pair> pairs;
  for (std::size_t i = 0; i < recordings.size(); i += 2) {
    try {
      pairs.push_back(compare_pair(std::move(recordings[i]), std::move(recordings[i + 1]), force));
    } catch (const InputError& error) {
      collect(error);
    }
  }
  if (!findings.empty()) throw InputError(findings);
  return compare(std::move(pairs), limits);
}

}  // namespace twinlink::validate
