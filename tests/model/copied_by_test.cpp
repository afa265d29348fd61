// Messages within a node whose bytes a CPU copies: closed forms. All of them share what that CPU copies, and rest while
// it does something else.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "model/simulation.hpp"
#include "protocols/tags.hpp"
#include "tests/model/one_message.hpp"
#include "tests/model/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Rate kSharedMemory{3e9};
const std::vector<Place> kTwo{kFirstPeer, kSecondPeer};
const std::vector<Place> kThree{kFirstPeer, kSecondPeer, kFirstPeer};

Platform copied_by(CopiedBy who) {
  Platform platform = sample_platform();
  platform.intra_node.copied_by = who;
  return platform;
}

void expect_near(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.microseconds(), expected.microseconds(), kTolerance_us);
}

Op send(Rank& rank, int to, Bytes size, Tag tag = tags::kData) {
  return rank.send(RankId{to}, tag, View(rank.allocate(Memory::pinned, size)));
}
Op receive(Rank& rank, int from, Bytes size, Tag tag = tags::kData) {
  return rank.receive(RankId{from}, tag, View(rank.allocate(Memory::pinned, size)));
}
void finish(Rank& rank, Op op) { EXPECT_EQ(wait(rank, op, kLong), Status::delivered); }

/// Ranks 0 and 2 send to rank 1 at once. When the last message is there.
Seconds to_one(CopiedBy who, Bytes size) {
  Seconds end{};
  simulate(copied_by(who), kThree, [&](Rank& rank) {
    if (rank.id().value != 1) return finish(rank, send(rank, 1, size));
    const Op first = receive(rank, 0, size);
    const Op second = receive(rank, 2, size);
    finish(rank, first);
    finish(rank, second);
    end = rank.now();
  });
  return end;
}

/// Rank 1 sends to ranks 0 and 2 at once.
Seconds from_one(CopiedBy who, Bytes size) {
  Seconds end{};
  simulate(copied_by(who), kThree, [&](Rank& rank) {
    if (rank.id().value != 1) {
      finish(rank, receive(rank, 1, size));
      end = std::max(end, rank.now());
      return;
    }
    const Op first = send(rank, 0, size);
    const Op second = send(rank, 2, size);
    finish(rank, first);
    finish(rank, second);
  });
  return end;
}

/// Two ranks send to each other at once.
Seconds both_ways(const Platform& platform, Bytes size) {
  Seconds end{};
  simulate(platform, kTwo, [&](Rank& rank) {
    const int peer = 1 - rank.id().value;
    const Op out = send(rank, peer, size);
    const Op in = receive(rank, peer, size);
    finish(rank, in);
    finish(rank, out);
    end = rank.now();
  });
  return end;
}

TEST(CopiedByNone, MessagesDoNotDisturbEachOther) {
  expect_near(to_one(CopiedBy::none, 1_MiB), kOverhead + 1_MiB / kSharedMemory);
}
TEST(CopiedByNone, NorDoTheOtherWaysMessages) {
  expect_near(both_ways(copied_by(CopiedBy::none), 1_MiB), kOverhead + 1_MiB / kSharedMemory);
}

TEST(CopiedByReceiver, TwoMessagesToOneReceiverTakeTwiceTheTime) {
  expect_near(to_one(CopiedBy::receiver, 1_MiB), kOverhead + 2_MiB / kSharedMemory);
}
/// Each receiver copies its own; the second message starts when the CPU has posted it.
TEST(CopiedByReceiver, TwoMessagesOfOneSenderDoNotDisturbEachOther) {
  expect_near(from_one(CopiedBy::receiver, 1_MiB), kHost + kOverhead + 1_MiB / kSharedMemory);
}
TEST(CopiedByReceiver, EachWayHasAReceiverOfItsOwn) {
  expect_near(both_ways(copied_by(CopiedBy::receiver), 1_MiB), kOverhead + 1_MiB / kSharedMemory);
}

TEST(CopiedByBoth, TwoMessagesToOneReceiverTakeTwiceTheTime) {
  expect_near(to_one(CopiedBy::both, 1_MiB), kOverhead + 2_MiB / kSharedMemory);
}
/// The first one is alone for as long as the CPU posts the second.
TEST(CopiedByBoth, TwoMessagesOfOneSenderTakeTwiceTheTime) {
  expect_near(from_one(CopiedBy::both, 1_MiB), kOverhead + 2_MiB / kSharedMemory);
}
TEST(CopiedByBoth, BothWaysHalveTheRate) {
  expect_near(both_ways(copied_by(CopiedBy::both), 1_MiB), kOverhead + 2_MiB / kSharedMemory);
}

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
  platform.intra_node.piece = Sourced<Bytes>{piece, {Quality::assumed, "a round number"}};
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
  Seconds end{};
  simulate(platform, kTwo, [&](Rank& rank) {
    finish(rank, rank.id().value == 0 ? send(rank, 1, size) : receive(rank, 0, size));
    end = rank.now();
  });
  return end;
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
Seconds two_pieces(const Platform& platform, bool written, Meanwhile meanwhile) {
  Seconds end{};
  simulate(platform, kTwo, [&](Rank& rank) {
    const bool sends = rank.id().value == 0;
    const View views[] = {View(rank.allocate(Memory::pinned, kPiece)), View(rank.allocate(Memory::pinned, kPiece))};
    std::vector<Op> ops;
    for (int i = 0; i < 2; ++i) {
      const Tag tag{tags::kData.value + i};
      if (sends && written) rank.fill(views[i], Pattern{1});
      ops.push_back(sends ? rank.send(RankId{1}, tag, views[i]) : rank.receive(RankId{0}, tag, views[i]));
    }
    if (sends) meanwhile(rank, ops.back());
    for (const Op op : ops) finish(rank, op);
    if (!sends) end = rank.now();
  });
  return end;
}

void nothing(Rank&, Op) {}
constexpr Seconds kTwoPieces = kOverhead + (kFirst * 2 + kPiece) / kSharedMemory;

/// What lies between two messages: the CPU that copies them does it, and does nothing else meanwhile.
TEST(Pieces, AGapIsWorkOfTheSendersCpu) { expect_near(two_pieces(with_gaps(), false, nothing), kTwoPieces + kGap); }

TEST(Pieces, AGapRestsWhileTheSenderDoesSomethingElse) {
  const Seconds end = two_pieces(with_gaps(), false, [](Rank& rank, Op second) {
    EXPECT_FALSE(rank.wait_any({&second, 1}, kOverhead + kFirst / kSharedMemory + kGap / 2));
    const View device(rank.allocate(Memory::device, 1_MiB));
    finish(rank, rank.copy(View(rank.allocate(Memory::pageable, 1_MiB)), device, Stream{}, Engine::dma));
  });
  expect_near(end, kTwoPieces + kGap + kOverhead + 1_MiB / kUp);
}

constexpr Seconds kWritten = 3.0_us;

Platform with_costly_sources(Platform platform) {
  platform.intra_node.cpu_written =
      Sourced<Piecewise>{Piecewise({{Bytes{}, Seconds{}}, {1_B, kWritten}}), {Quality::assumed, "a round number"}};
  return platform;
}

TEST(Pieces, AGapComesBesideTheTimeOfAWrittenSource) {
  expect_near(two_pieces(with_costly_sources(with_gaps()), true, nothing), kTwoPieces + kGap + kWritten * 2);
}

/// It is the CPU that reads what was just written.
TEST(Pieces, ReadingAWrittenSourceRestsWhileTheSenderDoesSomethingElse) {
  const Seconds end = two_pieces(with_costly_sources(with_pieces(kPiece)), true, [](Rank& rank, Op second) {
    EXPECT_FALSE(rank.wait_any({&second, 1}, kOverhead + kWritten / 2));
    const View device(rank.allocate(Memory::device, 1_MiB));
    finish(rank, rank.copy(View(rank.allocate(Memory::pageable, 1_MiB)), device, Stream{}, Engine::dma));
  });
  expect_near(end, kTwoPieces + kWritten * 2 + kOverhead + 1_MiB / kUp);
}

/// Where the link between two memories gives less than the CPUs could copy. It carries the first message out and the
/// second one in at the same time.
TEST(Pieces, AGapIsAsLongBehindANarrowLink) {
  constexpr Rate kNarrow{20e9};
  Platform platform = with_pieces(kPiece);
  platform.intra_node.rate = Sourced<Rate>{Rate{40e9}, {Quality::assumed, "a round number"}};
  const std::vector<Place> far{kLoneGpu, kFirstPeer};
  const auto last = [&](const Platform& of) {
    Seconds end{};
    simulate(of, far, [&](Rank& rank) {
      const bool sends = rank.id().value == 0;
      const auto start = [&](Tag tag) { return sends ? send(rank, 1, kPiece, tag) : receive(rank, 0, kPiece, tag); };
      const Op first = start(tags::kData);
      const Op second = start(Tag{tags::kData.value + 1});
      finish(rank, first);
      finish(rank, second);
      if (!sends) end = rank.now();
    });
    return end;
  };
  platform.intra_node.gap = Sourced<Piecewise>{Piecewise({{Bytes{}, kGap}}), {Quality::assumed, "a round number"}};
  expect_near(last(platform), kOverhead + (kFirst * 2 + kPiece * 2) / kNarrow + kGap);
}

TEST(CopiedBy, EagerMessagesAreCopiedToo) {
  expect_near(to_one(CopiedBy::receiver, kEager), kOverhead + kEager * 2 / kSharedMemory);
}

/// What one message takes whose bytes begin to move at once, and whose rank `who` copies from pageable memory
/// meanwhile.
void expect_rest(CopiedBy copied, int who, bool rests) {
  constexpr Bytes kSize = 8_MiB;
  constexpr Seconds kCopying = kOverhead + 1_MiB / kUp;
  simulate(copied_by(copied), kTwo, [&](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pageable = rank.allocate(Memory::pageable, 1_MiB);
    const Op op = rank.id().value == 0 ? send(rank, 1, kSize) : receive(rank, 0, kSize);
    if (rank.id().value == who) {
      EXPECT_FALSE(rank.wait_any({&op, 1}, Seconds{100e-6}));
      const Seconds start = rank.now();
      finish(rank, rank.copy(View(pageable), View(device), Stream{}, Engine::dma));
      expect_near(rank.now() - start, kCopying);
    }
    finish(rank, op);
    expect_near(rank.now(), kOverhead + kSize / kSharedMemory + (rests ? kCopying : Seconds{}));
  });
}

TEST(CopiedByReceiver, AMessageRestsWhileTheReceiverCopiesSomethingElse) { expect_rest(CopiedBy::receiver, 1, true); }
TEST(CopiedByReceiver, WhatTheSenderDoesIsNoMatter) { expect_rest(CopiedBy::receiver, 0, false); }
TEST(CopiedByBoth, AMessageRestsWhileTheReceiverCopiesSomethingElse) { expect_rest(CopiedBy::both, 1, true); }
TEST(CopiedByBoth, AMessageRestsWhileTheSenderCopiesSomethingElse) { expect_rest(CopiedBy::both, 0, true); }
TEST(CopiedByNone, AMessageGoesOnWhateverTheReceiverDoes) { expect_rest(CopiedBy::none, 1, false); }

TEST(CopiedByReceiver, AMessageRestsAsOftenAsTheReceiverCopiesBetweenHostBuffers) {
  constexpr Bytes kSize = 8_MiB;
  simulate(copied_by(CopiedBy::receiver), kTwo, [&](Rank& rank) {
    if (rank.id().value == 0) return finish(rank, send(rank, 1, kSize));
    const Buffer from = rank.allocate(Memory::pageable, 1_MiB);
    const Buffer to = rank.allocate(Memory::pageable, 1_MiB);
    const Op op = receive(rank, 0, kSize);
    for (int i = 1; i <= 3; ++i) {
      EXPECT_FALSE(rank.wait_any({&op, 1}, rank.now() + 50.0_us));
      finish(rank, rank.copy(View(to), View(from), Stream{}, Engine::dma));
    }
    finish(rank, op);
    expect_near(rank.now(), kOverhead + kSize / kSharedMemory + (kOverhead + 1_MiB / Rate{8e9}) * 3);
  });
}

/// To start a copy keeps the CPU busy, too, even if an engine does the copy.
void expect_rest_for_starts(CopiedBy copied, bool rests) {
  constexpr Bytes kSize = 8_MiB;
  constexpr int kStarts = 10;
  simulate(copied_by(copied), kTwo, [&](Rank& rank) {
    if (rank.id().value == 0) return finish(rank, send(rank, 1, kSize));
    const Buffer device = rank.allocate(Memory::device, 1_KiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_KiB);
    const Op op = receive(rank, 0, kSize);
    EXPECT_FALSE(rank.wait_any({&op, 1}, 50.0_us));
    std::vector<Op> copies;
    for (int i = 0; i < kStarts; ++i) copies.push_back(rank.copy(View(pinned), View(device), Stream{}, Engine::dma));
    expect_near(rank.now(), 50.0_us + kHost * kStarts);
    for (const Op copy : copies) finish(rank, copy);
    finish(rank, op);
    expect_near(rank.now(), kOverhead + kSize / kSharedMemory + (rests ? kHost * kStarts : Seconds{}));
  });
}

TEST(CopiedByReceiver, AMessageRestsWhileTheReceiverStartsCopies) { expect_rest_for_starts(CopiedBy::receiver, true); }
TEST(CopiedByNone, AMessageGoesOnWhileTheReceiverStartsCopies) { expect_rest_for_starts(CopiedBy::none, false); }

/// The message is ready while the receiver's CPU is away.
TEST(CopiedByReceiver, AMessageThatComesMeanwhileBeginsAfterwards) {
  constexpr Bytes kSize = 8_MiB;
  constexpr Seconds kCopying = kOverhead + 4_MiB / kUp;
  simulate(copied_by(CopiedBy::receiver), kTwo, [&](Rank& rank) {
    if (rank.id().value == 0) return finish(rank, send(rank, 1, kSize));
    const Buffer device = rank.allocate(Memory::device, 4_MiB);
    const Buffer pageable = rank.allocate(Memory::pageable, 4_MiB);
    const Op op = receive(rank, 0, kSize);
    finish(rank, rank.copy(View(pageable), View(device), Stream{}, Engine::dma));
    finish(rank, op);
    expect_near(rank.now(), kCopying + kSize / kSharedMemory);
  });
}

/// Its library goes on, for whoever ends his job waits for its messages.
TEST(CopiedByBoth, ARankWhoseCodeHasEndedGoesOnCopying) {
  constexpr Bytes kSize = 8_MiB;
  simulate(copied_by(CopiedBy::both), kTwo, [&](Rank& rank) {
    if (rank.id().value == 0) {
      send(rank, 1, kSize);
      return;
    }
    finish(rank, receive(rank, 0, kSize));
    expect_near(rank.now(), kOverhead + kSize / kSharedMemory);
  });
}

/// One message of 1 MiB between places, whose source the sender's CPU has just written.
void expect_written_message(const Platform& platform, const std::vector<Place>& places, Seconds expected) {
  simulate(platform, places, [&](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, 1_MiB));
    if (rank.id().value == 0) rank.fill(view, Pattern{1});
    finish(rank,
           rank.id().value == 0 ? rank.send(RankId{1}, tags::kData, view) : rank.receive(RankId{0}, tags::kData, view));
    expect_near(rank.now(), expected);
  });
}

/// Nor does the rate at which they copy say how long it takes the adapter to read what was just written.
TEST(CopiedBy, DoesNotConcernMessagesBetweenNodes) {
  Platform platform = copied_by(CopiedBy::both);
  platform.intra_node.rate = Sourced<Rate>{Rate{4 * kWire.bytes_per_second()}, {Quality::assumed, "a round number"}};
  platform.network->cpu_written = Sourced<Piecewise>{Piecewise(kWritten), {Quality::assumed, "a round number"}};
  expect_written_message(platform, {kLoneGpu, kOtherNode}, kOverhead + kWritten + 1_MiB / kWire);
}

TEST(CopiedByReceiver, ReadsWhatWasJustWrittenItself) {
  expect_written_message(with_costly_sources(copied_by(CopiedBy::receiver)), kTwo,
                         kOverhead + kWritten + 1_MiB / kSharedMemory);
}

TEST(CopiedByNone, WhatWasJustWrittenTakesLongerToo) {
  expect_written_message(with_costly_sources(copied_by(CopiedBy::none)), kTwo,
                         kOverhead + kWritten + 1_MiB / kSharedMemory);
}

}  // namespace
}  // namespace twinlink::model
