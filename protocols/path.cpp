#include "protocols/path.hpp"

namespace twinlink {

std::string to_string(const Place& place) { return std::to_string(place.node) + "/" + std::to_string(place.gpu); }

}  // namespace twinlink
