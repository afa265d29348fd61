// What the CPU does for control messages, and to find out what has ended: closed forms.
#include <gtest/gtest.h>

#include <array>
#include <span>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Seconds kLook = 0.2_us;
constexpr Seconds kSend = 0.05_us;
constexpr Seconds kAtOnce{};  // of the clock at the start: a look, and no waiting

Platform looking_platform() {
  Platform platform = sample_platform();
  platform.runtime.failed_poll = made_up(kLook);
  return platform;
}

constexpr Seconds kCompletion = 0.5_us;

Platform learning_platform() {
  Platform platform = looking_platform();
  platform.runtime.completion = made_up(kCompletion);
  return platform;
}

Op copy(Rank& rank, View to, View from, Stream stream) { return rank.copy(to, from, stream, Engine::dma); }

TEST(Look, AtACopyThatHasNotEndedTakesItsTime) {
  push(looking_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    const Op op = copy(rank, View(theirs), View(own), Stream{0});
    EXPECT_FALSE(rank.wait_any({&op, 1}, kAtOnce));
    EXPECT_FALSE(rank.wait_any({&op, 1}, kAtOnce));
    expect_near(rank.now() - start, kHost + kLook * 2);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kPeer);  // meanwhile the copy goes on
  });
}

/// As posting the smallest message does.
TEST(ControlMessage, KeepsItsSendersCpuBusyForAPartOfTheWay) {
  Platform platform = sample_platform();
  platform.intra_node.send_overhead = made_up(Piecewise({{1_B, kSend}, {1_KiB, 3.0_us}}));
  push(platform, kPeers, 0, [](Rank& rank, Buffer, Buffer) {
    const Seconds start = rank.now();
    const Op op = rank.send_control(RankId{1}, tags::kFirstFree, ControlMessage());
    expect_near(rank.now() - start, kSend);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kSend);
  });
}

TEST(ControlMessage, KeepsTheCpuBusyThatAwaitsIt) {
  Platform platform = sample_platform();
  platform.intra_node.control_receive_overhead = made_up(kSend);
  push(platform, kPeers, 0, [](Rank& rank, Buffer, Buffer) {
    const Seconds start = rank.now();
    ControlMessage received;
    const Op op = rank.recv_control(RankId{1}, tags::kFirstFree, received);
    expect_near(rank.now() - start, kSend);
    rank.abandon(op);
  });
}

/// Each is sent while the CPU is through with the one before. Who awaits two that are on their way has each when it is
/// there, and likewise one that is sent only later.
TEST(ControlMessage, EachComesInItsTurn) {
  simulate(sample_platform(), kPeers, [](MeasuredRank& rank) {
    constexpr int kMessages = 3;
    if (rank.id() == RankId{0}) {
      for (int i = 0; i < kMessages; ++i) {
        EXPECT_EQ(wait(rank, rank.send_control(RankId{1}, tags::kReady, ControlMessage(i)), kLong), Status::delivered);
      }
      return;
    }
    EXPECT_EQ(wait(rank, rank.compute(kControl + kHost / 2, kOnHost), kLong), Status::delivered);
    std::array<ControlMessage, kMessages> heard;
    std::array<Op, kMessages> ops;
    for (std::size_t i = 0; i < ops.size(); ++i) ops[i] = rank.recv_control(RankId{0}, tags::kReady, heard[i]);
    for (int i = 1; i < kMessages; ++i) {
      const auto number = static_cast<std::size_t>(i);
      EXPECT_EQ(wait(rank, ops[number], kLong), Status::delivered);
      expect_near(rank.now(), kControl + kHost * i);
      EXPECT_EQ(heard[number].as<int>(), i);
    }
    EXPECT_EQ(wait(rank, ops[0], kLong), Status::delivered);
    EXPECT_EQ(heard[0].as<int>(), 0);
  });
}

TEST(CompletionOfMessages, KeepsTheSendersCpuBusyThatLearnsThatASendIsOver) {
  Platform platform = sample_platform();
  platform.intra_node.send_completion = made_up(kCompletion);
  simulate(platform, kPeers, [](Rank& rank) {
    const bool sends = rank.id() == RankId{0};
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    const Op op = sends ? rank.send(RankId{1}, tags::kData, view) : rank.receive(RankId{0}, tags::kData, view);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now(), kOverhead + 1_KiB / Rate{3e9} + (sends ? kCompletion : Seconds{}));
  });
}

TEST(Look, OfEachStreamTheOldestCopy) {
  push(looking_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    std::array<Op, 3> ops{};
    ops[0] = copy(rank, View(theirs), View(own), Stream{0});
    ops[1] = copy(rank, View(theirs), View(own), Stream{0});
    ops[2] = copy(rank, View(theirs), View(own), Stream{1});
    const Seconds start = rank.now();
    EXPECT_FALSE(rank.wait_any(ops, kAtOnce));
    expect_near(rank.now() - start, kLook * 2);
    for (const Op op : ops) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
  });
}

/// A kernel that stays on the GPU tells of its ends by a word in memory.
TEST(Look, AtAResidentKernelsCopyIsFree) {
  push(looking_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Op op = rank.copy(View(theirs), View(own), Stream{0}, Engine::resident);
    const Seconds start = rank.now();
    EXPECT_FALSE(rank.wait_any({&op, 1}, kAtOnce));
    expect_near(rank.now() - start, Seconds{});
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
  });
}

/// The first copy has ended when it is looked for, and the one behind it has not.
TEST(Look, FindsWhatHasEndedAndThenTheNextPollFails) {
  push(learning_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    const View part(own, Bytes{}, 1_KiB);
    const Op first = copy(rank, View(theirs, Bytes{}, 1_KiB), part, Stream{0});
    const Op second = copy(rank, View(theirs), View(own), Stream{0});
    EXPECT_EQ(wait(rank, first, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_KiB / kPeer + kCompletion + kLook);
    EXPECT_EQ(wait(rank, second, kLong), Status::delivered);
  });
}

/// Two of seven copies have ended when the last has been started: after each, the newest is asked for in a failed poll,
/// and then the oldest that is left.
TEST(Look, AsksForTheNewestAfterEachThatHasEnded) {
  push(learning_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    std::array<Op, 7> ops{};
    for (std::size_t i = 0; i < ops.size(); ++i) {
      const Bytes size = i < 2 ? 1_KiB : 1_MiB;
      ops[i] = copy(rank, View(theirs, Bytes{}, size), View(own, Bytes{}, size), Stream{0});
    }
    EXPECT_EQ(wait(rank, ops[0], kLong), Status::delivered);
    expect_near(rank.now() - start, kHost * 7 + (kCompletion + kLook) * 2 + kLook);
    for (const Op op : std::span(ops).subspan(1)) EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
  });
}

TEST(Look, AtControlMessagesIsFree) {
  simulate(looking_platform(), kPeers, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    ControlMessage received;
    const Op receive = rank.recv_control(peer, tags::kReady, received);
    const Seconds start = rank.now();
    EXPECT_FALSE(rank.wait_any({&receive, 1}, kAtOnce));
    expect_near(rank.now() - start, Seconds{});
    EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, ControlMessage()), kLong), Status::delivered);
    EXPECT_EQ(wait(rank, receive, kLong), Status::delivered);
  });
}

constexpr Seconds kTakenIn = 0.75_us;

/// When rank 1 has each of two messages that came long before it looks for them.
std::array<Seconds, 2> learnt_after(Bytes size) {
  Platform platform = sample_platform();
  platform.intra_node.completion = made_up(Piecewise({{1_B, kTakenIn}}));
  std::array<Seconds, 2> learnt{};
  simulate(platform, kPeers, [&](Rank& rank) {
    std::array<Op, 2> ops{};
    for (Op& op : ops) {
      const View view(rank.allocate(Memory::pinned, size));
      op = rank.id().value == 0 ? rank.send(RankId{1}, tags::kData, view) : rank.receive(RankId{0}, tags::kData, view);
    }
    if (rank.id().value == 1) {  // its CPU copies until both have come
      const Buffer memory = rank.allocate(Memory::pageable, 128_MiB);
      rank.copy({memory, 64_MiB, 64_MiB}, {memory, {}, 64_MiB}, Stream{}, Engine::dma);
    }
    const Seconds start = rank.now();
    for (std::size_t i = 0; i < ops.size(); ++i) {
      EXPECT_EQ(wait(rank, ops[i], kLong), Status::delivered);
      if (rank.id().value == 1) learnt[i] = rank.now() - start;
    }
  });
  return learnt;
}

TEST(CompletionOfMessages, KeepsTheReceiversCpuBusyForEachThatHasCome) {
  const auto [first, second] = learnt_after(1_KiB);
  expect_near(first, kTakenIn * 2);  // one look finds both
  expect_near(second, kTakenIn * 2);
}

/// The receive comes late, and the message is there: it is still one of the network, and not of a node.
TEST(CompletionOfMessages, OfAMessageFromAnotherNodeIsTheNetworks) {
  Platform platform = sample_platform();
  platform.intra_node.completion = made_up(Piecewise({{1_B, 100.0_us}}));
  platform.network.value().completion = made_up(Piecewise({{1_B, kTakenIn}}));
  simulate(platform, std::vector{Place{0, 0}, Place{1, 0}}, [](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send(RankId{1}, tags::kData, view), kLong), Status::delivered);
      return;
    }
    const Buffer memory = rank.allocate(Memory::pageable, 128_MiB);
    rank.copy({memory, 64_MiB, 64_MiB}, {memory, {}, 64_MiB}, Stream{}, Engine::dma);
    const Op receive = rank.receive(RankId{0}, tags::kData, view);
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, receive, kLong), Status::delivered);
    expect_near(rank.now() - start, kTakenIn);
  });
}

TEST(CompletionOfMessages, IsOfEagerOnes) {
  const auto [first, second] = learnt_after(1_MiB);
  expect_near(first, Seconds{});
  expect_near(second, Seconds{});
}

}  // namespace
}  // namespace twinlink::model
