// Rules about copies of blocks that lie apart.
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr std::uint64_t kRows = 20;
constexpr Bytes kWidth = 48_B;
constexpr Bytes kPitch = 112_B;
constexpr Bytes kPacked = kWidth * kRows;
constexpr Bytes kSpread = kPitch * kRows;

/// Rows at kPitch in one memory, packed in the other.
std::vector<Block> rows(bool pack) {
  std::vector<Block> blocks;
  for (std::uint64_t row = 0; row < kRows; ++row) {
    const Bytes packed = kWidth * row;
    const Bytes spread = kPitch * row;
    blocks.push_back(pack ? Block{packed, spread, kWidth} : Block{spread, packed, kWidth});
  }
  return blocks;
}

/// Each row of a spread memory holds a pattern of its own, and what lies between is untouched.
void fill_rows(MeasuredRank& rank, View spread) {
  rank.fill(spread, kSentinel);
  for (std::uint64_t row = 0; row < kRows; ++row) rank.fill(spread.slice(kPitch * row, kWidth), Payload{100 + row});
}
void fill_packed(MeasuredRank& rank, View packed) {
  for (std::uint64_t row = 0; row < kRows; ++row) rank.fill(packed.slice(kWidth * row, kWidth), Payload{100 + row});
}

TEST(Blocks, RowsArePackedAndSpreadByEngineAndKernel) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory memory : {Memory::device, Memory::pinned}) {
      for (const Engine engine : {Engine::dma, Engine::kernel}) {
        const Scratch spread(rank, Memory::device, kSpread);
        const Scratch packed(rank, memory, kPacked);
        fill_rows(rank, spread.view());
        finish(rank, rank.copy_blocks(packed.view(), spread.view(), rows(true), Stream{0}, engine));
        for (std::uint64_t row = 0; row < kRows; ++row) {
          EXPECT_TRUE(rank.check(packed.slice(kWidth * row, kWidth), Payload{100 + row}).intact());
        }
        rank.fill(spread.view(), kSentinel);
        fill_packed(rank, packed.view());
        finish(rank, rank.copy_blocks(spread.view(), packed.view(), rows(false), Stream{0}, engine));
        for (std::uint64_t row = 0; row < kRows; ++row) {
          EXPECT_TRUE(rank.check(spread.slice(kPitch * row, kWidth), Payload{100 + row}).intact());
        }
      }
    }
  });
}

TEST(Blocks, WhatLiesBetweenIsLeftAlone) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch spread(rank, Memory::device, kSpread);
    const Scratch packed(rank, Memory::device, kPacked);
    const Bytes gap = kPitch - kWidth;
    for (std::uint64_t row = 0; row < kRows; ++row) rank.fill(spread.slice(kPitch * row + kWidth, gap), Payload{7});
    fill_packed(rank, packed.view());
    finish(rank, rank.copy_blocks(spread.view(), packed.view(), rows(false), Stream{0}, Engine::kernel));
    for (std::uint64_t row = 0; row < kRows; ++row) {
      EXPECT_TRUE(rank.check(spread.slice(kPitch * row + kWidth, gap), Payload{7}).intact());
    }
  });
}

TEST(Blocks, AKernelMovesAnyList) {
  on_every_rank([](MeasuredRank& rank) {
    const std::vector<Block> blocks{{0_B, 3000_B, 17_B}, {100_B, 0_B, 1_B}, {50_B, 64_B, 33_B}};
    const Scratch from(rank, Memory::device, 4000_B);
    const Scratch to(rank, Memory::device, 200_B);
    for (std::uint64_t i = 0; i < blocks.size(); ++i)
      rank.fill(from.slice(blocks[i].from, blocks[i].length), Payload{i + 1});
    finish(rank, rank.copy_blocks(to.view(), from.view(), blocks, Stream{3}, Engine::kernel));
    for (std::uint64_t i = 0; i < blocks.size(); ++i) {
      EXPECT_TRUE(rank.check(to.slice(blocks[i].to, blocks[i].length), Payload{i + 1}).intact());
    }
    EXPECT_THROW(rank.copy_blocks(to.view(), from.view(), blocks, Stream{3}, Engine::dma), UsageError);
  });
}

TEST(Blocks, WhatMakesNoSenseIsRefused) {
  on_every_rank([](Rank& rank) {
    const Scratch from(rank, Memory::device, 1000_B);
    const Scratch to(rank, Memory::device, 100_B);
    const auto refused = [&](const std::vector<Block>& blocks) {
      EXPECT_THROW(rank.copy_blocks(to.view(), from.view(), blocks, Stream{0}, Engine::kernel), UsageError);
    };
    refused({});
    refused({{0_B, 0_B, 0_B}});
    refused({{90_B, 0_B, 11_B}});
    refused({{0_B, 990_B, 11_B}});
    refused({{0_B, 0_B, 11_B}, {10_B, 100_B, 11_B}});  // they overlap
    const Scratch host(rank, Memory::pinned, 100_B);
    const std::vector<Block> one{{0_B, 0_B, 10_B}};
    EXPECT_THROW(rank.copy_blocks(to.view(), from.view(), one, Stream{0}, Engine::resident), UsageError);
    EXPECT_THROW(rank.copy_blocks(host.view(), host.view(), one, Stream{0}, Engine::dma), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::contract
