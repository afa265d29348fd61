// How much memory there is on this host for this process.
#pragma once

#include <filesystem>
#include <optional>

#include "protocols/core/units.hpp"

namespace twinlink::real {

/// What the control groups of this process leave: the smallest rest of its group and all groups above it, each of which
/// has a limit and a use, without files that the system can drop. Empty if no group has a limit, or none can be
/// read. Groups of version 2 (memory.max) and 1 (memory.limit_in_bytes) at their usual places, below `root`.
std::optional<Bytes> left_by_control_groups(const std::filesystem::path& root = "/");

/// All that this host has, or what the control groups leave where that is less.
Bytes host_memory(const std::filesystem::path& root = "/");

}  // namespace twinlink::real
