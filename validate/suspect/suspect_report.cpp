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

std::string named(const Suspect& suspect) {
  return suspect.has_share() ? fmt::format("{}={:.0f}%", suspect.part, suspect.share * 100) : suspect.part;
}

/// "12 messages, 3 handles".
std::string slow_by_kind(const Suspicion& suspicion) {
  std::vector<std::string> kinds;
  for (const Judged& judged : suspicion.judged) {
    if (judged.slow > 0) kinds.push_back(fmt::format("{} of {} {}", judged.slow, judged.curves, judged.plural));
  }
  return fmt::format("{}", fmt::join(kinds, ", "));
}

std::string limit(const Suspicion& suspicion) {
  return fmt::format("slower by more than {}, or than the model's own error", percent(suspicion.tolerance));
}

/// The first ones, and how many more there are.
std::string first_of(const std::vector<std::string>& names) {
  constexpr std::size_t kMost = 6;
  if (names.size() <= kMost) return fmt::format("{}", fmt::join(names, ", "));
  return fmt::format("{}, and {} more", fmt::join(names.begin(), names.begin() + kMost, ", "), names.size() - kMost);
}

/// What the verdict says nothing about.
std::string not_judged(const Suspicion& suspicion) {
  if (suspicion.unjudged.empty()) return {};
  std::size_t count = 0;
  for (const Unjudged& unjudged : suspicion.unjudged) count += unjudged.what.size();
  return fmt::format(" It says nothing of {} kinds of probes, devices and parts: see 'Not looked at'.", count);
}

std::string verdict(const Suspicion& suspicion) {
  using enum Suspicion::Verdict;
  switch (suspicion.verdict) {
    case as_fast: {
      std::vector<std::string> kinds;
      for (const Judged& judged : suspicion.judged) kinds.push_back(fmt::format("{} {}", judged.curves, judged.plural));
      return fmt::format("Verdict: as fast as the platform says: none of {} is {}.{}", fmt::join(kinds, ", "),
                         limit(suspicion), not_judged(suspicion));
    }
    case one_part: {
      const Suspect& first = suspicion.suspects.front();
      const std::string alike =
          first.alike.empty() ? "" : fmt::format("; the probes do not tell it from {}", fmt::join(first.alike, ", "));
      const std::string left =
          first.left_slow == 0 ? "" : fmt::format(", but for {} curves that stay slower", first.left_slow);
      return fmt::format("Verdict: {}{} explains it{}{}.", in_words(first), first.has_share() ? "" : ": that", left,
                         alike);
    }
    case unexplained:
      return fmt::format("Verdict: no part explains it: {} are {}.", slow_by_kind(suspicion), limit(suspicion));
    case too_fast:
      return fmt::format(
          "Verdict: the platform says less than this machine has, so it does not tell whether that is as fast as it "
          "should be: more than twice as fast as it says are {}.",
          first_of(suspicion.fast));
  }
  return {};
}

/// What the driver tells of the GPUs, which may be the reason.
std::string health(const Suspicion& suspicion) {
  std::string text;
  for (const ProbeOrigin& origin : suspicion.origins) {
    for (const std::string& finding : origin.health) text += fmt::format(" {}.", finding);
  }
  return text.empty() ? text : " The driver says:" + text;
}

std::string verdict_name(Suspicion::Verdict verdict) {
  using enum Suspicion::Verdict;
  return verdict == as_fast    ? "as fast"
         : verdict == one_part ? "one part"
         : verdict == too_fast ? "too fast"
                               : "unexplained";
}

/// As much of a text as a table has a column for; the verdict has the whole of the first.
std::string shortened(const std::string& text) {
  constexpr std::size_t kMost = 26;
  return text.size() <= kMost ? text : text.substr(0, kMost - 4) + " ...";
}

Table suspects(const Suspicion& suspicion) {
  Table table{.columns = {{"part", kLeft},
                          {"kind", kLeft},
                          {"curves"},
                          {"explains"},
                          {"of slow"},
                          {"leaves"},
                          {"contradicted by", kLeft}}};
  for (std::size_t i = 0; i < std::min(kMostRows, suspicion.suspects.size()); ++i) {
    const Suspect& suspect = suspicion.suspects[i];
    table.rows.push_back({shortened(named(suspect)), suspect.kind, std::to_string(suspect.curves),
                          percent(suspect.explained), percent(suspect.of_slow), percent(suspect.errors.geometric_mean),
                          shortened(suspect.contradicted_by)});
  }
  return table;
}

/// "10.0 %", "10.0 to 21.5 %" where a curve that repeats itself badly is allowed more.
std::string allowed(const Judged& judged) {
  if (judged.widest <= judged.allowed) return percent(judged.allowed);
  return fmt::format("{:.1f} to {}", judged.allowed * 100, percent(judged.widest));
}

Table judged(const Suspicion& suspicion) {
  Table table{.columns = {{"probes", kLeft}, {"curves"}, {"slower"}, {"slowest by"}, {"allowed"}}};
  for (const Judged& judged : suspicion.judged) {
    table.rows.push_back({judged.plural, std::to_string(judged.curves), std::to_string(judged.slow),
                          percent(judged.slowest), allowed(judged)});
  }
  return table;
}

Table slow_curves(const Suspicion& suspicion) {
  Table table{.columns = {{"curve", kLeft}, {"devices", kLeft}, {"sizes", kLeft}, {"slower by"}}};
  for (std::size_t i = 0; i < std::min(kMostRows, suspicion.slow.size()); ++i) {
    const SlowCurve& curve = suspicion.slow[i];
    table.rows.push_back({curve.name, curve.devices, std::string(to_string(curve.band)), percent(curve.slower)});
  }
  return table;
}

List unjudged(const Suspicion& suspicion) {
  List list;
  for (const Unjudged& unjudged : suspicion.unjudged) {
    list.items.push_back(fmt::format("{}: {}", first_of(unjudged.what), unjudged.why));
  }
  return list;
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
  document.emplace_back(Heading{2, "Looked at"});
  document.emplace_back(judged(suspicion));
  if (!suspicion.slow.empty()) {
    document.emplace_back(Heading{2, fmt::format("Slowest of {} curves", suspicion.curves)});
    document.emplace_back(slow_curves(suspicion));
  }
  if (!suspicion.suspects.empty()) {
    document.emplace_back(Heading{2, "What a single part would explain"});
    document.emplace_back(Paragraph{fmt::format(
        "Of the error of the lines that it slows, and of all that is slow; it leaves a geometric mean of the {} that "
        "copies and messages are off.",
        percent(suspicion.errors.geometric_mean))});
    document.emplace_back(suspects(suspicion));
  }
  if (!suspicion.unjudged.empty()) {
    document.emplace_back(Heading{2, "Not looked at"});
    document.emplace_back(unjudged(suspicion));
  }
  if (!suspicion.notes.empty()) {
    document.emplace_back(Heading{2, "Notes"});
    document.emplace_back(List{suspicion.notes});
  }
  document.emplace_back(Paragraph{verdict(suspicion) + health(suspicion)});
  return document;
}

nlohmann::json to_json(const Suspicion& suspicion) {
  nlohmann::json json{{"kind", "twinlink-suspects"},
                      {"schema", 1},
                      {"base", suspicion.base},
                      {"verdict", verdict_name(suspicion.verdict)},
                      {"tolerance", suspicion.tolerance},
                      {"curves", suspicion.curves},
                      {"errors", to_json(suspicion.errors)},
                      {"notes", suspicion.notes}};
  for (const char* list : {"probes", "judged", "not_judged", "slow", "suspects"}) json[list] = nlohmann::json::array();
  for (const ProbeOrigin& origin : suspicion.origins) {
    json["probes"].push_back(
        {{"file", origin.file}, {"program", origin.program}, {"machine", origin.machine}, {"date", origin.date}});
    if (!origin.health.empty()) json["probes"].back()["health"] = origin.health;
  }
  for (const Judged& judged : suspicion.judged) {
    json["judged"].push_back({{"probes", judged.plural},
                              {"curves", judged.curves},
                              {"slow", judged.slow},
                              {"slowest", judged.slowest},
                              {"allowed", judged.allowed},
                              {"widest", std::max(judged.allowed, judged.widest)}});
  }
  for (const Unjudged& unjudged : suspicion.unjudged) {
    json["not_judged"].push_back({{"what", unjudged.what}, {"why", unjudged.why}});
  }
  for (const SlowCurve& curve : suspicion.slow) {
    json["slow"].push_back({{"curve", curve.name},
                            {"devices", curve.devices},
                            {"probes", curve.plural},
                            {"sizes", to_string(curve.band)},
                            {"slower", curve.slower}});
  }
  for (const Suspect& suspect : suspicion.suspects) {
    json["suspects"].push_back({{"part", suspect.part},
                                {"kind", suspect.kind},
                                {"share", suspect.share},
                                {"curves", suspect.curves},
                                {"explained", suspect.explained},
                                {"of_slow", suspect.of_slow},
                                {"contradicted_by", suspect.contradicted_by},
                                {"left_slow", suspect.left_slow},
                                {"errors", to_json(suspect.errors)},
                                {"alike", suspect.alike}});
  }
  return json;
}

}  // namespace twinlink::validate
