// CUDA devices. Built where the CUDA Toolkit is found.
#pragma once

#include <memory>
#include <span>

#include "real/device_runtime.hpp"
#include "real/device_selection.hpp"

namespace twinlink::real {

/// Selects the visible device that `gpus` has for rank `local_rank` of this node, see select_device(); of an empty list
/// the device `local_rank`, modulo their number. To be called before MPI_Init, for MPI libraries look at the current
/// device then. An UnavailableError if there is no device or no driver, a UsageError for a list that does not fit.
std::unique_ptr<DeviceRuntime> make_cuda_runtime(int local_rank, std::span<const DeviceChoice> gpus = {});

}  // namespace twinlink::real
