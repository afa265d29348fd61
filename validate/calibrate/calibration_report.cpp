#include "validate/calibrate/calibration_report.hpp"

#include <utility>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::List;
using report::Paragraph;
using report::Table;

constexpr auto kLeft = Column::Align::left;

Table replaced_numbers(const Calibration& calibration) {
  Table table{.columns = {{"number", kLeft}, {"base", kLeft}, {"now", kLeft}}};
  for (const NumberChange& change : calibration.replaced) {
    table.rows.push_back({change.path, change.before.empty() ? "-" : change.before, change.after});
  }
  return table;
}

Table fits(const Calibration& calibration) {
  Table table{
      .columns = {{"probe", kLeft}, {"lines"}, {"geo. mean"}, {"bias"}, {"worst"}, {"at", kLeft}, {"costs", kLeft}}};
  for (const FitQuality& fit : calibration.fits) {
    const Key& worst = fit.errors.max_at;
    table.rows.push_back({fit.probe, std::to_string(fit.errors.n), report::exact_percent(fit.errors.geometric_mean),
                          fmt::format("{:+.2f} %", fit.errors.bias * 100), report::exact_percent(fit.errors.max),
                          fmt::format("{} {}", devices(worst), format_size(worst.size)), fit.path});
  }
  return table;
}

std::vector<std::string> share_row(const std::string& name, std::size_t lines, const TimeShares& shares) {
  const auto percent = [](double share) { return fmt::format("{:.1f} %", share * 100); };
  return {name,
          std::to_string(lines),
          percent(shares.start),
          percent(shares.way),
          percent(shares.bytes),
          percent(shares.parts()),
          percent(shares.residual),
          percent(shares.left_over)};
}

Table shares(const Calibration& calibration) {
  Table table{
      .columns = {
          {"probe", kLeft}, {"lines"}, {"start"}, {"way"}, {"bytes"}, {"all parts"}, {"residual"}, {"left over"}}};
  std::size_t lines = 0;
  for (const FitQuality& fit : calibration.fits) {
    table.rows.push_back(share_row(fit.probe, fit.errors.n, fit.shares));
    lines += fit.errors.n;
  }
  table.rows.push_back(share_row("all", lines, calibration.shares));
  return table;
}

nlohmann::json to_json(const TimeShares& shares) {
  return {{"start", shares.start},   {"way", shares.way},           {"bytes", shares.bytes},
          {"parts", shares.parts()}, {"residual", shares.residual}, {"left_over", shares.left_over}};
}

Table kept_numbers(const Calibration& calibration) {
  Table table{.columns = {{"number", kLeft}, {"value", kLeft}, {"source", kLeft}}};
  for (const platforms::NumberEntry& entry : calibration.kept) {
    table.rows.push_back(
        {entry.path, entry.text, fmt::format("{}: {}", to_string(entry.source.quality), entry.source.text)});
  }
  return table;
}

List unused_probes(const Calibration& calibration) {
  List list;
  for (const UnusedProbe& unused : calibration.unused) list.items.push_back(unused.probe + ": " + unused.reason);
  return list;
}

}  // namespace

Document calibration_report(const Calibration& calibration) {
  Document document{Heading{1, "Calibration of " + calibration.base}};
  List inputs;
  for (const ProbeOrigin& origin : calibration.origins) {
    inputs.items.push_back(fmt::format("{}: {}{}{}", origin.file, origin.program,
                                       origin.machine.empty() ? "" : " on " + origin.machine,
                                       origin.date.empty() ? "" : ", " + origin.date));
  }
  document.emplace_back(std::move(inputs));
  document.emplace_back(Heading{2, "Replaced"});
  document.emplace_back(replaced_numbers(calibration));
  document.emplace_back(Heading{2, "How well the platform meets the probes"});
  document.emplace_back(fits(calibration));
  document.emplace_back(Heading{2, "What the measured time goes to"});
  document.emplace_back(Paragraph{
      "Shares of the measured time, the mean of all lines. Parts: starts, gaps and ends; the latencies of the "
      "way; the bytes at the rates. Residual: the latency by size that no part explains. Left over: what the "
      "platform misses."});
  document.emplace_back(shares(calibration));
  document.emplace_back(Heading{2, "Stayed as in the base"});
  document.emplace_back(kept_numbers(calibration));
  if (!calibration.unused.empty()) {
    document.emplace_back(Heading{2, "Probes without use"});
    document.emplace_back(unused_probes(calibration));
  }
  if (!calibration.notes.empty()) {
    document.emplace_back(Heading{2, "Notes"});
    document.emplace_back(List{calibration.notes});
  }
  return document;
}

nlohmann::json to_json(const Calibration& calibration) {
  nlohmann::json json{
      {"base", calibration.base}, {"notes", calibration.notes}, {"shares", to_json(calibration.shares)}};
  for (const char* list : {"probes", "replaced", "kept", "fits", "unused"}) json[list] = nlohmann::json::array();
  for (const ProbeOrigin& origin : calibration.origins) {
    json["probes"].push_back(
        {{"file", origin.file}, {"program", origin.program}, {"machine", origin.machine}, {"date", origin.date}});
  }
  for (const NumberChange& change : calibration.replaced) {
    json["replaced"].push_back({{"path", change.path}, {"before", change.before}, {"after", change.after}});
  }
  for (const platforms::NumberEntry& entry : calibration.kept) {
    json["kept"].push_back({{"path", entry.path},
                            {"value", entry.value},
                            {"unit", entry.unit},
                            {"quality", to_string(entry.source.quality)},
                            {"source", entry.source.text}});
  }
  for (const FitQuality& fit : calibration.fits) {
    json["fits"].push_back(
        {{"probe", fit.probe},
         {"path", fit.path},
         {"lines", fit.errors.n},
         {"geometric_mean", fit.errors.geometric_mean},
         {"bias", fit.errors.bias},
         {"max", fit.errors.max},
         {"shares", to_json(fit.shares)},
         {"max_at", {{"devices", devices(fit.errors.max_at)}, {"bytes", fit.errors.max_at.size.count()}}}});
  }
  for (const UnusedProbe& unused : calibration.unused) {
    json["unused"].push_back({{"probe", unused.probe}, {"reason", unused.reason}});
  }
  return json;
}

}  // namespace twinlink::validate
