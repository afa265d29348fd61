// What probes find on a machine of ranks that only pretend.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "protocols/bench/probe/probe.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {

/// Two sizes, with two rounds each.
ProbePlan small_plan();
/// What rank 0 gets. Fails the test if another rank gets lines, or if one keeps a buffer.
ProbeFindings probe_world(const FakeWorldOptions& world, const ProbePlan& plan = small_plan());
/// The lines of that name, measured by `gpu`.
std::vector<ProbeLine> lines(const ProbeFindings& findings, const std::string& name, const std::string& gpu = "0/0");
std::set<std::string> names(const ProbeFindings& findings);

}  // namespace twinlink::bench
