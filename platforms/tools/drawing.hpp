// A node as a picture: memories, hubs, adapters, GPUs and the links between them, and the way of a message on it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {

/// A part of one node.
struct DrawnPart {
  int node = 0;
  std::string name{};

  friend bool operator==(const DrawnPart&, const DrawnPart&) = default;
};

/// A message goes from one part to another, over the link that joins them, or over the network between adapters.
struct Crossing {
  DrawnPart from{};
  DrawnPart to{};

  friend bool operator==(const Crossing&, const Crossing&) = default;
};

/// What is drawn beside the machine itself.
struct Drawing {
  std::string title{};
  std::vector<int> nodes{0};  ///< each is drawn by itself
  std::vector<Crossing> way{};
};

/// The links of a way as Topology describes it: "gpu0 -> ioh0 -> numa0", or "numa0 -> hca0 => hca0 -> numa0", of which
/// what follows "=>" is on node `there`.
std::vector<Crossing> crossings_of(std::string_view way, int here, int there);

/// Lines of a label in that language, each of which may hold anything.
std::string dot_label(const std::vector<std::string>& lines);

/// The picture as Graphviz's dot language has it. Links carry name, bandwidth, latency and count; those that the way
/// crosses are red, with arrows in the directions of its bytes.
std::string to_dot(const Platform& platform, const Drawing& drawing);

}  // namespace twinlink::platforms
