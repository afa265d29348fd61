// JUnit's XML: a test case for each limit of each pair, so that a CI shows which curve went astray.
#include <fmt/format.h>

#include "validate/compare/report.hpp"

namespace twinlink::validate {
namespace {

using report::escaped_markup;

struct TestCases {
  std::string text{};
  int tests = 0;
  int failures = 0;
  int skipped = 0;

  void add(const Pair& pair, std::string_view figure, double error, std::optional<double> limit) {
    if (!limit) return;
    const bool exceeded = error > *limit;
    failures += exceeded ? 1 : 0;
    add(pair, figure,
        exceeded ? fmt::format("<failure message=\"{:.2f} % exceeds {:g} %\">largest {} {:.2f} % at {}</failure>",
                               error * 100, *limit * 100, pair.difference(), pair.errors.max * 100,
                               escaped_markup(to_string(pair.errors.max_at)))
                 : fmt::format("<system-out>{:.2f} % of at most {:g} %</system-out>", error * 100, *limit * 100));
  }
  /// There is one at least, or a CI would see no pair.
  void add_without_limit(const Pair& pair) {
    ++skipped;
    add(pair, "compared", "<skipped message=\"no limit was given\"/>");
  }

 private:
  void add(const Pair& pair, std::string_view name, const std::string& outcome) {
    ++tests;
    text += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", escaped_markup(pair.label), name,
                        outcome);
  }
};

}  // namespace

std::string junit_report(const Comparison& comparison) {
  TestCases cases;
  for (const auto& pair : comparison.pairs) {
    if (comparison.verdict() == Verdict::no_limit) cases.add_without_limit(pair);
    for (const LimitedFigure& figure : limited_figures(comparison.limits)) {
      cases.add(pair, fmt::format("{} {}", figure.name, pair.difference()), pair.errors.*figure.error, figure.limit);
    }
  }
  const auto counts = fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", cases.tests,
                                  cases.failures, cases.skipped);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"twinlink-validate compare\" "
      "{0}>\n{1}  </testsuite>\n</testsuites>\n",
      counts, cases.text);
}

}  // namespace twinlink::validate
