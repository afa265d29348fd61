// What NCCL has logged of a job beside what the protocol "nccl" does on the platform that was made of the log.
#pragma once

#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/import/texts/nccl_log.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// A line each: both values where they differ. Simulates. Nothing where the log says nothing of that.
std::vector<std::string> beside_log(const Platform& platform, const NcclLog& log);

}  // namespace twinlink::model
