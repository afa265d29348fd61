#include "platforms/yaml/yaml_section.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

using Kind = YamlValue::Kind;

constexpr std::string_view kQualityChoice = "one of measured, datasheet, derived, assumed";

std::string suggestion(std::string_view word, const std::vector<std::string>& candidates) {
  constexpr std::size_t kMostListed = 100;
  if (const std::string meant = closest(word, candidates); !meant.empty()) return "; did you mean '" + meant + "'?";
  std::string all;
  for (std::size_t i = 0; i < candidates.size() && i <= kMostListed; ++i) {
    all += (all.empty() ? "" : ", ") + (i < kMostListed ? candidates[i] : "...");
  }
  return all.empty() ? "" : "; there is: " + all;
}

// What no part of a machine has, past or to come. Simulated, such a number would give times that nobody awaits, or that
// are lost in the rounding of others.
constexpr Seconds kLongestCost{1000};
constexpr Rate kLeastRate{1};
constexpr Rate kMostRate{1e18};

Seconds parse_cost(std::string_view text) {
  const Seconds time = parse_seconds(text);
  if (time <= kLongestCost) return time;
  throw UnitError("'" + std::string(text) + "' is out of range: a duration is at most 1000 s");
}

Rate parse_throughput(std::string_view text) {
  const Rate rate = parse_rate(text);
  if (rate >= kLeastRate && rate <= kMostRate) return rate;
  throw UnitError("'" + std::string(text) + "' is out of range: a rate is from 1 B/s to 1000000 TB/s");
}

Ratio parse_ratio(std::string_view text) {
  constexpr double kLeastPercent = 0.01;
  constexpr double kMostPercent = 10000;
  std::string_view digits = text;
  if (digits.ends_with('%')) digits.remove_suffix(1);
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double percent = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), percent);
  const bool is_number = wrong == std::errc{} && end == digits.data() + digits.size() && text.ends_with('%');
  if (is_number && percent >= kLeastPercent && percent <= kMostPercent) return Ratio{percent / 100};
  throw UnitError("'" + std::string(text) + "' is no ratio: a number from 0.01 % to 10000 % is expected");
}

Flops parse_flops(std::string_view text) {
  constexpr std::string_view kUnit = "TFLOP/s";
  constexpr double kLeastTera = 1e-6;
  constexpr double kMostTera = 1e9;
  std::string_view digits = text;
  if (digits.ends_with(kUnit)) digits.remove_suffix(kUnit.size());
  while (digits.ends_with(' ')) digits.remove_suffix(1);
  double tera = 0;
  const auto [end, wrong] = std::from_chars(digits.data(), digits.data() + digits.size(), tera);
  const bool is_number = wrong == std::errc{} && end == digits.data() + digits.size() && text.ends_with(kUnit);
  if (is_number && tera >= kLeastTera && tera <= kMostTera) return Flops{tera * kTeraflops};
  throw UnitError("'" + std::string(text) + "' is no rate of operations: a number with the unit TFLOP/s is expected");
}

}  // namespace

Section::Section(const YamlValue& map, std::string what, ReadContext& context)
    : Section(map, std::move(what), context, Level::top) {}

Section::Section(const YamlValue& map, std::string what, ReadContext& context, Level level)
    : map_(map), what_(std::move(what)), context_(context), level_(level) {
  if (map_.kind != Kind::map) error(map_.position, what_ + " must be a map: lines of 'key: value'");
}

Section::~Section() {
  if (all_known_) return;
  struct Unnamed {
    const Position* first = nullptr;
    std::size_t keys = 0;
  };
  std::map<std::string, Unnamed> unnamed;  // by file, which may be anything and as long as anything: one error each
  for (const auto& entry : map_.entries) {
    if (std::ranges::find(known_, entry.key) != known_.end()) continue;
    if (is_told_by_name(entry)) {
      error(entry.position, "unknown key '" + entry.key + "' in " + what_ + suggestion(entry.key, known_));
    } else {
      auto& [first, keys] = unnamed[*entry.position.file];
      if (keys++ == 0) first = &entry.position;
    }
  }
  for (const auto& [file, found] : unnamed) {
    const std::string keys = found.keys == 1 ? "a key that is" : std::to_string(found.keys) + " keys that are";
    error(*found.first, "an included file has " + keys + " unknown in " + what_);
  }
}

bool Section::is_told_by_name(const YamlValue::Entry& entry) const {
  const auto& own = map_.position.file;
  const auto& file = entry.position.file;
  return level_ == Level::nested || !own || !file || *own == *file;
}

const Position& Section::position(std::string_view key) const {
  const YamlValue* value = map_.find(key);
  return value == nullptr ? map_.position : value->position;
}

const YamlValue* Section::find(std::string_view key) {
  if (std::ranges::find(known_, key) == known_.end()) known_.emplace_back(key);
  return map_.find(key);
}

const YamlValue* Section::require(std::string_view key) {
  const YamlValue* value = find(key);
  if (value == nullptr && map_.kind == Kind::map) {
    error(map_.position, "missing key '" + std::string(key) + "' in " + what_);
  }
  return value;
}

std::string Section::scalar(const YamlValue& value, const std::string& what) {
  if (value.kind == Kind::scalar && !value.text.empty()) return value.text;
  error(value.position,
        what + (value.kind == Kind::list || value.kind == Kind::map ? " must be one value" : " is empty"));
  return {};
}

std::string Section::text(std::string_view key) {
  const YamlValue* value = require(key);
  return value == nullptr ? std::string() : scalar(*value, named(key));
}

int Section::integer(std::string_view key, int least, int most) {
  const std::string text = this->text(key);
  return text.empty() ? least : whole_number(text, position(key), named(key), least, most);
}

int Section::whole_number(const std::string& text, const Position& where, const std::string& what, int least,
                          int most) {
  int result = 0;
  const auto [end, problem] = std::from_chars(text.data(), text.data() + text.size(), result);
  const bool leading_zero = text.size() > 1 && text[0] == '0';
  if (problem == std::errc{} && end == text.data() + text.size() && !leading_zero && result >= least &&
      result <= most) {
    return result;
  }
  error(where, what + ": '" + text + "' is not a whole number from " + std::to_string(least) + " to " +
                   std::to_string(most) + (leading_zero ? " without leading zeros" : ""));
  return least;
}

std::vector<int> Section::integers(std::string_view key, int least, int most) {
  std::vector<int> result;
  for (const std::string& text : texts(key)) {
    result.push_back(whole_number(text, position(key), "an item of " + named(key), least, most));
  }
  return result;
}

bool Section::boolean(std::string_view key) {
  const std::string text = this->text(key);
  if (!text.empty() && text != "true" && text != "false") {
    error(position(key), named(key) + ": '" + text + "' is neither true nor false");
  }
  return text == "true";
}

std::vector<std::string> Section::texts(std::string_view key) {
  std::vector<std::string> result;
  const YamlValue* list = find(key);
  if (list == nullptr) return result;
  if (list->kind != Kind::list) error(list->position, named(key) + " must be a list: [a, b]");
  for (const YamlValue& item : list->items) result.push_back(scalar(item, "an item of " + named(key)));
  return result;
}

// ---- numbers --------------------------------------------------------------------------------------------------------

template <class T>
T Section::quantity(const YamlValue& value, T (*parse)(std::string_view)) {
  try {
    if (const std::string text = scalar(value, what_); !text.empty()) return parse(text);
  } catch (const UnitError& e) {
    error(value.position, what_ + ": " + e.what());
  }
  return T{};
}

/// The source of the number that this section is.
Source Section::source() {
  std::optional<Source> result;
  for (const Quality quality : kQualities) {
    const YamlValue* value = find(to_string(quality));
    if (value == nullptr) continue;
    if (result)
      error(value->position, what_ + " has two sources, where " + std::string(kQualityChoice) + " is expected");
    const std::string text = scalar(*value, "the source of " + what_);
    result = Source{quality, text};
    if (const auto named_source = context_.named_sources.find(text); named_source != context_.named_sources.end()) {
      result->text = named_source->second;
    } else if (!text.empty() && text.find(' ') == std::string::npos) {
      // One word says too little to be a source itself, so it must be a name. Among many it is not searched for one
      // that is meant, as each wrong number would be.
      constexpr std::size_t kMostCompared = 1000;
      std::vector<std::string> names;
      if (context_.named_sources.size() <= kMostCompared) {
        for (const auto& [name, _] : context_.named_sources) names.push_back(name);
      }
      error(value->position, "unknown source '" + text + "' of " + what_ + suggestion(text, names));
    }
  }
  if (!result && map_.kind == Kind::map) {
    error(map_.position, what_ + " has no source: add " + std::string(kQualityChoice));
  }
  return result.value_or(Source{});
}

template <class T>
Sourced<T> Section::number(std::string_view key, T (*parse)(std::string_view)) {
  const YamlValue* value = require(key);
  if (value == nullptr) return {};
  if (value->kind != Kind::map) {
    error(value->position, named(key) + " must be a map of its value and its source: {value: ..., measured: ...}");
    return {};
  }
  Section section(*value, named(key), context_, Level::nested);
  Sourced<T> result;
  if (const YamlValue* inner = section.require("value")) result.value = section.quantity(*inner, parse);
  result.source = section.source();
  return result;
}

template <class T>
std::optional<T> Section::plain(std::string_view key, T (*parse)(std::string_view)) {
  const YamlValue* const value = find(key);
  return value == nullptr ? std::nullopt : std::optional(quantity(*value, parse));
}

std::optional<Bytes> Section::plain_bytes(std::string_view key) { return plain(key, parse_bytes); }
std::optional<Rate> Section::plain_rate(std::string_view key) { return plain(key, parse_throughput); }

Sourced<Bytes> Section::bytes(std::string_view key) { return number(key, parse_bytes); }
Sourced<Seconds> Section::seconds(std::string_view key) { return number(key, parse_cost); }
Sourced<Rate> Section::rate(std::string_view key) { return number(key, parse_throughput); }
Sourced<Ratio> Section::ratio(std::string_view key) { return number(key, parse_ratio); }
Sourced<Flops> Section::flops(std::string_view key) { return number(key, parse_flops); }

Piecewise Section::curve(const YamlValue& value) {
  std::vector<Piecewise::Knot> knots;
  for (const YamlValue& item : value.items) {
    if (item.kind != Kind::list || item.items.size() != 2) {
      error(item.position, what_ + ": a point must be [size, duration]");
      continue;
    }
    const Piecewise::Knot knot{quantity(item.items[0], parse_bytes), quantity(item.items[1], parse_cost)};
    if (!knots.empty() && knot.size <= knots.back().size) {
      error(item.position, what_ + ": the sizes of the points must ascend");
      continue;
    }
    knots.push_back(knot);
  }
  if (value.items.empty()) error(value.position, what_ + ": a list of points must have at least one");
  return knots.empty() ? Piecewise{} : Piecewise(std::move(knots));
}

Sourced<Piecewise> Section::piecewise(std::string_view key) {
  const YamlValue* outer = map_.find(key);
  const YamlValue* value = outer == nullptr ? nullptr : outer->find("value");
  if (value == nullptr || value->kind != Kind::list) {
    const Sourced<Seconds> constant = seconds(key);
    return {Piecewise({{Bytes{}, constant.value}}), constant.source};
  }
  known_.emplace_back(key);
  Section section(*outer, named(key), context_, Level::nested);
  section.require("value");
  Piecewise curve = section.curve(*value);
  return {std::move(curve), section.source()};
}

// ---- sections in sections -------------------------------------------------------------------------------------------

void Section::nested(std::string_view key, const std::string& what, const std::function<void(Section&)>& read) {
  const YamlValue* value = require(key);
  if (value == nullptr) return;
  Section section(*value, what, context_, Level::nested);
  if (value->kind == Kind::map) read(section);
}

void Section::each_text(const std::function<void(const std::string&, std::string)>& read) {
  all_known_ = true;
  for (const auto& entry : map_.entries) read(entry.key, scalar(entry.value, named(entry.key)));
}

void Section::each(std::string_view key, const std::string& noun,
                   const std::function<void(const std::string&, Section&)>& read) {
  const YamlValue* maps = require(key);
  if (maps == nullptr) return;
  if (maps->kind != Kind::map) error(maps->position, named(key) + " must be a map of names");
  for (const auto& entry : maps->entries) {
    Section section(entry.value, noun + " '" + entry.key + "'", context_, Level::nested);
    if (entry.value.kind == Kind::map) read(entry.key, section);
  }
}

void read_file(const std::filesystem::path& file, const std::string& what,
               const std::function<void(Section& top, ReadContext& context)>& read) {
  ReadContext context;
  const std::optional<YamlValue> document = load_yaml(file, context.diagnostics);
  if (!document) context.diagnostics.throw_all();
  {
    Section top(*document, what, context);
    read(top, context);
  }
  context.diagnostics.throw_if_any();
}

}  // namespace twinlink::platforms
