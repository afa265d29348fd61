// The table of adapters by their models, as platforms/parts/models/adapters.yaml has it.
#pragma once

#include <optional>
#include <string_view>

#include "platforms/yaml/sourced.hpp"

namespace twinlink::platforms {

/// The most that an adapter has of the network, each way, by its PCI device "15b3:1021", or else by what the system
/// calls it, "cxi0", which makes it an assumption. Nothing where neither tells its model. Errors as those of
/// gpu_table().
std::optional<Sourced<Rate>> adapter_rate(std::string_view device_id, std::string_view name);

}  // namespace twinlink::platforms
