// Options that are given and change nothing: whoever gives one wants to know.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/settings_options.hpp"
#include "protocols/bench/results/results.hpp"
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

/// --buffers of a run whose caches have let nothing go.
std::vector<std::string> idle_buffers(const bench::Series& series);

/// "twinlink-sim: note: ..." on standard error, a line for each.
void note_all(std::span<const std::string> notes);

}  // namespace twinlink::model
