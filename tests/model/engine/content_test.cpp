#include "model/engine/memory/content.hpp"
#include "model/engine/memory/sim_memory.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace twinlink::model {
namespace {

constexpr Payload kA{11};
constexpr Payload kB{12};

Verdict verdict(const Content& content, Bytes at, Bytes length, Payload pattern) {
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

/// Stretches of four elements: whoever has one has any other.
TEST(Content, WhatBeginsAgainMayComeFromAnyOfItsBeginnings) {
  const Payload three = summable(3, 4);
  Content source(96_B);
  source.fill(0_B, 96_B, three);
  Content target(96_B);
  target.fill(0_B, 96_B, kSentinel);
  target.write(0_B, source.slice(32_B, 64_B));
  target.write(64_B, source.slice(0_B, 32_B));
  EXPECT_TRUE(verdict(target, 0_B, 96_B, three).intact());
  EXPECT_EQ(target, source);
  EXPECT_FALSE(verdict(target, 0_B, 96_B, summable(3)).intact()) << "it does not begin again";
  target.write(8_B, source.slice(48_B, 8_B));
  EXPECT_EQ(verdict(target, 0_B, 96_B, three).first_bad, 8_B) << "two elements further on in the pattern";
  Content sum(64_B);
  sum.fill(0_B, 64_B, summable(4, 4));
  sum.add(source.slice(32_B, 64_B));
  EXPECT_TRUE(verdict(sum, 0_B, 64_B, summable(7, 4)).intact());
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

TEST(Content, AddsUpElementsThatBelongTogether) {
  const auto of = [](Payload pattern) {
    Content content(64_B);
    content.fill(0_B, 64_B, pattern);
    return content;
  };
  const auto numbers = [&](std::uint64_t value) { return of(summable(value)); };
  const auto sum = [](Content a, const Content& b) {
    a.add(b);
    return a;
  };
  EXPECT_EQ(sum(numbers(1), numbers(2)), numbers(3));
  EXPECT_EQ(sum(numbers(1).slice(8_B, 40_B), numbers(2).slice(8_B, 40_B)), numbers(3).slice(8_B, 40_B));
  const Content nothing(40_B);
  EXPECT_EQ(sum(numbers(1).slice(4_B, 40_B), numbers(2).slice(4_B, 40_B)), nothing) << "no whole elements";
  EXPECT_EQ(sum(numbers(1).slice(8_B, 40_B), numbers(2).slice(16_B, 40_B)), nothing) << "others of their patterns";
  EXPECT_EQ(sum(of(kA), numbers(2)), Content(64_B)) << "no number";
  EXPECT_EQ(sum(numbers(2), of(kA)), Content(64_B));
  EXPECT_EQ(sum(Content(64_B), numbers(2)), Content(64_B));
  // Each of several pieces on its own, whoever has it in pieces.
  Content pieces = numbers(1);
  pieces.write(16_B, numbers(2).slice(16_B, 8_B));
  Content sums = numbers(5);
  sums.write(16_B, numbers(6).slice(16_B, 8_B));
  EXPECT_EQ(sum(pieces, numbers(4)), sums);
  EXPECT_EQ(sum(numbers(4), pieces), sums);
}

TEST(SimMemory, TakesTheFirstGapThatIsLargeEnough) {
  JobMemory job;
  SimMemory memory(RankId{0}, job);
  const auto allocate = [&](Bytes size) { return memory.allocate(Memory::shared_pinned, size, {}); };
  const auto block_of = [&](Buffer buffer) { return memory.export_memory(buffer).address / (2_MiB).count(); };
  EXPECT_EQ(block_of(allocate(0_B)), 1U);
  const Buffer gap = allocate(4_MiB);
  EXPECT_EQ(block_of(gap), 2U);
  EXPECT_EQ(block_of(allocate(2_MiB + 1_B)), 4U);
  memory.release(gap);
  EXPECT_EQ(block_of(allocate(4_MiB + 1_B)), 6U);
  EXPECT_EQ(block_of(allocate(2_MiB)), 2U);
  EXPECT_EQ(block_of(allocate(2_MiB)), 3U) << "just as large";
  EXPECT_EQ(block_of(allocate(1_B)), 9U);
}

/// Against one tag for each byte, which needs no segments.
TEST(Content, IsWhatAListOfBytesWouldBe) {
  constexpr std::uint64_t kSize = 60;
  using Tag = std::pair<std::uint64_t, std::uint64_t>;  // of which pattern, and which byte of it
  Content content{Bytes{kSize}};
  content.fill(0_B, Bytes{kSize}, kSentinel);
  std::vector<Tag> bytes;
  for (std::uint64_t i = 0; i < kSize; ++i) bytes.emplace_back(kSentinel.seed, i);
  std::uint64_t state = 1;
  const auto draw = [&](std::uint64_t below) {
    state = state * 6364136223846793005U + 1442695040888963407U;
    return (state >> 33U) % below;
  };
  for (int step = 0; step < 3000; ++step) {
    const std::uint64_t at = draw(kSize);
    const std::uint64_t length = draw(kSize - at + 1);
    if (step % 3 == 0) {
      const std::uint64_t seed = 1 + draw(3);
      content.fill(Bytes{at}, Bytes{length}, Payload{seed});
      for (std::uint64_t i = 0; i < length; ++i) bytes[at + i] = {seed, i};
    } else {
      const std::uint64_t from = draw(kSize - length + 1);
      content.write(Bytes{at}, content.slice(Bytes{from}, Bytes{length}));
      const std::vector<Tag> moved(bytes.begin() + static_cast<std::ptrdiff_t>(from),
                                   bytes.begin() + static_cast<std::ptrdiff_t>(from + length));
      std::ranges::copy(moved, bytes.begin() + static_cast<std::ptrdiff_t>(at));
    }
    const std::uint64_t seen = draw(kSize);
    Content expected(1_B);
    const auto [seed, index] = bytes[seen];
    Content source{Bytes{index + 1}};
    source.fill(0_B, Bytes{index + 1}, Payload{seed});
    expected.write(0_B, source.slice(Bytes{index}, 1_B));
    ASSERT_EQ(content.slice(Bytes{seen}, 1_B), expected) << "byte " << seen << " after step " << step;
  }
}

}  // namespace
}  // namespace twinlink::model
