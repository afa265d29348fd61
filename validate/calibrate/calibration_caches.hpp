// What the caches of a host hold, and what messages take whose bytes they do not hold.
#pragma once

#include <optional>
#include <string_view>
#include <vector>

#include "validate/calibrate/calibration_groups.hpp"

namespace twinlink::validate {

/// The group of messages whose bytes no cache holds.
inline constexpr std::string_view kUncached = "mpi.intra_node.uncached";

/// Takes those messages within a node, and windows of them, out of their groups whose rounds go through more
/// memory than the caches hold: a group of their own. How much that is, becomes the `cache` of the memories where they
/// lie. Empty if the probes show no such messages: however they are split in two by that memory, the bytes of the
/// one part take hardly longer than those of the other.
std::optional<Group> split_uncached(std::vector<Group>& groups, const platforms::Topology& topology,
                                    const ProbeSet& probes, PlatformEdit& edit);

/// Is there a message of which the caches of this platform hold nothing?
bool lacks_in_caches(const std::vector<Group>& groups, const platforms::Topology& topology);

/// Fits `uncached` to that group, beside a platform that has all else.
void fit_uncached(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                  std::vector<std::string>& notes);

}  // namespace twinlink::validate
