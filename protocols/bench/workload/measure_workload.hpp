// Times of a workload over all ranks of a job, in both worlds.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/goal/job.hpp"
#include "protocols/workloads/mpi/library.hpp"
#include "protocols/workloads/training.hpp"

namespace twinlink::bench {

struct ArrayJob;

/// What one rank did of a recorded job: medians over the iterations.
struct RankPart {
  double ended_us = 0;   ///< its last task
  double waited_us = 0;  ///< until then, while it neither computed nor sent
  std::size_t tasks = 0;
  Bytes sent{};
};

/// What ranks send that share tensors, experts, data or the pipeline, in us.
struct TrainingDimension {
  std::string name{};  ///< "tensor"
  int ranks = 0;
  double alone_us = 0;    ///< without kernels, and without the other dimensions
  double exposed_us = 0;  ///< what the step is shorter without it; for the pipeline, with messages of one element

  [[nodiscard]] double hidden_us() const { return std::max(0.0, alone_us - exposed_us); }
};

/// Where the time of a training step goes, in us.
struct TrainingPart {
  double compute_us = 0;                        ///< the kernels alone
  double communication_us = 0;                  ///< all that is sent alone
  std::size_t buckets = 0;                      ///< of a rank
  double bubble_us = 0;                         ///< how long kernels wait for those of other stages
  std::vector<TrainingDimension> dimensions{};  ///< of a step that is split

  /// What messages add to the step.
  [[nodiscard]] double exposed_us(double step_us) const { return std::max(0.0, step_us - compute_us - bubble_us); }
  [[nodiscard]] double hidden_us(double step_us) const { return std::max(0.0, communication_us - exposed_us(step_us)); }
  /// What the step is longer than its parts one after the other: they hold each other up.
  [[nodiscard]] double lost_us(double step_us) const {
    return std::max(0.0, step_us - compute_us - bubble_us - communication_us);
  }
};

/// Where the time of a reshape or a transform of an array goes, in us: medians of the rank that took longest for each.
struct ArrayPart {
  double transforms_us = 0;
  double packing_us = 0;  ///< and unpacking
  double exchange_us = 0;
  double gflops = 0;  ///< 5 N log2(N) by the time; 0: nothing is computed

  /// What is done beside something else.
  [[nodiscard]] double hidden_us(double all_us) const {
    return std::max(0.0, transforms_us + packing_us + exchange_us - all_us);
  }
};

struct WorkloadPoint {
  Bytes size{};  ///< as nccl-tests count it: of the whole buffer, or of one message of a pattern; of a trace all bytes
  std::string algorithm{};
  std::string form{};       ///< of an algorithm that a protocol does by itself, as Communicator has it; or empty
  std::string why{};        ///< it was chosen; empty: by the user
  std::size_t steps = 0;    ///< of the rank that has most
  Statistics time_us{};     ///< of an iteration: until the slowest rank is through
  double fastest_us = 0;    ///< until the first rank is through: median over the iterations
  int slowest_rank = 0;     ///< most often
  double predicted_us = 0;  ///< from the times of its turns (turns.hpp); 0: nothing is predicted
  double algorithm_MBps = 0;
  double bus_MBps = 0;
  bool verified = false;
  std::vector<RankPart> ranks{};  ///< of a trace
  std::optional<TrainingPart> training{};
  std::optional<ArrayPart> array{};

  /// What people read of it.
  [[nodiscard]] const std::string& done_by() const { return form.empty() ? algorithm : form; }
};

struct WorkloadSeries {
  std::string workload{};
  std::string protocol{};                  ///< within a node
  std::string protocol_between{};          ///< between nodes
  std::string protocol_between_domains{};  ///< between domains of nodes; empty: as between nodes
  std::string settings{};                  ///< of the first, in words
  int ranks = 0;
  int nodes = 0;
  std::vector<std::string> places{};
  std::vector<WorkloadPoint> points{};
  std::vector<std::string> notes{};
  std::map<std::string, std::uint64_t> counters{};  ///< of all channels of rank 0

  /// "gpudirect-v2, gpudirect-v3 between nodes".
  [[nodiscard]] std::string protocols() const;
};

/// Others at work on the same machine, while iterations are timed.
struct Company {
  /// Called on every rank before the timed iterations; empty: there is nobody.
  std::function<void()> meet{};
  /// After them: once more, so that others are not alone? The same answer for all ranks of the job.
  std::function<bool(std::size_t iteration)> goes_on{};
};

/// Where a reduction adds up, and what is copied for that.
enum class Sums {
  on_gpus,
  on_host,          ///< what ranks have is there
  copied_to_host,   ///< it begins on GPUs
  copied_and_back,  ///< as in a call of MPI with GPUs' buffers: both of them are copied, and the result comes back
};

/// A collective, a pattern or a training step: schedules of its algorithms say what ranks do, size by size.
struct Scheduled {
  const workloads::Workload* workload = nullptr;
  std::string title{};  ///< what the user calls it; empty: the workload's name
  Sums sums = Sums::on_gpus;
  /// The training step of the workload of that name, whose size is that of all gradients.
  std::optional<workloads::TrainingStep> training{};
  /// Of the workloads that go to them.
  workloads::Experts experts{};
  /// Of the workload of that name.
  workloads::KvCache kv{};
  /// One: that one. None: for each size the fastest one, of those that are predicted to be nearly so. Several: all that
  /// the shape allows.
  std::vector<const workloads::Algorithm*> algorithms{};
  std::vector<Bytes> sizes{};
  /// So many of a collective that a protocol does by itself follow each other in one graph; the time is that of one.
  int graph = 1;

  /// The times of a training step's dimensions depend on each other.
  [[nodiscard]] bool predictable() const { return !training || !training->split(); }
};
/// It says itself who sends what. Not null.
using RecordedJob = std::shared_ptr<const workloads::goal::Job>;
/// A reshape or a transform, measured once it was shared_out(). Not null.
using ArrayWork = std::shared_ptr<const ArrayJob>;

struct WorkloadPlan {
  std::variant<Scheduled, RecordedJob, ArrayWork> work{};
  /// Of a shortened job: read_job() with bodies of so many iterations, for where those that it has do not take
  /// equal times; or empty.
  std::function<RecordedJob(std::uint64_t iterations_of_body)> longer{};
  const workloads::mpi::Library* tuned = nullptr;  ///< by whose rules algorithms are chosen; null: by nobody's
  workloads::Ways ways{};
  /// shape_of() the job, where somebody has asked before; in a job of many ranks each would take as long.
  std::optional<workloads::Shape> shape{};
  int warmup = 1;
  int iterations = 1;
  bool verify = true;
  Seconds timeout{30};
  /// Judges each point on rank 0 before anybody hears of it: may change what is predicted, and throw; may be empty.
  std::function<void(const WorkloadPlan&, WorkloadPoint&)> judge{};
  /// Told on rank 0 of each point; may be empty.
  std::function<void(const WorkloadPoint&)> on_point{};
  Company company{};
  /// Told on each rank when an iteration that counts begins there, after all have met, and when it ends; may be empty.
  std::function<void(bool begins, RankId rank, Seconds now)> on_round{};
  /// Told on each rank how many messages it will send for a row, as far as that is known before, and then how many it
  /// has sent; may be empty.
  std::function<void(std::size_t planned, std::size_t sent)> on_messages{};
  /// What a rank has of its GPU's memory; empty: the device itself will say.
  std::function<Bytes(RankId)> room{};

  /// A UsageError that begins with `what` where the rank needs more than that.
  void require_room(const Rank& rank, Bytes needed, const std::string& what) const;
  /// What is planned, or null where it is of another kind.
  [[nodiscard]] const Scheduled* scheduled() const { return std::get_if<Scheduled>(&work); }
  [[nodiscard]] const workloads::goal::Job* trace() const;
  [[nodiscard]] const ArrayJob* array() const;
  /// Empty where a recorded job or an array has its own.
  [[nodiscard]] std::span<const Bytes> sizes() const;
  /// Name of the workload, or of the trace's file.
  [[nodiscard]] std::string name() const;
};

/// How the ranks lie. Where they do not fill the nodes one after the other, each with the same number, a node counts as
/// one rank. For groups that are domains, places have the domains' numbers as those of their nodes.
workloads::Shape shape_of(std::span<const Place> places);
/// Are two of them on one node?
bool share_nodes(std::span<const Place> places);

/// What a series says before anything is measured.
WorkloadSeries heading_of(const Rank& rank, const WorkloadPlan& plan);

/// What stands against the plan on this rank, before anything is sent: a UsageError for an algorithm that cannot do
/// this shape, an UnavailableError for a pair that its protocol refuses.
void require_possible(const Rank& rank, const WorkloadPlan& plan);

/// Every rank of the job calls it with the same plan. Rank 0 gets the series, the others an empty one. A CheckError for
/// wrong bytes, or names rank, step and peer of what failed.
WorkloadSeries measure_workload(MeasuredRank& rank, const WorkloadPlan& plan);

// The two for each kind of work.
void require_schedules(const Rank& rank, const WorkloadPlan& plan);
WorkloadSeries measure_schedules(MeasuredRank& rank, const WorkloadPlan& plan);
void require_playable(const Rank& rank, const WorkloadPlan& plan);
WorkloadSeries measure_trace(MeasuredRank& rank, const WorkloadPlan& plan);
void require_array(const Rank& rank, const WorkloadPlan& plan);
WorkloadSeries measure_array(MeasuredRank& rank, const WorkloadPlan& plan);

/// No job has bodies of so many iterations.
inline constexpr std::uint64_t kWhole = std::uint64_t{1} << 63U;
/// A NAME of a workload that is a file: a recorded job.
bool is_trace(const std::filesystem::path& name);
/// Collectives become messages of these algorithms, but those that `stays` wants. Most of a job's equal iterations are
/// left out where they are planned alike in bodies of `iterations_of_body` (Job::left_out()); kWhole: none. An
/// InputError for a file that cannot be read, or holds no job that can come to its end.
RecordedJob read_job(const std::filesystem::path& file, const workloads::goal::Algorithms& algorithms,
                     const std::function<bool(std::string_view what)>& stays, std::uint64_t iterations_of_body);

}  // namespace twinlink::bench
