// Numbers of programs of thread blocks: launches, hops, and what a block moves.
#pragma once

#include <string>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "validate/calibrate/calibration_groups.hpp"

namespace twinlink::validate {

/// What a line, or a slot, takes beside its way.
void fit_hop(const Group& group, const platforms::Topology& base, const ProbeSet& probes, PlatformEdit& edit);
/// What one block moves. Only the lines of the fewest blocks tell it: several may reach what the GPU stores at the
/// most, and that is a number of its kernels' copies.
void fit_rate_of_blocks(const Group& group, const ProbeSet& probes, PlatformEdit& edit);
/// What is left of a launch beside the CPU's part, which `topology` knows.
void fit_launch(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit);
/// A line over the programs of a graph: what lies between two, and what is left of the launch.
void fit_graph(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
               std::vector<std::string>& notes);

/// What a block passes on, as slots tell it beside their hop, which `topology` knows.
void fit_passing(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit,
                 std::vector<std::string>& notes);
/// A kernel's fetch: what is left of rings beside what lies between two programs, and their hops. Rings of several
/// sizes tell the hop, which takes the place of that of echoes: code that is run again and again is fetched already.
void fit_ring(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit);
/// What rings take longer that are launched by themselves. `topology` knows all else.
void fit_cold(const Group& group, const platforms::Topology& topology, const ProbeSet& probes, PlatformEdit& edit);

}  // namespace twinlink::validate
