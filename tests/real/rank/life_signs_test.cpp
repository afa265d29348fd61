#include "real/rank/life_signs.hpp"

#include <gtest/gtest.h>

#include <chrono>

namespace twinlink::real {
namespace {

constexpr RankId kPeer{1};

/// On a clock that only the test moves.
class LifeSignsTest : public testing::Test {
 protected:
  LifeSignsTest() { self.attach(kPeer, peer.token()); }
  /// The silence of the peer when so much time has passed.
  double after(int milliseconds) {
    now += std::chrono::milliseconds(milliseconds);
    return self.silence_of(kPeer).value();
  }

  LifeSigns::Clock::time_point now{std::chrono::hours(1)};
  LifeSigns self{[this] { return now; }};
  LifeSigns peer;
};

TEST_F(LifeSignsTest, SilenceGrowsFromTheFirstQuestionOnAndEndsWithASignOfLife) {
  for (int i = 0; i < 2; ++i) {
    EXPECT_DOUBLE_EQ(after(500), 0);
    EXPECT_DOUBLE_EQ(after(250), 0.25);
    EXPECT_DOUBLE_EQ(after(2000), 2.25);
    EXPECT_DOUBLE_EQ(after(0), 2.25);
    peer.show();
  }
}

TEST_F(LifeSignsTest, WhatNobodyHasAskedForIsForgotten) {
  EXPECT_DOUBLE_EQ(after(0), 0);
  EXPECT_DOUBLE_EQ(after(2000), 2);
  EXPECT_DOUBLE_EQ(after(2001), 0) << "it may have gone on in between, and stopped again";
  EXPECT_DOUBLE_EQ(after(1000), 1);
}

TEST_F(LifeSignsTest, NobodyKnowsWhetherAStrangerIsSilent) {
  for (int i = 0; i < 3; ++i) {
    now += std::chrono::seconds(1);
    EXPECT_EQ(self.silence_of(RankId{2}), Seconds{});
  }
}

}  // namespace
}  // namespace twinlink::real
