#include "platforms/report/junit.hpp"

#include <fmt/format.h>

#include "platforms/report/document.hpp"

namespace twinlink::report {

void JUnitCases::add(std::string_view of, std::string_view name, std::string_view outcome) {
  ++tests_;
  text_ += fmt::format("    <testcase classname=\"{}\" name=\"{}\">{}</testcase>\n", escaped_markup(of),
                       escaped_markup(name), outcome);
}

void JUnitCases::fail(std::string_view of, std::string_view name, std::string_view message, std::string_view content) {
  ++failures_;
  const std::string end = content.empty() ? "/>" : fmt::format(">{}</failure>", content);
  add(of, name, fmt::format("<failure message=\"{}\"{}", escaped_markup(message), end));
}

void JUnitCases::skip(std::string_view of, std::string_view name, std::string_view message) {
  ++skipped_;
  add(of, name, fmt::format("<skipped message=\"{}\"/>", escaped_markup(message)));
}

std::string JUnitCases::file(std::string_view suite) const {
  const auto counts =
      fmt::format("tests=\"{}\" failures=\"{}\" errors=\"0\" skipped=\"{}\"", tests_, failures_, skipped_);
  return fmt::format(
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<testsuites {0}>\n  <testsuite name=\"{1}\" {0}>\n{2}  "
      "</testsuite>\n</testsuites>\n",
      counts, suite, text_);
}

}  // namespace twinlink::report
