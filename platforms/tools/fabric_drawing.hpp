// The fabric as a picture: switches, what is plugged into them, and the cables between them.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// A switch, or of a torus a node. Of a tree as many as the nodes fill.
struct DrawnSwitch {
  std::string name{};    ///< as faults name it: "leaf3", "spine2", "router5"
  std::string inside{};  ///< the group of a dragonfly: "group1"; or empty
  int level = 0;         ///< 0: nodes are plugged in here
  int first_node = 0;
  int nodes = 0;  ///< plugged in from there on
};
/// Cables that join two switches, or two groups of a dragonfly.
struct DrawnCables {
  std::string from{};
  std::string to{};
  std::int64_t count = 1;
  Rate each{};      ///< each way
  double left = 1;  ///< of all, after faults
};
struct FabricPicture {
  std::vector<DrawnSwitch> switches{};
  std::vector<DrawnCables> cables{};
};

/// A UsageError where the platform has no fabric, or more switches than anybody can look at.
FabricPicture picture_of_fabric(const Platform& platform);
/// In Graphviz's dot language. Cables that faults have slowed are red, and dashed where nothing is left.
std::string fabric_dot(const Platform& platform);

}  // namespace twinlink::platforms
