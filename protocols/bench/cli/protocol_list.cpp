#include "protocols/bench/cli/protocol_list.hpp"

#include <ostream>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/settings_text.hpp"
#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

void print(const Protocol& protocol, std::ostream& out) {
  out << fmt::format("{:<16}{}\n", protocol.name(), protocol.description());
  out << fmt::format("{:16}defaults: {}\n", "", settings_text(protocol.defaults()));
  for (const Option& option : protocol.options()) {
    out << fmt::format("{:16}-o {}={} [{}]: {}\n", "", option.name, option.values, option.default_value,
                       option.description);
  }
  for (const Alias& alias : protocol.aliases()) {
    const std::string header =
        alias.header == Bytes{} ? "" : fmt::format(" and {} of header", format_size(alias.header));
    out << fmt::format("{:16}-o {}=... is {}{}\n", "", alias.name, alias.target, header);
  }
  for (const Preset& preset : protocol.presets()) {
    out << fmt::format("{:16}--preset {}: {}; {}\n", "", preset.name, preset.description,
                       settings_text(preset.settings));
  }
}

nlohmann::json to_json(const Settings& settings) {
  nlohmann::json json{{"options", settings.options}};
  if (settings.chunk) json["chunk_bytes"] = settings.chunk->count();
  if (settings.depth) json["depth"] = *settings.depth;
  return json;
}

nlohmann::json to_json(const Protocol& protocol) {
  nlohmann::json json{{"name", protocol.name()},
                      {"description", protocol.description()},
                      {"defaults", to_json(protocol.defaults())},
                      {"options", nlohmann::json::array()},
                      {"aliases", nlohmann::json::array()},
                      {"presets", nlohmann::json::array()}};
  for (const Option& option : protocol.options()) {
    json["options"].push_back({{"name", option.name},
                               {"values", option.values},
                               {"default", option.default_value},
                               {"description", option.description}});
  }
  for (const Alias& alias : protocol.aliases()) {
    json["aliases"].push_back({{"name", alias.name}, {"target", alias.target}, {"header_bytes", alias.header.count()}});
  }
  for (const Preset& preset : protocol.presets()) {
    json["presets"].push_back(
        {{"name", preset.name}, {"description", preset.description}, {"settings", to_json(preset.settings)}});
  }
  return json;
}

}  // namespace

nlohmann::json protocols_json() {
  nlohmann::json all = nlohmann::json::array();
  for (const Protocol* protocol : all_protocols()) all.push_back(to_json(*protocol));
  return all;
}

void print_protocols(std::ostream& out) {
  for (const Protocol* protocol : all_protocols()) print(*protocol, out);
}

}  // namespace twinlink::bench
