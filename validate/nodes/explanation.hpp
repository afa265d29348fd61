// The part of a node that explains why it is slower than its equals.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/tools/drawing.hpp"
#include "validate/nodes/equals.hpp"
#include "validate/suspect/suspects.hpp"

namespace twinlink::validate {

struct Explanation {
  std::string text{};                      ///< "link 'nvlink5' at 94 % of its bandwidth"
  std::string part{};                      ///< "nvlink5"; empty: no part of the platform
  double share = 1;                        ///< of its bandwidth
  std::vector<std::string> places{};       ///< of the GPUs that it is about; empty: of none alone
  std::vector<platforms::Crossing> way{};  ///< to be drawn
};

/// Does it lack direct copies of peers that its equals have, and have copies through the host instead?
bool lacks_peers(const Equals& equals, const HeldNode& node);

/// From what is slower alone, without a platform: a GPU, the host's CPU, or the test.
Explanation explain_by_tests(const Equals& equals, const HeldNode& whole);

/// The times of all probes that are in the middle of all nodes, as one machine's. Empty: there are none.
ProbeSet middle_probes(const Equals& equals, const std::string& kind);

/// Which part of `base` explains the difference between a node and its equals. The platform need not be right about
/// these: what counts is how much more a measured time is than the middle one. Where no part explains it,
/// explain_by_tests().
Explanation explain(const Equals& equals, const HeldNode& node, const std::filesystem::path& base, double tolerance);

}  // namespace twinlink::validate
