#include "validate/suspect/suspect_report.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <nlohmann/json.hpp>

namespace twinlink::validate {
namespace {

using report::Column;
using report::Document;
using report::Heading;
using report::List;
using report::Paragraph;
using report::Table;

constexpr std::size_t kMostRows = 5;
constexpr auto kLeft = Column::Align::left;

std::string percent(double fraction) { return fmt::format("{:.1f} %", fraction * 100); }

std::string named(const Suspect& suspect) { return fmt::format("{}={:.0f}%", suspect.part, suspect.share * 100); }

std::string verdict(const Suspicion& suspicion) {
  using enum Suspicion::Verdict;
  switch (suspicion.verdict) {
    case as_fast:
      return fmt::format("Verdict: as fast as the platform says: none of {} copies is slower by more than {}.",
                         suspicion.curves, percent(suspicion.tolerance));
    case one_part: {
      const Suspect& first = suspicion.suspects.front();
      const std::string alike =
          first.alike.empty() ? "" : fmt::format("; the probes do not tell it from {}", fmt::join(first.alike, ", "));
      const std::string left =
          first.left_slow == 0 ? "" : fmt::format(", but for {} copies that stay slower", first.left_slow);
      return fmt::format("Verdict: {} '{}' at {:.0f} % of its bandwidth explains it{}{}.", first.kind, first.part,
                         first.share * 100, left, alike);
    }
    case unexplained:
      return fmt::format("Verdict: no part explains it: {} of {} copies are slower by more than {}.",
                         suspicion.slow.size(), suspicion.curves, percent(suspicion.tolerance));
  }
  return {};
}

std::string verdict_name(Suspicion::Verdict verdict) {
  using enum Suspicion::Verdict;
  return verdict == as_fast ? "as fast" : verdict == one_part ? "one part" : "unexplained";
}

Table suspects(const Suspicion& suspicion) {
  Table table{.columns = {{"part", kLeft},
                          {"kind", kLeft},
                          {"copies"},
                          {"explains"},
                          {"geo. mean before"},
                          {"after"},
                          {"worst before"},
                          {"after"}}};
  for (std::size_t i = 0; i < std::min(kMostRows, suspicion.suspects.size()); ++i) {
    const Suspect& suspect = suspicion.suspects[i];
    table.rows.push_back({named(suspect), suspect.kind, std::to_string(suspect.curves), percent(suspect.explained),
                          percent(suspicion.errors.geometric_mean), percent(suspect.errors.geometric_mean),
                          percent(suspicion.errors.max), percent(suspect.errors.max)});
  }
  return table;
}

Table slow_copies(const Suspicion& suspicion) {
  Table table{.columns = {{"copy", kLeft}, {"devices", kLeft}, {"slower by"}}};
  for (std::size_t i = 0; i < std::min(kMostRows, suspicion.slow.size()); ++i) {
    const SlowCurve& curve = suspicion.slow[i];
    table.rows.push_back({curve.name, curve.devices, percent(curve.slower)});
  }
  return table;
}

nlohmann::json to_json(const ErrorSummary& errors) {
  return {{"lines", errors.n}, {"geometric_mean", errors.geometric_mean}, {"bias", errors.bias}, {"max", errors.max}};
}

}  // namespace

Document suspect_report(const Suspicion& suspicion) {
  Document document{Heading{1, "Parts of " + suspicion.base + " under suspicion"}};
  List inputs;
  for (const ProbeOrigin& origin : suspicion.origins) {
    inputs.items.push_back(fmt::format("{}: {}{}{}", origin.file, origin.program,
                                       origin.machine.empty() ? "" : " on " + origin.machine,
                                       origin.date.empty() ? "" : ", " + origin.date));
  }
  document.emplace_back(std::move(inputs));
  if (!suspicion.slow.empty()) {
    document.emplace_back(Heading{2, fmt::format("Slowest of {} copies", suspicion.curves)});
    document.emplace_back(slow_copies(suspicion));
  }
  if (!suspicion.suspects.empty()) {
    document.emplace_back(Heading{2, "What a single part would explain"});
    document.emplace_back(suspects(suspicion));
  }
  if (!suspicion.notes.empty()) {
    document.emplace_back(Heading{2, "Notes"});
    document.emplace_back(List{suspicion.notes});
  }
  document.emplace_back(Paragraph{verdict(suspicion)});
  return document;
}

nlohmann::json to_json(const Suspicion& suspicion) {
  nlohmann::json json{
      {"base", suspicion.base},     {"verdict", verdict_name(suspicion.verdict)}, {"tolerance", suspicion.tolerance},
      {"copies", suspicion.curves}, {"errors", to_json(suspicion.errors)},        {"notes", suspicion.notes}};
  for (const char* list : {"probes", "slow", "suspects"}) json[list] = nlohmann::json::array();
  for (const ProbeOrigin& origin : suspicion.origins) {
    json["probes"].push_back(
        {{"file", origin.file}, {"program", origin.program}, {"machine", origin.machine}, {"date", origin.date}});
  }
  for (const SlowCurve& curve : suspicion.slow) {
    json["slow"].push_back({{"copy", curve.name}, {"devices", curve.devices}, {"slower", curve.slower}});
  }
  for (const Suspect& suspect : suspicion.suspects) {
    json["suspects"].push_back({{"part", suspect.part},
                                {"kind", suspect.kind},
                                {"share", suspect.share},
                                {"copies", suspect.curves},
                                {"explained", suspect.explained},
                                {"left_slow", suspect.left_slow},
                                {"errors", to_json(suspect.errors)},
                                {"alike", suspect.alike}});
  }
  return json;
}

}  // namespace twinlink::validate
