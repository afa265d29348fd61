#include "protocols/bench/cli/print.hpp"

#include <algorithm>
#include <ostream>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/print_columns.hpp"
#include "protocols/bench/measure/expectation.hpp"

namespace twinlink::bench {
namespace {

/// ", window 64, chunk 256K, depth 8": what a curve ran with.
std::string settings_of(const Series& series) {
  std::string text;
  if (series.window > 1) text += fmt::format(", window {}", series.window);
  const Settings& settings = series.settings;
  if (settings.chunk > Bytes{}) text += ", chunk " + format_size(*settings.chunk);
  // The depth says nothing of whole messages, unless their protocol leaves the chunk to the ways that it takes.
  if (settings.depth && settings.chunk != Bytes{}) text += fmt::format(", depth {}", *settings.depth);
  if (!series.preset.empty()) text += fmt::format(", preset {}", series.preset);
  for (const auto& [name, value] : settings.options) text += fmt::format(", {}={}", name, value);
  for (const auto& [name, value] : named(series.facts)) {
    text += fmt::format(", {}={}", name, name == "layout" ? describe(series.facts.packing.layout) : value);
  }
  return text;
}

bool unverified(const Result& result) {
  return std::ranges::any_of(result.series.points, [](const Point& point) { return !point.verified; });
}

/// How far what was expected is from what was measured, where the environment tells it. `who` begins the line.
void print_expectation(const Result& result, std::ostream& out, std::string_view who = {}) {
  const auto expected = expectation_of(result.environment, result.program);
  if (!expected) return;
  std::vector<double> log_ratios;
  for (const Point& point : result.series.points) {
    const ExpectedTime* const time = expected->find(point.size);
    if (time != nullptr && point.time_us.median > 0) {
      log_ratios.push_back(log_ratio(time->time_us, point.time_us.median));
    }
  }
  if (log_ratios.empty()) return;
  out << fmt::format("# {}expected from {}, written before: geometric mean error {:.2f} %", who, expected->platform,
                     geometric_mean_error(log_ratios) * 100);
  const std::size_t sizes = result.series.points.size();
  if (log_ratios.size() < sizes) out << fmt::format(" at {} of {} sizes", log_ratios.size(), sizes);
  out << "\n";
}

}  // namespace

void print_rows(const Result& result, std::ostream& out, std::size_t printed) {
  const Series& series = result.series;
  if (printed == 0) {
    out << fmt::format("# {}: {} {}", series.label, heading_world(result.world, result.environment),
                       to_string(series.pattern));
    if (!series.from.empty()) out << fmt::format(", {} to {}", series.from, series.to);
    out << settings_of(series) << "\n";
    if (series.told.cold_us) out << fmt::format("# first message, set-up included: {:.3f} us\n", series.cold_us);
    for (const std::string& note : result.notes) out << fmt::format("# {}\n", note);
    if (unverified(result)) out << "# the payload was not verified\n";
  }
  std::string path = printed == 0 ? "" : series.points[printed - 1].path;
  for (std::size_t row = printed; row < series.points.size(); ++row) {
    const Point& point = series.points[row];
    if (point.path != path) out << fmt::format("# path: {}\n", path = point.path);
    if (row == 0) out << kHeadOfColumns << (point.cpu_us ? "      cpu us" : "") << '\n';
    out << columns(point.size, point.time_us, point.bandwidth_MBps)
        << (point.cpu_us ? fmt::format(" {:>11.3f}", *point.cpu_us) : "") << '\n';
  }
}

void print_end(const Result& result, std::ostream& out) {
  print_unstable(result.series.points, "sizes", out);
  for (const Counter& counter : result.series.counters) out << fmt::format("# {}: {}\n", counter.name, counter.value);
  print_expectation(result, out);
}

void print_table(const Result& result, std::ostream& out) {
  print_rows(result, out);
  print_end(result, out);
}

void print_table(std::span<const Result> results, std::ostream& out) {
  const Result& sample = results.front();
  const auto name = [](std::size_t pair) { return fmt::format("pair {}", pair + 1); };
  out << fmt::format("# {} pairs at once: {} {}\n", results.size(), heading_world(sample.world, sample.environment),
                     to_string(sample.series.pattern));
  for (std::size_t i = 0; i < results.size(); ++i) {
    const Series& series = results[i].series;
    out << fmt::format("# {}: {} to {}, {}{}\n", name(i), series.from, series.to, series.label, settings_of(series));
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    out << fmt::format("# {}, first message, set-up included: {:.3f} us\n", name(i), results[i].series.cold_us);
  }
  if (std::ranges::any_of(results, unverified)) out << "# the payload was not verified\n";
  std::vector<std::string> paths(results.size());
  for (std::size_t row = 0; row < sample.series.points.size(); ++row) {
    std::string cells;
    double sum = 0;
    for (std::size_t i = 0; i < results.size(); ++i) {
      const Point& point = results[i].series.points[row];
      if (point.path != paths[i]) out << fmt::format("# {}, path: {}\n", name(i), paths[i] = point.path);
      cells += fmt::format(" {:>11.3f}{}{:>11.2f}", point.time_us.median, mark(point.time_us), point.bandwidth_MBps);
      sum += point.bandwidth_MBps;
    }
    if (row == 0) {
      out << fmt::format("{:<10}", "# size");
      for (std::size_t i = 0; i < results.size(); ++i) {
        out << fmt::format(" {:>11} {:>11}", fmt::format("{}: us", i + 1), "MB/s");
      }
      out << fmt::format(" {:>11}\n", "sum MB/s");
    }
    out << fmt::format("{:<10}{} {:>11.2f}\n", format_size(sample.series.points[row].size), cells, sum);
  }
  for (std::size_t i = 0; i < results.size(); ++i) {
    print_unstable(results[i].series.points, "sizes", out, name(i) + ", ");
    for (const Counter& counter : results[i].series.counters) {
      out << fmt::format("# {}, {}: {}\n", name(i), counter.name, counter.value);
    }
    print_expectation(results[i], out, name(i) + ", ");
  }
}

}  // namespace twinlink::bench
