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

/// A table that two releases have otherwise, or one alone: "bandwidths.ring_ll128", and what stands there; empty:
/// nothing.
struct TableDifference {
  std::string path{};
  std::string a{};
  std::string b{};
};
/// Of two of release_names(): none where they are one.
std::vector<TableDifference> difference_of_releases(const std::string& a, const std::string& b);

}  // namespace twinlink::platforms
