// A platform from what another tool says of a node: nvidia-smi topo -m, NCCL's topology XML, hwloc's XML.
#pragma once

#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"

namespace twinlink::model {

struct ImportedPlatform {
  std::string origin{};  ///< "nvidia-smi topo -m"
  Platform platform{};
  std::vector<std::string> heading{};  ///< comment for the file: where it comes from, and what is assumed
};

/// Finds out by `text` what it is. Numbers that the tool does not tell are assumed. An InputError that names `file` and
/// the line for what is not understood. `name` is the platform's.
ImportedPlatform import_topology(const std::string& text, const std::string& file, const std::string& name);

// The three of them, for import_topology().
ImportedPlatform import_topo_matrix(const std::string& text, const std::string& file, const std::string& name);
ImportedPlatform import_nccl_xml(const std::string& text, const std::string& file, const std::string& name);
ImportedPlatform import_hwloc_xml(const std::string& text, const std::string& file, const std::string& name);

}  // namespace twinlink::model
