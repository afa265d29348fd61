// The commands of twinlink-real. Each adds its subcommand and says what to do when it is chosen.
#pragma once

#include <functional>
#include <string>
#include <string_view>

#include "protocols/core/errors.hpp"
#include "real/job/job.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::real {

inline constexpr const char* kName = "twinlink-real";
inline constexpr const char* kProgram = "twinlink-real " TWINLINK_VERSION;  ///< for result files
/// What a timeline of a real job has, for bench::add_timeline_option().
inline constexpr std::string_view kTimelineTracks =
    "a track for each rank's messages and streams; operations last until their rank knows";

/// What main() and the commands share.
struct Program {
  CLI::App& app;
  JobOptions& job;                     ///< of every command that starts one
  std::function<ExitCode()> action{};  ///< set by the subcommand that the user chose

  /// To be called when `command` is chosen: `what` is done for it. Its settings are those that the ranks must agree on.
  void begin(const CLI::App& command, std::function<ExitCode()> what);
};

void add_run_command(Program& program);
void add_probe_command(Program& program);
void add_workload_command(Program& program);
void add_discover_command(Program& program);
void add_record_command(Program& program);
void add_list_command(Program& program);

}  // namespace twinlink::real
