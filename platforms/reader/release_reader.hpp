// Releases of libraries of collectives, as platforms/parts/ccl/ has them.
#pragma once

#include <filesystem>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/gpu/release.hpp"

namespace twinlink::platforms {

/// Their names in the folder of platforms, from the oldest on; empty: it has none.
std::vector<std::string> release_names();

/// The release that `named` names: a path, which has a '/' or ends in ".yaml", or one of release_names(), or if it is
/// empty the newest of them, and null where there is none. A UsageError for an unknown name lists what there is; an
/// InputError with everything that is wrong in its file.
std::shared_ptr<const gpu::Release> find_release(std::string_view named);

}  // namespace twinlink::platforms
