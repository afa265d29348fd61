// What the models of GPUs tell of a node beyond what its source says.
#pragma once

#include <vector>

#include "platforms/import/gpu_table.hpp"
#include "platforms/import/node_description.hpp"

namespace twinlink::platforms {

// `models` are those of facts.gpus, in their order. What is added is noted among the notes or assumptions.

/// NVLinks of a board with NVSwitches, where the source says nothing of NVLinks.
void take_links_of_board(NodeDescription& facts, const std::vector<GpuModel>& models);
/// Links to processors that share their addresses: of models that have them, and of GPUs whose memory is a domain of
/// the system, which get what the first model with such a link has.
void join_processors(NodeDescription& facts, std::vector<GpuModel>& models);
/// Peer access of GPUs whose driver gives none over PCIe, where no driver was asked.
void refuse_peers(NodeDescription& facts, const std::vector<GpuModel>& models);

/// Has it links to a memory of the host?
bool reaches_memory(const GpuFacts& gpu);

}  // namespace twinlink::platforms
