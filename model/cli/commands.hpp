// The commands of twinlink-sim. Each adds its subcommand and says what to do when it is chosen.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "model/engine/flows/platform_names.hpp"
#include "model/engine/simulation.hpp"
#include "model/study/jobs/simulated_job.hpp"
#include "model/study/survey.hpp"
#include "model/study/sweep/study_database.hpp"
#include "model/study/watch/round_watch.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/faults.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/results/json_value.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/path.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::model {

/// What main() and the commands share.
struct Program {
  CLI::App& app;
  std::string command_line;            ///< for result files
  std::function<ExitCode()> action{};  ///< set by the subcommand that the user chose
  /// Told what `run` of one pair and `workload` of one job have simulated: by the study whose point it is. May be
  /// empty.
  std::function<void(std::vector<SizeTime>)> on_times{};
};

void add_run_command(Program& program);
void add_probe_command(Program& program);
void add_list_command(Program& program);
void add_explain_command(Program& program);
void add_advise_command(Program& program);
void add_check_command(Program& program);
void add_figure_command(Program& program);
void add_handshake_command(Program& program);
void add_draw_command(Program& program);
void add_diff_command(Program& program);
void add_sensitivity_command(Program& program);
void add_import_command(Program& program);
void add_convert_command(Program& program);
void add_new_command(Program& program);
void add_plot_command(Program& program);
void add_study_command(Program& program);
void add_workload_command(Program& program);

/// --intra-node and --smp-copy-size: how the simulated MPI library carries messages within a node.
void add_within_node_options(CLI::App& command, WithinNode& within_node);

/// Which machine is simulated: --platform, what --set, --without, --degrade and --fail change of it, and how the
/// library on it carries messages within a node.
struct PlatformOptions {
  std::filesystem::path file{};
  std::vector<std::string> overrides{};
  bool without_peers = false;
  bool without_rdma = false;
  Faults faults{};
  WithinNode within_node{};
};
/// A command whose only argument is the machine takes it without --platform as well.
enum class Naming { by_option, as_argument_too };
/// `options` must live until the command line has been parsed.
void add_platform_options(CLI::App& command, PlatformOptions& options, Naming naming = Naming::as_argument_too);
/// What a command changes of the machine that its file describes: --set, --without, --degrade, --fail.
void add_change_options(CLI::App& command, PlatformOptions& options);
using platforms::read_platform;  // of a file
Platform read_platform(const PlatformOptions& options);
/// The same for one protocol: what the switches of a library among its settings say of messages within a node counts.
Platform read_platform(const PlatformOptions& options, const Protocol& protocol, bench::SettingsOptions& settings);
/// Says on standard error which faults no way of ranks at `places` would cross, where the job itself is not simulated
/// as simulate_to() does it.
void note_idle_faults(const Platform& platform, std::span<const Place> places);
/// What the platform's fabric costs stands with the times of a study's point.
void add_fabric(std::vector<SizeTime>& times, const Platform& platform);
/// Says on standard error which of the --set numbers make times an estimate.
void note_estimates(const PlatformOptions& options);

/// "120 node(s) with 3 GPU(s)", and those of other kinds.
std::string describe_nodes(const Platform& platform);

/// --engine: who says how links are shared.
void add_engine_option(CLI::App& command, SimulationOptions& options);

/// What `workload` and the questions about one have in common: the workload, where its ranks are, --engine.
void add_job_options(CLI::App& command, SimulatedJob& job);

/// What is given to a job and changes nothing of ranks at `places`, of one of `jobs` that run at once.
std::vector<std::string> idle_job_options(const SimulatedJob& job, int jobs, const bench::WorkloadPlan& plan,
                                          const Platform& platform, const WithinNode& within_node,
                                          const std::vector<Place>& places);

/// --report: `what` as one HTML page.
void add_page_option(CLI::App& command, std::filesystem::path& file, const std::string& what);
/// To be asked before any work. A UsageError for another name than FILE.html, or a file that cannot be written, and an
/// UnavailableError where the program was built without what a page needs.
void require_page(const std::filesystem::path& file);

/// --links and --critical-path. `each` says after what they are printed.
void add_why_options(CLI::App& command, RoundWishes& wishes, const std::string& each);

/// What a simulated timeline has, for bench::add_timeline_option().
inline constexpr std::string_view kTimelineTracks =
    "a track for each rank's messages, streams and copy engines, and for each link";
/// simulate(), and writes its Timeline to `file` unless that is empty. Says which faults have made no difference, and
/// notes them in the result's environment, if there is one.
Seconds simulate_to(const std::filesystem::path& file, const Platform& platform, const std::vector<Place>& places,
                    const std::function<void(MeasuredRank&)>& body, SimulationOptions options,
                    bench::JsonValue* environment = nullptr);
/// --timeline and --report of a command. A UsageError where they are the same file or an input, or cannot be written.
void require_watched(const std::filesystem::path& timeline, const std::filesystem::path& report);

/// The two devices of a command: --from and --to. Empty texts take the platform's own pair: GPU 0 of the first two
/// nodes, or GPUs 0 and 1 where there is one node.
struct PairOptions {
  std::string from{};
  std::string to{};
};
void add_pair_options(CLI::App& command, PairOptions& options, const std::string& heading = "Machine");
std::vector<Place> read_pair(const PairOptions& options, const Platform& platform);

/// `explain --compare`: every protocol with its defaults and its presets at one size, simulated and printed side by
/// side. An UnavailableError if there is none for the two devices.
ExitCode compare_protocols(const PlatformOptions& from, const PairOptions& pair, Bytes size,
                           const bench::OutputOptions& output, const std::string& command_line);

/// The environment block of simulated results: the same in every run. `options` say what is not as in the file.
nlohmann::json environment_of(const Platform& platform, const PlatformOptions& options);

/// How long the simulations themselves take.
Seconds wall_clock();

/// "twinlink-sim 0.1.0".
std::string program_name();

}  // namespace twinlink::model
