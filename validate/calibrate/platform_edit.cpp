#include "validate/calibrate/platform_edit.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstddef>
#include <optional>
#include <set>
#include <utility>

#include <fmt/format.h>

#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/yaml/yaml_text.hpp"

namespace twinlink::validate {
namespace {

using platforms::YamlValue;

/// For people: "3.46 us", "9 points from 3.46 us to 5.37 us".
std::string describe(const YamlValue* value) {
  if (value == nullptr) return {};
  if (value->kind != YamlValue::Kind::list) return value->text;
  const auto cost = [](const YamlValue& point) { return point.items.size() == 2 ? point.items[1].text : "?"; };
  if (value->items.empty()) return "no points";
  return fmt::format("{} points from {} to {}", value->items.size(), cost(value->items.front()),
                     cost(value->items.back()));
}

YamlValue& member(YamlValue& map, const std::string& key) {
  if (YamlValue* found = map.find(key)) return *found;
  return map.add(key, YamlValue(YamlValue::Kind::map, {}));
}

YamlValue& child(YamlValue& parent, const std::string& key) {
  if (parent.kind != YamlValue::Kind::list) return member(parent, key);
  std::size_t index = 0;
  std::from_chars(key.data(), key.data() + key.size(), index);
  return parent.items.at(index);
}

YamlValue& walk(YamlValue& document, std::string_view path) {
  YamlValue* here = &document;
  while (!path.empty()) {
    const std::string_view element = path.substr(0, path.find('.'));
    path.remove_prefix(std::min(path.size(), element.size() + 1));
    here = &child(*here, std::string(element));
  }
  return *here;
}

/// Comments stand at the place of a key; without a place there is none.
void forget_places(YamlValue& value) {
  for (auto& entry : value.entries) {
    entry.position = {};
    forget_places(entry.value);
  }
  for (YamlValue& item : value.items) forget_places(item);
}

/// What the base says of its costs is about numbers that may be gone; its topology stays as it is.
void forget_comments_on_numbers(YamlValue& document) {
  for (auto& entry : document.entries) {
    entry.position = {};
    if (entry.key != "nodes" && entry.key != "fabric") forget_places(entry.value);
  }
}

/// A base that was calibrated itself has sources of our names, and some of its numbers may stay.
void rename_earlier_sources(YamlValue& document) {
  YamlValue* sources = document.find("sources");
  if (sources == nullptr) return;
  for (std::size_t i = 0; i < sources->entries.size(); ++i) {
    const std::string name = sources->entries[i].key;
    if (!name.starts_with(kSourcePrefix)) continue;
    std::string earlier = "earlier-" + name;
    while (sources->find(earlier) != nullptr) earlier.insert(0, "earlier-");
    sources->entries[i].key = earlier;
    platforms::for_each_source(document, [&](std::string& source) {
      if (source == name) source = earlier;
    });
  }
}

/// What a base includes comes first in it, and a reader would have to look for the beginning.
template <std::size_t count>
void put_in_order(YamlValue& map, const std::array<std::string_view, count>& order) {
  const auto place = [&](const YamlValue::Entry& entry) { return std::ranges::find(order, entry.key) - order.begin(); };
  std::ranges::stable_sort(map.entries, {}, place);
}

void put_in_order(YamlValue& document) {
  put_in_order(document, std::array<std::string_view, 9>{"schema", "name", "description", "sources", "gpu_types",
                                                         "nodes", "fabric", "driver", "mpi"});
  if (YamlValue* driver = document.find("driver")) {
    put_in_order(*driver, std::array<std::string_view, 3>{"copies", "fallback", "runtime"});
  }
}

YamlValue load(const std::filesystem::path& base) {
  static_cast<void>(platforms::read_platform(base));  // says everything that is wrong with it
  platforms::Diagnostics diagnostics;
  std::optional<YamlValue> document = platforms::load_yaml(base, diagnostics, platforms::shared_parts());
  diagnostics.throw_if_any();
  return std::move(document).value();
}

/// The sources come before the numbers that name them.
YamlValue& sources_of(YamlValue& document) {
  if (YamlValue* found = document.find("sources")) return *found;
  const auto nodes = std::ranges::find(document.entries, "nodes", &YamlValue::Entry::key);
  return document.entries.insert(nodes, {"sources", {}, YamlValue(YamlValue::Kind::map, {})})->value;
}

}  // namespace

PlatformEdit::PlatformEdit(const std::filesystem::path& base) : document_(load(base)) {
  put_in_order(document_);
  forget_comments_on_numbers(document_);
  rename_earlier_sources(document_);
}

void PlatformEdit::replace(const std::string& path, YamlValue value, platforms::Quality quality,
                           const std::string& source) {
  YamlValue& number = walk(document_, path);
  std::string after = describe(&value);
  const auto known = std::ranges::find(changes_, path, &NumberChange::path);
  if (known == changes_.end()) {
    changes_.push_back({path, describe(number.find("value")), std::move(after)});
  } else {
    known->after = std::move(after);
  }
  number = yaml_number(std::move(value), quality, source);
}

void PlatformEdit::set_source(const std::string& name, const std::string& text) {
  member(sources_of(document_), name) = YamlValue(text);
}

platforms::Platform PlatformEdit::platform() const {
  return platforms::read_platform_text(platforms::to_yaml(document_), "the calibrated platform");
}

std::string PlatformEdit::text(const std::vector<std::string>& heading) const {
  YamlValue document = document_;
  std::set<std::string> named;
  platforms::for_each_source(document, [&](const std::string& source) { named.insert(source); });
  if (YamlValue* sources = document.find("sources")) {
    std::erase_if(sources->entries, [&](const YamlValue::Entry& entry) { return !named.contains(entry.key); });
    if (sources->entries.empty())
      std::erase_if(document.entries, [](const auto& entry) { return entry.key == "sources"; });
  }
  return platforms::to_yaml(document, heading);
}

}  // namespace twinlink::validate
