// JUnit's XML: a test case for each limit of each pair, so that a CI shows which curve went astray.
#include <optional>
#include <string>
#include <string_view>

#include <fmt/format.h>

#include "platforms/report/junit.hpp"
#include "validate/compare/report.hpp"

namespace twinlink::validate {
namespace {

using report::escaped_markup;

void add(report::JUnitCases& cases, const Pair& pair, std::string_view name, double error,
         std::optional<double> limit) {
  if (!limit) return;
  if (error > *limit) {
    cases.fail(pair.label, name, fmt::format("{:.2f} % exceeds {:g} %", error * 100, *limit * 100),
               fmt::format("largest {} {:.2f} % at {}", pair.difference(), pair.errors.max * 100,
                           escaped_markup(to_string(pair.errors.max_at))));
  } else {
    cases.add(pair.label, name,
              fmt::format("<system-out>{:.2f} % of at most {:g} %</system-out>", error * 100, *limit * 100));
  }
}

}  // namespace

std::string junit_report(const Comparison& comparison) {
  report::JUnitCases cases;
  for (const auto& pair : comparison.pairs) {
    // There is one at least, or a CI would see no pair.
    if (comparison.verdict() == Verdict::no_limit) cases.skip(pair.label, "compared", "no limit was given");
    for (const LimitedFigure& figure : limited_figures(comparison.limits)) {
      add(cases, pair, fmt::format("{} {}", figure.name, pair.difference()), pair.errors.*figure.error, figure.limit);
    }
  }
  return cases.file("twinlink-validate compare");
}

}  // namespace twinlink::validate
