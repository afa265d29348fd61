// The contract on the simulated machine. One simulation per process, so one test per process: CTest does that.
#include <cstdlib>
#include <filesystem>
#include <sstream>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "tests/contract/world.hpp"

namespace twinlink::contract {
namespace {

struct Job {
  std::string platform = "keeneland-kids.yaml";  ///< a file of platforms/
  bool loopback = false;                         ///< messages within a node pass through the adapter
  std::string places = "0/1,0/2";                ///< of the ranks: "NODE/GPU,NODE/GPU,..."
};

/// TWINLINK_CONTRACT_PLACES: places, and before them, if wanted, a platform and "loopback", with spaces between.
Job job() {
  Job job;
  const char* text = std::getenv("TWINLINK_CONTRACT_PLACES");
  std::istringstream words(text != nullptr ? text : "");
  for (std::string word; words >> word;) {
    if (word.ends_with(".yaml")) {
      job.platform = word;
    } else if (word == "loopback") {
      job.loopback = true;
    } else {
      job.places = word;
    }
  }
  return job;
}

std::vector<Place> read_places(const std::string& text) {
  std::istringstream words(text);
  std::vector<Place> result;
  char separator = ',';
  for (Place place; words >> place.node >> separator >> place.gpu; words >> separator) result.push_back(place);
  return result;
}

}  // namespace

void on_every_rank(const std::function<void(MeasuredRank&)>& body) {
  static bool used = false;
  if (used) throw UsageError("one simulation per process: run this program through ctest, or with one test as filter");
  used = true;
  const Job wanted = job();
  platforms::Platform platform = platforms::read_platform(std::filesystem::path(TWINLINK_PLATFORMS) / wanted.platform);
  platform.within_node.loopback = wanted.loopback;
  model::simulate(platform, read_places(wanted.places), body);
}

}  // namespace twinlink::contract
