#include "real/job/job.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "platforms/reader/release_reader.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "real/device/device_selection.hpp"
#include "real/discover/nvml.hpp"
#include "real/job/agreement.hpp"
#include "real/job/environment.hpp"
#include "real/job/surroundings.hpp"
#include "real/nccl/library_protocol.hpp"
#include "real/rank/range_rank.hpp"
#include "real/rank/real_rank.hpp"
#include "real/system/launch.hpp"
#include "real/system/peer_watch.hpp"
#ifdef TWINLINK_HAS_CUDA
#include "real/device/cuda/cuda_runtime.hpp"
#endif

namespace twinlink::real {
namespace {

/// An emulated machine has as many devices as it has ranks; with --gpus, as many as a large node.
constexpr int kEmulatedDevices = 16;

/// Null unless the job is to keep a platform's pace.
std::unique_ptr<Pace> make_pace(const JobOptions& options) {
  if (options.pace.platform.empty()) return nullptr;
  if (options.device != DeviceKind::host) {
    throw UsageError("--pace is for emulated devices (--device host): a real one keeps its own");
  }
  if (options.host_peers) {
    throw UsageError("--host-peers and --pace exclude each other: the platform says which devices are peers");
  }
  if (options.host_nodes > 1) {
    throw UsageError("--host-nodes is for emulated devices without a pace, whose platform has nodes of its own");
  }
  if (options.host_memory) {
    throw UsageError("--host-memory and --pace exclude each other: the platform says how much memory its GPUs have");
  }
  if (!options.gpus.empty()) {
    throw UsageError("--gpus and --pace exclude each other: --places says which GPU each rank plays");
  }
  return std::make_unique<Pace>(options.pace, options.within_node, RankId{launcher_rank().value_or(0)});
}

/// The number of the emulated device that this process takes.
int emulated_device(std::span<const DeviceChoice> gpus, const std::string& host) {
  if (gpus.empty()) return local_rank();
  std::vector<Uuid> devices;
  for (int d = 0; d < kEmulatedDevices; ++d) devices.push_back(emulated_uuid(host, d));
  return static_cast<int>(select_device(gpus, local_rank(), devices));
}

std::unique_ptr<DeviceRuntime> make_runtime(const JobOptions& options, const std::string& host) {
  const auto gpus = options.gpus.empty() ? std::vector<DeviceChoice>{} : parse_gpus(options.gpus);
  if (options.device == DeviceKind::host) {
    return std::make_unique<HostRuntime>(host, emulated_device(gpus, host), options.host_peers.value_or(HostPeers::all),
                                         options.host_memory);
  }
  if (options.host_nodes > 1) throw UsageError("--host-nodes is for emulated devices (--device host)");
#ifdef TWINLINK_HAS_CUDA
  return make_cuda_runtime(local_rank(), gpus);
#else
  throw UnavailableError("this program was built without CUDA; --device host emulates the devices");
#endif
}

Finding attempt(const std::function<void()>& check) {
  try {
    check();
    return {};
  } catch (const Error& error) {
    return {error.what(), error.exit_code()};
  } catch (const std::exception& error) {
    return {error.what(), ExitCode::failed};
  }
}

/// An AgreedError with the first rank's finding that is not `ok`, the same on all ranks; rank 0 prints it before any
/// rank can end, for mpirun kills the others when the first one has ended with a failure. Collective.
void throw_agreed(const Mpi& mpi, const Finding& mine) {
  const auto codes = mpi.all_gather_values(mine.code);
  const auto messages = mpi.all_gather(mine.message);
  const auto bad = std::ranges::find_if(codes, [](ExitCode code) { return code != ExitCode::ok; });
  if (bad == codes.end()) return;
  const auto rank = static_cast<std::size_t>(bad - codes.begin());
  const bool of_all = std::ranges::all_of(messages, [&](const std::string& m) { return m == messages[rank]; });
  const std::string message =
      of_all ? messages[rank] : fmt::format("rank {} of {}: {}", rank, mpi.size(), messages[rank]);
  if (mpi.rank() == 0) fmt::print(stderr, "twinlink-real: error: {}\n", message);
  mpi.barrier();
  throw AgreedError(message, *bad);
}

/// The first collective of every process, with a Job or without. Throws the AgreedError of a rank that cannot go on, or
/// one if the ranks would go on to different things and wait for each other for ever.
void share_findings(const Mpi& mpi, const Finding& mine, const std::string& settings) {
  throw_agreed(mpi, mine);
  const std::string differs = difference(mpi.all_gather(settings));
  if (!differs.empty()) throw_agreed(mpi, {differs, ExitCode::bad_usage});
}

/// Whoever wants to measure a path between GPUs must know that there is none. Rank 0 says it.
void note_shared_devices(const Mpi& mpi, const Neighbours& neighbours) {
  if (mpi.rank() != 0) return;
  std::map<std::pair<std::string, Uuid>, std::vector<int>> users;
  for (const Neighbour& rank : neighbours.ranks) {
    users[{rank.host, rank.device.uuid}].push_back(static_cast<int>(&rank - neighbours.ranks.data()));
  }
  for (const auto& [device, ranks] : users) {
    if (ranks.size() < 2) continue;
    const std::string& name = neighbours.ranks[static_cast<std::size_t>(ranks.front())].device.pci_bus_id;
    fmt::print(stderr, "twinlink-real: note: ranks {} share device {}: copies between them stay on one GPU\n",
               fmt::join(ranks, " and "), name);
  }
}

/// Rank 0 speaks for itself; the environment block has it of every rank.
void note_unbound(const Mpi& mpi, const Numa& numa) {
  if (mpi.rank() != 0 || !numa.binding().starts_with("nothing")) return;
  fmt::print(stderr, "twinlink-real: note: --bind: {}\n", numa.binding());
}

/// Notes what rank 0's node lacks.
void note_lacks(const Mpi& mpi, const nlohmann::json& within_node) {
  if (mpi.rank() != 0 || !within_node.contains("lacks")) return;
  fmt::print(stderr, "twinlink-real: note: {}\n", within_node.at("lacks").get<std::string>());
}

/// Before they meet, ranks start their devices, which takes seconds where many share one.
Seconds patience_of_start(const JobOptions& options) {
  constexpr Seconds kDevice{30};
  return options.timeout + kDevice;
}

/// Prints why, and ends all ranks.
[[noreturn]] void end_job(const Mpi& mpi, const std::string& host, const std::string& message, ExitCode code) {
  PeerWatch::take_leave();
  fmt::print(stderr, "twinlink-real: rank {} of {} on {}: {}\n", mpi.rank(), mpi.size(), host, message);
  std::fflush(nullptr);
  mpi.abort(static_cast<int>(code));
}

/// Runs what cannot be left alone: the other ranks may be waiting for this one.
void together(const Mpi& mpi, const std::string& host, const std::function<void()>& work) {
  try {
    work();
  } catch (const AgreedError&) {
    throw;
  } catch (const Error& error) {
    end_job(mpi, host, error.what(), error.exit_code());
  } catch (const std::exception& error) {
    end_job(mpi, host, error.what(), ExitCode::failed);
  }
}

}  // namespace

/// The members end in the reverse order, which matters: all memory goes after MPI_Finalize, then the device, and last
/// the exports, in which opened memory is signed off.
struct Job::Parts {
  explicit Parts(const JobOptions& options) : timeout(options.timeout) {
    nlohmann::json within_node;
    const Finding device = attempt([&] {
      within_node = choose_within_node(options.within_node);
      pace = make_pace(options);
      if (pace) {
        auto made = pace->make_runtime(host);
        paced = made.get();
        runtime = std::move(made);
      } else {
        runtime = make_runtime(options, host);  // before MPI_Init
      }
      numa.emplace(runtime->device().pci_bus_id);
      if (options.bind) numa->bind_process();  // before MPI, whose memory then comes from there too
      if (options.nvtx) ranges = make_nvtx_ranges();
    });
    mpi.emplace(patience_of_start(options));
    if (options.host_nodes > 1) {
      host += fmt::format("-node{}", mpi->rank() * std::min(options.host_nodes, mpi->size()) / mpi->size());
    }
    together(*mpi, host, [&] { share_findings(*mpi, device, options.settings); });
    together(*mpi, host, [&] {
      signals.emplace(RankId{mpi->rank()}, mpi->size(), *runtime);
      messages.emplace(RankId{mpi->rank()}, mpi->size());
      neighbours = meet_neighbours(*mpi, *runtime, host, {exports, *signals, *messages, life});
      std::vector<std::string> who;
      for (const Neighbour& each : neighbours.ranks) {
        who.push_back(fmt::format("with {} {} on {}", each.device.name, each.device.pci_bus_id, each.host));
      }
      watch.emplace(*mpi, host, std::move(who));
      if (pace) {
        throw_agreed(*mpi, attempt([&] { pace->require(*mpi, neighbours); }));
        pace->apply(neighbours);
      }
      neighbours.release = platforms::find_release({});
      if (options.device == DeviceKind::cuda) {
        look_around(*mpi, neighbours);
        health = health_of_gpu(runtime->device().pci_bus_id);
      }
      note_shared_devices(*mpi, neighbours);
      if (options.bind) note_unbound(*mpi, *numa);
      note_lacks(*mpi, within_node);
      environment = describe_environment(*mpi, *runtime, neighbours, *numa, options.command_line);
      environment["intra_node"] = within_node;
      if (pace) environment["pace"] = options.pace.platform.string();  // until conclude() says more
      if (pace) numa->pretend(pace->numa_domains());                   // the environment tells of the real ones
      memory.emplace(RankId{mpi->rank()}, *runtime, exports, *numa);
      mpi->barrier();  // so that the clocks start together
      const bool by_control_message = options.within_node != WithinNode::loopback;
      const auto reached = [](const Neighbour& n) { return !n.path.same_node || shares_memory_with(n.path); };
      const bool all = std::ranges::all_of(neighbours.ranks, reached);  // where not, MPI carries those of that pair
      environment["control_within_node"] = !by_control_message ? "MPI"
                                           : all               ? "shared memory"
                                                               : "shared memory, some by MPI";
      rank.emplace(*mpi, *runtime, neighbours, *numa, *memory, *signals, life,
                   by_control_message ? &*messages : nullptr, RealRank::Clock::now());
      if (ranges) shown.emplace(*rank, *ranges);
    });
  }

  std::string host = host_name();
  Seconds timeout;
  bool agreed_to_end = false;
  Exports exports;
  LifeSigns life;
  std::unique_ptr<Pace> pace;  ///< null: there is none
  std::unique_ptr<DeviceRuntime> runtime;
  PacedRuntime* paced = nullptr;  ///< the runtime, where there is a pace
  std::optional<Numa> numa;
  Neighbours neighbours;
  nlohmann::json environment;
  bench::GpuHealth health;  ///< at the start; empty: nobody tells
  std::optional<Signals> signals;
  std::optional<ControlMessages> messages;
  std::optional<RealMemory> memory;
  std::optional<Mpi> mpi;
  std::optional<PeerWatch> watch;
  std::unique_ptr<RangeSink> ranges;  ///< null: nobody is shown anything
  std::optional<RealRank> rank;
  std::optional<RangeRank> shown;  ///< around `rank`
};

Job::Job(const JobOptions& options)
    : parts_(std::make_unique<Parts>(options)), exceptions_(std::uncaught_exceptions()) {}

Job::~Job() {
  if (std::uncaught_exceptions() == exceptions_ || parts_->agreed_to_end) return;
  end_job(*parts_->mpi, parts_->host, "an exception ends the job", ExitCode::failed);
}

MeasuredRank& Job::rank() {
  if (parts_->shown) return *parts_->shown;
  return *parts_->rank;
}

std::unique_ptr<Protocol> Job::library(const std::string& name) {
  if (const Answer runs = parts_->rank->runs_libraries(); !runs) throw UnavailableError(runs.reason);
  return std::make_unique<LibraryProtocol>(*parts_->rank, name);
}

Bytes Job::device_memory() const { return parts_->runtime->device().memory; }

const nlohmann::json& Job::environment() const { return parts_->environment; }

void Job::agree(const std::function<void()>& check) {
  meet();
  try {
    throw_agreed(*parts_->mpi, attempt(check));
  } catch (const AgreedError&) {
    parts_->agreed_to_end = true;
    throw;
  }
}

void Job::run(const std::function<void(MeasuredRank&)>& work) {
  constexpr Seconds kOthers{2};
  together(*parts_->mpi, parts_->host, [&] {
    try {
      work(rank());
    } catch (const AgreedError&) {
      throw;
    } catch (const Error& error) {
      // What all refuse before they begin is said once, and ends in order.
      const bool refusal = error.exit_code() == ExitCode::bad_usage || error.exit_code() == ExitCode::unavailable;
      if (!refusal || !parts_->mpi->all_come(kOthers)) throw;
      parts_->agreed_to_end = true;
      throw_agreed(*parts_->mpi, {error.what(), error.exit_code()});
    }
  });
  meet();
}

/// Some may have worked for long while the others had nothing to do. MPI's own calls follow, which have less patience.
void Job::meet() {
  together(*parts_->mpi, parts_->host, [&] { bench::meet_all(rank(), bench::Patience::of_turn(parts_->timeout)); });
}

void Job::conclude() {
  meet();
  note_health(*parts_->mpi, parts_->health, parts_->runtime->device().pci_bus_id, parts_->environment);
  if (parts_->pace) parts_->environment["pace"] = parts_->pace->conclude(*parts_->mpi, *parts_->paced);
}

ExitCode leave_together(const Finding& mine, const JobOptions& options) {
  const Mpi mpi(patience_of_start(options));
  try {
    together(mpi, host_name(), [&] { share_findings(mpi, mine, options.settings); });
    return ExitCode::ok;
  } catch (const AgreedError& error) {
    return error.exit_code();
  }
}

}  // namespace twinlink::real
