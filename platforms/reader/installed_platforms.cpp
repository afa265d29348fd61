// Apart from all else, for the linker leaves this out where a program has a definition of its own.
#include "platforms/reader/platform_file.hpp"

namespace twinlink::platforms {

std::filesystem::path installed_platforms() { return {}; }

}  // namespace twinlink::platforms
