// Messages within a node whose bytes a CPU copies: closed forms. All of them share what that CPU copies, and rest while
// it does something else.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "tests/model/engine/messages/copied_messages.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

const std::vector<Place> kThree{kFirstPeer, kSecondPeer, kFirstPeer};

/// Ranks 0 and 2 send to rank 1 at once. When the last message is there.
Seconds to_one(CopiedBy who, Bytes size) {
  return simulated(copied_by(who), kThree, [&](Rank& rank, Seconds& end) {
    if (rank.id().value != 1) return finish(rank, send(rank, 1, size));
    const Op first = receive(rank, 0, size);
    const Op second = receive(rank, 2, size);
    finish(rank, first);
    finish(rank, second);
    end = rank.now();
  });
}

/// Rank 1 sends to ranks 0 and 2 at once.
Seconds from_one(CopiedBy who, Bytes size) {
  return simulated(copied_by(who), kThree, [&](Rank& rank, Seconds& end) {
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
}

/// Each receiver copies its own; the second message of a sender starts when the CPU has posted it, and where both copy
/// the first one is alone for as long. Eager messages are copied too.
TEST(CopiedBy, MessagesShareWhatTheirCpusCopy) {
  using enum CopiedBy;
  constexpr Seconds kAlone = kOverhead + 1_MiB / kSharedMemory;
  constexpr Seconds kShared = kOverhead + 2_MiB / kSharedMemory;
  expect_near(to_one(none, 1_MiB), kAlone);
  expect_near(both_ways(copied_by(none), 1_MiB), kAlone);
  expect_near(to_one(receiver, 1_MiB), kShared);
  expect_near(from_one(receiver, 1_MiB), kHost + kAlone);
  expect_near(both_ways(copied_by(receiver), 1_MiB), kAlone);
  expect_near(to_one(both, 1_MiB), kShared);
  expect_near(from_one(both, 1_MiB), kShared);
  expect_near(both_ways(copied_by(both), 1_MiB), kShared);
  expect_near(to_one(receiver, kEager), kOverhead + kEager * 2 / kSharedMemory);
}

/// What one message takes whose bytes begin to move at once, and whose rank `who` copies from pageable memory
/// meanwhile.
void expect_rest(CopiedBy copied, int who, bool rests) {
  constexpr Bytes kSize = 8_MiB;
  constexpr Seconds kCopying = kOverhead + 1_MiB / kUp;
  simulated(copied_by(copied), kTwo, [&](Rank& rank, Seconds& /*time*/) {
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

TEST(CopiedBy, AMessageRestsWhileWhoeverCopiesItDoesSomethingElse) {
  expect_rest(CopiedBy::receiver, 1, true);
  expect_rest(CopiedBy::receiver, 0, false);
  expect_rest(CopiedBy::both, 1, true);
  expect_rest(CopiedBy::both, 0, true);
  expect_rest(CopiedBy::none, 1, false);
}

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
  simulated(copied_by(copied), kTwo, [&](Rank& rank, Seconds& /*time*/) {
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

TEST(CopiedBy, AMessageRestsWhileItsReceiverStartsCopies) {
  expect_rest_for_starts(CopiedBy::receiver, true);
  expect_rest_for_starts(CopiedBy::none, false);
}

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

}  // namespace
}  // namespace twinlink::model
