#include "protocols/bench/results/json_members.hpp"

#include <cmath>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"

namespace twinlink::bench {

Members::Members(const nlohmann::json& json, std::string origin, std::string where)
    : json_(json), origin_(std::move(origin)), where_(std::move(where)) {
  if (json_.is_object()) return;
  throw InputError(where_.empty() ? fmt::format("{}: error: is no JSON object", origin_)
                                  : fmt::format("{}: error: member '{}' is no object", origin_, where_));
}

std::string Members::path(std::string_view name) const {
  return where_.empty() ? std::string(name) : fmt::format("{}.{}", where_, name);
}

void Members::fail(std::string_view name, std::string_view what) const {
  throw InputError(fmt::format("{}: error: member '{}' {}", origin_, path(name), what));
}

const nlohmann::json& Members::find(std::string_view name) {
  const auto found = json_.find(std::string(name));
  if (found == json_.end()) fail(name, "is missing");
  asked_.emplace(name);
  return *found;
}

bool Members::has(std::string_view name) const { return json_.contains(std::string(name)); }

std::string Members::text(std::string_view name) {
  const nlohmann::json& value = find(name);
  if (!value.is_string()) fail(name, "is no text");
  return value.get<std::string>();
}

double Members::number(std::string_view name) {
  const nlohmann::json& value = find(name);
  if (!value.is_number() || !std::isfinite(value.get<double>())) fail(name, "is no number");
  return value.get<double>();
}

std::uint64_t Members::count(std::string_view name, std::uint64_t most) {
  const nlohmann::json& value = find(name);
  const bool whole = value.is_number_unsigned() || (value.is_number_integer() && value.get<std::int64_t>() >= 0);
  if (!whole) fail(name, "is no whole number from 0 on");
  if (value.get<std::uint64_t>() > most) fail(name, fmt::format("is larger than {}", most));
  return value.get<std::uint64_t>();
}

bool Members::flag(std::string_view name) {
  const nlohmann::json& value = find(name);
  if (!value.is_boolean()) fail(name, "is neither true nor false");
  return value.get<bool>();
}

bool Members::is_null(std::string_view name) { return find(name).is_null(); }

const nlohmann::json& Members::object(std::string_view name) {
  const nlohmann::json& value = find(name);
  if (!value.is_object()) fail(name, "is no object");
  return value;
}

const nlohmann::json& Members::array(std::string_view name) {
  const nlohmann::json& value = find(name);
  if (!value.is_array()) fail(name, "is no array");
  return value;
}

Members Members::members(std::string_view name) { return {object(name), origin_, path(name)}; }

std::map<std::string, std::string> Members::texts(std::string_view name) {
  Members all = members(name);
  std::map<std::string, std::string> result;
  for (const auto& item : object(name).items()) result[item.key()] = all.text(item.key());
  return result;
}

std::vector<std::string> Members::text_list(std::string_view name) {
  std::vector<std::string> result;
  for (const nlohmann::json& item : array(name)) {
    if (!item.is_string()) fail(name, "holds something that is no text");
    result.push_back(item.get<std::string>());
  }
  return result;
}

void Members::done() const {
  for (const auto& item : json_.items()) {
    if (!asked_.contains(item.key())) fail(item.key(), "is unknown");
  }
}

void check_schema(Members& members, std::string_view kind, int schema) {
  const std::string found = members.text("kind");
  if (found != kind) members.fail("kind", fmt::format("is '{}', where '{}' is expected", found, kind));
  const std::uint64_t version = members.count("schema");
  if (version != static_cast<std::uint64_t>(schema)) {
    members.fail("schema", fmt::format("is {}, but this program reads schema {}", version, schema));
  }
}

}  // namespace twinlink::bench
