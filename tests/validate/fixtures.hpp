// Small results that the tests of validate/ compare.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"
#include "validate/compare/recording.hpp"

namespace twinlink::validate::test {

using Curve = std::vector<std::pair<std::uint64_t, double>>;  ///< size in bytes, median in microseconds

/// A complete ping-pong result of `protocol`; "measured" or "simulated".
bench::Result make_result(const std::string& world, const std::string& protocol, const Curve& curve);

/// A probe file with one primitive, "host message", between devices 0/0 and 1/0.
bench::ProbeFile make_probes(const std::string& world, const Curve& curve);

/// What read_recording() makes of make_result(), without a file.
Recording make_recording(const std::string& world, const std::string& protocol, const Curve& curve);

/// The same of make_probes().
Recording make_recording_of_probes(const std::string& world, const Curve& curve);

/// `measured` with an expectation of `curve` in its environment.
Recording expect(Recording measured, const Curve& curve);

}  // namespace twinlink::validate::test
