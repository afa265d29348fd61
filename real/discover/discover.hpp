// The command `discover`: this node as a platform file.
#pragma once

#include <filesystem>
#include <iosfwd>

#include "platforms/import/node_description.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::real {

struct DiscoverOptions {
  std::filesystem::path out{};        ///< the file to write; empty: `output` of discover()
  std::filesystem::path hwloc_xml{};  ///< the node as lstopo has written it down; empty: this machine
  std::filesystem::path json{};       ///< what was found, for programs; empty: not written
  std::filesystem::path base{};       ///< a platform whose costs are taken as assumed; empty: guesses
};

/// What NVML and hwloc tell of this machine. An UnavailableError where they see no GPU.
platforms::NodeDescription describe_this_machine();

/// Asks NVML and hwloc, writes the platform, and prints to standard error what the file only assumes. Needs no MPI.
/// Without a driver the GPUs that hwloc sees are described with guesses; an UnavailableError without any.
ExitCode discover(const DiscoverOptions& options, std::ostream& output);

}  // namespace twinlink::real
