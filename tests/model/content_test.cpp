#include "model/content.hpp"

#include <gtest/gtest.h>

namespace twinlink::model {
namespace {

constexpr Pattern kA{11};
constexpr Pattern kB{12};

Verdict verdict(const Content& content, Bytes at, Bytes length, Pattern pattern) {
  return content.check(at, length, pattern);
}

TEST(Content, HoldsWhatItWasFilledWith) {
  Content content(100_B);
  content.fill(20_B, 30_B, kA);
  EXPECT_TRUE(verdict(content, 20_B, 30_B, kA).intact());
  EXPECT_FALSE(verdict(content, 20_B, 30_B, kB).intact());
  EXPECT_FALSE(verdict(content, 20_B, 31_B, kA).intact());
  EXPECT_FALSE(verdict(content, 21_B, 29_B, kA).intact()) << "the pattern does not start here";
}

TEST(Content, FreshMemoryMatchesNothing) {
  const Content content(8_B);
  EXPECT_EQ(verdict(content, 0_B, 8_B, kA).kind, Verdict::Kind::scrambled);
  EXPECT_EQ(verdict(content, 0_B, 8_B, kSentinel).kind, Verdict::Kind::scrambled);
  EXPECT_TRUE(verdict(content, 3_B, 0_B, kA).intact()) << "nothing to compare";
}

TEST(Content, PiecesInTheirPlacesMakeTheWhole) {
  Content source(64_B);
  source.fill(0_B, 64_B, kA);
  Content target(64_B);
  target.fill(0_B, 64_B, kSentinel);
  target.write(32_B, source.slice(32_B, 32_B));
  target.write(0_B, source.slice(0_B, 32_B));
  EXPECT_TRUE(verdict(target, 0_B, 64_B, kA).intact());
  EXPECT_EQ(target, source);
}

TEST(Content, TellsDroppedFromScrambledAndWhere) {
  Content source(64_B);
  source.fill(0_B, 64_B, kA);
  Content target(64_B);
  target.fill(0_B, 64_B, kSentinel);
  target.write(0_B, source.slice(0_B, 40_B));
  const Verdict dropped = verdict(target, 0_B, 64_B, kA);
  EXPECT_EQ(dropped.kind, Verdict::Kind::dropped);
  EXPECT_EQ(dropped.first_bad, 40_B);

  target.write(40_B, source.slice(16_B, 24_B));  // the right pattern, the wrong bytes of it
  const Verdict scrambled = verdict(target, 0_B, 64_B, kA);
  EXPECT_EQ(scrambled.kind, Verdict::Kind::scrambled);
  EXPECT_EQ(scrambled.first_bad, 40_B);
}

TEST(Content, TornMatchesNothing) {
  Content content(16_B);
  content.fill(0_B, 16_B, kA);
  content.tear();
  EXPECT_FALSE(verdict(content, 0_B, 16_B, kA).intact());
}

}  // namespace
}  // namespace twinlink::model
