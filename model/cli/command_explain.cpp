#include <functional>
#include <iostream>
#include <utility>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/explanation.hpp"
#include "model/study/idle_options.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "model/study/message_times.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/cuda_aware.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct ExplainOptions {
  PlatformOptions platform{};
  PairOptions pair{};
  std::string protocol{};  ///< empty: the one that would be chosen
  Bytes size{1U << 20U};
  bench::SettingsOptions settings{};
  bench::LayoutOptions layout{};
  bool compare = false;
  bench::OutputOptions output{};
};

std::string why_not(const Protocol& protocol, const Protocol& chosen, const Support& support) {
  if (protocol.message_memory() != Memory::device) return "not chosen: it moves host memory only";
  switch (support.kind) {
    case Support::Kind::no:
      return "refused: " + support.reason;
    case Support::Kind::fallback:
      return "not chosen: it would fall back, since " + support.reason;
    case Support::Kind::yes:
      return "not chosen: " + std::string(chosen.name()) + " takes the shorter way";
  }
  return "";
}

/// What libraries would do.
std::vector<LibraryChoice> library_choices(const Path& path, Bytes size) {
  std::vector<LibraryChoice> choices;
  for (const Preset& preset : find_protocol("cuda-aware").presets()) {
    const CudaAwareRules rules = cuda_aware_rules(preset.settings);
    const CudaAwareChoice way = choose_protocol(rules, path, size);
    choices.push_back({std::string(preset.name), std::string(way.protocol), way.reason, describe(rules)});
  }
  return choices;
}

/// All that is known before the message is simulated.
Explanation make_explanation(const Platform& platform, const std::vector<Place>& places,
                             const ExplainOptions& options) {
  Explanation all{.platform = platform.name, .places = places, .size = options.size};
  const Topology topology(platform);
  for (Place& place : all.places) place.device = topology.type_of(topology.gpu_of(place)).model;
  all.packing = make_packing(options.layout);
  check_packing(all.packing, options.size);
  all.path = topology.path(places[0], places[1]);
  if (all.path.same_node) {
    all.within_node = platform.within_node.loopback ? "in loopback through the adapter"
                      : platform.within_node.smcuda
                          ? "through shared memory by smcuda, which ranks above sm and has neither KNEM nor CMA"
                          : "through shared memory";
  }
  const Protocol& chosen = shortest_way({&all.path, 1});
  for (const Protocol* each : all_protocols()) {
    all.verdicts.push_back(
        {std::string(each->name()), each == &chosen ? "chosen" : why_not(*each, chosen, each->supports(all.path))});
  }
  all.libraries = library_choices(all.path, options.size);
  const Protocol& protocol = options.protocol.empty() ? chosen : find_protocol(options.protocol);
  all.protocol = protocol.name();
  bench::SettingsOptions settings = options.settings;
  settings.library = platform.library;
  all.settings = make_settings(protocol, settings);
  bench::require_readable(protocol, all.settings, all.packing, options.size);
  return all;
}

/// As `run` measures it, in a process of its own. Zero where messages have gaps.
Seconds half_round_trip(const Platform& platform, const std::vector<Place>& places, const Explanation& all) {
  if (all.packing.needed()) return {};
  const std::function<Platform()> same = [&platform] { return platform; };
  const TimesPlan plan{
      .protocol = &find_protocol(all.protocol), .settings = all.settings, .places = places, .sizes = {all.size}};
  const std::vector<MessageTimes> times = message_times({&same, 1}, timed(plan));
  return times.front().us.empty() ? Seconds{} : Seconds{times.front().us.front() * 1e-6};
}

ExitCode explain(ExplainOptions options, const std::string& command_line) {
  const Protocol* const asked = options.protocol.empty() ? nullptr : &find_protocol(options.protocol);
  const Platform platform =
      asked == nullptr ? read_platform(options.platform) : read_platform(options.platform, *asked, options.settings);
  const std::vector<Place> places = read_pair(options.pair, platform);
  note_estimates(options.platform);
  note_all(idle_within_node(options.platform.within_node, platform, places));
  if (options.output.format == bench::Format::csv) throw UsageError("--format csv is for --compare");
  require_writable(options.output);
  Explanation all = make_explanation(platform, places, options);
  const bool in_words = options.output.format != bench::Format::json;
  if (in_words) print_choice(all, std::cout);
  const Protocol& protocol = find_protocol(all.protocol);
  const Seconds half_trip = half_round_trip(platform, places, all);
  ObservedMessage message = observe_message(platform, places, protocol, all.settings, all.packing, options.size);
  note_all(message.idle);
  const CutMessages messages{protocol, all.settings, {&all.size, 1}, all.path};
  note_all(idle_pieces(options.settings, messages));
  const UsedProtocol any;  // why others are not taken is told, too
  note_all(idle_switches(
      platform, [&](const Platform& on) { return std::vector{Topology(on).path(places[0], places[1])}; }, {&any, 1},
      messages.sizes));
  all.path_taken = std::move(message.path_taken);
  all.reasons = std::move(message.reasons);
  all.steps = steps_of(message.reports);
  all.delivered = message.delivered;
  all.half_round_trip = half_trip;
  all.links = std::move(message.links);

  nlohmann::json json = to_json(all);
  json["program"] = program_name();
  json["command"] = command_line;
  json["environment"] = environment_of(platform, options.platform);
  if (in_words) {
    print_steps(all, std::cout);
  } else {
    std::cout << bench::to_text(json, 2) << '\n';
  }
  if (!options.output.json.empty()) bench::write_json_file(options.output.json, json);
  return ExitCode::ok;
}

}  // namespace

void add_explain_command(Program& program) {
  auto* command = program.app.add_subcommand(
      "explain", "Print the way of one message hop by hop, the cost of every step, and why a protocol was chosen");
  const auto options = std::make_shared<ExplainOptions>();
  add_platform_options(*command, options->platform);
  add_pair_options(*command, options->pair);
  const bench::OptionGroup group(*command, "Message");
  bench::add_protocol_option(*command, options->protocol, "Explain the steps of this protocol")
      ->default_str("the one that is chosen");
  bench::add_size_option(*command, "-s,--size", options->size, "Message size");
  bench::add_settings_options(*command, options->settings);
  bench::add_layout_options(*command, options->layout);
  auto* compare = command->add_flag(
      "--compare", options->compare,
      "Simulate all protocols, with their defaults and with their presets, and show their times side by side");
  for (const char* of_one_message :
       {"--protocol", "--preset", "--chunk", "--depth", "--option", "--layout", "--pack"}) {
    compare->excludes(command->get_option(of_one_message));
  }
  bench::add_output_options(
      *command, options->output,
      {{"table", bench::Format::table}, {"csv", bench::Format::csv}, {"json", bench::Format::json}},
      "protocol and preset");
  command->get_option("--csv")->needs(compare);
  bench::add_examples(*command,
                      {"twinlink-sim explain --platform keeneland-kids --from 0/1 --to 0/2 -s 1M",
                       "twinlink-sim explain --platform keeneland-kids --compare -s 64K --json compared.json"});
  command->callback([&program, options] {
    program.action = [&program, options] {
      if (!options->compare) return explain(*options, program.command_line);
      return compare_protocols(options->platform, options->pair, options->size, options->output, program.command_line);
    };
  });
}

}  // namespace twinlink::model
