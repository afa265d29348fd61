// The contract on explored ranks, in one interleaving: explored jobs keep the rules that everybody else keeps.
// TWINLINK_CONTRACT_EXPLORE says which: "neighbours" or "apart", then "first", "last" or "mixed". The first one has a
// clock, as what tests of protocols and of the driver stand on (tests/explore/explorer/fake_world.hpp).
#include <cstdlib>
#include <sstream>
#include <string>

#include "tests/contract/world.hpp"
#include "tests/explore/explorer/scenario.hpp"

namespace twinlink::contract {

void on_every_rank(const std::function<void(MeasuredRank&)>& body) {
  const char* text = std::getenv("TWINLINK_CONTRACT_EXPLORE");
  std::istringstream words(text != nullptr ? text : "neighbours first 2");
  std::string path;
  std::string order;
  std::size_t ranks = 2;
  words >> path >> order >> ranks;
  const explore::Body on_rank = [&](MeasuredRank& rank, explore::Witness&) { body(rank); };
  explore::run_once({.bodies = std::vector<explore::Body>(ranks, on_rank),
                     .path = path == "apart" ? explore::apart() : explore::neighbours(),
                     .clock = order == "first"},
                    order == "first"  ? explore::Order::first
                    : order == "last" ? explore::Order::last
                                      : explore::Order::mixed);
}

}  // namespace twinlink::contract
