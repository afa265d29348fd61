#include "validate/import/launcher_text.hpp"

#include <algorithm>
#include <array>
#include <cctype>
#include <sstream>
#include <utility>

#include <fmt/format.h>

namespace twinlink::validate {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

std::size_t digits_at(std::string_view line, std::size_t at) {
  std::size_t end = at;
  while (end < line.size() && is_digit(line[end])) ++end;
  return end - at;
}

/// "2025-03-01T10:20:30.123Z ": its length, else 0.
std::size_t time_length(std::string_view line) {
  constexpr std::string_view kForm = "dddd-dd-ddTdd:dd:dd";
  if (line.size() <= kForm.size()) return 0;
  for (std::size_t i = 0; i < kForm.size(); ++i) {
    if (kForm[i] == 'd' ? !is_digit(line[i]) : line[i] != kForm[i]) return 0;
  }
  std::size_t end = kForm.size();
  while (end < line.size() &&
         (is_digit(line[end]) || std::string_view(".,:+-Z").find(line[end]) != std::string_view::npos))
    ++end;
  return end < line.size() && line[end] == ' ' ? end + 1 : 0;
}

/// "[1,0]<stdout>:", "[1,mpirank:0,host]<stderr>:", "[node01:0] ", "[0] ", in a page perhaps behind blanks.
std::size_t bracket_length(std::string_view line) {
  const std::size_t open = line.find_first_not_of(" \t");
  const std::size_t close = line.find(']');
  if (open == std::string_view::npos || close == std::string_view::npos || line[open] != '[') return 0;
  const std::string_view inside = line.substr(open + 1, close - open - 1);
  const std::string_view behind = line.substr(close + 1);
  if (inside.empty() || inside.find_first_of(" \t[") != std::string_view::npos) return 0;
  for (const std::string_view stream : {"<stdout>:", "<stderr>:"}) {
    if (behind.starts_with(stream)) return close + 1 + stream.size();
  }
  const std::size_t colon = inside.rfind(':');
  const std::string_view rank = colon == std::string_view::npos ? inside : inside.substr(colon + 1);
  if (rank.empty() || digits_at(rank, 0) != rank.size()) return 0;
  return behind.empty() ? close + 1 : behind.starts_with(' ') ? close + 2 : 0;
}

/// " 0: " of a task.
std::size_t task_length(std::string_view line) {
  const std::size_t first = std::min(line.find_first_not_of(' '), line.size());
  const std::size_t digits = digits_at(line, first);
  const std::size_t colon = first + digits;
  if (digits == 0 || digits > 6 || colon >= line.size() || line[colon] != ':') return 0;
  if (colon + 1 == line.size()) return colon + 1;
  return line[colon + 1] == ' ' ? colon + 2 : 0;
}

std::string_view without_prefixes(std::string_view line) {
  if (line.ends_with('\r')) line.remove_suffix(1);
  constexpr int kMostPrefixes = 3;
  for (int i = 0; i < kMostPrefixes; ++i) {
    const std::size_t length = std::max({time_length(line), bracket_length(line), task_length(line)});
    if (length == 0) break;
    line.remove_prefix(length);
  }
  line.remove_prefix(std::min(line.find_first_not_of(" \t"), line.size()));
  return line;
}

}  // namespace

std::string without_launcher(std::string_view text) {
  std::string all;
  all.reserve(text.size());
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    all += without_prefixes(text.substr(0, end));
    all += '\n';
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return all;
}

std::vector<std::string> words(const std::string& line) {
  std::istringstream stream(line);
  std::vector<std::string> result;
  for (std::string word; stream >> word;) result.push_back(word);
  return result;
}

bool is_complaint(const std::string& line) {
  std::string lower;
  for (const char c : line) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  constexpr std::array<std::string_view, 6> kWords{"fail", "error", "warn", "unable to", "could not", "not supported"};
  return std::ranges::any_of(kWords, [&](std::string_view word) { return lower.find(word) != std::string::npos; });
}

void Complaints::add(int line, const std::string& text) {
  const std::string said = text.substr(std::min(text.find_first_not_of(" \t"), text.size()));
  const auto same = [&](const std::string& other) { return other.ends_with(": " + said); };
  if (notes_.size() >= kMost || std::ranges::any_of(notes_, same)) return;
  notes_.push_back(fmt::format("line {} of {}: {}", line, file_, said));
}

}  // namespace twinlink::validate
