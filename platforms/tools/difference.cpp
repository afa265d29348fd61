#include "platforms/tools/difference.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <string_view>

#include "platforms/reader/platform_writer.hpp"
#include "platforms/reader/release_reader.hpp"

namespace twinlink::platforms {
namespace {

/// Less is what writing a number and reading it back leaves.
constexpr double kEqual = 1e-11;

/// Keys at the top of a file that say what it is called, and where numbers come from.
constexpr std::array<std::string_view, 4> kNoDifference{"schema", "name", "description", "sources"};

std::string joined(const std::string& path, std::string_view key) {
  return path.empty() ? std::string(key) : path + "." + std::string(key);
}

bool is_part(const YamlValue& value) { return value.kind == YamlValue::Kind::map && !value.is_number(); }

/// A scalar, or a list of them.
std::string word_of(const YamlValue* value) {
  if (value == nullptr) return "";
  std::string text = value->text;
  for (const YamlValue& item : value->items) text += (text.empty() ? "" : ", ") + item.text;
  return text;
}

class Comparison {
 public:
  explicit Comparison(PlatformDifference& found) : found_(found) {}

  /// Parts and words. Numbers are in a list of their own, where each direction of a link and each point has an entry.
  void compare(const std::string& path, const YamlValue& a, const YamlValue& b) {
    for (const YamlValue::Entry& entry : a.entries) compare_entry(path, entry.key, &entry.value, b.find(entry.key));
    for (const YamlValue::Entry& entry : b.entries) {
      if (a.find(entry.key) == nullptr) compare_entry(path, entry.key, nullptr, &entry.value);
    }
  }

 private:
  void compare_entry(const std::string& path, const std::string& key, const YamlValue* a, const YamlValue* b) {
    if (path.empty() && std::ranges::find(kNoDifference, key) != kNoDifference.end()) return;
    const YamlValue& one = a != nullptr ? *a : *b;
    const std::string here = joined(path, key);
    if (one.is_number()) return;
    if (!is_part(one)) {
      if (word_of(a) != word_of(b)) found_.words.push_back({here, word_of(a), word_of(b)});
    } else if (a != nullptr && b != nullptr) {
      compare(here, *a, *b);
    } else {
      (a != nullptr ? found_.only_a : found_.only_b).push_back(here);
    }
  }

  PlatformDifference& found_;
};

bool is_within(const std::string& path, const std::vector<std::string>& parts) {
  return std::ranges::any_of(parts, [&](const std::string& part) { return path.starts_with(part + "."); });
}

bool equal(const NumberEntry& a, const NumberEntry& b) {
  return std::abs(a.value - b.value) <= kEqual * std::max(std::abs(a.value), std::abs(b.value));
}

void compare_numbers(const Platform& a, const Platform& b, PlatformDifference& found) {
  std::map<std::string, NumberEntry> others;
  for (const NumberEntry& entry : all_numbers(b)) others.emplace(entry.path, entry);
  for (const NumberEntry& entry : all_numbers(a)) {
    const auto other = others.find(entry.path);
    if (other == others.end()) {
      if (!is_within(entry.path, found.only_a)) found.numbers.push_back({entry.path, entry, {}});
      continue;
    }
    if (!equal(entry, other->second)) found.numbers.push_back({entry.path, entry, other->second});
    others.erase(other);
  }
  // In the order of the file.
  for (const NumberEntry& entry : all_numbers(b)) {
    if (others.contains(entry.path) && !is_within(entry.path, found.only_b)) {
      found.numbers.push_back({entry.path, {}, entry});
    }
  }
}

/// By which library's tables ranks choose, and what these have otherwise, where both are known by name.
void compare_releases(const Platform& a, const Platform& b, PlatformDifference& found) {
  if (a.release == nullptr || b.release == nullptr || a.release->name == b.release->name) return;
  std::erase_if(found.words, [](const WordDifference& word) { return word.path == "ccl"; });
  found.words.push_back({"ccl", a.release->name, b.release->name});
  const std::vector<std::string> known = release_names();
  const auto is_known = [&](const Platform& each) { return std::ranges::count(known, each.release->name) > 0; };
  if (!is_known(a) || !is_known(b)) return;
  for (const TableDifference& table : difference_of_releases(a.release->name, b.release->name)) {
    found.words.push_back({"ccl." + table.path, table.a, table.b});
  }
}

}  // namespace

PlatformDifference difference_of(const Platform& a, const Platform& b) {
  PlatformDifference found;
  Comparison(found).compare("", platform_tree(a), platform_tree(b));
  compare_numbers(a, b, found);
  compare_releases(a, b, found);
  return found;
}

}  // namespace twinlink::platforms
