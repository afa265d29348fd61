#include "real/rank/life_signs.hpp"

#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

constexpr RankId kPeer{1};

class LifeSignsTest : public testing::Test {
 protected:
  LifeSignsTest() { self.attach(kPeer, peer.token()); }
  /// Asks until the silence is longer than it was; false: it never is.
  bool grows_beyond(Seconds silence) {
    for (int asked = 0; asked < 1'000'000; ++asked) {
      if (self.silence_of(kPeer) > silence) return true;
    }
    return false;
  }

  LifeSigns self;
  LifeSigns peer;
};

TEST_F(LifeSignsTest, SilenceGrowsFromTheFirstQuestionOn) {
  EXPECT_EQ(self.silence_of(kPeer), Seconds{});
  Seconds before{};
  for (int i = 0; i < 3; ++i) {
    EXPECT_TRUE(grows_beyond(before));
    before = self.silence_of(kPeer);
  }
}

TEST_F(LifeSignsTest, ASignOfLifeEndsIt) {
  EXPECT_TRUE(grows_beyond(Seconds{}));
  for (int i = 0; i < 2; ++i) {
    peer.show();
    EXPECT_EQ(self.silence_of(kPeer), Seconds{});
    EXPECT_TRUE(grows_beyond(Seconds{}));
  }
}

TEST_F(LifeSignsTest, NobodyKnowsWhetherAStrangerIsSilent) {
  for (int i = 0; i < 3; ++i) EXPECT_EQ(self.silence_of(RankId{2}), Seconds{});
}

}  // namespace
}  // namespace twinlink::real
