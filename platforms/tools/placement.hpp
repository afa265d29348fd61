// Where the ranks of a job are: packed, spread, or as a file says.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::platforms {

/// The places of ranks 0, 1, ...: "packed" fills the nodes in their order, GPU by GPU; "spread" gives each node a rank
/// before any has a second one; anything else is a file. The first two give all GPUs of the machine, from which a job
/// takes as many as it has ranks.
std::vector<Place> places_of_ranks(const Platform& platform, const std::string& how);

/// As many of them as the job has ranks; with 0, all. A UsageError if there are fewer.
std::vector<Place> places_of_ranks(const Platform& platform, const std::string& how, int ranks);

/// A place NODE/GPU on each line, rank by rank; several ranks may share one. Empty lines and what follows a '#' do not
/// count. An InputError with a line for each mistake.
std::vector<Place> read_places(const Platform& platform, const std::filesystem::path& file);

}  // namespace twinlink::platforms
