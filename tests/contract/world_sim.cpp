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

/// The machine: a file of platforms/ in TWINLINK_CONTRACT_PLATFORM. With TWINLINK_CONTRACT_LOOPBACK set, messages
/// within a node pass through the adapter.
model::Platform machine() {
  const char* file = std::getenv("TWINLINK_CONTRACT_PLATFORM");
  const auto folder = std::filesystem::path(TWINLINK_PLATFORMS);
  model::Platform platform = model::read_platform(folder / (file != nullptr ? file : "keeneland-kids.yaml"));
  platform.within_node.loopback = std::getenv("TWINLINK_CONTRACT_LOOPBACK") != nullptr;
  return platform;
}

}  // namespace

void on_every_rank(const std::function<void(Rank&)>& body) {
  static bool used = false;
  if (used) throw UsageError("one simulation per process: run this program through ctest, or with one test as filter");
  used = true;
  model::simulate(machine(), places(), body);
}

}  // namespace twinlink::contract
