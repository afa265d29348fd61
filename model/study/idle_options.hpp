// Options that are given and change nothing: whoever gives one wants to know.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/bench/workload/workload_options.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::model {

/// How messages pass within a node, where no two ranks share one or the platform has it anyway. `asked` is what the
/// command line says; what a simulation finds out by itself is in SimulationOptions::idle_faults.
std::vector<std::string> idle_within_node(const WithinNode& asked, const Platform& platform,
                                          std::span<const Place> places);

/// --chunk and --depth of messages up to `sizes` over `path`, where at most `window` are under way at a time.
struct CutMessages {
  const Protocol& protocol;
  const Settings& settings;  ///< that `asked` has led to
  std::span<const Bytes> sizes;
  const Path& path;
  int window = 1;
};
std::vector<std::string> idle_pieces(const bench::SettingsOptions& asked, const CutMessages& messages);

/// --without p2p and --without rdma, where messages go as they would without them. `paths_on` gives the paths of the
/// same pairs on any platform; `used` what runs on each, null where the path itself has chosen.
struct UsedProtocol {
  const Protocol* protocol = nullptr;
  const Settings* settings = nullptr;
};
std::vector<std::string> idle_switches(const Platform& platform,
                                       const std::function<std::vector<Path>(const Platform&)>& paths_on,
                                       std::span<const UsedProtocol> used, std::span<const Bytes> sizes);
/// What a job's ways have for each path; `chosen` by the paths.
std::vector<UsedProtocol> used_on(std::span<const Path> paths, const workloads::Ways& ways, bool chosen);

/// Do both say the same of the protocol, the defaults included?
bool are_alike(const Protocol& protocol, const Settings& a, const Settings& b);

/// What `asked` says of the protocol of a job's pairs, which has other protocols for others of its `paths`.
std::vector<std::string> idle_beside_others(const bench::WorkloadOptions& asked, const bench::WorkloadPlan& plan,
                                            std::span<const Path> paths);

/// --experts, --top and --seed where all experts are as popular, and --shares where all ranks can do as much.
std::vector<std::string> idle_shares(const bench::WorkloadOptions& asked, const bench::WorkloadPlan& plan,
                                     const Platform& platform, const std::vector<Place>& places);

/// --buffers of a run whose caches have let nothing go.
std::vector<std::string> idle_buffers(std::span<const bench::Series> series);

/// "twinlink-sim: note: ..." on standard error, a line for each.
void note_all(std::span<const std::string> notes);

}  // namespace twinlink::model
