#include "platforms/yaml/diagnostics.hpp"

#include <algorithm>
#include <set>
#include <string_view>
#include <tuple>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {

namespace {

/// Nobody reads more, and a file that is no platform may have a mistake in every line.
constexpr std::size_t kMostSaid = 200;

/// A name in a file may have line ends; a finding has a line.
std::string in_one_line(const std::string& message) {
  std::string line;
  for (const char c : message) line += c == '\n' ? std::string("\\n") : std::string(1, c);
  return line;
}

}  // namespace

std::string to_string(const Position& position) {
  if (!position.file) return "the command line";
  if (position.line == 0) return *position.file;
  return *position.file + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

void Diagnostics::error(const Position& position, const std::string& message) {
  findings_.push_back({position, in_one_line(message)});
}

void Diagnostics::throw_all() const {
  std::vector<Finding> sorted = findings_;
  std::ranges::stable_sort(sorted, {}, [](const Finding& finding) {
    return std::tuple(finding.position.file ? std::string_view(*finding.position.file) : "", finding.position.line,
                      finding.position.column);
  });
  // What is wrong in an aliased or twice included part would be said once for each use.
  std::set<std::string> said;
  std::string text;
  std::size_t left_out = 0;
  for (const Finding& finding : sorted) {
    const std::string line = to_string(finding.position) + ": error: " + finding.message;
    if (!said.insert(line).second) continue;
    if (said.size() > kMostSaid) {
      ++left_out;
    } else {
      text += (text.empty() ? "" : "\n") + line;
    }
  }
  if (left_out > 0) text += "\nand " + std::to_string(left_out) + " more errors";
  throw InputError(text);
}

}  // namespace twinlink::platforms
