// Which protocol messages take where nobody names one: the same for 'explain', 'draw', 'run' and 'workload'.
#pragma once

#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/protocol.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {

/// The paths that there are between any two of `places`, each once or more.
std::vector<Path> paths_between(const Platform& platform, const std::vector<Place>& places);

/// The shortest ways of a job: of its pairs within nodes, or where the platform joins nodes to domains within those,
/// and of all others. Where it has pairs of one kind only, both are the same. Neither is null.
struct ChosenProtocols {
  const Protocol* within = nullptr;
  const Protocol* between = nullptr;
  bool domains = false;
};
ChosenProtocols shortest_ways(const Platform& platform, const std::vector<Place>& places);

/// Tells the user, on standard error, what was chosen.
void note_choice(const ChosenProtocols& chosen);

}  // namespace twinlink::model
