#include "validate/compare/ceiling.hpp"

#include <algorithm>
#include <map>

#include <fmt/format.h>

#include "protocols/core/errors.hpp"

namespace twinlink::validate {
namespace {

using Times = std::map<Bytes, double>;

/// May a line of `gpu` and `peer` bear on a message between the two of the series? Of each end's own lines the slower
/// one counts, for the message needs both.
bool bears_on(const bench::ProbeLine& line, const bench::Series& series) {
  if (line.peer.empty()) return line.gpu == series.from || line.gpu == series.to;
  return (line.gpu == series.from && line.peer == series.to) || (line.gpu == series.to && line.peer == series.from);
}

void require_time(const std::string& file, const std::string& what, double time_us) {
  const std::string why = bench::why_no_time(time_us);
  if (!why.empty()) throw InputError(fmt::format("{}: error: {}: {}", file, what, why));
}

Times times_of(const std::string& name, const bench::Series& series, const ProbesFile& probes) {
  Times times;
  for (const bench::ProbeLine& line : probes.content.findings.lines) {
    if (line.name != name || !bears_on(line, series)) continue;
    require_time(probes.file, fmt::format("{} {}", name, format_size(line.size)), line.time_us.median);
    double& slowest = times[line.size];
    slowest = std::max(slowest, line.time_us.median);
  }
  if (times.empty()) {
    throw InputError(fmt::format("{}: error: no line '{}' of {} or {}", probes.file, name, series.from, series.to));
  }
  return times;
}

/// Time of one message one way: with messages both ways at once, the rate counts both.
double time_one_way(const bench::Series& series, const bench::Point& point) {
  if (series.pattern != bench::Pattern::bidirectional) return point.time_us.median;
  return static_cast<double>(point.size.count()) / (point.bandwidth_MBps / 2);
}

}  // namespace

Ceiling hold_against(const ResultFile& result, const ProbesFile& probes, std::span<const std::string> names) {
  const bench::Series& series = result.content.series;
  std::vector<std::pair<std::string, Times>> stages;
  for (const std::string& name : names) stages.emplace_back(name, times_of(name, series, probes));
  Ceiling ceiling{.protocol = series.label};
  for (const bench::Point& point : series.points) {
    CeilingRow row{.size = point.size, .taken_us = time_one_way(series, point)};
    const bool complete =
        std::ranges::all_of(stages, [&](const auto& stage) { return stage.second.contains(row.size); });
    if (point.size == Bytes{}) continue;
    require_time(result.file, format_size(point.size), row.taken_us);
    if (!complete) {
      ceiling.without_probe.push_back(point.size);
      continue;
    }
    for (const auto& [name, times] : stages) {
      if (times.at(row.size) <= row.bare_us) continue;
      row.bare_us = times.at(row.size);
      row.slowest = name;
    }
    ceiling.rows.push_back(std::move(row));
  }
  if (ceiling.rows.empty()) {
    throw InputError(fmt::format("{} and {}: error: no size in common", result.file, probes.file));
  }
  return ceiling;
}

std::optional<double> least_share(const Ceiling& ceiling, Bytes from) {
  std::optional<double> least;
  for (const CeilingRow& row : ceiling.rows) {
    if (row.size >= from) least = std::min(least.value_or(row.share()), row.share());
  }
  return least;
}

std::string to_text(const Ceiling& ceiling) {
  std::string text =
      fmt::format("# {} beside its slowest primitive\n{:<10}{:>14}{:>14}{:>12}{:>10}  {}\n", ceiling.protocol, "# size",
                  "primitive us", "protocol us", "added us", "reached", "the primitive");
  for (const CeilingRow& row : ceiling.rows) {
    text += fmt::format("{:<10}{:>14.3f}{:>14.3f}{:>12.3f}{:>8.1f} %  {}\n", format_size(row.size), row.bare_us,
                        row.taken_us, row.added_us(), 100 * row.share(), row.slowest);
  }
  for (const Bytes size : ceiling.without_probe) text += fmt::format("# {}: not probed\n", format_size(size));
  return text;
}

}  // namespace twinlink::validate
