// One input file, whichever of the three kinds it is: a result (one curve), the probes of a machine or the times of a
// workload; ours or another tool's.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/results/json_value.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_file.hpp"
#include "validate/compare/join.hpp"
#include "validate/import/import.hpp"

namespace twinlink::validate {

/// Just one of `series` and `workload` is set, or neither; `samples` are the same lines, alike for all kinds.
struct Recording {
  std::string file{};     ///< as the user named it
  std::string world{};    ///< "simulated" or "measured"
  std::string program{};  ///< what wrote it, with its version
  std::string command{};  ///< the command line that wrote it
  bench::JsonValue environment{};
  std::vector<std::string> notes{};                 ///< what was not measured, and why; what a reader must know
  std::optional<bench::Series> series{};            ///< of a curve
  std::optional<bench::WorkloadSeries> workload{};  ///< of a workload; neither: the file holds probes
  std::vector<Sample> samples{};                    ///< unique keys, positive times; a sweep's ascend by size
  std::optional<Tool> tool{};                       ///< whose file it is; empty: ours
  std::string label{};                              ///< of its side, from the user; empty: the world

  /// What reports call the side that it is on.
  [[nodiscard]] std::string_view side() const { return label.empty() ? world : label; }
};

/// Reads a file of any kind, which its member "kind" tells. A file of a tool that recognise() knows is
/// imported on the way, as far as it tells enough by itself. Throws InputError for a file that cannot be read, is not
/// JSON, lacks a member, names a size twice or holds a time that is none: a finding per line. Of `wishes`, which are
/// for files of other tools, each file takes what it has a use for: the size of copies, the table.
Recording read_recording(const std::filesystem::path& file, const ImportWishes& wishes = {});

}  // namespace twinlink::validate
