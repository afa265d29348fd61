// What of a platform's wiring can be simulated, and is most likely a mistake.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// A line for each kind of mistake and part:
/// - links that the way of no copy, message or peer crosses;
/// - links beside such a link, between the same two parts, that no way takes: a 'count' is meant;
/// - parts where two ways divide that are equally good, so that only the order of the links in the file decides.
/// And one where messages within a node are faster than the copies that CPUs make of them.
std::vector<std::string> wiring_warnings(const Platform& platform);

/// "gpu[0-7]-pcie, qpi": names that differ by a number in a row are one. Schema 2 reads such ranges.
std::string in_ranges(const std::vector<std::string>& names);

}  // namespace twinlink::platforms
