// Many things alike in a few lines: 'gpu[0-7]: {nic: hca[0-3]}'.
#pragma once

#include "platforms/yaml/diagnostics.hpp"
#include "platforms/yaml/yaml_document.hpp"
#include "platforms/yaml/yaml_events.hpp"

namespace twinlink::platforms {

/// Each entry of a map below `nodes`, also those of `kinds`, whose key has a range becomes as many entries as the range
/// has numbers. A range in what it holds has the same number, or as many times fewer as fit; a list whose items have
/// ranges becomes longer. What does not fit goes into `diagnostics`. False, which is said there as well, if they make
/// more values than `budget` has: ranges may lie within ranges.
[[nodiscard]] bool expand_ranges(YamlValue& document, YamlBudget& budget, Diagnostics& diagnostics);

}  // namespace twinlink::platforms
