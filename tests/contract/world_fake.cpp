// The contract on the ranks of threads that tests of protocols and of the driver stand on.
// TWINLINK_CONTRACT_FAKE says which: "neighbours", "without-peers" or "apart", then the number of ranks.
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/contract/world.hpp"
#include "tests/support/fake_rank.hpp"

namespace twinlink::contract {

void on_every_rank(const std::function<void(MeasuredRank&)>& body) {
  const char* text = std::getenv("TWINLINK_CONTRACT_FAKE");
  std::istringstream words(text != nullptr ? text : "neighbours 2");
  std::string path;
  FakeWorldOptions options;
  words >> path >> options.ranks;
  options.same_node = path != "apart";
  options.peer_access = path == "neighbours";
  run_fake_world(options, body);
}

}  // namespace twinlink::contract
