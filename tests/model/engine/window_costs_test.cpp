// What lies between things that follow each other: closed forms. Each is a number that only windows show.
#include <gtest/gtest.h>

#include <array>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Rate kSharedMemory{3e9};
constexpr Seconds kGap = 2.5_us;
constexpr Seconds kBehindSignal = 1.75_us;

/// Two puts of a stream whose queue turns: each signal is seen `between` after the one before it.
void expect_signals(const Platform& platform, Engine engine, Seconds first, Seconds between) {
  push(platform, kPeers, 2, [&](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    Op last{};
    for (const Seconds due : {start + first, start + first + between}) {
      last = rank.put(View(theirs), View(own), Stream{}, engine, signal_due(due));
    }
    EXPECT_EQ(wait(rank, last, kLong), Status::delivered);
  });
}

TEST(SignalGap, ComesBesideTheGapOfTheNextPut) {
  Platform platform = sample_platform();
  platform.copies.at(CopyKind::peer).gap = made_up(Piecewise(kGap));
  platform.runtime.signal_gap = made_up(kBehindSignal);
  const Seconds each = 1_MiB / kPeer + kSignal;
  expect_signals(platform, Engine::dma, kOverhead + each, kBehindSignal + kGap + each);
}

TEST(SignalGap, OfAKernelIsANumberOfItsOwn) {
  constexpr Seconds kKernelSignal = 2.0_us;
  Platform platform = sample_platform();
  platform.copies.at(CopyKind::kernel_push).gap = made_up(Piecewise(kGap));
  platform.runtime.signal_gap = made_up(100.0_us);
  platform.runtime.kernel_signal = made_up(Piecewise(kKernelSignal));
  platform.runtime.kernel_signal_gap = made_up(kBehindSignal);
  const Seconds each = kKernelSignal + 1_MiB / kKernelPush;
  expect_signals(platform, Engine::kernel, kOverhead + each, kBehindSignal + kGap + each);
}

/// When rank 1 has each of two messages that rank 0 sends at once.
std::array<Seconds, 2> arrivals(const Platform& platform, Bytes size) {
  std::array<Seconds, 2> arrived{};
  simulate(platform, kPeers, [&](Rank& rank) {
    std::array<Op, 2> ops{};
    for (Op& op : ops) {
      const View view(rank.allocate(Memory::pinned, size));
      op = rank.id().value == 0 ? rank.send(RankId{1}, tags::kData, view) : rank.receive(RankId{0}, tags::kData, view);
    }
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(wait(rank, ops[i], kLong), Status::delivered);
      if (rank.id().value == 1) arrived[i] = rank.now();
    }
  });
  return arrived;
}

TEST(Gap, LiesBetweenTheBytesOfTwoMessages) {
  constexpr Seconds kMessageGap = 40.0_us;
  Platform platform = sample_platform();
  platform.intra_node.gap = made_up(Piecewise({{1_KiB, Seconds{}}, {1_MiB, kMessageGap}}));
  const auto [first, second] = arrivals(platform, 1_MiB);
  expect_near(second - first, kMessageGap + 1_MiB / kSharedMemory);
}

TEST(Gap, IsNothingToTheFirstMessage) {
  Platform platform = sample_platform();
  platform.intra_node.gap = made_up(Piecewise({{1_MiB, 40.0_us}}));
  expect_near(arrivals(platform, 1_MiB)[0], kOverhead + 1_MiB / kSharedMemory);
}

TEST(PeerRead, HasANumberOfItsOwnWhereThePlatformTellsOne) {
  Platform platform = sample_platform();
  platform.copies[CopyKind::peer_read] = platform.copies.at(CopyKind::peer);
  platform.copies.at(CopyKind::peer_read).latency = made_up(Piecewise({{1_B, 7.0_us}}));
  push(platform, kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(own), View(theirs), Stream{}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - start, kHost + 7.0_us + 1_MiB / kPeer);
    start = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(theirs), View(own), Stream{}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kPeer);
  });
}

}  // namespace
}  // namespace twinlink::model
