#include "protocols/bench/cli/protocol_list.hpp"

#include <ostream>

#include <fmt/format.h>

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

}  // namespace

void print_protocols(std::ostream& out) {
  for (const Protocol* protocol : all_protocols()) print(*protocol, out);
}

}  // namespace twinlink::bench
