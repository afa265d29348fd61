// Probes: the primitives of a machine, measured through a rank's verbs. The same code measures a simulated and a real
// machine and writes one format, so that a platform can be held against a machine line by line.
#pragma once

#include <filesystem>
#include <functional>
#include <iosfwd>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/json_value.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/measured_rank.hpp"

namespace twinlink::bench {

inline constexpr int kProbeSchema = 1;
inline constexpr std::string_view kProbeKind = "twinlink-probe";

/// So many copies wait behind each other in lines that begin with "queued". Enough that the launch of the first is
/// little beside the others.
inline constexpr int kQueuedCopies = 16;

/// One primitive at one size.
struct ProbeLine {
  std::string name{};  ///< "copy pinned-to-device near"; PROBES.md lists all
  std::string gpu{};   ///< NODE/GPU of the rank that measured
  std::string peer{};  ///< NODE/GPU of the other rank; empty if there is none
  Bytes size{};
  Statistics time_us{};
  double bandwidth_MBps = 0;         ///< of the median; 0 where no bytes move
  std::vector<double> samples_us{};  ///< in the order in which they were taken; empty unless they were asked for
};

struct ProbeFindings {
  std::vector<std::string> notes{};  ///< what was not measured, and why; what a reader of imported lines must know
  std::vector<ProbeLine> lines{};    ///< no two with the same name, gpu, peer and size
};

struct ProbeFile {
  std::string world{};      ///< "simulated" or "measured"
  std::string program{};    ///< "twinlink-sim 0.1.0"
  std::string command{};    ///< the command line
  JsonValue environment{};  ///< as in Result
  ProbeFindings findings{};
};

struct ProbePlan {
  std::vector<Bytes> sizes = size_sweep(Bytes{1}, Bytes{64U << 20U}, 4);  ///< ascending
  Repeats small{};                                                        ///< up to and including `large_from` - 1
  Repeats large{};                                                        ///< from `large_from`
  Bytes large_from{8192};
  Seconds budget{};           ///< rounds of one line are cut to fit, as in Plan
  int passes = 1;             ///< over all primitives; what they say of each: merge_passes()
  bool verify = true;         ///< check the bytes of every copy and message, at the side that owns the memory
  bool keep_samples = false;  ///< store each round's time
  std::string only{};         ///< measure only what has this in its name; empty: all
  /// Told on rank 0 how many parts of the probes are done, and how many there are; may be empty.
  std::function<void(std::size_t, std::size_t)> on_progress{};
  /// On rank 0, of probes that were ended: the texts that on_part was told, which are not measured again.
  std::vector<std::string> done{};
  /// Told on rank 0 of each part that is measured what goes on with it later, a line of text; may be empty.
  std::function<void(const std::string&)> on_part{};
  Seconds timeout{30.0};  ///< of one operation
};

/// Measures the primitives of every rank in turn while the others idle, peer copies between every two ranks of a node,
/// and messages between rank 0 and the first rank on its own and on another node. A GPU that several ranks share is
/// measured once. Every rank of the job calls it with the same plan. Rank 0 gets all lines; the others get none. A
/// wrong payload is a CheckError.
ProbeFindings probe(MeasuredRank& rank, const ProbePlan& plan);

/// For rank 0. A UsageError if `plan.only` is in the name of no line.
void require_found(const ProbeFindings& findings, const ProbePlan& plan);

nlohmann::json to_json(const ProbeFile& probes);
/// An InputError that names `origin` and the member that is missing, wrong or unknown.
ProbeFile probes_from_json(const nlohmann::json& json, const std::string& origin);
/// Writes the file whole or not at all. An EnvironmentError with the system's text.
void write_json(const ProbeFile& probes, const std::filesystem::path& file);
ProbeFile read_probes(const std::filesystem::path& file);

}  // namespace twinlink::bench
