// What CUDA says about a device.
#pragma once

#include "real/device/device_runtime.hpp"

namespace twinlink::real {

/// Facts of the device with this ordinal. An EnvironmentError if a question fails.
DeviceInfo cuda_device_info(int device);

}  // namespace twinlink::real
