// Reports that go out of the house: without names of hosts, files and GPUs.
#pragma once

#include "validate/nodes/node_files.hpp"

namespace twinlink::validate {

/// Nodes become "node1" ... in the order of their names, their files "node1/file2", and UUIDs and host names are gone,
/// also from remarks. Places on the bus stay, for all nodes of a kind have the same.
void make_anonymous(FleetFiles& files);

}  // namespace twinlink::validate
