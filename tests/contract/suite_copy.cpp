// Rules about copies within a rank.
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Payload kCopiedContent{21};

TEST(Copy, WorksBetweenEveryPairOfMemoryKinds) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory source : kAllMemories) {
      for (const Memory target : kAllMemories) {
        const Scratch from(rank, source, 100'000_B);
        const Scratch to(rank, target, 100'000_B);
        rank.fill(from.view(), kCopiedContent);
        rank.fill(to.view(), kSentinel);
        copy_now(rank, to.view(), from.view());
        const Verdict verdict = rank.check(to.view(), kCopiedContent);
        EXPECT_TRUE(verdict.intact()) << to_string(source) << " to " << to_string(target) << ": " << to_string(verdict);
        EXPECT_TRUE(rank.check(from.view(), kCopiedContent).intact()) << "a copy leaves its source as it was";
      }
    }
  });
}

TEST(Copy, WorksWithHostMemoryNearAndFar) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch device(rank, Memory::device, 5000_B);
    for (const Memory kind : {Memory::pinned, Memory::pageable, Memory::shared_pinned}) {
      const Buffer near = rank.allocate(kind, 5000_B, Locality::near);
      const Buffer far = rank.allocate(kind, 5000_B, Locality::far);
      rank.fill(View(near), kCopiedContent);
      copy_now(rank, device.view(), View(near));
      copy_now(rank, View(far), device.view());
      EXPECT_TRUE(rank.check(View(far), kCopiedContent).intact()) << to_string(kind);
      rank.release(near);
      rank.release(far);
    }
  });
}

TEST(Copy, MovesTheViewAndNothingBesideIt) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory source : kAllMemories) {
      for (const Memory target : kAllMemories) {
        const Scratch from(rank, source, 1000_B);
        const Scratch to(rank, target, 1000_B);
        rank.fill(from.view(), Payload{22});
        rank.fill(from.slice(101_B, 333_B), kCopiedContent);
        const View left = to.slice(0_B, 517_B);
        const View middle = to.slice(517_B, 333_B);
        const View right = to.slice(850_B, 150_B);
        for (const View part : {left, middle, right}) rank.fill(part, kSentinel);
        copy_now(rank, middle, from.slice(101_B, 333_B));
        EXPECT_TRUE(rank.check(left, kSentinel).intact());
        EXPECT_TRUE(rank.check(middle, kCopiedContent).intact());
        EXPECT_TRUE(rank.check(right, kSentinel).intact());
      }
    }
  });
}

TEST(Copy, OfNothingEndsAndChangesNothing) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::device, 64_B);
    const Scratch to(rank, Memory::pinned, 64_B);
    rank.fill(from.view(), kCopiedContent);
    rank.fill(to.view(), kSentinel);
    copy_now(rank, to.slice(64_B, 0_B), from.slice(10_B, 0_B));
    EXPECT_TRUE(rank.check(to.view(), kSentinel).intact());
  });
}

TEST(Copy, WorksWithinOneBuffer) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      const Scratch scratch(rank, kind, 1000_B);
      rank.fill(scratch.slice(0_B, 500_B), kCopiedContent);
      rank.fill(scratch.slice(500_B, 500_B), kSentinel);
      copy_now(rank, scratch.slice(500_B, 500_B), scratch.slice(0_B, 500_B));
      EXPECT_TRUE(rank.check(scratch.slice(500_B, 500_B), kCopiedContent).intact()) << to_string(kind);
    }
  });
}

TEST(Copy, ByAKernelMovesTheSameBytes) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch pinned(rank, Memory::pinned, 5000_B);
    const Scratch device(rank, Memory::device, 5000_B);
    const Scratch other(rank, Memory::device, 5000_B);
    rank.fill(pinned.view(), kCopiedContent);
    finish(rank, rank.copy(device.view(), pinned.view(), Stream{0}, Engine::kernel));
    finish(rank, rank.copy(other.view(), device.view(), Stream{0}, Engine::kernel));
    EXPECT_TRUE(rank.check(other.view(), kCopiedContent).intact());
  });
}

TEST(Copy, AResidentKernelLeavesAllButTheMemoryOfPeersAlone) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch pinned(rank, Memory::pinned, 1000_B);
    const Scratch device(rank, Memory::device, 1000_B);
    const Scratch other(rank, Memory::device, 1000_B);
    EXPECT_THROW(rank.copy(device.view(), pinned.view(), Stream{0}, Engine::resident), UsageError);
    EXPECT_THROW(rank.copy(pinned.view(), device.view(), Stream{0}, Engine::resident), UsageError);
    EXPECT_THROW(rank.copy(other.view(), device.view(), Stream{0}, Engine::resident), UsageError);
  });
}

TEST(Copy, ByTheCpuMovesTheSameBytesAndHasEndedWhenItReturns) {
  on_every_rank([](MeasuredRank& rank) {
    const RankId peer{rank.id().value == 0 ? 1 : 0};
    if (!rank.path_to(peer).cpu_reaches_device) return;
    const Scratch pageable(rank, Memory::pageable, 5000_B);
    const Scratch device(rank, Memory::device, 5000_B);
    const Scratch pinned(rank, Memory::pinned, 5000_B);
    rank.fill(pageable.view(), kCopiedContent);
    finish(rank, rank.copy(device.view(), pageable.view(), Stream{0}, Engine::cpu));
    const Op op = rank.copy(pinned.view(), device.view(), Stream{0}, Engine::cpu);
    EXPECT_TRUE(rank.check(pinned.view(), kCopiedContent).intact());
    finish(rank, op);
    EXPECT_THROW(rank.copy(pinned.view(), pageable.view(), Stream{0}, Engine::cpu), UsageError);
  });
}

TEST(Copy, CopiesOfOneStreamRunInOrder) {
  on_every_rank([](MeasuredRank& rank) {
    constexpr Bytes kSize = 300'000_B;
    const Scratch pinned(rank, Memory::pinned, kSize);
    const Scratch device(rank, Memory::device, kSize);
    const Scratch back(rank, Memory::pinned, kSize);
    for (std::uint64_t round = 0; round < 4; ++round) {
      rank.fill(pinned.view(), Payload{30 + round});
      rank.fill(back.view(), kSentinel);
      const Op in = rank.copy(device.view(), pinned.view(), Stream{3}, Engine::dma);
      const Op out = rank.copy(back.view(), device.view(), Stream{3}, Engine::dma);
      finish(rank, out);
      EXPECT_TRUE(rank.check(back.view(), Payload{30 + round}).intact()) << "the second copy overtook the first";
      finish(rank, in);
    }
  });
}

TEST(Copy, EveryStreamMakesProgress) {
  on_every_rank([](MeasuredRank& rank) {
    constexpr Bytes kSize = 20'000_B;
    const Scratch from(rank, Memory::pinned, kSize);
    const Scratch to(rank, Memory::device, kSize * kStreams);
    rank.fill(from.view(), kCopiedContent);
    std::vector<Op> ops;
    for (int s = 0; s < kStreams; ++s) {
      const View target = to.slice(kSize * static_cast<std::uint64_t>(s), kSize);
      ops.push_back(rank.copy(target, from.view(), Stream{s}, Engine::dma));
    }
    finish_all(rank, ops);
    for (int s = 0; s < kStreams; ++s) {
      EXPECT_TRUE(rank.check(to.slice(kSize * static_cast<std::uint64_t>(s), kSize), kCopiedContent).intact());
    }
  });
}

TEST(Copy, AStreamThatDoesNotExistIsRefused) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 64_B);
    const Scratch to(rank, Memory::device, 64_B);
    for (const int index : {-1, kStreams}) {
      EXPECT_THROW(rank.copy(to.view(), from.view(), Stream{index}, Engine::dma), UsageError);
    }
  });
}

TEST(Copy, ViewsOfDifferentLengthsAreRefused) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 64_B);
    const Scratch to(rank, Memory::device, 64_B);
    EXPECT_THROW(rank.copy(to.view(), from.slice(0_B, 63_B), Stream{0}, Engine::dma), UsageError);
    EXPECT_THROW(rank.copy(to.slice(0_B, 0_B), from.view(), Stream{0}, Engine::dma), UsageError);
  });
}

TEST(Copy, OperationsInFlightHaveDifferentIds) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 64_B);
    const Scratch to(rank, Memory::device, 64_B);
    const Op a = rank.copy(to.view(), from.view(), Stream{0}, Engine::dma);
    const Op b = rank.copy(to.view(), from.view(), Stream{0}, Engine::dma);
    EXPECT_NE(a, b);
    EXPECT_NE(a, Op{}) << "0 is no operation";
    EXPECT_NE(b, Op{}) << "0 is no operation";
    finish_all(rank, {a, b});
  });
}

TEST(Compute, HoldsUpTheCopiesBehindItInItsStream) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 5000_B);
    const Scratch to(rank, Memory::device, 5000_B);
    rank.fill(from.view(), kCopiedContent);
    const Op computing = rank.compute(200.0_us, Stream{3});
    const Op copying = rank.copy(to.view(), from.view(), Stream{3}, Engine::dma);
    finish(rank, copying);
    EXPECT_TRUE(rank.wait_any({&computing, 1}, rank.now()).has_value());
    EXPECT_TRUE(rank.check(to.view(), kCopiedContent).intact());
  });
}

TEST(Compute, OnTheHostEndsAndCanBeGivenUp) {
  on_every_rank([](MeasuredRank& rank) {
    const Op longer = rank.compute(Seconds{0.002}, kOnHost);
    const Op shorter = rank.compute(Seconds{0.001}, kOnHost);
    finish_all(rank, {longer, shorter});
    rank.abandon(rank.compute(Seconds{10}, kOnHost));
  });
}

TEST(Compute, OfNoTimeEndsAndOfLessIsRefused) {
  on_every_rank([](MeasuredRank& rank) {
    finish(rank, rank.compute(Seconds{}, Stream{0}));
    finish(rank, rank.compute(Seconds{}, kOnHost));
    EXPECT_THROW(static_cast<void>(rank.compute(Seconds{-1e-6}, Stream{0})), UsageError);
    EXPECT_THROW(static_cast<void>(rank.compute(1.0_us, Stream{kStreams})), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::contract
