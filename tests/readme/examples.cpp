#include "tests/readme/examples.hpp"

#include <algorithm>
#include <fstream>
#include <span>
#include <sstream>
#include <string_view>

namespace twinlink::readme {
namespace {

constexpr std::string_view kAnything = "...";

std::string without_end_spaces(std::string line) {
  line.erase(line.find_last_not_of(" \t\r") + 1);
  return line;
}

/// Does `line` have the parts of `wanted` between its "...", in their order?
bool fits(std::string_view wanted, std::string_view line) {
  const std::size_t gap = wanted.find(kAnything);
  if (gap == std::string_view::npos) return wanted == line;
  const std::string_view head = wanted.substr(0, gap);
  if (line.substr(0, head.size()) != head) return false;
  const std::string_view rest = wanted.substr(gap + kAnything.size());
  for (std::size_t from = head.size(); from <= line.size(); ++from) {
    if (fits(rest, line.substr(from))) return true;
  }
  return false;
}

/// How many of `expected` fit the beginning of `printed` at most; all of them only if nothing of `printed` is left.
std::size_t fitting(std::span<const std::string> expected, std::span<const std::string> printed) {
  std::size_t count = 0;
  for (; count < expected.size() && expected[count] != kAnything; ++count) {
    if (count == printed.size() || !fits(expected[count], printed[count])) return count;
  }
  if (count == expected.size()) return printed.size() == count ? count : count - (count > 0 ? 1 : 0);
  const auto rest = expected.subspan(count + 1);
  if (rest.empty()) return expected.size();
  std::size_t best = 0;
  for (std::size_t from = count; from <= printed.size(); ++from) {
    const std::size_t of_rest = fitting(rest, printed.subspan(from));
    if (of_rest == rest.size()) return expected.size();
    best = std::max(best, of_rest);
  }
  return count + 1 + best;
}

}  // namespace

std::vector<Example> examples_of(const std::filesystem::path& file) {
  std::ifstream in(file);
  std::vector<Example> examples;
  bool inside = false;
  bool goes_on = false;
  int number = 0;
  for (std::string line; std::getline(in, line);) {
    ++number;
    line = without_end_spaces(line);
    if (line.starts_with("```")) {
      inside = !inside && line == "```console";
      continue;
    }
    if (!inside) continue;
    if (goes_on) {
      examples.back().command += line;
    } else if (line.starts_with("$ ")) {
      examples.push_back({.line = number, .command = line.substr(2)});
    } else if (!examples.empty()) {
      examples.back().expected.push_back(line);
      continue;
    }
    std::string& command = examples.back().command;
    goes_on = command.ends_with('\\');
    if (goes_on) command.pop_back();
  }
  for (Example& example : examples) {
    while (!example.expected.empty() && example.expected.back().empty()) example.expected.pop_back();
  }
  return examples;
}

std::vector<std::string> lines_of(const std::string& text) {
  std::vector<std::string> lines;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) lines.push_back(without_end_spaces(line));
  while (!lines.empty() && lines.back().empty()) lines.pop_back();
  return lines;
}

std::string first_difference(const std::vector<std::string>& expected, const std::vector<std::string>& printed) {
  const std::size_t good = fitting(expected, printed);
  if (good == expected.size() && (good > 0 || printed.empty())) return {};
  return good < expected.size() ? "nothing printed fits: " + expected[good] : "more was printed than the text shows";
}

}  // namespace twinlink::readme
