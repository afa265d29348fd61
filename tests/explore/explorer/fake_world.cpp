#include "tests/explore/explorer/fake_world.hpp"

#include "tests/explore/explorer/explore_rank.hpp"

namespace twinlink {

void run_fake_world(const FakeWorldOptions& options, const std::function<void(MeasuredRank&)>& body) {
  Path path = options.same_node ? explore::neighbours() : explore::apart();
  path.device_memory_on_network = Answer::granted();
  if (!options.peer_access) path.peer_access = Answer::refused("no peer access");
  const explore::Body on_rank = [&](MeasuredRank& rank, explore::Witness&) { body(rank); };
  explore::run_once({.bodies = std::vector<explore::Body>(static_cast<std::size_t>(options.ranks), on_rank),
                     .path = path,
                     .eager_limit = kLeavesAlone,
                     .clock = true,
                     .numa_domains = options.numa_domains,
                     .fault = options.fault},
                    explore::Order::first);
}

std::size_t live_buffers(const Rank& rank) { return dynamic_cast<const explore::ExploreRank&>(rank).live_buffers(); }

}  // namespace twinlink
