// What each part of a platform, were it slow, would do to the times of all probes.
#pragma once

#include <utility>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "validate/nodes/equals.hpp"

namespace twinlink::validate {

/// For EqualsPlan::patterns: of each part a little slow, or half as fast where that
/// slows nothing yet, over those keys and sizes that `base` has
/// numbers for. A pattern that two parts share is there once.
std::vector<Pattern> patterns_of(const platforms::Platform& base, const std::vector<CurveKey>& keys,
                                 const std::vector<std::pair<std::size_t, Bytes>>& places);

}  // namespace twinlink::validate
