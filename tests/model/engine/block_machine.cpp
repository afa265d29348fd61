#include "tests/model/engine/block_machine.hpp"

#include <memory>
#include <string>
#include <utility>

#include "platforms/reader/release_reader.hpp"
#include "tests/platforms/sample_platform.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model::testing {

/// Of which GPUs and adapters are as near as they need be.
Platform machine_with_blocks() {
  Platform platform = sample_platform();
  auto release = std::make_shared<gpu::Release>(*find_release("nccl-2.28"));
  release->p2p = release->gdr = Level::sys;
  release->oldest = 0;
  platform.release = std::move(release);
  platform.gpu_types.front().blocks =
      BlockCosts{.rate = made_up(kBlockRate), .ll = made_up(kLl), .ll128 = made_up(kLl128), .simple = made_up(kSimple)};
  Node& node = platform.node;
  for (const char* number : {"3", "4"}) {
    node.gpus.push_back(
        {.name = std::string("gpu") + number, .type = "sample", .memory_near = "memory1", .nic = "nic0"});
    Link bus = node.links.back();
    bus.name = std::string("bus") + number;
    bus.from = std::string("gpu") + number;
    bus.to = "hub1";
    node.links.push_back(bus);
  }
  for (Link& link : node.links) {
    if (link.name.starts_with("bus")) link.latency = made_up(kBus);
  }
  return platform;
}

std::vector<Place> peers(int count) {
  std::vector<Place> places;
  for (int gpu = 1; gpu <= count; ++gpu) places.push_back({0, gpu, {}});
  return places;
}

void begin_at_once(MeasuredRank& rank) {
  constexpr Seconds kStart{1.0};
  finish(rank, rank.compute(kStart - rank.now(), kOnHost), kLong);
}

}  // namespace twinlink::model::testing
