#include "platforms/yaml/yaml_text.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <fstream>
#include <map>
#include <set>
#include <string_view>
#include <utility>
#include <vector>

namespace twinlink::platforms {
namespace {

using Kind = YamlValue::Kind;

constexpr std::size_t kWidth = 120;
constexpr int kIndent = 2;

bool is_digit(char c) { return c >= '0' && c <= '9'; }

/// May the text stand without quotes, anywhere, and be read as the same text? Version numbers are quoted for the sake
/// of other programs, which would take them for fractions.
bool is_plain(std::string_view text) {
  constexpr std::string_view kSafe = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789 _./+-";
  constexpr std::array<std::string_view, 3> kNulls{"null", "Null", "NULL"};
  if (text.empty() || text.find_first_not_of(kSafe) != std::string_view::npos) return false;
  if (std::string_view{" ./+-"}.find(text.front()) != std::string_view::npos || text.back() == ' ') return false;
  if (std::ranges::find(kNulls, text) != kNulls.end()) return false;
  const bool fraction = std::ranges::all_of(text, [](char c) { return is_digit(c) || c == '.'; });
  return !fraction || text.find('.') == std::string_view::npos;
}

std::string quoted(std::string_view text) {
  std::string result = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    if (c == '\n' || c == '\t' || c == '\r') {
      result += c == '\n' ? "\\n" : c == '\t' ? "\\t" : "\\r";
    } else {
      result += c;
    }
  }
  return result + '"';
}

std::string scalar(std::string_view text) { return is_plain(text) ? std::string(text) : quoted(text); }

/// A value on one line.
std::string flow(const YamlValue& value) {
  std::string result;
  const auto separate = [&] { result += result.size() == 1 ? "" : ", "; };
  switch (value.kind) {
    case Kind::null:
      return "~";
    case Kind::scalar:
      return scalar(value.text);
    case Kind::list:
      result = "[";
      for (const YamlValue& item : value.items) {
        separate();
        result += flow(item);
      }
      return result + "]";
    case Kind::map:
      result = "{";
      for (const auto& entry : value.entries) {
        separate();
        result += scalar(entry.key) + ": " + flow(entry.value);
      }
      return result + "}";
  }
  return result;
}

/// Would a person write this map on one line if there is room: a number, or a thing with a single number?
bool is_small(const YamlValue& map) {
  if (map.entries.empty() || map.is_number()) return true;
  const auto numbers = std::ranges::count_if(map.entries, [](const auto& entry) { return entry.value.is_number(); });
  const bool simple = std::ranges::all_of(
      map.entries, [](const auto& entry) { return entry.value.kind == Kind::scalar || entry.value.is_number(); });
  return simple && numbers == 1;
}

bool has_maps(const YamlValue& list) {
  return std::ranges::any_of(list.items, [](const YamlValue& item) { return item.kind == Kind::map; });
}

/// Lines of `width` characters at most, broken at the spaces where that is possible.
std::vector<std::string> wrap(std::string_view text, std::size_t width) {
  std::vector<std::string> lines(1);
  while (!text.empty()) {
    const std::string_view word = text.substr(0, text.find(' '));
    text.remove_prefix(std::min(text.size(), word.size() + 1));
    if (!lines.back().empty() && lines.back().size() + 1 + word.size() > width) lines.emplace_back();
    lines.back() += (lines.back().empty() ? "" : " ") + std::string(word);
  }
  return lines;
}

/// A folded text joins its lines by single spaces, so it has to have none but these.
bool can_fold(std::string_view text) {
  return !text.empty() && text.front() != ' ' && text.back() != ' ' && text.find("  ") == std::string_view::npos &&
         std::ranges::none_of(text, [](char c) { return static_cast<unsigned char>(c) < 0x20; });
}

/// The comments of the files that a document was read from.
class Comments {
 public:
  /// The lines of comment right above `position`, without what stands before them: for the first key of that line, and
  /// once where a range has made many of it.
  std::vector<std::string> above(const Position& position) {
    std::vector<std::string> result;
    if (position.line == 0 || !position.file) return result;
    const std::vector<std::string>& lines = lines_of(*position.file);
    const auto own = static_cast<std::size_t>(position.line) - 1;
    if (own >= lines.size() || lines[own].find_first_not_of(' ') + 1 != static_cast<std::size_t>(position.column)) {
      return result;
    }
    if (!told_.emplace(*position.file, position.line).second) return result;
    for (auto line = static_cast<std::size_t>(position.line) - 1; line-- > 0 && line < lines.size();) {
      const std::size_t start = lines[line].find_first_not_of(' ');
      if (start == std::string::npos || lines[line][start] != '#') break;
      result.insert(result.begin(), lines[line].substr(start));
    }
    return result;
  }

 private:
  const std::vector<std::string>& lines_of(const std::string& file) {
    const auto [found, is_new] = files_.try_emplace(file);
    if (is_new) {
      std::ifstream stream(file, std::ios::binary);
      for (std::string line; std::getline(stream, line);) {
        if (line.ends_with('\r')) line.pop_back();
        found->second.push_back(std::move(line));
      }
    }
    return found->second;
  }

  std::map<std::string, std::vector<std::string>> files_{};
  std::set<std::pair<std::string, int>> told_{};
};

class Writer {
 public:
  std::string take() { return std::move(out_); }

  void heading(const std::vector<std::string>& lines) {
    for (const std::string& line : lines) out_ += line.empty() ? "#\n" : "# " + line + '\n';
  }

  void document(const YamlValue& document) {
    bool first = true;
    for (const auto& entry : document.entries) {
      // The parts of a platform stand apart.
      if (!first && entry.value.kind == Kind::map) out_ += '\n';
      first = false;
      this->entry(entry, 0);
    }
  }

 private:
  static std::string spaces(int indent) {
    std::string result(static_cast<std::size_t>(indent), ' ');
    return result;
  }

  /// `prefix` stands before the key: spaces, or those of a list with its dash.
  void entry(const YamlValue::Entry& entry, int indent, const std::string& prefix = {}) {
    for (const std::string& comment : comments_.above(entry.position)) out_ += spaces(indent) + comment + '\n';
    const std::string head = (prefix.empty() ? spaces(indent) : prefix) + scalar(entry.key) + ':';
    const std::string line = head + ' ' + flow(entry.value);
    const bool fits = line.size() <= kWidth;
    const YamlValue& value = entry.value;
    if (value.kind == Kind::scalar && !fits && can_fold(value.text)) {
      fold(head, value.text, indent + kIndent);
    } else if (value.kind == Kind::map && !(fits && is_small(value))) {
      out_ += head + '\n';
      for (const auto& inner : value.entries) this->entry(inner, indent + kIndent);
    } else if (value.kind == Kind::list && has_maps(value)) {
      out_ += head + '\n';
      for (const YamlValue& item : value.items) list_item(item, indent + kIndent);
    } else if (value.kind == Kind::list && !fits) {
      list(head, value);
    } else {
      out_ += line + '\n';
    }
  }

  void fold(const std::string& head, std::string_view text, int indent) {
    out_ += head + " >-\n";
    for (const std::string& line : wrap(text, kWidth - static_cast<std::size_t>(indent))) {
      out_ += spaces(indent) + line + '\n';
    }
  }

  /// Several lines, the items under each other.
  void list(const std::string& head, const YamlValue& value) {
    std::string line = head + " [";
    const std::string further(line.size(), ' ');
    for (std::size_t i = 0; i < value.items.size(); ++i) {
      const std::string item = flow(value.items[i]) + (i + 1 < value.items.size() ? "," : "]");
      const bool fresh = line.ends_with('[') || line == further;
      if (!fresh && line.size() + 1 + item.size() > kWidth) {
        out_ += line + '\n';
        line = further + item;
      } else {
        line += (fresh ? "" : " ") + item;
      }
    }
    out_ += line + '\n';
  }

  void list_item(const YamlValue& item, int indent) {
    if (item.kind != Kind::map || item.entries.empty()) {
      out_ += spaces(indent) + "- " + flow(item) + '\n';
      return;
    }
    std::string prefix = spaces(indent) + "- ";
    for (const auto& inner : item.entries) entry(inner, indent + kIndent, std::exchange(prefix, {}));
  }

  Comments comments_;
  std::string out_;
};

}  // namespace

std::string to_yaml(const YamlValue& document, const std::vector<std::string>& heading) {
  Writer writer;
  writer.heading(heading);
  writer.document(document);
  return writer.take();
}

}  // namespace twinlink::platforms
