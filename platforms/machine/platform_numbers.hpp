// Every number of a platform in one list, for people who want to know where the figures come from.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

struct NumberEntry {
  std::string path{};  ///< as an override names it: "nodes.links.qpi.forward"; a point of a curve ends in "[4K]"
  double value = 0;    ///< in `unit`
  std::string unit{};  ///< "B", "s", "B/s", or "1" of a ratio
  std::string text{};  ///< for people: "11377.8 MB/s"
  Source source{};
};

/// All numbers that have a source, in the order of the platform's structs.
std::vector<NumberEntry> all_numbers(const Platform& platform);

}  // namespace twinlink::platforms
