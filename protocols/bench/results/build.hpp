// How this program was built: times of emulated devices and of the CPU's own steps depend on it.
#pragma once

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// The build type and the compiler's flags, for the environment of results: {"type": "Release", "flags": "-O3
/// -DNDEBUG"}.
nlohmann::json describe_build();

}  // namespace twinlink::bench
