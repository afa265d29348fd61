#include "platforms/yaml/yaml_ranges.hpp"

#include <charconv>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace twinlink::platforms {
namespace {

using Kind = YamlValue::Kind;
constexpr std::size_t kMost = 4096;

/// The first range of a text: "hca[0-3]" from 0 to 3.
struct Range {
  std::size_t begin = 0;  ///< of "[0-3]" in the text
  std::size_t end = 0;    ///< behind it
  std::size_t first = 0;
  std::size_t last = 0;

  [[nodiscard]] std::size_t count() const { return last - first + 1; }
  /// The text with the range's number `index` in its place.
  [[nodiscard]] std::string text(const std::string& whole, std::size_t index) const {
    return whole.substr(0, begin) + std::to_string(first + index) + whole.substr(end);
  }
};

std::optional<std::size_t> number(std::string_view text) {
  std::size_t result = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
  const bool whole = problem == std::errc{} && end == text.data() + text.size() && !text.empty();
  return whole ? std::optional(result) : std::nullopt;
}

std::optional<Range> find_range(std::string_view text) {
  const std::size_t open = text.find('[');
  const std::size_t close = text.find(']', open == std::string_view::npos ? 0 : open);
  if (open == std::string_view::npos || close == std::string_view::npos) return std::nullopt;
  const std::string_view inner = text.substr(open + 1, close - open - 1);
  const std::size_t dash = inner.find('-');
  if (dash == std::string_view::npos) return std::nullopt;
  const auto first = number(inner.substr(0, dash));
  const auto last = number(inner.substr(dash + 1));
  if (!first || !last || *last < *first || *last - *first >= kMost) return std::nullopt;
  return Range{open, close + 1, *first, *last};
}

class Expander {
 public:
  Expander(YamlBudget& budget, Diagnostics& diagnostics) : budget_(budget), diagnostics_(diagnostics) {}

  [[nodiscard]] bool spent() const { return spent_; }

  void expand(YamlValue& value) {
    if (value.kind == Kind::list) expand_items(value);
    if (value.kind != Kind::map || value.is_number()) return;
    std::vector<YamlValue::Entry> entries;
    for (YamlValue::Entry& entry : value.entries) {
      const auto range = find_range(entry.key);
      if (!range || !take(range->count() * count_values(entry.value), entry.position)) {
        entries.push_back(std::move(entry));
        continue;
      }
      for (std::size_t i = 0; i < range->count(); ++i) {
        YamlValue::Entry one{range->text(entry.key, i), entry.position, entry.value};
        pick(one.value, i, range->count());
        entries.push_back(std::move(one));
      }
    }
    value.entries = std::move(entries);
    for (YamlValue::Entry& entry : value.entries) expand(entry.value);
  }

 private:
  bool take(std::size_t values, const Position& where) {
    if (spent_ || budget_.take(values)) return !spent_;
    diagnostics_.error(where, "the platform has more than " + std::to_string(YamlBudget::kValues) +
                                  " values, its aliases, ranges and included files expanded");
    spent_ = true;
    return false;
  }

  void expand_items(YamlValue& list) {
    std::vector<YamlValue> items;
    for (YamlValue& item : list.items) {
      auto range = item.kind == Kind::scalar ? find_range(item.text) : std::nullopt;
      if (range && !take(range->count(), item.position)) range.reset();
      for (std::size_t i = 0; range && i < range->count(); ++i) {
        items.emplace_back(Kind::scalar, item.position, range->text(item.text, i));
      }
      if (!range) items.push_back(std::move(item));
    }
    list.items = std::move(items);
  }

  /// Replaces each range in `value` by its number for entry `index` of `count`.
  void pick(YamlValue& value, std::size_t index, std::size_t count) {
    for (YamlValue& item : value.items) pick(item, index, count);
    for (YamlValue::Entry& entry : value.entries) pick(entry.value, index, count);
    if (value.kind != Kind::scalar) return;
    const auto range = find_range(value.text);
    if (!range) return;
    if (count % range->count() != 0) {
      diagnostics_.error(value.position, "'" + value.text + "' has " + std::to_string(range->count()) +
                                             " numbers, which cannot be dealt out evenly to " + std::to_string(count));
      value.text = range->text(value.text, 0);
      return;
    }
    value.text = range->text(value.text, index / (count / range->count()));
  }

  YamlBudget& budget_;
  Diagnostics& diagnostics_;
  bool spent_ = false;
};

}  // namespace

bool expand_ranges(YamlValue& document, YamlBudget& budget, Diagnostics& diagnostics) {
  Expander expander(budget, diagnostics);
  if (YamlValue* nodes = document.find("nodes")) expander.expand(*nodes);
  if (YamlValue* kinds = document.find("kinds")) {
    for (YamlValue::Entry& kind : kinds->entries) {
      if (YamlValue* nodes = kind.value.find("nodes")) expander.expand(*nodes);
    }
  }
  return !expander.spent();
}

}  // namespace twinlink::platforms
