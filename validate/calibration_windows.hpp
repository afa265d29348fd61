// Calibration of what lies between things that follow each other: messages, puts with signals, steps.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "model/topology.hpp"
#include "validate/calibration_groups.hpp"
#include "validate/platform_edit.hpp"
#include "validate/probe_set.hpp"

namespace twinlink::validate {

/// One number that nothing else of the lines tells (Primitive::tells_rest()): what is left of them where that number is
/// zero, by what `topology` says of all else.
void fit_rest(const Group& group, const model::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
              std::vector<std::string>& notes);

/// What the CPU is busy for to send, by size.
model::Piecewise fit_posting(const Group& group);

/// What the receiver's CPU is busy for with an eager message, of windows both ways: by size. `messages` and `one_way`
/// are the groups of messages by themselves and of windows one way; a size that they lack tells nothing. `costs` are
/// those of the network as far as they are known. Nothing if no size tells it.
std::optional<model::Piecewise> fit_completion(const Group& both_ways, const Group& messages, const Group& one_way,
                                               const model::NetworkCosts& costs, const model::Topology& topology);

/// What lies between two messages beside their bytes.
void fit_gap(const Group& group, const model::Topology& topology, const ProbeSet& probes, PlatformEdit& edit);

}  // namespace twinlink::validate
