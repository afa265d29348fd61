#include "model/yaml/diagnostics.hpp"

#include <algorithm>
#include <set>

#include "protocols/core/errors.hpp"

namespace twinlink::model {

std::string to_string(const Position& position) {
  if (position.line == 0) return *position.file;
  return *position.file + ":" + std::to_string(position.line) + ":" + std::to_string(position.column);
}

void Diagnostics::error(const Position& position, const std::string& message) {
  findings_.push_back({position, message});
}

void Diagnostics::throw_all() const {
  std::vector<Finding> sorted = findings_;
  std::ranges::stable_sort(sorted, {}, [](const Finding& finding) {
    return std::tuple(*finding.position.file, finding.position.line, finding.position.column);
  });
  // What is wrong in an aliased or twice included part would be said once for each use.
  std::set<std::string> said;
  std::string text;
  for (const Finding& finding : sorted) {
    const std::string line = to_string(finding.position) + ": error: " + finding.message;
    if (said.insert(line).second) text += (text.empty() ? "" : "\n") + line;
  }
  throw InputError(text);
}

}  // namespace twinlink::model
