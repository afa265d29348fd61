// What a copy costs beside overhead, latency and flow: the engine's gap in a stream, and the CPU that learns of its
// end. Closed forms on the sample machine.
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <vector>

#include "model/engine/rank/sim_rank.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Seconds kCopyGap = 2.0_us;
constexpr Seconds kCompletion = 1.5_us;

Platform with_gap() {
  Platform platform = sample_platform();
  platform.copies[CopyKind::pinned_to_device].gap = made_up(Piecewise(kCopyGap));
  return platform;
}

Platform with_completion() {
  Platform platform = sample_platform();
  platform.runtime.completion = made_up(kCompletion);
  return platform;
}

/// Device and pinned memory of a rank that is alone on its machine.
void alone(const Platform& platform, const std::function<void(MeasuredRank&, Buffer device, Buffer pinned)>& body) {
  simulate(platform, std::vector{kLoneGpu}, [&](MeasuredRank& rank) {
    body(rank, rank.allocate(Memory::device, 4_MiB), rank.allocate(Memory::pinned, 4_MiB));
  });
}

/// Much longer than what is under way takes: the CPU copies, and looks at nothing else.
void pass_time(Rank& rank) {
  const Buffer memory = rank.allocate(Memory::pageable, 128_MiB);
  rank.copy({memory, 64_MiB, 64_MiB}, {memory, {}, 64_MiB}, Stream{1}, Engine::dma);
}

// ---- gap -----------------------------------------------------------------------------------------------------

TEST(Gap, SeparatesTheFlowsOfAStream) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds start = rank.now();
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ops.push_back(rank.copy({device, 1_MiB * i, 1_MiB}, {pinned, 1_MiB * i, 1_MiB}, Stream{}, Engine::dma));
    }
    for (std::size_t i = 0; i < 4; ++i) {
      EXPECT_EQ(wait(rank, ops[i], kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + 1_MiB * (i + 1) / kDown + kCopyGap * static_cast<double>(i));
    }
  });
}

/// Small copies hide behind it what they take to start.
TEST(Gap, IsThePeriodOfSmallCopies) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds start = rank.now();
    Op last{};
    constexpr double kCopies = 16;
    for (int i = 0; i < kCopies; ++i) last = rank.copy({device, {}, 4_B}, {pinned, {}, 4_B}, Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, last, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 4_B / kDown * kCopies + kCopyGap * (kCopies - 1));
  });
}

TEST(Gap, HidesBehindTheLatencyOfACopyThatComesLate) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const auto copy = [&] { return rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, Engine::dma); };
    EXPECT_EQ(wait(rank, copy(), kLong), Status::delivered);
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, copy(), kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kDown);
  });
}

/// The latency is over half a gap after the end of the copy before it.
TEST(Gap, IsCountedFromTheEndOfTheCopyBefore) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const auto copy = [&] { return rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, Engine::dma); };
    const Seconds first_end = rank.now() + kOverhead + 1_MiB / kDown;
    const Op first = copy();
    EXPECT_FALSE(rank.wait_any({&first, 1}, first_end + kCopyGap / 2 - kOverhead));
    const Op second = copy();
    EXPECT_EQ(wait(rank, second, kLong), Status::delivered);
    expect_near(rank.now(), first_end + kCopyGap + 1_MiB / kDown);
    EXPECT_EQ(wait(rank, first, kLong), Status::delivered);
  });
}

TEST(Gap, IsThatOfTheCopyThatWaits) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds start = rank.now();
    rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, Engine::dma);
    const Op up = rank.copy({pinned, 2_MiB, 1_MiB}, {device, 2_MiB, 1_MiB}, Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, up, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kDown + 1_MiB / kUp);
  });
}

TEST(Gap, IsNoneBetweenStreams) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds start = rank.now();
    rank.copy({device, {}, 4_B}, {pinned, {}, 4_B}, Stream{0}, Engine::dma);
    const Op other = rank.copy({device, {}, 4_B}, {pinned, {}, 4_B}, Stream{1}, Engine::dma);
    EXPECT_EQ(wait(rank, other, kLong), Status::delivered);
    expect_near(rank.now() - start, kHost + kOverhead + 4_B / kDown);
  });
}

TEST(Gap, ComesBeforeTheTimeOfBlocks) {
  alone(with_gap(), [](Rank& rank, Buffer device, Buffer pinned) {
    std::vector<Block> blocks;
    for (std::uint64_t i = 0; i < 8; ++i) blocks.push_back({8_KiB * i, 8_KiB * i, 4_KiB});
    const Seconds start = rank.now();
    const Op first = rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, Engine::dma);
    const Op second = rank.copy_blocks(View(device), View(pinned), blocks, Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, first, kLong), Status::delivered);
    EXPECT_EQ(wait(rank, second, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kDown + kCopyGap + kEngineBlock * 8 + 32_KiB / kDown);
  });
}

// ---- completion -----------------------------------------------------------------------------------------------------

TEST(Completion, KeepsTheCpuBusyThatWaitedForACopy) {
  alone(with_completion(), [](Rank& rank, Buffer device, Buffer pinned) {
    for (const Engine engine : {Engine::dma, Engine::kernel}) {
      const Seconds start = rank.now();
      const Op op = rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, engine);
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + 1_MiB / kDown + kCompletion);
    }
  });
}

TEST(Completion, IsPaidForEachCopyByWhoeverWaits) {
  alone(with_completion(), [](Rank& rank, Buffer device, Buffer pinned) {
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < 3; ++i) {
      ops.push_back(rank.copy({device, 1_MiB * i, 1_MiB}, {pinned, 1_MiB * i, 1_MiB}, Stream{}, Engine::dma));
    }
    const Seconds all_ended = rank.now() - kHost * 3 + kOverhead + 3_MiB / kDown;
    EXPECT_EQ(wait(rank, ops[2], kLong), Status::delivered);
    expect_near(rank.now(), all_ended + kCompletion);
    // Their ends were found on the way.
    EXPECT_EQ(wait(rank, ops[0], kLong), Status::delivered);
    EXPECT_EQ(wait(rank, ops[1], kLong), Status::delivered);
    expect_near(rank.now(), all_ended + kCompletion);
  });
}

/// The CPU has made it itself, and looks at nothing to know that it has ended.
TEST(Completion, OfOthersIsNotPaidByWhoeverWaitsForACopyBetweenHostBuffers) {
  Platform platform = with_completion();
  platform.runtime.failed_poll = made_up(0.2_us);
  alone(platform, [](Rank& rank, Buffer device, Buffer pinned) {
    const Op copy = rank.copy({device, {}, 1_KiB}, {pinned, {}, 1_KiB}, Stream{}, Engine::dma);
    const Buffer memory = rank.allocate(Memory::pageable, 128_MiB);
    const Op by_cpu = rank.copy({memory, 64_MiB, 64_MiB}, {memory, {}, 64_MiB}, Stream{1}, Engine::dma);
    Seconds start = rank.now();  // the other one has ended long ago
    EXPECT_EQ(wait(rank, by_cpu, kLong), Status::delivered);
    expect_near(rank.now() - start, Seconds{});
    start = rank.now();
    EXPECT_EQ(wait(rank, copy, kLong), Status::delivered);
    expect_near(rank.now() - start, kCompletion);
  });
}

/// Where the newest has ended, all have: nobody asks for those between.
TEST(Completion, OfTheOldestAndTheNewestTellsForAll) {
  alone(with_completion(), [](Rank& rank, Buffer device, Buffer pinned) {
    std::vector<Op> ops;
    for (std::uint64_t i = 0; i < 4; ++i) {
      ops.push_back(rank.copy({device, 1_MiB * i, 1_MiB}, {pinned, 1_MiB * i, 1_MiB}, Stream{}, Engine::dma));
    }
    pass_time(rank);
    const Seconds start = rank.now();
    for (const Op op : ops) {
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      expect_near(rank.now() - start, kCompletion * 2);
    }
  });
}

TEST(Completion, OfACopyThatHasEndedOutlastsTheDeadline) {
  alone(with_completion(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds end = rank.now() + kOverhead + 1_MiB / kDown;
    const Op op = rank.copy({device, {}, 1_MiB}, {pinned, {}, 1_MiB}, Stream{}, Engine::dma);
    EXPECT_FALSE(rank.wait_any({&op, 1}, end - 0.5_us));
    expect_near(rank.now(), end - 0.5_us);
    EXPECT_TRUE(rank.wait_any({&op, 1}, end + 0.5_us));
    expect_near(rank.now(), end + kCompletion);
  });
}

TEST(Completion, LetsEnginesGoOnMeanwhile) {
  alone(with_completion(), [](Rank& rank, Buffer device, Buffer pinned) {
    const Seconds start = rank.now();
    const Op first = rank.copy({device, {}, 4_KiB}, {pinned, {}, 4_KiB}, Stream{}, Engine::dma);
    const Op second = rank.copy({device, {}, 4_KiB}, {pinned, {}, 4_KiB}, Stream{}, Engine::dma);
    EXPECT_EQ(wait(rank, first, kLong), Status::delivered);
    EXPECT_EQ(wait(rank, second, kLong), Status::delivered);
    const Seconds both = kOverhead + 8_KiB / kDown;
    expect_near(rank.now() - start, std::max(kOverhead + 4_KiB / kDown + kCompletion, both) + kCompletion);
  });
}

TEST(Completion, IsNoneForCopiesBetweenHostBuffersAndForMessages) {
  simulate(with_completion(), std::vector{kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pinned, 1_MiB);
    const Seconds start = rank.now();
    const Op op =
        rank.id().value == 0 ? rank.send(peer, tags::kData, View(host)) : rank.receive(peer, tags::kData, View(host));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kWire);
    const Buffer other = rank.allocate(Memory::pageable, 1_MiB);
    const Seconds copy_start = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(View(other), View(host), Stream{}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - copy_start, kOverhead + 1_MiB / Rate{8e9});
  });
}

/// What observers are told of the copies of gpudirect-v1 adds up to the time of the message.
TEST(Completion, IsAPartOfTheReportsThatAddUp) {
  std::vector<OpReport> reports;
  Seconds arrived{};
  const auto body = [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    const auto finish = [&](Op op) { EXPECT_EQ(wait(rank, op, kLong), Status::delivered); };
    if (rank.id().value == 0) {
      finish(rank.copy(View(pinned), View(device), Stream{}, Engine::dma));
      finish(rank.send(peer, tags::kData, View(pinned)));
      return;
    }
    finish(rank.receive(peer, tags::kData, View(pinned)));
    finish(rank.copy(View(device), View(pinned), Stream{}, Engine::dma));
    arrived = rank.now();
  };
  simulate(with_completion(), std::vector{kLoneGpu, kOtherNode}, body,
           {.observer = [&](const OpReport& report) { reports.push_back(report); }});
  Seconds sum{};
  for (const OpReport& report : reports) {
    if (report.verb == "receive") continue;
    sum = sum + report.overhead + report.latency + report.flow + report.completion;
    expect_near(report.ended - report.started, report.overhead + report.latency + report.flow);
  }
  expect_near(arrived, sum);
  expect_near(arrived, kOverhead * 3 + 1_MiB / kUp + 1_MiB / kWire + 1_MiB / kDown + kCompletion * 2);
}

}  // namespace
}  // namespace twinlink::model
