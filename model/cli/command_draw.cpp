#include <algorithm>

#include <fmt/format.h>
#include <CLI/CLI.hpp>

#include "model/cli/commands.hpp"
#include "model/cli/pages.hpp"
#include "model/study/jobs/protocol_choice.hpp"
#include "platforms/tools/drawing.hpp"
#include "platforms/tools/fabric_drawing.hpp"
#include "platforms/tools/filter_program.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

struct DrawOptions {
  PlatformOptions platform{};
  PairOptions pair{};
  std::string protocol{};  ///< empty: the one that would be chosen
  Bytes size{1U << 20U};
  bench::SettingsOptions settings{};
  bool fabric = false;  ///< instead of a node
  std::filesystem::path out{};
};

Drawing drawing_of_message(const DrawOptions& options, const Platform& platform) {
  const std::vector<Place> places = read_pair(options.pair, platform);
  if (places[0] == places[1]) throw UsageError("--from and --to are the same device: there is no way to draw");
  const Path path = Topology(platform).path(places[0], places[1]);
  const Protocol& protocol = options.protocol.empty() ? shortest_way({&path, 1}) : find_protocol(options.protocol);
  bench::SettingsOptions named = options.settings;
  named.library = platform.library;
  const Settings settings = make_settings(protocol, named);
  bench::require_readable(protocol, settings, {}, options.size);
  const ObservedMessage message = observe_message(platform, places, protocol, settings, {}, options.size);
  return message_drawing(platform, places, protocol, options.size, message);
}

ExitCode draw(const DrawOptions& options) {
  const std::string kind = options.out.extension().string();
  if (kind != ".dot" && kind != ".svg") {
    throw UsageError("--out " + options.out.string() + ": a name that ends in .dot or .svg is expected");
  }
  const Platform platform = read_platform(options.platform);
  bench::require_output("--out", options.out);
  const bool with_message = !options.pair.from.empty() || !options.pair.to.empty();
  if (!options.protocol.empty() && !with_message) {
    throw UsageError("--protocol is of a message: --from and --to name its devices");
  }
  if (options.fabric && with_message)
    throw UsageError("--fabric is a picture without a message: not with --from, --to");
  const std::string dot = options.fabric ? fabric_dot(platform)
                                         : to_dot(platform, with_message ? drawing_of_message(options, platform)
                                                                         : machine_drawing(platform));
  bench::write_file(options.out, kind == ".dot" ? dot : svg_of(dot));
  return ExitCode::ok;
}

}  // namespace

void add_draw_command(Program& program) {
  auto* command = program.app.add_subcommand("draw",
                                             "Draw a node as a graph of memories, hubs, adapters, GPUs and links, and "
                                             "the way of a message on it; or the fabric");
  const auto options = std::make_shared<DrawOptions>();
  add_platform_options(*command, options->platform);
  const bench::OptionGroup group(*command, "Message");
  command->add_option("--from", options->pair.from, "Draw the way of a message from this device")
      ->type_name("NODE/GPU")
      ->default_str("no message");
  command->add_option("--to", options->pair.to, "Draw the way of a message to this device")
      ->type_name("NODE/GPU")
      ->default_str("no message");
  bench::add_protocol_option(*command, options->protocol, "Which protocol moves it")
      ->default_str("the one that 'explain' names");
  bench::add_size_option(*command, "-s,--size", options->size, "Message size");
  bench::add_settings_options(*command, options->settings);
  const bench::OptionGroup outputs(*command, "Output");
  command->add_flag("--fabric", options->fabric, "Draw the switches between nodes and their cables instead of a node");
  command->add_option("--out", options->out, "FILE.dot for Graphviz, or FILE.svg, which its program 'dot' makes")
      ->type_name("FILE")
      ->required();
  bench::add_examples(*command, {"twinlink-sim draw keeneland-kids --out kids.svg",
                                 "twinlink-sim draw hgx-h100-64 --fabric --out fabric.svg",
                                 "twinlink-sim draw keeneland-kids --from 0/0 --to 1/1 -p gpudirect-v1 --out way.dot"});
  command->callback([&program, options] { program.action = [options] { return draw(*options); }; });
}

}  // namespace twinlink::model
