// Calibration of what lies between things that follow each other: messages, puts with signals.
#pragma once

#include <string>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/calibrate/platform_edit.hpp"
#include "validate/calibrate/probe_set.hpp"

namespace twinlink::validate {

/// One number that nothing else of the lines tells (KindFacts::Fit::rest): what is left of them where that number is
/// zero, by what `topology` says of all else.
void fit_rest(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
              std::vector<std::string>& notes);

/// What lies between two messages beside their bytes, which is what CPUs do for each: of up to 64 KiB.
void fit_gap(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit);

}  // namespace twinlink::validate
