#include "platforms/reader/yaml_override.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <memory>
#include <optional>
#include <set>
#include <type_traits>
#include <utility>

#include "platforms/machine/platform_fields.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/text.hpp"

namespace twinlink::platforms {
namespace {

/// What there is under `value`, for messages.
std::string choices(const YamlValue& value) {
  std::string result;
  for (std::size_t i = 0; i < value.items.size(); ++i) result += (result.empty() ? "" : ", ") + std::to_string(i);
  for (const std::string& key : value.keys()) result += (result.empty() ? "" : ", ") + key;
  return result.empty() ? "nothing" : result;
}

YamlValue* child(YamlValue& parent, std::string_view element) {
  if (parent.kind != YamlValue::Kind::list) return parent.find(element);
  std::size_t index = 0;
  const auto [end, error] = std::from_chars(element.data(), element.data() + element.size(), index);
  const bool is_index = error == std::errc{} && end == element.data() + element.size();
  return is_index && index < parent.items.size() ? &parent.items[index] : nullptr;
}

template <class T>
struct IsOptional : std::false_type {};
template <class T>
struct IsOptional<std::optional<Sourced<T>>> : std::true_type {};

/// The keys of all numbers that some part of a platform may leave out.
const std::set<std::string_view>& optional_numbers() {
  static const std::set<std::string_view> keys = [] {
    // `bandwidth` may stand for these two.
    std::set<std::string_view> found{"forward", "backward"};
    const auto add = [&](std::string_view key, const auto& field) {
      if constexpr (IsOptional<std::remove_cvref_t<decltype(field)>>::value) found.insert(key);
    };
    const auto add_all = [&]<class Part>(const Part& part) { each_field(part, add); };
    add_all(HostMemory{});
    add_all(Hub{});
    add_all(Link{});
    add_all(Nic{});
    add_all(Fabric{});
    add_all(Rdma{});
    add_all(GpuType{});
    add_all(BlockCosts{});
    add_all(Fallback{});
    add_all(Cost{});
    add_all(NetworkCosts{});
    add_all(RuntimeCosts{});
    return found;
  }();
  return keys;
}

/// Adds a number or a word that a platform may leave out, so that a what-if can give it. Whether it belongs here, the
/// reader knows.
YamlValue* add_optional(YamlValue& parent, std::string_view key, const Position& position) {
  constexpr std::array<std::string_view, 23> kOptionalWords{
      "domain",      "copied_by",        "forwards", "through", "in_flight", "host_adapters", "count",   "host_buffers",
      "routing",     "oversubscription", "cuda",     "driver",  "kernel",    "mpi",           "library", "kernel_patch",
      "nic_interop", "memory_near",      "nic",      "cpu",     "ccl",       "shape",         "radix"};
  if (parent.kind != YamlValue::Kind::map || parent.is_number()) return nullptr;
  const bool is_number = optional_numbers().contains(key);
  if (!is_number && std::ranges::find(kOptionalWords, key) == kOptionalWords.end()) return nullptr;
  YamlValue value(is_number ? YamlValue::Kind::map : YamlValue::Kind::scalar, position);
  if (is_number) value.entries.push_back({"value", position, {}});
  parent.entries.push_back({std::string(key), position, std::move(value)});
  return &parent.entries.back().value;
}

/// The levels of a fabric: a tree, say, has more of them than its file says.
bool is_of_levels(std::string_view path) { return path == "fabric.size" || path == "fabric.oversubscription"; }

/// One level more than there are. Null where `element` is not the next one.
YamlValue* add_level(YamlValue& levels, std::string_view element, const Position& position) {
  if (levels.kind == YamlValue::Kind::scalar) {  // one for all that there are
    YamlValue list(YamlValue::Kind::list, levels.position);
    list.items.push_back(levels);
    levels = std::move(list);
  }
  if (element != std::to_string(levels.items.size())) return nullptr;
  return &levels.items.emplace_back(YamlValue::Kind::scalar, position);
}

[[noreturn]] void fail(std::string_view assignment, const std::string& message) {
  throw UsageError("--set " + std::string(assignment) + ": " + message);
}

YamlValue& resolve(YamlValue& document, std::string_view path, std::string_view assignment, const Position& position) {
  YamlValue* here = &document;
  std::string walked;
  for (std::string_view rest = path; !rest.empty();) {
    const std::string_view element = rest.substr(0, rest.find('.'));
    rest.remove_prefix(std::min(rest.size(), element.size() + 1));
    YamlValue* next = child(*here, element);
    if (next == nullptr && rest.empty()) {
      next = is_of_levels(walked) ? add_level(*here, element, position) : add_optional(*here, element, position);
    } else if (next == nullptr && walked == "fabric" && is_of_levels("fabric." + std::string(element))) {
      here->entries.push_back({std::string(element), position, YamlValue(YamlValue::Kind::list, position)});
      next = &here->entries.back().value;
    }
    if (next == nullptr) {
      const std::string meant = closest(element, here->keys());
      fail(assignment, "there is no '" + std::string(element) + "' in " +
                           (walked.empty() ? "the platform" : "'" + walked + "'") +
                           (meant.empty() ? "" : "; did you mean '" + meant + "'?") +
                           (meant.empty() ? "; there is: " : " There is: ") + choices(*here) +
                           (is_of_levels(walked) ? "; levels are added one by one" : ""));
    }
    walked += (walked.empty() ? "" : ".") + std::string(element);
    here = next;
  }
  return *here;
}

}  // namespace

void apply_override(YamlValue& document, std::string_view assignment) {
  const std::size_t equals = assignment.find('=');
  if (equals == std::string_view::npos || equals == 0) {
    fail(assignment, "PATH=VALUE is expected, such as nodes.links.qpi.forward='9 GB/s'");
  }
  const Position here{std::make_shared<const std::string>("--set " + std::string(assignment))};
  const YamlValue replacement(YamlValue::Kind::scalar, here, std::string(assignment.substr(equals + 1)));

  std::string_view path = assignment.substr(0, equals);
  if (constexpr std::string_view kValue = ".value"; path.ends_with(kValue)) path.remove_suffix(kValue.size());
  // A platform that says nothing of versions may be asked about them.
  if (path.starts_with("software.") && document.find("software") == nullptr) {
    document.entries.push_back({"software", here, YamlValue(YamlValue::Kind::map, here)});
  }
  YamlValue& target = resolve(document, path, assignment, here);
  // What it had not is there by now, at this very place.
  const auto& placed = target.position.file;
  if (placed && placed != here.file && placed->starts_with("--set ")) {
    fail(assignment, "it is set already, by " + *placed);
  }
  if (target.is_number()) {
    const YamlValue source(YamlValue::Kind::scalar, here, "--set on the command line");
    target.entries = {{"value", here, replacement}, {"assumed", here, source}};
    target.position = here;
  } else if (target.kind == YamlValue::Kind::scalar) {
    target = replacement;
  } else {
    fail(assignment, "this is not a single value; it has: " + choices(target));
  }
}

}  // namespace twinlink::platforms
