// A platform from what another tool says of a node: nvidia-smi topo -m or -q -x, NCCL's topology XML or its log,
// hwloc's XML.
#pragma once

#include <string>

#include "platforms/import/node_sketch.hpp"

namespace twinlink::platforms {

/// Finds out by `text` what it is. Numbers that the tool does not tell are assumed. An InputError that names `file` and
/// the line for what is not understood. `name` is the platform's. All GPUs are of the model `gpu`, see model_named(),
/// if that is not empty.
SketchedPlatform import_topology(const std::string& text, const std::string& file, const std::string& name,
                                 const std::string& gpu = {});

// For import_topology().
NodeDescription describe_topo_matrix(const std::string& text, const std::string& file);
NodeDescription describe_nccl_xml(const std::string& text, const std::string& file);
NodeDescription describe_nvidia_smi_xml(const std::string& text, const std::string& file);

}  // namespace twinlink::platforms
