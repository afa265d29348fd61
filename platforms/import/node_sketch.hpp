// From the facts about a node to a platform: the one builder, whoever found the facts. What is not known becomes an
// assumption that is written down. Pure.
#pragma once

#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

struct SketchedPlatform {
  Platform platform{};
  std::vector<std::string> heading{};  ///< comment for the file: what its format has no place for, and what is assumed
  std::vector<std::string> notes{};    ///< what the user must know; in the heading too
  std::vector<std::string> assumed{};  ///< what is assumed, below what would tell it; in the heading too
};

/// One node with the parts of `node`, which has a GPU: rates of links nominal, costs assumed, see assume_costs() for
/// `base`, which may be null. `title` is the heading's first line.
SketchedPlatform sketch(NodeDescription node, const std::string& title, const Platform* base = nullptr);

}  // namespace twinlink::platforms
