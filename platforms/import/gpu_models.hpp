// GPUs by their PCI device id.
#pragma once

#include <string_view>

#include "platforms/import/node_sketch.hpp"

namespace twinlink::model {

/// What the data sheet says of an NVIDIA GPU with this device id, such as "2330"; nothing for those that are not known
/// here.
SketchedGpu gpu_of_device_id(std::string_view id);

}  // namespace twinlink::model
