// CUDA devices. Built where the CUDA Toolkit is found.
#pragma once

#include <memory>

#include "real/device_runtime.hpp"

namespace twinlink::real {

/// Selects the visible device `local_rank`, modulo their number: to be called before MPI_Init, for MPI libraries look
/// at the current device then. An UnavailableError if there is no device or no driver.
std::unique_ptr<DeviceRuntime> make_cuda_runtime(int local_rank);

}  // namespace twinlink::real
