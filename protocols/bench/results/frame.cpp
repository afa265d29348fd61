#include "protocols/bench/results/frame.hpp"

#include <utility>

#include <nlohmann/json.hpp>

namespace twinlink::bench {
namespace internal {

nlohmann::json to_json(const Frame& frame, std::string_view kind, int schema) {
  nlohmann::json json{{"kind", kind},
                      {"schema", schema},
                      {"world", frame.world},
                      {"program", frame.program},
                      {"environment", frame.environment->is_null() ? nlohmann::json::object() : *frame.environment}};
  write_text(json, "command", frame.command, provenance_of(frame.environment));
  return json;
}

Frame read_frame(Members& members, std::string_view kind, int schema) {
  check_schema(members, kind, schema);
  Frame frame{
      .world = read_world(members), .program = members.text("program"), .environment = members.object("environment")};
  frame.command = read_text(members, "command", provenance_of(frame.environment));
  return frame;
}

}  // namespace internal

std::string changes_of_platform(const nlohmann::json& environment) {
  std::string changes;
  for (const auto& [member, option] :
       {std::pair("overrides", "--set"), std::pair("degraded", "--degrade"), std::pair("failed", "--fail")}) {
    const auto found = environment.find(member);
    if (found == environment.end() || !found->is_array()) continue;
    for (const nlohmann::json& value : *found) {
      if (!value.is_string()) continue;
      changes += (changes.empty() ? "" : ", ") + std::string(option) + " " + value.get<std::string>();
    }
  }
  return changes;
}

}  // namespace twinlink::bench
