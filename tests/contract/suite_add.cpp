// Rules about additions on the device.
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr std::uint64_t kMine = 17;
constexpr std::uint64_t kAdded = 4711;

void add_now(MeasuredRank& rank, View to, View from) {
  EXPECT_EQ(wait(rank, rank.add(to, from, Stream{0}), soon(rank)), Status::delivered);
}

TEST(Add, AddsElementByElement) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Bytes size : {8_B, 16_B, 24_B, 8008_B, 1_MiB + 8_B}) {
      const Scratch to(rank, Memory::device, size);
      const Scratch from(rank, Memory::device, size);
      rank.fill(to.view(), summable(kMine));
      rank.fill(from.view(), summable(kAdded));
      add_now(rank, to.view(), from.view());
      EXPECT_TRUE(rank.check(to.view(), summable(kMine + kAdded)).intact()) << size.count();
      EXPECT_TRUE(rank.check(from.view(), summable(kAdded)).intact()) << "an addition leaves its source as it was";
      add_now(rank, to.view(), from.view());
      EXPECT_TRUE(rank.check(to.view(), summable(kMine + 2 * kAdded)).intact());
    }
  });
}

TEST(Add, TouchesTheViewAndNothingBesideIt) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch to(rank, Memory::device, 1000_B);
    const Scratch from(rank, Memory::device, 1000_B);
    const View left = to.slice(0_B, 104_B);
    const View middle = to.slice(104_B, 640_B);
    const View right = to.slice(744_B, 256_B);
    for (const View part : {left, right}) rank.fill(part, kSentinel);
    rank.fill(middle, summable(kMine));
    rank.fill(from.slice(8_B, 640_B), summable(kAdded));
    add_now(rank, middle, from.slice(8_B, 640_B));
    EXPECT_TRUE(rank.check(left, kSentinel).intact());
    EXPECT_TRUE(rank.check(middle, summable(kMine + kAdded)).intact());
    EXPECT_TRUE(rank.check(right, kSentinel).intact());
  });
}

TEST(Add, OfNothingChangesNothing) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch to(rank, Memory::device, 64_B);
    const Scratch from(rank, Memory::device, 64_B);
    rank.fill(to.view(), summable(kMine));
    rank.fill(from.view(), summable(kAdded));
    add_now(rank, to.slice(8_B, 0_B), from.slice(8_B, 0_B));
    EXPECT_TRUE(rank.check(to.view(), summable(kMine)).intact());
  });
}

TEST(Add, HasItsTurnInTheStream) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch to(rank, Memory::device, 4096_B);
    const Scratch from(rank, Memory::device, 4096_B);
    const Scratch out(rank, Memory::device, 4096_B);
    rank.fill(to.view(), summable(kMine));
    rank.fill(from.view(), summable(kAdded));
    const Op ops[] = {rank.add(to.view(), from.view(), Stream{1}),
                      rank.copy(out.view(), to.view(), Stream{1}, Engine::dma)};
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, soon(rank)), Status::delivered);
    EXPECT_TRUE(rank.check(out.view(), summable(kMine + kAdded)).intact());
  });
}

TEST(Add, OfHostMemoryIsDoneWhenItReturns) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory memory : {Memory::pinned, Memory::pageable}) {
      const Scratch to(rank, memory, 8008_B);
      const Scratch from(rank, memory, 8008_B);
      rank.fill(to.view(), summable(kMine));
      rank.fill(from.view(), summable(kAdded));
      add_now(rank, to.view(), from.view());
      EXPECT_TRUE(rank.check(to.view(), summable(kMine + kAdded)).intact()) << to_string(memory);
      EXPECT_TRUE(rank.check(from.view(), summable(kAdded)).intact());
    }
  });
}

TEST(Add, WhatItCannotAddIsRefused) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch device(rank, Memory::device, 64_B);
    const Scratch host(rank, Memory::pinned, 64_B);
    EXPECT_THROW(static_cast<void>(rank.add(device.view(), host.view(), Stream{0})), UsageError);
    EXPECT_THROW(static_cast<void>(rank.add(host.view(), device.view(), Stream{0})), UsageError);
    EXPECT_THROW(static_cast<void>(rank.add(device.slice(0_B, 8_B), device.slice(16_B, 16_B), Stream{0})), UsageError);
    EXPECT_THROW(static_cast<void>(rank.add(device.slice(0_B, 12_B), device.slice(16_B, 12_B), Stream{0})), UsageError);
    EXPECT_THROW(static_cast<void>(rank.add(device.slice(4_B, 8_B), device.slice(16_B, 8_B), Stream{0})), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::contract
