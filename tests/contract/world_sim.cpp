// The contract on the simulated machine. One simulation per process, so one test per process: CTest does that.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "model/platform_reader.hpp"
#include "model/simulation.hpp"
#include "tests/contract/world.hpp"

namespace twinlink::contract {
namespace {

/// The places of the ranks, as "NODE/GPU,NODE/GPU,..." in TWINLINK_CONTRACT_PLACES.
std::vector<Place> places() {
  const char* text = std::getenv("TWINLINK_CONTRACT_PLACES");
  std::istringstream words(text != nullptr ? text : "0/1,0/2");
  std::vector<Place> result;
  char separator = ',';
  for (Place place; words >> place.node >> separator >> place.gpu; words >> separator) result.push_back(place);
  return result;
}

}  // namespace

void on_every_rank(const std::function<void(Rank&)>& body) {
  static bool used = false;
  if (used) throw UsageError("one simulation per process: run this program through ctest, or with one test as filter");
  used = true;
  const auto file = std::filesystem::path(TWINLINK_PLATFORMS) / "keeneland-kids.yaml";
  model::simulate(model::read_platform(file), places(), body);
}

}  // namespace twinlink::contract
