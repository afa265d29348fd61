#include "validate/compare/flatten.hpp"

#include <algorithm>

#include <nlohmann/json.hpp>

namespace twinlink::validate {
namespace {

using Lines = std::vector<std::pair<std::string, std::string>>;
using nlohmann::json;

std::string plain_text(const json& value) { return value.is_string() ? value.get<std::string>() : value.dump(); }

bool is_plain_array(const json& value) {
  return value.is_array() && std::ranges::all_of(value, [](const json& item) { return item.is_primitive(); });
}

void collect(const json& value, const std::string& name, Lines& lines) {
  if (value.is_primitive()) {
    if (!value.is_null()) lines.emplace_back(name, plain_text(value));
    return;
  }
  if (is_plain_array(value)) {
    std::string text;
    for (const auto& item : value) text += (text.empty() ? "" : ", ") + plain_text(item);
    lines.emplace_back(name, text);
    return;
  }
  for (const auto& [key, child] : value.items()) collect(child, name.empty() ? key : name + '.' + key, lines);
}

}  // namespace

std::vector<std::pair<std::string, std::string>> flatten(const json& value) {
  Lines lines;
  collect(value, "", lines);
  return lines;
}

}  // namespace twinlink::validate
