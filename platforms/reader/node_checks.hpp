// What must hold between the parts of a node, beyond the form of its file.
#pragma once

#include <string>

#include "platforms/machine/platform.hpp"
#include "platforms/yaml/diagnostics.hpp"
#include "platforms/yaml/yaml_document.hpp"

namespace twinlink::platforms {

/// Checks names, the ends of links, the devices that GPUs refer to, and that the routes exist which every run needs:
/// from each GPU to each memory and to its adapter, and from each memory to each adapter. `nodes` is the part of the
/// file that platform.node was read from, for the places in messages.
void check_node(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics);

/// Checks the ports of the fabric's switches, for the adapters of the node that has most of them.
void check_ports(const Platform& platform, const YamlValue& nodes, Diagnostics& diagnostics);

/// check_node() for each of `kinds`, from which platform.kinds were read.
void check_kinds(const Platform& platform, const YamlValue& kinds, Diagnostics& diagnostics);

/// Gives each GPU the memory and the adapter next to it where the file does not name them. `platform` has passed
/// check_node() and check_kinds().
void complete_nodes(Platform& platform);

/// `name` as a part may have it: of what systems say, only letters, digits, '_' and '-'. `otherwise` if it is empty.
std::string safe_name(std::string name, const std::string& otherwise);

}  // namespace twinlink::platforms
