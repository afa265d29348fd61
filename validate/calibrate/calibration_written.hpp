// What it adds to a copy that a CPU has just written its source.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "validate/calibrate/calibration_groups.hpp"

namespace twinlink::validate {

/// How much longer something takes at one size, and what of that is no more than noise.
struct Difference {
  Bytes size{};
  Seconds longer{};  ///< not negative
  Seconds noise{};   ///< positive
};

/// As few points as meet every difference within its noise. `differences` ascend by size and are not empty.
platforms::Piecewise few_points(const std::vector<Difference>& differences);

/// Sets the number of a group whose sources were just written: by size, the times of its lines less those of the same
/// lines with a source at rest, measured in the same job between the same devices. Where they are nowhere longer by
/// more than the noise, which is the spread of the rounds of both and kTolerance, a number of the base's becomes zero
/// and none is added. `topology` is of the platform with all its copies; what a reader should know is added to `notes`.
void fit_written(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                 std::vector<std::string>& notes);

}  // namespace twinlink::validate
