#include "protocols/bench/results/json_value.hpp"

#include <nlohmann/json.hpp>

namespace twinlink::bench {

JsonValue::JsonValue() : JsonValue(nlohmann::json()) {}

void JsonValue::set(const std::string& name, nlohmann::json value) {
  nlohmann::json changed = *value_;
  changed[name] = std::move(value);
  value_ = std::make_shared<const nlohmann::json>(std::move(changed));
}

bool operator==(const JsonValue& left, const JsonValue& right) { return *left == *right; }

}  // namespace twinlink::bench
