// Rules about wait_any() and abandon(): the only call that blocks, and the way out.
#include <optional>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Seconds kShortly{0.02};
/// A wait that nobody ends may come back this much later than asked: real machines are busy.
constexpr Seconds kWaitSlack{5};

/// Three copies that have all ended, though only the last one was waited for: they share a stream.
struct ThreeCopies {
  explicit ThreeCopies(Rank& rank) : from(rank, Memory::pinned, 64_B), to(rank, Memory::device, 64_B) {
    a = rank.copy(to.view(), from.view(), Stream{0}, Engine::dma);
    b = rank.copy(to.view(), from.view(), Stream{0}, Engine::dma);
    finish(rank, rank.copy(to.view(), from.view(), Stream{0}, Engine::dma));
  }
  Scratch from;
  Scratch to;
  Op a{};
  Op b{};
};

TEST(Wait, ReturnsTheFirstInTheSpanOfThoseThatEnded) {
  on_every_rank([](Rank& rank) {
    {
      const ThreeCopies copies(rank);
      const Op span[] = {copies.a, copies.b};
      const auto done = rank.wait_any(span, soon(rank));
      ASSERT_TRUE(done);
      EXPECT_EQ(done->index, 0U);
      EXPECT_EQ(done->status, Status::delivered);
      finish(rank, copies.b);
    }
    const ThreeCopies copies(rank);
    const Op span[] = {copies.b, copies.a};
    const auto done = rank.wait_any(span, soon(rank));
    ASSERT_TRUE(done);
    EXPECT_EQ(done->index, 0U) << "the span's order counts, not the order of the ends";
    finish(rank, copies.a);
  });
}

TEST(Wait, ReturnsTheOneThatEndedWhateverItsPlaceInTheSpan) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (first(rank, peer)) {
      ControlMessage never;
      ControlMessage received;
      const Op span[] = {rank.recv_control(peer, tag(0), never), rank.recv_control(peer, tag(1), received)};
      const auto done = rank.wait_any(span, soon(rank));
      ASSERT_TRUE(done);
      EXPECT_EQ(done->index, 1U);
      EXPECT_EQ(received.as<int>(), 5);
      send_control_now(rank, peer, tag(2));
      finish(rank, span[0]);
    } else {
      send_control_now(rank, peer, tag(1), ControlMessage(5));
      recv_control_now(rank, peer, tag(2));
      send_control_now(rank, peer, tag(0));
    }
  });
}

TEST(Wait, MixesAllKindsOfOperations) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch from(rank, Memory::pinned, 5000_B);
    const Scratch into(rank, Memory::pinned, 5000_B);
    const Scratch device(rank, Memory::device, 5000_B);
    rank.fill(from.view(), Payload{51});
    rank.fill(into.view(), kSentinel);
    ControlMessage received;
    finish_all(rank, {rank.copy(device.view(), from.view(), Stream{1}, Engine::dma),
                      rank.receive(peer, tag(0), into.view()), rank.recv_control(peer, tag(1), received),
                      rank.send(peer, tag(0), from.view()), rank.send_control(peer, tag(1), ControlMessage(6))});
    EXPECT_EQ(received.as<int>(), 6);
    EXPECT_TRUE(rank.check(into.view(), Payload{51}).intact());
    EXPECT_TRUE(rank.check(device.view(), Payload{51}).intact());
  });
}

TEST(Wait, UsesTheReturnedOperationUp) {
  on_every_rank([](Rank& rank) {
    const Scratch from(rank, Memory::pinned, 64_B);
    const Scratch to(rank, Memory::device, 64_B);
    const Op op = rank.copy(to.view(), from.view(), Stream{0}, Engine::dma);
    finish(rank, op);
    EXPECT_THROW(static_cast<void>(rank.wait_any({&op, 1}, soon(rank))), UsageError);
    EXPECT_THROW(rank.abandon(op), UsageError);
  });
}

TEST(Wait, AnOperationThatNeverWasIsRefused) {
  on_every_rank([](Rank& rank) {
    for (const Op op : {Op{}, Op{1'000'000'000'000ULL}}) {
      EXPECT_THROW(static_cast<void>(rank.wait_any({&op, 1}, soon(rank))), UsageError);
      EXPECT_THROW(rank.abandon(op), UsageError);
    }
  });
}

TEST(Wait, ForNothingIsRefused) {
  on_every_rank([](Rank& rank) { EXPECT_THROW(static_cast<void>(rank.wait_any({}, soon(rank))), UsageError); });
}

TEST(Wait, ReturnsNothingOnceTheDeadlineHasPassed) {
  on_every_pair([](Rank& rank, RankId peer) {
    ControlMessage received;
    const Op receiving = rank.recv_control(peer, tag(0), received);
    const Seconds deadline = rank.now() + kShortly;
    EXPECT_FALSE(rank.wait_any({&receiving, 1}, deadline));
    EXPECT_GE(rank.now(), deadline);
    EXPECT_LT(rank.now(), deadline + kWaitSlack);
    // The operation is still in flight: it ends when the peer speaks.
    meet(rank, peer);
    const Op sending = rank.send_control(peer, tag(0), ControlMessage(4));
    finish_all(rank, {receiving, sending});
    EXPECT_EQ(received.as<int>(), 4);
  });
}

TEST(Wait, ADeadlineInThePastOnlyLooks) {
  on_every_rank([](Rank& rank) {
    const ThreeCopies copies(rank);
    const Seconds before = rank.now();
    const auto done = rank.wait_any({&copies.a, 1}, Seconds{0});
    EXPECT_LT(rank.now(), before + kWaitSlack);
    if (!done) finish(rank, copies.a);
    finish(rank, copies.b);
  });
}

TEST(Wait, ADeadlineInThePastDoesNotEndWhatIsInFlight) {
  on_every_pair([](Rank& rank, RankId peer) {
    ControlMessage received;
    const Op receiving = rank.recv_control(peer, tag(0), received);
    const Seconds before = rank.now();
    for (int i = 0; i < 10; ++i) EXPECT_FALSE(rank.wait_any({&receiving, 1}, Seconds{0}));
    EXPECT_LT(rank.now(), before + kWaitSlack);
    meet(rank, peer);
    finish_all(rank, {rank.send_control(peer, tag(0), ControlMessage(3)), receiving});
    EXPECT_EQ(received.as<int>(), 3);
  });
}

TEST(Wait, TheHelperAbandonsWhatTimedOut) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Scratch into(rank, Memory::pinned, 64_B);
    const Op receiving = rank.receive(peer, tag(0), into.view());
    EXPECT_EQ(wait(rank, receiving, rank.now() + kShortly), Status::timed_out);
    EXPECT_THROW(static_cast<void>(rank.wait_any({&receiving, 1}, soon(rank))), UsageError);
    meet(rank, peer);
  });
}

TEST(Abandon, GivesTheBufferBackAndKeepsTheJobUsable) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Buffer given_up = rank.allocate(Memory::pinned, 300'000_B);
    rank.abandon(rank.receive(peer, tag(0), View(given_up)));
    rank.release(given_up);
    meet(rank, peer);

    const Scratch from(rank, Memory::pinned, 300'000_B);
    const Scratch into(rank, Memory::pinned, 300'000_B);
    rank.fill(from.view(), Payload{52});
    rank.fill(into.view(), kSentinel);
    finish_all(rank, {rank.receive(peer, tag(1), into.view()), rank.send(peer, tag(1), from.view())});
    EXPECT_TRUE(rank.check(into.view(), Payload{52}).intact());
  });
}

TEST(Abandon, WhatComesTooLateHurtsNobody) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch from(rank, Memory::pinned, 64_B);
    ControlMessage forgotten(1);  // The caller may end its life now; that it lives on here only shows who writes it.
    {
      const Scratch into(rank, Memory::pinned, 64_B);
      rank.abandon(rank.receive(peer, tag(0), into.view()));
      rank.abandon(rank.recv_control(peer, tag(1), forgotten));
    }
    meet(rank, peer);
    // New buffers, perhaps where the old ones were; then the late messages.
    const Scratch innocent(rank, Memory::pinned, 64_B);
    rank.fill(innocent.view(), Payload{53});
    const Op late[] = {rank.send(peer, tag(0), from.view()), rank.send_control(peer, tag(1), ControlMessage(666))};
    meet(rank, peer);
    for (const Op op : late) static_cast<void>(wait(rank, op, rank.now() + kShortly));  // nobody need take them
    meet(rank, peer);
    EXPECT_TRUE(rank.check(innocent.view(), Payload{53}).intact());
    EXPECT_EQ(forgotten.as<int>(), 1) << "an abandoned recv_control was written";
  });
}

TEST(Abandon, ASendThatNobodyTakesCanBeGivenUp) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Buffer from = rank.allocate(Memory::pinned, 8_MiB);
    rank.fill(View(from), Payload{54});
    if (first(rank, peer)) {
      rank.abandon(rank.send(peer, tag(0), View(from)));
    } else {
      rank.abandon(rank.send_control(peer, tag(1), ControlMessage(1)));
    }
    rank.release(from);
    meet(rank, peer);
  });
}

TEST(Abandon, ACopyCanBeGivenUpAndItsStreamGoesOn) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 1_MiB);
    const Buffer given_up = rank.allocate(Memory::device, 1_MiB);
    const Scratch to(rank, Memory::device, 1_MiB);
    rank.fill(from.view(), Payload{55});
    rank.abandon(rank.copy(View(given_up), from.view(), Stream{2}, Engine::dma));
    rank.release(given_up);
    finish(rank, rank.copy(to.view(), from.view(), Stream{2}, Engine::dma));
    EXPECT_TRUE(rank.check(to.view(), Payload{55}).intact());
  });
}

}  // namespace
}  // namespace twinlink::contract
