// Where copies and messages that CPUs move slow each other down, which no number of a platform says.
#pragma once

#include <string>
#include <vector>

#include "validate/calibrate/probe_set.hpp"

namespace twinlink::validate {

/// A note for each kind of probe of several at once in which, at the largest size, each gets less than 95 % of what the
/// same GPU's rank gets alone: the middle one of all GPUs and files.
std::vector<std::string> contention_notes(const ProbeSet& probes);

}  // namespace twinlink::validate
