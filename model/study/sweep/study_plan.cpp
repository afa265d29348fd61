#include "model/study/sweep/study_plan.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <map>
#include <numbers>
#include <random>
#include <set>

#include <fmt/format.h>

#include "platforms/yaml/yaml_section.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::model {
namespace {

constexpr std::size_t kMostPoints = 1'000'000;

/// Outputs are the study's own, and a point is one job or one pair.
bool is_refused(const std::string& name) {
  static const std::set<std::string> names{"json",   "csv",  "trace", "trace-times", "timeline", "report",
                                           "expect", "help", "jobs",  "background",  "pairs",    "all-pairs"};
  return names.contains(name);
}

std::vector<std::string> texts_of(const YamlValue& value, Diagnostics& diagnostics, const std::string& what) {
  std::vector<std::string> texts;
  const auto take = [&](const YamlValue& item) {
    if (item.kind != YamlValue::Kind::scalar) {
      diagnostics.error(item.position, what + ": a value is a text or a number");
    } else if (!is_utf8(item.text)) {
      diagnostics.error(item.position, what + ": a value is text in UTF-8");
    }
    texts.push_back(item.text);
  };
  if (value.kind == YamlValue::Kind::scalar) {
    take(value);
    return texts;
  }
  std::ranges::for_each(value.items, take);
  if (texts.empty()) diagnostics.error(value.position, what + " has no values");
  return texts;
}

std::vector<StudyOption> options_of(const YamlValue& map, Diagnostics& diagnostics, const std::string& what) {
  std::vector<StudyOption> options;
  if (map.kind != YamlValue::Kind::map) diagnostics.error(map.position, what + " is a map of options");
  for (const YamlValue::Entry& entry : map.entries) {
    if (is_refused(entry.key)) diagnostics.error(entry.position, "--" + entry.key + " is not of a study's point");
    const bool of_two =
        entry.key.starts_with("set ") || entry.key.starts_with("option ") || entry.key.starts_with("between-option ");
    if (entry.key.find(' ') != std::string::npos && !of_two) {
      diagnostics.error(entry.position, "'" + entry.key + "' is no option");
    }
    options.push_back({entry.key, texts_of(entry.value, diagnostics, what + " '" + entry.key + "'"), entry.position});
  }
  return options;
}

/// Axes may have names as values, which stand for options.
std::vector<StudyOption> axes_of(const YamlValue& map, Diagnostics& diagnostics) {
  YamlValue plain = map;
  std::erase_if(plain.entries, [](const YamlValue::Entry& entry) { return entry.value.kind == YamlValue::Kind::map; });
  std::vector<StudyOption> axes = options_of(plain, diagnostics, "axis");
  if (map.kind != YamlValue::Kind::map) return axes;
  for (std::size_t i = 0; i < map.entries.size(); ++i) {
    const YamlValue::Entry& entry = map.entries[i];
    if (entry.value.kind != YamlValue::Kind::map) continue;
    StudyOption axis{.name = entry.key, .position = entry.position};
    for (const YamlValue::Entry& value : entry.value.entries) {
      axis.values.push_back(value.key);
      axis.meanings.push_back(options_of(value.value, diagnostics, "'" + value.key + "'"));
    }
    if (axis.values.empty()) diagnostics.error(entry.position, "axis '" + entry.key + "' has no values");
    axes.insert(axes.begin() + static_cast<std::ptrdiff_t>(i), std::move(axis));
  }
  return axes;
}

/// Every combination, the last axis fastest.
std::vector<std::vector<std::size_t>> product(const std::vector<StudyOption>& axes) {
  std::vector<std::vector<std::size_t>> all{{}};
  for (const StudyOption& axis : axes) {
    std::vector<std::vector<std::size_t>> longer;
    for (const auto& point : all) {
      for (std::size_t value = 0; value < axis.values.size(); ++value) {
        longer.push_back(point);
        longer.back().push_back(value);
        if (longer.size() > kMostPoints) return longer;
      }
    }
    all = std::move(longer);
  }
  return all;
}

/// The first values of all axes, the second ones, and so on.
std::vector<std::vector<std::size_t>> zip(const std::vector<StudyOption>& axes, Diagnostics& diagnostics) {
  for (const StudyOption& axis : axes) {
    if (axis.values.size() == axes.front().values.size()) continue;
    diagnostics.error(axis.position,
                      fmt::format("axis '{}' has {} values and '{}' has {}; 'zip' takes them side by side", axis.name,
                                  axis.values.size(), axes.front().name, axes.front().values.size()));
  }
  std::vector<std::vector<std::size_t>> all;
  for (std::size_t i = 0; i < axes.front().values.size(); ++i) all.emplace_back(axes.size(), i);
  return all;
}

/// A list of points, each a map of the same options: axes whose values are what the points have.
void take_list(Study& study, const YamlValue& list, Diagnostics& diagnostics) {
  if (list.items.empty()) diagnostics.error(list.position, "'points' is a list of maps of options, one at least");
  for (const YamlValue& item : list.items) {
    const std::vector<StudyOption> point = options_of(item, diagnostics, "point");
    if (point.empty()) {
      diagnostics.error(item.position, "a point has one option at least");
      return;
    }
    if (study.chosen.empty()) {
      for (const StudyOption& option : point) study.axes.push_back({option.name, {}, option.position});
    }
    std::vector<std::size_t> chosen;
    for (StudyOption& axis : study.axes) {
      const auto option = std::ranges::find(point, axis.name, &StudyOption::name);
      if (option == point.end() || option->values.size() != 1 || point.size() != study.axes.size()) {
        diagnostics.error(item.position, "each point has one value of the same options as the first");
        return;
      }
      const auto known = std::ranges::find(axis.values, option->values.front());
      chosen.push_back(static_cast<std::size_t>(known - axis.values.begin()));
      if (known == axis.values.end()) axis.values.push_back(option->values.front());
    }
    study.chosen.push_back(std::move(chosen));
  }
}

void take_spreads(Study& study, const YamlValue& map, Diagnostics& diagnostics) {
  for (const YamlValue::Entry& entry : map.entries) {
    const std::string& text = entry.value.text;
    double percent = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), percent);
    if (error != std::errc{} || std::string_view(end) != "%" || percent <= 0 || percent > 100) {
      diagnostics.error(entry.value.position, fmt::format("'{}' is no spread above 0 and up to 100, such as 5%", text));
    }
    study.spreads.push_back({entry.key, percent / 100, entry.position});
  }
}

void require_distinct(const Study& study, Diagnostics& diagnostics) {
  std::set<std::string> names;
  for (const auto* options : {&study.options, &study.axes}) {
    for (const StudyOption& option : *options) {
      if (!names.insert(option.name).second) diagnostics.error(option.position, "'" + option.name + "' is there twice");
    }
  }
  std::set<std::vector<std::string>> points;
  for (const auto& chosen : study.chosen) {
    std::vector<std::string> values;
    for (std::size_t axis = 0; axis < chosen.size(); ++axis) values.push_back(study.axes[axis].values[chosen[axis]]);
    if (points.insert(values).second) continue;
    diagnostics.error(study.axes.front().position, fmt::format("two points are the same: {}", fmt::join(values, ", ")));
    return;
  }
}

/// What a number was set to has become the base of its spread.
void take_out_set(std::vector<std::string>& arguments, const std::string& path) {
  for (std::size_t i = 0; i + 1 < arguments.size(); ++i) {
    if (arguments[i] != "--set" || !arguments[i + 1].starts_with(path + "=")) continue;
    const auto at = arguments.begin() + static_cast<std::ptrdiff_t>(i);
    arguments.erase(at, at + 2);
    return;
  }
}

/// "9 GB/s" times a factor: "9.12 GB/s".
std::string scaled(const std::string& text, double factor) {
  double number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{}) throw UsageError("'" + text + "' is no number that could have a spread");
  return fmt::format("{:.9g}{}", number * factor, std::string_view(end, text.data() + text.size()));
}

}  // namespace

std::string StudyOption::flag() const {
  if (name == "workload") return {};
  return "--" + name.substr(0, name.find(' '));
}

std::vector<std::string> StudyOption::arguments(const std::string& value) const {
  if (!meanings.empty()) {
    std::vector<std::string> all;
    const auto named = static_cast<std::size_t>(std::ranges::find(values, value) - values.begin());
    for (const StudyOption& option : meanings.at(named)) {
      for (const std::string& each : option.values) {
        for (std::string& argument : option.arguments(each)) all.push_back(std::move(argument));
      }
    }
    return all;
  }
  if (name == "workload") return {value};
  if (const std::size_t space = name.find(' '); space != std::string::npos) {
    return {flag(), name.substr(space + 1) + "=" + value};
  }
  if (value == "true") return {flag()};
  if (value == "false") return {};
  return {flag(), value};
}

std::vector<StudyPoint> Study::points(
    const std::function<std::string(const std::vector<std::string>&, const std::string&)>& base) const {
  std::vector<StudyPoint> all;
  for (const std::vector<std::size_t>& values : chosen) {
    StudyPoint point{.arguments = {command}};
    const auto add = [&point](const StudyOption& option, const std::string& value) {
      for (const std::string& argument : option.arguments(value)) point.arguments.push_back(argument);
    };
    for (const StudyOption& option : options) {
      for (const std::string& value : option.values) add(option, value);
    }
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      point.values.push_back(axes[axis].values[values[axis]]);
      add(axes[axis], point.values.back());
    }
    // Sample i of every point draws the same numbers: what points differ by is not the draw.
    std::mt19937_64 random(seed);
    const auto uniform = [&random] { return (static_cast<double>(random() >> 11U) + 0.5) * 0x1p-53; };
    std::vector<std::string> bases;
    try {
      for (const Spread& spread : spreads) bases.push_back(base(point.arguments, spread.path));
    } catch (const Error& error) {
      point.error = error.what();
    }
    for (int sample = 0; sample < samples; ++sample) {
      StudyPoint drawn = point;
      drawn.sample = sample;
      for (std::size_t i = 0; i < bases.size() && point.error.empty(); ++i) {
        const double radius = std::sqrt(-2 * std::log(uniform()));  // Box and Muller: the same with every library
        const double normal = radius * std::cos(2 * std::numbers::pi * uniform());
        const double factor = std::exp(std::log1p(spreads[i].share) * normal);
        take_out_set(drawn.arguments, spreads[i].path);
        drawn.arguments.insert(drawn.arguments.end(), {"--set", spreads[i].path + "=" + scaled(bases[i], factor)});
      }
      all.push_back(std::move(drawn));
    }
  }
  return all;
}

Study read_study(const std::filesystem::path& file) {
  ReadContext context;
  Diagnostics& diagnostics = context.diagnostics;
  const std::optional<YamlValue> document = load_yaml(file, diagnostics);
  if (!document) diagnostics.throw_all();
  Study study;
  {
    Section top(*document, "the study", context);
    study.title = top.text("title");
    if (top.find("command") != nullptr) study.command = top.text("command");
    if (study.command != "run" && study.command != "workload") {
      top.error(top.position("command"), "a command is 'run' or 'workload'");
    }
    if (const YamlValue* options = top.find("options")) study.options = options_of(*options, diagnostics, "option");
    const YamlValue* axes = top.find("axes");
    const YamlValue* points = top.find("points");
    const std::string combine = top.find("combine") != nullptr ? top.text("combine") : "product";
    if ((axes == nullptr) == (points == nullptr)) top.error(top.position(), "a study has 'axes' or 'points'");
    if (axes != nullptr) study.axes = axes_of(*axes, diagnostics);
    if (axes != nullptr && study.axes.empty()) top.error(axes->position, "there is no axis");
    if (points != nullptr) take_list(study, *points, diagnostics);
    if (axes != nullptr && diagnostics.empty()) {
      if (combine == "product") {
        study.chosen = product(study.axes);
      } else if (combine == "zip") {
        study.chosen = zip(study.axes, diagnostics);
      } else {
        top.error(top.position("combine"), "points are combined by 'product' or 'zip'");
      }
    }
    if (const YamlValue* spreads = top.find("spread")) take_spreads(study, *spreads, diagnostics);
    constexpr int kMostSamples = 100'000;
    if (top.find("samples") != nullptr) study.samples = top.integer("samples", 1, kMostSamples);
    if (top.find("seed") != nullptr) study.seed = static_cast<std::uint64_t>(top.integer("seed", 0, 2'000'000'000));
    if (study.samples < 2 && !study.spreads.empty()) {
      top.error(top.position("spread"), "a spread wants 'samples', two at least");
    }
    if (study.samples > 1 && study.spreads.empty()) top.error(top.position("samples"), "nothing has a 'spread'");
    if (study.chosen.size() * static_cast<std::size_t>(study.samples) > kMostPoints) {
      top.error(top.position(), fmt::format("more than {} points", kMostPoints));
    }
  }
  if (diagnostics.empty()) require_distinct(study, diagnostics);
  diagnostics.throw_if_any();
  return study;
}

}  // namespace twinlink::model
