#include "validate/calibrate/calibration_report.hpp"

#include <utility>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

std::string percent(double fraction) { return fmt::format("{:.2f} %", fraction * 100); }

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
    table.rows.push_back({fit.probe, std::to_string(fit.errors.n), percent(fit.errors.geometric_mean),
                          fmt::format("{:+.2f} %", fit.errors.bias * 100), percent(fit.errors.max),
                          fmt::format("{} {}", devices(worst), format_size(worst.size)), fit.path});
  }
  return table;
}

Table kept_numbers(const Calibration& calibration) {
  Table table{.columns = {{"number", kLeft}, {"value", kLeft}, {"source", kLeft}}};
  for (const model::NumberEntry& entry : calibration.kept) {
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

}  // namespace twinlink::validate
