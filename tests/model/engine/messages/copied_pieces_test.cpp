// Messages within a node that both CPUs copy piece by piece, and the gap between two of them: closed forms.
#include <gtest/gtest.h>

#include <vector>

#include "tests/model/engine/messages/copied_messages.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

/// A message that is posted behind one of 4 MiB to the same receiver, 1 us later: when it is there, and when both are.
struct BehindALargeOne {
  Seconds small{};
  Seconds both{};
};
BehindALargeOne behind_a_large_one(const Platform& platform, Bytes size) {
  BehindALargeOne ends;
  const Tag other{tags::kData.value + 1};
  simulate(platform, kTwo, [&](Rank& rank) {
    const bool first = rank.id().value == 0;
    const Op large = first ? send(rank, 1, 4_MiB) : receive(rank, 0, 4_MiB);
    const Op small = first ? send(rank, 1, size, other) : receive(rank, 0, size, other);
    finish(rank, small);
    if (!first) ends.small = rank.now();
    finish(rank, large);
    if (!first) ends.both = rank.now();
  });
  return ends;
}

Platform with_pieces(Bytes piece) {
  Platform platform = copied_by(CopiedBy::both);
  platform.intra_node.fragment = Sourced<Bytes>{piece, {Quality::assumed, "a round number"}};
  return platform;
}

constexpr Bytes kPiece = 64_KiB;
/// The sender's CPU copies the first part of a message when it posts it, which is in kHost.
constexpr Bytes kFirst = kPiece - kEager;

/// The small one begins when the first piece of the large one is in; from then on each has half of both CPUs, and the
/// large one the rest when the small one is through.
TEST(Pieces, OfMessagesTakeTurns) {
  const auto [small, both] = behind_a_large_one(with_pieces(kPiece), 1_MiB);
  expect_near(small, kOverhead + (kFirst * 3 + 2_MiB) / kSharedMemory);
  expect_near(both, kOverhead + (kFirst * 2 + 5_MiB) / kSharedMemory);
}

TEST(Pieces, OfALargeMessageLeaveRoomForASmallOne) {
  constexpr Bytes kSmall = 32_KiB;
  const auto [small, both] = behind_a_large_one(with_pieces(kPiece), kSmall);
  expect_near(small, kOverhead + (kFirst + (kSmall - kEager + kSmall) * 2) / kSharedMemory);
  expect_near(both, kOverhead + (kFirst * 2 + 4_MiB) / kSharedMemory);
}

TEST(Pieces, WithoutThemOneMessageFollowsTheOther) {
  const auto [small, both] = behind_a_large_one(copied_by(CopiedBy::both), 1_MiB);
  expect_near(small, kOverhead + 5_MiB / kSharedMemory);
  expect_near(both, kOverhead + 5_MiB / kSharedMemory);
}

/// When the last byte of one message alone is there.
Seconds alone(const Platform& platform, Bytes size) {
  return simulated(platform, kTwo, [&](Rank& rank, Seconds& end) {
    finish(rank, rank.id().value == 0 ? send(rank, 1, size) : receive(rank, 0, size));
    end = rank.now();
  });
}

/// The first piece is copied in while there is nothing to copy out, and the last one out when all is in.
TEST(Pieces, OfOneMessageOverlapButForTheFirstAndTheLast) {
  expect_near(alone(with_pieces(kPiece), 1_MiB), kOverhead + (1_MiB + kFirst) / kSharedMemory);
}
TEST(Pieces, AMessageOfOnlyOneIsCopiedInAndThenOut) {
  expect_near(alone(with_pieces(kPiece), 32_KiB), kOverhead + (32_KiB - kEager + 32_KiB) / kSharedMemory);
}

/// Each on its own CPU, in and then out, at the same time.
TEST(Pieces, BothWaysDoNotDisturbEachOtherInMessagesOfOnlyOne) {
  expect_near(both_ways(with_pieces(kPiece), kPiece), kOverhead + (kFirst + kPiece) / kSharedMemory);
}

/// The receiver's CPU is away until long after the piece has come in.
TEST(Pieces, AreCopiedInWhileTheReceiverDoesSomethingElse) {
  simulate(with_pieces(kPiece), kTwo, [&](Rank& rank) {
    if (rank.id().value == 0) return finish(rank, send(rank, 1, kPiece));
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pageable = rank.allocate(Memory::pageable, 1_MiB);
    const Op op = receive(rank, 0, kPiece);
    finish(rank, rank.copy(View(pageable), View(device), Stream{}, Engine::dma));
    const Seconds back = rank.now();
    finish(rank, op);
    expect_near(rank.now(), back + kPiece / kSharedMemory);
  });
}

constexpr Seconds kGap = 10.0_us;

Platform with_gaps() {
  Platform platform = with_pieces(kPiece);
  platform.intra_node.gap = Sourced<Piecewise>{Piecewise({{Bytes{}, kGap}}), {Quality::assumed, "a round number"}};
  return platform;
}

/// Two messages of a piece; `meanwhile` is done by the sender, who has posted both, with the second one. When both have
/// come.
template <class Meanwhile>
Seconds two_pieces(const Platform& platform, Meanwhile meanwhile) {
  return simulated(platform, kTwo, [&](Rank& rank, Seconds& end) {
    const bool sends = rank.id().value == 0;
    const View views[] = {View(rank.allocate(Memory::pinned, kPiece)), View(rank.allocate(Memory::pinned, kPiece))};
    std::vector<Op> ops;
    for (int i = 0; i < 2; ++i) {
      const Tag tag{tags::kData.value + i};
      ops.push_back(sends ? rank.send(RankId{1}, tag, views[i]) : rank.receive(RankId{0}, tag, views[i]));
    }
    if (sends) meanwhile(rank, ops.back());
    for (const Op op : ops) finish(rank, op);
    if (!sends) end = rank.now();
  });
}

void nothing(Rank&, Op) {}
constexpr Seconds kTwoPieces = kOverhead + (kFirst * 2 + kPiece) / kSharedMemory;

/// What lies between two messages: the CPU that copies them does it, and does nothing else meanwhile.
TEST(Pieces, AGapIsWorkOfTheSendersCpu) { expect_near(two_pieces(with_gaps(), nothing), kTwoPieces + kGap); }

TEST(Pieces, AGapRestsWhileTheSenderDoesSomethingElse) {
  const Seconds end = two_pieces(with_gaps(), [](Rank& rank, Op second) {
    EXPECT_FALSE(rank.wait_any({&second, 1}, kOverhead + kFirst / kSharedMemory + kGap / 2));
    const View device(rank.allocate(Memory::device, 1_MiB));
    finish(rank, rank.copy(View(rank.allocate(Memory::pageable, 1_MiB)), device, Stream{}, Engine::dma));
  });
  expect_near(end, kTwoPieces + kGap + kOverhead + 1_MiB / kUp);
}

/// Where the link between two memories gives less than the CPUs could copy. It carries the first message out and the
/// second one in at the same time.
TEST(Pieces, AGapIsAsLongBehindANarrowLink) {
  constexpr Rate kNarrow{20e9};
  Platform platform = with_pieces(kPiece);
  platform.intra_node.rate = Sourced<Rate>{Rate{40e9}, {Quality::assumed, "a round number"}};
  const std::vector<Place> far{kLoneGpu, kFirstPeer};
  const auto last = [&](const Platform& of) {
    return simulated(of, far, [&](Rank& rank, Seconds& end) {
      const bool sends = rank.id().value == 0;
      const auto start = [&](Tag tag) { return sends ? send(rank, 1, kPiece, tag) : receive(rank, 0, kPiece, tag); };
      const Op first = start(tags::kData);
      const Op second = start(Tag{tags::kData.value + 1});
      finish(rank, first);
      finish(rank, second);
      if (!sends) end = rank.now();
    });
  };
  platform.intra_node.gap = Sourced<Piecewise>{Piecewise({{Bytes{}, kGap}}), {Quality::assumed, "a round number"}};
  expect_near(last(platform), kOverhead + (kFirst * 2 + kPiece * 2) / kNarrow + kGap);
}

}  // namespace
}  // namespace twinlink::model
