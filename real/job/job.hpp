// Job: a real job from start to end. Device selection, MPI, the rank, a clean end.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>

#include <nlohmann/json_fwd.hpp>

#include "protocols/core/errors.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/core/protocol.hpp"
#include "real/device/host_runtime.hpp"
#include "real/pace/pace.hpp"
#include "real/rank/within_node.hpp"

namespace twinlink::real {

enum class DeviceKind {
  host,  ///< emulated devices in host memory
  cuda
};

struct JobOptions {
  std::string settings{};  ///< what the ranks are about to do, as to_text() writes it; they must agree
  DeviceKind device = DeviceKind::host;
  std::optional<HostPeers> host_peers{};         ///< of emulated devices; all, unless it is said
  std::optional<Bytes> host_memory{};            ///< of each emulated device; host_memory(), unless it is said
  int host_nodes = 1;                            ///< that emulated devices are on, as if each were another host
  PaceOptions pace{};                            ///< of emulated devices; says itself who are peers
  std::string gpus{};                            ///< the devices of a node's ranks, see parse_gpus(); empty: by rank
  bool bind = false;                             ///< each rank to the CPUs next to its device
  WithinNode within_node = WithinNode::library;  ///< messages of ranks that share a node
  bool nvtx = false;                             ///< show profilers what the ranks do
  Seconds timeout{30};                           ///< for a rank that shows no sign of life
  std::string command_line{};                    ///< for the environment block
};

/// What became of a rank's part of something that all ranks do.
struct Finding {
  std::string message{};
  ExitCode code = ExitCode::ok;
};

/// An error that all ranks have been told of, so that all can end in order. Rank 0 has printed it.
class AgreedError : public Error {
 public:
  AgreedError(const std::string& message, ExitCode code) : Error(message), code_(code) {}
  [[nodiscard]] ExitCode exit_code() const override { return code_; }

 private:
  ExitCode code_;
};

/// One per process. The constructor, the destructor, agree() and run() are calls that all ranks make.
class Job {
 public:
  /// Selects the device, starts MPI and meets the other ranks. An AgreedError where a rank cannot run: for example an
  /// exit code of `unavailable` for `--device cuda` without a GPU.
  explicit Job(const JobOptions& options);
  /// Ends MPI. If an exception is passing that the other ranks do not know of, ends the whole job instead: they may be
  /// waiting for this rank.
  ~Job();
  Job(const Job&) = delete;
  Job& operator=(const Job&) = delete;

  [[nodiscard]] MeasuredRank& rank();
  /// NCCL itself, from a shared library of this name. An UnavailableError where there is none, or no GPU. Ends before
  /// the job.
  [[nodiscard]] std::unique_ptr<Protocol> library(const std::string& name);
  /// All memory of the rank's device.
  [[nodiscard]] Bytes device_memory() const;
  /// What the result was measured on; complete after conclude().
  [[nodiscard]] const nlohmann::json& environment() const;

  /// Runs `check` on every rank. If it throws an Error on any, all throw the AgreedError of the first of those ranks.
  void agree(const std::function<void()>& check);
  /// Runs `work` on every rank. If it throws anything but an AgreedError, prints "twinlink-real: rank N of M on HOST:
  /// MESSAGE" to standard error and ends all ranks with the error's exit code.
  void run(const std::function<void(MeasuredRank&)>& work);
  /// Adds to the environment what is known only after the work, and says what the user should know of it. To be called
  /// on every rank, within run().
  void conclude();

 private:
  void meet();

  struct Parts;
  std::unique_ptr<Parts> parts_;
  int exceptions_;  ///< in passage when the job began
};

/// For a process that ends without a Job, while others may begin one: meets them as a Job would, and goes. Returns the
/// exit code that all end with, which is that of the first finding that is not `ok`, or says that the ranks run
/// different commands; rank 0 prints the reason. Once per process, under a launcher, before MPI.
ExitCode leave_together(const Finding& mine, const JobOptions& options);

}  // namespace twinlink::real
