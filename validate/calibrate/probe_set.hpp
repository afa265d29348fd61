// The probe files that a platform is calibrated from: of `twinlink-real probe`, of `twinlink-sim probe`, or imported.
// Several visits to one machine may be given together, each with other lines.
#pragma once

#include <cstddef>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "protocols/bench/probe/probe.hpp"

namespace twinlink::validate {

/// One line, with the file that it is from.
struct Probe {
  bench::ProbeLine line{};
  std::size_t file = 0;  ///< index into ProbeSet::files
};

/// Who has written a probe file, when and where.
struct ProbeOrigin {
  std::string file{};                            ///< as the user named it
  std::string date{};                            ///< "2026-11-21"; empty if the file does not say
  std::string program{};                         ///< "twinlink-real 0.1.0"
  std::string machine{};                         ///< "2 x NVIDIA H200", "simulated keeneland-kids"; may be empty
  std::string platform{};                        ///< simulated: its name
  std::map<std::string, std::string> devices{};  ///< measured: the model by place, NODE/GPU
  std::vector<std::string> health{};             ///< what the driver told of them: "GPU 3: 12 PCIe replays"
};

/// All lines of all files.
struct ProbeSet {
  bool simulated = false;
  std::vector<ProbeOrigin> files{};
  std::vector<Probe> probes{};  ///< positive times
};

/// Throws InputError with a finding a line: a file that cannot be read or holds no probes, the result of a protocol, a
/// time that is not positive, a line that is there twice, measured probes beside simulated ones. `files` must not be
/// empty.
ProbeSet read_probe_set(std::span<const std::filesystem::path> files);

}  // namespace twinlink::validate
