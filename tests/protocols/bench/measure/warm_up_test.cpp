#include "protocols/bench/measure/warm_up.hpp"

#include <gtest/gtest.h>

#include "protocols/bench/measure/collectives.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

bool never() { return false; }
int alone(int mine) { return mine; }

TEST(WarmUp, EndsWithTheFirstRoundThatSetsNothingUp) {
  run_fake_world({.ranks = 1}, [](MeasuredRank& rank) {
    SetUpRank ready(rank);
    WarmUp warm_up(ready, never, alone);
    EXPECT_EQ(warm_up(0, [] {}).size(), 1U);
    EXPECT_EQ(warm_up(4, [] {}).size(), 4U);
    int left = 3;
    EXPECT_EQ(warm_up(1,
                      [&] {
                        for (int i = 0; i < left; ++i)
                          ready.release(ready.allocate(Memory::device, 8_B, Locality::near));
                        if (left > 0) --left;
                      })
                  .size(),
              4U);
  });
}

TEST(WarmUp, EndsWhereEveryRoundSetsTheSameUp) {
  run_fake_world({.ranks = 1}, [](MeasuredRank& rank) {
    SetUpRank ready(rank);
    WarmUp warm_up(ready, never, alone);
    const auto round = [&] { ready.release(ready.allocate(Memory::device, 8_B, Locality::near)); };
    EXPECT_EQ(warm_up(1, round).size(), 2U);
  });
}

TEST(WarmUp, WaitsForAHandshakeButNotForEver) {
  run_fake_world({.ranks = 1}, [](MeasuredRank& rank) {
    SetUpRank ready(rank);
    int uses = 0;
    WarmUp soon(
        ready, [&] { return uses < 7; }, alone);
    EXPECT_EQ(soon(1, [&] { ++uses; }).size(), 7U);
    WarmUp at_no_time(
        ready, [] { return true; }, alone);
    EXPECT_EQ(at_no_time(1, [] {}).size(), 21U);
    EXPECT_EQ(at_no_time(1, [] {}).size(), 1U) << "once is enough";
  });
}

TEST(WarmUp, IsAgreedUponByAllRanks) {
  run_fake_world({.ranks = 3}, [](MeasuredRank& rank) {
    SetUpRank ready(rank);
    WarmUp warm_up(ready, never, [&](int mine) { return least_of_all(rank, mine, Patience::of_turn(Seconds{10})); });
    int left = rank.id().value;  // rank 2 is ready last
    EXPECT_EQ(warm_up(1,
                      [&] {
                        if (left-- > 0) ready.check_peer_access(RankId{0});
                        if (left == 1) ready.release(ready.allocate(Memory::device, 8_B, Locality::near));
                      })
                  .size(),
              3U);
  });
}

}  // namespace
}  // namespace twinlink::bench
