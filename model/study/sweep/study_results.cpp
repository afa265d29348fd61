#include "model/study/sweep/study_results.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::model {
namespace {

using bench::csv_cell;

/// What tells two times apart for a reader.
std::string shown_time(const StudyRow& row) { return fmt::format("{:.3f}", row.time_us); }

/// An axis whose value is somebody's choice, to be fast or to buy; all others say what is asked.
bool is_setting(const std::string& axis) {
  if (axis.starts_with("set fabric.")) return true;
  const std::string name = axis.substr(0, axis.find(' '));
  constexpr std::array kSettings{"protocol",
                                 "between-nodes",
                                 "chunk",
                                 "depth",
                                 "option",
                                 "preset",
                                 "pack",
                                 "algorithm",
                                 "between-option",
                                 "place",
                                 "design",
                                 "between-domains",
                                 "between-domains-option"};
  return std::ranges::find(kSettings, name) != kSettings.end();
}

/// All samples of one point.
void add_rows(std::vector<StudyRow>& rows, std::span<const FinishedPoint> samples) {
  const auto failed = std::ranges::find_if(samples, [](const FinishedPoint& point) { return !point.error.empty(); });
  if (failed != samples.end()) {
    rows.push_back({.values = failed->values, .error = failed->error});
    return;
  }
  for (std::size_t i = 0; i < samples.front().times.size(); ++i) {
    const SizeTime& first = samples.front().times[i];
    std::vector<double> times;
    for (const FinishedPoint& sample : samples) {
      if (sample.times.size() != samples.front().times.size() || sample.times[i].bytes != first.bytes) {
        throw InputError(fmt::format("point {} has other sizes than its sample {}", sample.place, sample.sample));
      }
      times.push_back(sample.times[i].time_us);
    }
    const bench::Statistics spread = bench::summarize(times);
    StudyRow row{.values = samples.front().values,
                 .bytes = first.bytes,
                 .algorithm = first.algorithm,
                 .time_us = spread.median,
                 .p5_us = spread.p5,
                 .p95_us = spread.p95,
                 .samples = static_cast<int>(samples.size()),
                 .ports = first.ports,
                 .cables = first.cables};
    // Bandwidth is in inverse proportion to the time, by a factor that is the algorithm's.
    row.rate_MBps = first.rate_MBps * (first.time_us / spread.median);
    rows.push_back(std::move(row));
  }
}

}  // namespace

std::vector<StudyRow> rows_of(std::span<const FinishedPoint> points) {
  std::vector<StudyRow> rows;
  for (std::size_t begin = 0; begin < points.size();) {
    std::size_t end = begin + 1;
    while (end < points.size() && points[end].values == points[begin].values) ++end;
    add_rows(rows, points.subspan(begin, end - begin));
    begin = end;
  }
  return rows;
}

bool any_fabric(std::span<const StudyRow> rows) {
  return std::ranges::any_of(rows, [](const StudyRow& row) { return row.ports > 0; });
}

std::string to_csv(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  std::string text;
  const bool fabric = any_fabric(rows);
  for (const std::string& axis : identity.axes) text += csv_cell(axis) + ",";
  text += fmt::format("bytes,ran,time_us,p5_us,p95_us,MBps,samples,{}error\n", fabric ? "ports,cables," : "");
  for (const StudyRow& row : rows) {
    for (const std::string& value : row.values) text += csv_cell(value) + ",";
    if (row.error.empty()) {
      text += fmt::format("{},{},{:.6g},{:.6g},{:.6g},{:.6g},{},", row.bytes, csv_cell(row.algorithm), row.time_us,
                          row.p5_us, row.p95_us, row.rate_MBps, row.samples);
      if (fabric) text += fmt::format("{},{},", row.ports, row.cables);
      text += "\n";
    } else {
      text += (fabric ? ",,,,,,,,," : ",,,,,,,") + csv_cell(row.error) + "\n";
    }
  }
  return text;
}

nlohmann::json to_json(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  nlohmann::json all = nlohmann::json::array();
  for (const StudyRow& row : rows) {
    nlohmann::json axes = nlohmann::json::object();
    for (std::size_t axis = 0; axis < row.values.size(); ++axis) axes[identity.axes[axis]] = row.values[axis];
    nlohmann::json entry{{"axes", std::move(axes)}};
    if (row.error.empty()) {
      entry.update({{"bytes", row.bytes},
                    {"time_us", row.time_us},
                    {"p5_us", row.p5_us},
                    {"p95_us", row.p95_us},
                    {"MBps", row.rate_MBps},
                    {"samples", row.samples}});
      if (!row.algorithm.empty()) entry["algorithm"] = row.algorithm;
      if (row.ports > 0) entry.update({{"ports", row.ports}, {"cables", row.cables}});
    } else {
      entry["error"] = row.error;
    }
    all.push_back(std::move(entry));
  }
  return {{"kind", "twinlink-study"}, {"schema", 1}, {"program", identity.program}, {"rows", std::move(all)}};
}

StudyAxes::StudyAxes(const StudyIdentity& identity) {
  for (std::size_t axis = 0; axis < identity.axes.size(); ++axis) {
    const bool setting = is_setting(identity.axes[axis]);
    (setting ? set : asked).push_back(identity.axes[axis]);
    (setting ? set_axes_ : asked_axes_).push_back(axis);
  }
}

std::vector<std::string> StudyAxes::values_at(const std::vector<std::size_t>& axes, const StudyRow& row) {
  std::vector<std::string> values;
  for (const std::size_t axis : axes) values.push_back(row.values[axis]);
  return values;
}

std::string BestRow::ties() const { return as_fast == 0 ? "" : fmt::format(" (and {} more, as fast)", as_fast); }

std::vector<BestRow> best_rows(const StudyIdentity& identity, std::span<const StudyRow> rows) {
  const StudyAxes axes(identity);
  std::vector<BestRow> best;
  for (const StudyRow& row : rows) {
    if (!row.error.empty()) continue;
    const auto known = std::ranges::find_if(best, [&](const BestRow& other) {
      return other.row->bytes == row.bytes && axes.asked_of(*other.row) == axes.asked_of(row);
    });
    if (known == best.end()) {
      best.push_back({&row});
    } else if (shown_time(row) == shown_time(*known->row)) {
      ++known->as_fast;
    } else if (row.time_us < known->row->time_us) {
      *known = {&row};
    }
  }
  return best;
}

void print_best(const StudyIdentity& identity, std::span<const StudyRow> rows, std::ostream& out) {
  const StudyAxes axes(identity);
  if (axes.set.empty()) return;
  const auto before = [](const std::vector<std::string>& asked) {
    return asked.empty() ? "" : fmt::format("{}: ", fmt::join(asked, ", "));
  };
  out << fmt::format("# {:>8} {:>13} {:>12}  {}the fastest {}\n", "size", "time us", "MB/s", before(axes.asked),
                     fmt::join(axes.set, ", "));
  constexpr std::size_t kMost = 40;
  const std::vector<BestRow> best = best_rows(identity, rows);
  for (const BestRow& each : std::span(best).first(std::min(best.size(), kMost))) {
    const StudyRow& row = *each.row;
    out << fmt::format("{:>10} {:>13} {:>12.2f}  {}{}{}\n", format_size(Bytes{row.bytes}), shown_time(row),
                       row.rate_MBps, before(axes.asked_of(row)), fmt::join(axes.set_of(row), ", "), each.ties());
  }
  if (best.size() > kMost) out << fmt::format("# and {} more\n", best.size() - kMost);
}

std::vector<FinishedPoint> merged(std::span<const std::filesystem::path> databases) {
  std::map<std::size_t, std::pair<FinishedPoint, std::size_t>> all;
  StudyIdentity identity;
  for (std::size_t i = 0; i < databases.size(); ++i) {
    const StudyDatabase database(databases[i]);
    if (i == 0) identity = database.identity();
    if (database.identity() != identity) {
      throw UsageError(
          fmt::format("{}: of another study or program than {}", databases[i].string(), databases[0].string()));
    }
    for (FinishedPoint& point : database.points()) {
      const auto [known, is_new] = all.try_emplace(point.place, point, i);
      if (is_new || known->second.first == point) continue;
      throw Error(fmt::format("point {} ({}) differs between {} and {}", point.place, fmt::join(point.values, ", "),
                              databases[known->second.second].string(), databases[i].string()));
    }
  }
  std::vector<FinishedPoint> points;
  for (auto& [place, point] : all) points.push_back(std::move(point.first));
  return points;
}

}  // namespace twinlink::model
