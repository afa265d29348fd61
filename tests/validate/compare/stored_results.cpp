#include "tests/validate/compare/stored_results.hpp"

#include <algorithm>
#include <regex>
#include <set>

#include <nlohmann/json.hpp>

#include "tests/validate/scratch_folder.hpp"
#include "validate/compare/recording.hpp"

namespace twinlink::validate::test {
namespace {

/// The files that the table names: the rows that start with "| `name.json`" or "| name.json".
std::set<std::string> listed_files(const std::filesystem::path& readme) {
  static const std::regex row(R"(\n\| *`?([^ `|]+\.json)`? *\|)");
  const auto text = read_file(readme);
  std::set<std::string> names;
  for (std::sregex_iterator match(text.begin(), text.end(), row), end; match != end; ++match) names.insert((*match)[1]);
  return names;
}

void check_file(const std::filesystem::path& file, std::vector<std::string>& findings) {
  const auto name = file.filename().string();
  try {
    const auto recording = read_recording(file);
    if (recording.world != "measured") findings.push_back(name + ": not measured");
    if (recording.environment->empty()) findings.push_back(name + ": no environment");
    if (recording.command.empty()) findings.push_back(name + ": no command line");
    if (recording.series && !std::ranges::all_of(recording.series->points, &bench::Point::verified)) {
      findings.push_back(name + ": not verified");
    }
  } catch (const InputError& error) {
    findings.emplace_back(error.what());
  }
}

}  // namespace

std::vector<std::string> check_stored_results(const std::filesystem::path& folder) {
  std::vector<std::string> findings;
  auto listed = listed_files(folder / "README.md");
  for (const auto& entry : std::filesystem::directory_iterator(folder)) {
    if (entry.path().extension() != ".json") continue;
    const auto name = entry.path().filename().string();
    if (listed.erase(name) == 0) findings.push_back(name + ": no row in README.md");
    check_file(entry.path(), findings);
  }
  for (const auto& name : listed) findings.push_back(name + ": in README.md, but no such file");
  std::ranges::sort(findings);
  return findings;
}

}  // namespace twinlink::validate::test
