// The command `workload`, as far as both programs share it.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>

#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/workload/array_job.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_file.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

struct WorkloadOptions {
  std::string workload{};
  std::string protocol{};
  std::string between{};          ///< empty: `protocol` for all pairs
  std::string between_domains{};  ///< empty: `between` for all pairs on different nodes
  bool chosen = false;            ///< the program has taken the protocols that suit the machine
  std::string algorithm{};        ///< empty: the program chooses by size; "all"; "tuned"
  /// The MPI library of a simulated machine, as workloads::mpi::find_library() takes it.
  struct Mpi {
    std::string said{};
    std::string preset{};
  };
  std::optional<Mpi> mpi{};
  workloads::TrainingStep training{};  ///< but for:
  std::optional<int> micro_batches{};
  std::optional<Bytes> activations{};
  std::string gradients{};       ///< "all-reduce" or "sharded"
  workloads::Experts experts{};  ///< of dispatch and combine, and of a training step with experts
  workloads::KvCache kv{};       ///< of a kv-cache
  std::string on{};              ///< of a sum: "cpu" or "gpu"
  ArrayOptions array{};          ///< of a reshape and a transform
  SettingsOptions settings{};
  SettingsOptions settings_between{};          ///< of the protocol between nodes
  SettingsOptions settings_between_domains{};  ///< and of that between domains
  SweepOptions sweep{.begin = Bytes{8}, .end = Bytes{64U << 20U}, .factor = 8};
  int graph = 1;
  /// Instead of the protocol of that name, which has settings of its own; null: that one. It outlives the plan.
  const Protocol* stand_in = nullptr;
  std::optional<Seconds> timeout{};  ///< empty: what make_plan() is told
  std::filesystem::path json{};
  std::filesystem::path csv{};
};

/// NAME|FILE.goal and all that workloads take. `options` must live until the command line has been parsed.
void add_workload_options(CLI::App& app, WorkloadOptions& options);
/// To be called when `app` has all its options and examples: its --help lists the workloads, and that of one shows what
/// this takes. Another's option is refused, with a UsageError that names who takes it.
void show_by_workload(CLI::App& app);

/// How long the worlds wait for a message where nobody says it. Nobody looks at a clock while a job is simulated, so
/// its limit is far beyond what messages take; what never comes ends there, for ranks that wait look around meanwhile.
inline constexpr Seconds kMeasuredTimeout{30};
inline constexpr Seconds kSimulatedTimeout{10'000};

/// The protocol of a sum where nobody names one: before a program chooses by itself. A UsageError for a sum that does
/// not say where, and for another one on the host.
void choose_sum(WorkloadOptions& options);

/// What a plan has where the options do not say it.
struct PlanDefaults {
  int warmup = 1;
  int iterations = 1;
  Seconds timeout = kSimulatedTimeout;
  bool shortened = false;  ///< most of the equal iterations of a recorded job are left out, if they take equal times
};
/// A UsageError for what does not go together, and for outputs that are inputs or cannot be written.
WorkloadPlan make_plan(const WorkloadOptions& options, const PlanDefaults& defaults);
void require_writable(const WorkloadOptions& options);

/// `list workloads`.
void print_workloads(std::ostream& out);
nlohmann::json workloads_to_json();

}  // namespace twinlink::bench
