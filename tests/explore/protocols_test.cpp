#include <gtest/gtest.h>
#include <cstdio>
#include <cstdlib>
#include <chrono>

#include "protocols/registry.hpp"
#include "tests/explore/scenario.hpp"

namespace twinlink::explore {
namespace {

Body both_ways(std::string_view name, int rank, int messages, Settings settings) {
  return [=](Rank& r, Witness& witness) {
    const Protocol& protocol = find_protocol(name);
    const RankId peer{1 - rank};
    std::vector<View> out, in;
    for (int i = 0; i < messages; ++i) {
      out.emplace_back(r.allocate(protocol.message_memory(), 64_B));
      in.emplace_back(r.allocate(protocol.message_memory(), 64_B));
      r.fill(out.back(), Pattern{static_cast<std::uint64_t>(100 * rank + i + 1)});
      r.fill(in.back(), kSentinel);
    }
    {
      const auto channel = protocol.connect(r, peer, settings);
      const Outcome outcome = channel->exchange(out, in);
      witness.ending(to_string(outcome.status));
      for (int i = 0; i < messages; ++i)
        witness.require(r.check(in[static_cast<std::size_t>(i)], Pattern{static_cast<std::uint64_t>(100 * (1 - rank) + i + 1)}).intact(), "content");
    }
  };
}

TEST(Explore, Speed) {
  const char* name = std::getenv("P") ? std::getenv("P") : "gpudirect-v2";
  const int n = std::getenv("N") ? std::atoi(std::getenv("N")) : 2;
  const int depth = std::getenv("D") ? std::atoi(std::getenv("D")) : 2;
  Settings settings{.depth = depth};
  Scenario scenario{.bodies = {both_ways(name, 0, n, settings), both_ways(name, 1, n, settings)}};
  if (std::getenv("RDV")) scenario.eager_limit = 0_B;
  Limits limits;
  if (std::getenv("BYTES")) { limits.likeness = Likeness::bytes; limits.compare_looks = true; }
  if (std::getenv("NONE")) limits.reduction = Reduction::none;
  const auto start = std::chrono::steady_clock::now();
  const ExploreResult result = explore(scenario, limits);
  const double s = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::printf("ambiguous %lu\n", result.ambiguous); std::printf("%s%.2f s, %.0f states/s %.0f steps/s\n", to_string(result).substr(0,6000).c_str(), s, double(result.states) / s, double(result.steps)/s);
}

}  // namespace
}  // namespace twinlink::explore
