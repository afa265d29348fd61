// The results of many nodes in one folder, read: who measured what, when and with which program.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// What a file tells of a GPU; a text that it does not tell is empty.
struct NamedGpu {
  std::string place{};  ///< "0/3"
  std::string bus{};    ///< "0000:1b:00.0"
  std::string uuid{};
  std::string model{};

  /// "3"
  [[nodiscard]] std::string index() const { return place.substr(place.find('/') + 1); }
  /// "GPU 3 (0000:1b:00.0, GPU-654bc4ad-...)", "GPU 0 of another node" of a job of several.
  [[nodiscard]] std::string text() const;
};

/// How places begin of the node that the results are of, in a job of several the first.
inline constexpr std::string_view kOwnPlaces = "0/";

struct NodePoint {
  Bytes size{};
  double log_us = 0;
  double deviation = 0;  ///< of the logarithm, from the percentiles; 0: nobody has told
  bool unstable = false;
};

/// All sizes of one thing that was measured.
struct NodeCurve {
  std::string test{};  ///< what it belongs to: "peer copies", "all_reduce_perf"
  std::string name{};  ///< "peer copy write direct"
  std::string from{};  ///< NODE/GPU; empty: nobody has told, or all
  std::string to{};
  std::vector<NodePoint> points{};  ///< ascending by size
};

struct NodeFile {
  std::string file{};     ///< below the folder
  std::string date{};     ///< "2026-11-23T07:48:12Z", or the day alone; empty: not told
  bool to_come = false;   ///< the date lies ahead, so that nobody knows when it was measured
  std::string program{};  ///< with its version
  bool simulated = false;
  std::string machine{};   ///< "2 x NVIDIA H200", "hgx-h100" where simulated; may be empty
  std::string software{};  ///< driver and libraries
  std::vector<std::string> hosts{};
  std::vector<NamedGpu> gpus{};
  std::vector<std::string> notes{};
  std::vector<std::string> health{};  ///< what the driver told of its GPUs: "GPU 3: 12 PCIe replays"
  bool probes = false;
  std::vector<NodeCurve> curves{};

  /// Whose results may be held against each other: the program and the machine.
  [[nodiscard]] std::string kind() const;
};

struct FleetNode {
  std::string name{};
  std::vector<NamedGpu> gpus{};  ///< by place
  std::vector<NodeFile> files{};
  std::vector<std::string> remarks{};  ///< what is wrong with its files, and what was left out of them
  std::set<std::string> names{};       ///< of hosts, files and GPUs that its remarks may mention

  /// The date of its newest result, but for those that are to come; empty: none tells one.
  [[nodiscard]] std::string newest() const;
  [[nodiscard]] const NamedGpu* gpu_at(const std::string& place) const;
  /// "GPU 3 (...), GPU 4 (...)", "all 8 GPUs", which are told elsewhere; empty for none. `shortly`: "GPU 3, GPU 4".
  [[nodiscard]] std::string gpus_at(const std::vector<std::string>& places, bool shortly = false) const;
};

struct FleetFiles {
  std::filesystem::path folder{};
  std::vector<FleetNode> nodes{};      ///< by name
  std::vector<std::string> remarks{};  ///< of files that belong to no node, and of all nodes together
};

struct FleetWishes {
  std::optional<Bytes> size{};  ///< of nvbandwidth's copies
  std::optional<int> ranks{};   ///< of collectives whose text does not tell
};

/// A folder in `folder` is a node, whatever lies below it: the folders of validate/node, or files. A file in `folder`
/// itself is of the node that its name says before the first dot: "node017.nvbandwidth.txt". What cannot be read, does
/// not belong together or is not there becomes a remark, and takes no part. An InputError for a folder that cannot be
/// read or holds no result at all, and for measured beside simulated ones.
FleetFiles read_fleet(const std::filesystem::path& folder, const FleetWishes& wishes);

/// Whose dates lie ahead of `now` is said, and counts as older than all others: a clock was wrong.
void note_dates_to_come(FleetFiles& files, const std::string& now);

/// What a line of probes belongs to: "peer copies".
std::string test_of_probe(const std::string& name);

}  // namespace twinlink::validate
