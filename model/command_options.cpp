#include "model/commands.hpp"
#include "model/machine.hpp"
#include "model/platform_reader.hpp"
#include "model/topology.hpp"

namespace twinlink::model {

void add_platform_options(CLI::App& command, PlatformOptions& options) {
  command.add_option("--platform", options.file, "The machine: a YAML file, such as platforms/keeneland-kids.yaml")
      ->required();
  command
      .add_option("--set", options.overrides,
                  "Another value for a number of the platform: nodes.links.qpi.forward='9 GB/s'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
}

Platform read_platform(const PlatformOptions& options) { return read_platform(options.file, options.overrides); }

void add_pair_options(CLI::App& command, PairOptions& options) {
  command.add_option("--from", options.from, "The sending device [0/0]")->type_name("NODE/GPU");
  command.add_option("--to", options.to, "The receiving device [1/0, or 0/1 on a single node]")->type_name("NODE/GPU");
}

std::vector<Place> read_pair(const PairOptions& options, const Platform& platform) {
  const bool several_nodes = platform.node.count > 1 && platform.fabric.has_value();
  std::vector<Place> places{options.from.empty() ? Place{0, 0, {}} : parse_place(options.from),
                            !options.to.empty() ? parse_place(options.to)
                            : several_nodes     ? Place{1, 0, {}}
                                                : Place{0, 1, {}}};
  const Topology topology(platform);
  for (const Place& place : places) topology.require(place);
  return places;
}

nlohmann::json environment_of(const Platform& platform, const std::vector<std::string>& overrides) {
  nlohmann::json settings;
  for (const SimGridSetting& setting : simgrid_settings()) settings[setting.name] = setting.value;
  return {{"platform", platform.name}, {"platform_file", platform.file}, {"platform_description", platform.description},
          {"overrides", overrides},    {"simgrid", simgrid_version()},   {"simgrid_settings", settings}};
}

std::string program_name() { return "twinlink-sim " TWINLINK_VERSION; }

}  // namespace twinlink::model
