// A JSON value as a member of a struct, for headers that most of the project includes: they know its name only.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// Never changes what another copy of it holds. Who looks inside or makes one includes <nlohmann/json.hpp>.
class JsonValue {
 public:
  JsonValue();  ///< null
  /// A template, so that braces alone make none: they would be read as the arguments of this constructor.
  template <std::same_as<nlohmann::json> Json>
  JsonValue(Json value)  // NOLINT(google-explicit-constructor): for members of structs
      : value_(std::make_shared<const Json>(std::move(value))) {}

  operator const nlohmann::json&() const { return *value_; }  // NOLINT(google-explicit-constructor)
  const nlohmann::json& operator*() const { return *value_; }
  const nlohmann::json* operator->() const { return value_.get(); }

  void set(const std::string& name, nlohmann::json value);

  friend bool operator==(const JsonValue& left, const JsonValue& right);

 private:
  std::shared_ptr<const nlohmann::json> value_;
};

}  // namespace twinlink::bench
