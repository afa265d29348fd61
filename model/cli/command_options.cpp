#include <chrono>
#include <iostream>
#include <map>
#include <string>

#include "model/cli/commands.hpp"

#include <fmt/format.h>
#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "model/engine/flows/machine.hpp"
#include "model/study/watch/timeline.hpp"
#include "platforms/reader/platform_file.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/report/document.hpp"
#include "platforms/topology/idle_faults.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/cli/help.hpp"
#include "protocols/bench/results/build.hpp"
#include "protocols/bench/results/files.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/core/units.hpp"
#include "protocols/cuda_aware.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

const std::string kSharedMemory = "shared-memory";
const std::string kSmcuda = "smcuda";
const std::string kLoopback = "loopback";
const std::string kMachine = "The machine: keeneland-kids, another name that 'list platforms' shows, or a YAML file";

}  // namespace

void add_change_options(CLI::App& command, PlatformOptions& options) {
  const bench::OptionGroup group(command, "Machine");
  command
      .add_option("--set", options.overrides,
                  "Another value for a number of the platform: nodes.links.qpi.forward='9 GB/s'; may be repeated")
      ->allow_extra_args(false)
      ->type_name("PATH=VALUE");
  const auto switch_off = [&options](const std::vector<std::string>& names) {
    for (const std::string& name : names) {
      if (name != "p2p" && name != "rdma") {
        throw CLI::ValidationError("--without", "unknown choice '" + name + "' (there are: p2p, rdma)");
      }
      (name == "p2p" ? options.without_peers : options.without_rdma) = true;
    }
  };
  command
      .add_option_function<std::vector<std::string>>("--without", switch_off,
                                                     "What is switched off whatever the machine has: peer-to-peer "
                                                     "access of GPUs (p2p), GPUDirect RDMA (rdma); may "
                                                     "be repeated")
      ->allow_extra_args(false)
      ->type_name("p2p|rdma");
  command
      .add_option(
          "--degrade", options.faults.degraded,
          "A link, GPU, adapter, hub or memory that has a share of its bandwidth only, such as qpi=50%, or but for "
          "memories from a time on, qpi=50%@2ms: in every node, 5/qpi in node 5, 4-7/qpi in four; node5 is all of node "
          "5; may be "
          "repeated")
      ->allow_extra_args(false)
      ->type_name("[NODE[-NODE]/]PART=PERCENT%[@TIME]");
  command
      .add_option("--fail", options.faults.failed,
                  "A link that is gone, or a GPU, an adapter or a hub with all its links: ways lead elsewhere, "
                  "and no rank is on a GPU that is gone. In every node, 1/hca0 in node 1, 4-7/hca0 in four; node1 is "
                  "all of it; fabric/leaf3-up2 is a cable of the fabric, fabric/spine2 a switch. With @TIME it breaks "
                  "while the run goes on: what crosses it then fails, or goes round a cable; may be repeated")
      ->allow_extra_args(false)
      ->type_name("[NODE[-NODE]/]PART[@TIME]");
}

void add_within_node_options(CLI::App& command, WithinNode& within_node) {
  const bench::OptionGroup group(command, "Machine");
  const auto read = [&within_node](const std::string& text) {
    if (text != kSharedMemory && text != kSmcuda && text != kLoopback) {
      throw CLI::ValidationError("--intra-node", "unknown choice '" + text + "' (there are: " + kSharedMemory + ", " +
                                                     kSmcuda + ", " + kLoopback + ")");
    }
    within_node.loopback = text == kLoopback;
    within_node.smcuda = text == kSmcuda;
  };
  command
      .add_option_function<std::string>("--intra-node", read,
                                        "How messages pass within a node: through shared-memory; through that of Open "
                                        "MPI's smcuda, without KNEM and CMA; or in loopback through the adapter")
      ->type_name("NAME")
      ->default_str(kSharedMemory);
  const auto read_size = [&within_node](const std::string& text) {
    try {
      within_node.copy_size = parse_size(text);
    } catch (const UsageError& error) {
      throw CLI::ValidationError("--smp-copy-size", error.what());
    }
    if (*within_node.copy_size == Bytes{}) throw CLI::ValidationError("--smp-copy-size", "a piece has a byte at least");
  };
  command
      .add_option_function<std::string>("--smp-copy-size", read_size,
                                        "Shared memory: messages above the eager limit are copied in pieces of this "
                                        "size, as MV2_SMP_SEND_BUF_SIZE says")
      ->type_name("SIZE")
      ->default_str("pieces too small to matter");
}

void add_platform_options(CLI::App& command, PlatformOptions& options, Naming naming) {
  const bench::OptionGroup group(command, "Machine");
  command.add_option(naming == Naming::as_argument_too ? "machine,--platform" : "--platform", options.file, kMachine)
      ->type_name("NAME|FILE")
      ->required();
  add_change_options(command, options);
  add_within_node_options(command, options.within_node);
}

Platform read_platform(const PlatformOptions& options) {
  Platform platform = read_platform(options.file, options.overrides, options.faults);
  platform.software.without_peers = options.without_peers;
  platform.software.without_rdma = options.without_rdma;
  set_within_node(platform, options.within_node);
  return platform;
}

Platform read_platform(const PlatformOptions& options, const Protocol& protocol, bench::SettingsOptions& settings) {
  Platform platform = read_platform(options);
  settings.library = platform.library;
  if (&protocol != &find_protocol("cuda-aware")) return platform;
  const CudaAwareRules rules = cuda_aware_rules(make_settings(protocol, settings));
  WithinNode within_node = platform.within_node;
  within_node.loopback = within_node.loopback || (rules.loopback() && platform.fabric);
  if (!within_node.loopback && rules.smp_copy_size) within_node.copy_size = rules.smp_copy_size;
  set_within_node(platform, within_node);
  return platform;
}

void note_idle_faults(const Platform& platform, std::span<const Place> places) {
  for (const std::string& fault : idle_faults(platform, places)) {
    std::cerr << fmt::format("twinlink-sim: note: {}\n", fault);
  }
}

void add_fabric(std::vector<SizeTime>& times, const Platform& platform) {
  if (!platform.fabric) return;
  const Platform& whole = platform.failures.whole ? *platform.failures.whole : platform;  // what was bought
  const FabricParts parts = parts_of(*whole.fabric, whole.nodes(), whole.most_nics());
  for (SizeTime& time : times) {
    time.ports = static_cast<std::uint64_t>(parts.ports);
    time.cables = static_cast<std::uint64_t>(parts.cables);
  }
}

void note_estimates(const PlatformOptions& options) {
  for (const std::string& text : options.overrides) {
    if (!text.starts_with("mpi.network.eager_limit=") && !text.starts_with("mpi.intra_node.eager_limit=")) continue;
    std::cerr << "twinlink-sim: note: --set " << text
              << ": latencies were measured with the file's own limit; between the two limits a round trip of control "
                 "messages is added or taken away as far as those latencies allow, which is an estimate\n";
  }
}

std::string describe_nodes(const Platform& platform) {
  std::string text = fmt::format("{} node(s) with {} GPU(s)", platform.node.count,
                                 platform.node.gpus.size() / static_cast<std::size_t>(platform.node.domain));
  for (const NodeKind& kind : platform.kinds) {
    const std::string which = !kind.replaces ? fmt::format("{}", kind.node.count)
                              : kind.node.count == 1
                                  ? fmt::format("node {}", *kind.replaces)
                                  : fmt::format("nodes {} to {}", *kind.replaces, *kind.replaces + kind.node.count - 1);
    text += fmt::format(", {} of kind '{}' with {}", which, kind.name, kind.node.gpus.size());
  }
  return text;
}

void add_engine_option(CLI::App& command, SimulationOptions& options) {
  using How = SimulationOptions::Engine;
  static const std::map<std::string, How> engines{{"auto", How::automatic}, {"exact", How::exact}};
  const bench::OptionGroup group(command, "Machine");
  command
      .add_option("--engine", options.engine,
                  "Who says how transfers share links: this program, or (exact) SimGrid. The times are the same; "
                  "SimGrid takes longer")
      ->transform(CLI::Transformer(engines).description(""))
      ->type_name("auto|exact")
      ->default_str("auto");
}

void add_pair_options(CLI::App& command, PairOptions& options, const std::string& heading) {
  const bench::OptionGroup group(command, heading);
  command.add_option("--from", options.from, "The sending device")->type_name("NODE/GPU")->default_str("0/0");
  command.add_option("--to", options.to, "The receiving device")
      ->type_name("NODE/GPU")
      ->default_str("1/0, on a single node 0/1, or 0/0 where that has one GPU");
}

std::vector<Place> read_pair(const PairOptions& options, const Platform& platform) {
  const Topology topology(platform);
  const bool several_nodes = topology.nodes() > 1 && platform.fabric.has_value();
  const int second = topology.part_of(0).gpus > 1 ? 1 : 0;  // of one GPU, two ranks share it
  std::vector<Place> places{options.from.empty() ? Place{0, 0, {}} : parse_place(options.from),
                            !options.to.empty() ? parse_place(options.to)
                            : several_nodes     ? Place{1, 0, {}}
                                                : Place{0, second, {}}};
  for (const Place& place : places) topology.require(place);
  return places;
}

nlohmann::json environment_of(const Platform& platform, const PlatformOptions& options) {
  nlohmann::json settings;
  for (const SimGridSetting& setting : simgrid_settings()) settings[setting.name] = setting.value;
  const WithinNode& within_node = platform.within_node;
  nlohmann::json environment{{"platform", platform.name},
                             {"platform_file", platform.file},
                             {"platform_description", platform.description},
                             {"overrides", options.overrides},
                             {"intra_node", within_node.loopback ? kLoopback
                                            : within_node.smcuda ? kSmcuda
                                                                 : kSharedMemory},
                             {"build", bench::describe_build()},
                             {"simgrid", simgrid_version()},
                             {"simgrid_settings", settings}};
  if (within_node.copy_size) environment["smp_copy_size_bytes"] = within_node.copy_size->count();
  const auto& [degraded, failed] = options.faults;
  if (!degraded.empty()) environment["degraded"] = degraded;
  if (!failed.empty()) environment["failed"] = failed;
  return environment;
}

Seconds wall_clock() {
  return Seconds{std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count()};
}

std::string program_name() { return "twinlink-sim " TWINLINK_VERSION; }

void add_page_option(CLI::App& command, std::filesystem::path& file, const std::string& what) {
  command.add_option("--report", file, "Also write one HTML page, which needs no other file and no network: " + what)
      ->type_name("FILE.html")
      ->take_last()
      ->group("Output");
}

void require_page(const std::filesystem::path& file) {
  if (file.extension() != ".html")
    throw UsageError("--report " + file.string() + ": a name that ends in .html is expected");
  report::require_html();
  bench::require_output("--report", file);
}

void add_why_options(CLI::App& command, RoundWishes& wishes, const std::string& each) {
  const bench::OptionGroup group(command, "Output");
  command.add_flag(
      "--links", wishes.links,
      "After each " + each +
          ", the busiest links: what crossed them, and for how long they held up somebody, and of many the sums of "
          "those that are alike; all of them with --json");
  command.add_flag("--critical-path", wishes.path,
                   "After each " + each +
                       ", which steps the time went into, back from what ended last to what that had waited for; every "
                       "stretch with --json. Of run both are of a round more, behind the timed ones");
}

Seconds simulate_to(const std::filesystem::path& file, const Platform& platform, const std::vector<Place>& places,
                    const std::function<void(MeasuredRank&)>& body, SimulationOptions options,
                    bench::JsonValue* environment) {
  std::vector<std::string> idle_faults;
  options.idle_faults = &idle_faults;
  std::vector<std::string> come;
  options.faults_come = &come;
  const auto run = [&](const std::function<void(MeasuredRank&)>& code) {
    const Seconds end = [&] {
      try {
        return simulate(platform, places, code, options);
      } catch (...) {
        // What was cut may be what somebody has waited for.
        for (const std::string& fault : come) std::cerr << fmt::format("twinlink-sim: note: {} had come\n", fault);
        throw;
      }
    }();
    for (const std::string& fault : idle_faults) std::cerr << fmt::format("twinlink-sim: note: {}\n", fault);
    if (environment != nullptr && !idle_faults.empty()) environment->set("idle_faults", idle_faults);
    return end;
  };
  if (file.empty()) return run(body);
  Timeline timeline;
  timeline.watch(options);
  const auto watched = [&](MeasuredRank& rank) {
    body(rank);
    timeline.rank_ends(places.size());
  };
  const Seconds end = run(watched);
  bench::write_file(file, timeline.text(places));
  if (timeline.left_out() > 0) {
    std::cerr << fmt::format(
        "twinlink-sim: note: {} has the first {} operations; {} are left out: fewer sizes or ranks "
        "would fit\n",
        file.string(), bench::kMostInTimeline, timeline.left_out());
  }
  return end;
}

void require_watched(const std::filesystem::path& timeline, const std::filesystem::path& report) {
  bench::require_output("--timeline", timeline);
  if (!report.empty()) require_page(report);
}

}  // namespace twinlink::model
