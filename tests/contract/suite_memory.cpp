// Rules about buffers and their content.
#include <algorithm>
#include <limits>
#include <optional>
#include <set>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Payload kFilledContent{11};
constexpr Payload kOther{12};

/// Two patterns may agree in a few bytes by chance, so the first wrong byte may come a little later.
void expect_first_bad_near(const Verdict& verdict, Bytes offset) {
  EXPECT_GE(verdict.first_bad, offset);
  EXPECT_LT(verdict.first_bad, offset + 16_B);
}

TEST(Memory, ABufferHasTheKindAndTheSizeThatWereAskedFor) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      for (const Locality locality : {Locality::near, Locality::far}) {
        const Buffer buffer = rank.allocate(kind, 4097_B, locality);
        EXPECT_EQ(buffer.memory, kind);
        EXPECT_EQ(buffer.size, 4097_B);
        rank.fill(View(buffer), kFilledContent);
        EXPECT_TRUE(rank.check(View(buffer), kFilledContent).intact()) << to_string(kind);
        rank.release(buffer);
      }
    }
  });
}

TEST(Memory, BuffersThatLiveTogetherHaveDifferentIds) {
  on_every_rank([](Rank& rank) {
    std::set<std::uint32_t> ids;
    std::vector<Buffer> buffers;
    for (int i = 0; i < 32; ++i) buffers.push_back(rank.allocate(kAllMemories[i % 4], 16_B));
    for (const Buffer& buffer : buffers) ids.insert(buffer.id);
    EXPECT_EQ(ids.size(), buffers.size());
    EXPECT_FALSE(ids.contains(0)) << "0 is no buffer";
    for (const Buffer& buffer : buffers) rank.release(buffer);
  });
}

TEST(Memory, ABufferMayBeEmpty) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      const Scratch empty(rank, kind, 0_B);
      EXPECT_NE(empty.buffer().id, 0U);
      rank.fill(empty.view(), kFilledContent);
      EXPECT_TRUE(rank.check(empty.view(), kOther).intact());
    }
  });
}

TEST(Memory, AViewMayBeEmptyEvenAtTheEnd) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch scratch(rank, Memory::device, 64_B);
    rank.fill(scratch.view(), kFilledContent);
    for (const Bytes offset : {0_B, 32_B, 64_B}) {
      rank.fill(scratch.slice(offset, 0_B), kOther);
      EXPECT_TRUE(rank.check(scratch.slice(offset, 0_B), kSentinel).intact());
    }
    EXPECT_TRUE(rank.check(scratch.view(), kFilledContent).intact());
  });
}

TEST(Memory, AViewOutsideItsBufferIsRefused) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch scratch(rank, Memory::pinned, 64_B);
    const Scratch other(rank, Memory::pinned, 128_B);
    const Bytes huge{std::numeric_limits<std::uint64_t>::max()};
    for (const View bad : {scratch.slice(0_B, 65_B), scratch.slice(64_B, 1_B), scratch.slice(65_B, 0_B),
                           scratch.slice(huge, 2_B), scratch.slice(2_B, huge)}) {
      EXPECT_THROW(rank.fill(bad, kFilledContent), UsageError);
      EXPECT_THROW(static_cast<void>(rank.check(bad, kFilledContent)), UsageError);
      EXPECT_THROW(rank.send(peer, tag(0), bad), UsageError);
      EXPECT_THROW(rank.receive(peer, tag(0), bad), UsageError);
      if (bad.length > other.buffer().size) continue;
      EXPECT_THROW(rank.copy(other.slice(0_B, bad.length), bad, Stream{0}, Engine::dma), UsageError);
      EXPECT_THROW(rank.copy(bad, other.slice(0_B, bad.length), Stream{0}, Engine::dma), UsageError);
    }
  });
}

TEST(Memory, TheSizeThatAHandleClaimsDoesNotWidenItsBuffer) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch scratch(rank, Memory::pinned, 64_B);
    Buffer forged = scratch.buffer();
    forged.size = 1_MiB;
    EXPECT_THROW(rank.fill(View(forged), kFilledContent), UsageError);
  });
}

TEST(Memory, AReleasedBufferIsRefused) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Memory kind : kAllMemories) {
      const Scratch alive(rank, kind, 64_B);
      const Buffer gone = rank.allocate(kind, 64_B);
      rank.release(gone);
      EXPECT_THROW(rank.fill(View(gone), kFilledContent), UsageError);
      EXPECT_THROW(static_cast<void>(rank.check(View(gone), kFilledContent)), UsageError);
      EXPECT_THROW(rank.copy(View(gone), alive.view(), Stream{0}, Engine::dma), UsageError);
      EXPECT_THROW(rank.copy(alive.view(), View(gone), Stream{0}, Engine::dma), UsageError);
      EXPECT_THROW(rank.send(peer, tag(0), View(gone)), UsageError);
      EXPECT_THROW(rank.receive(peer, tag(0), View(gone)), UsageError);
      EXPECT_THROW(rank.release(gone), UsageError) << "released twice";
    }
  });
}

TEST(Memory, ABufferThatNeverWasIsRefused) {
  on_every_rank([](MeasuredRank& rank) {
    const Buffer none{};
    const Buffer unknown{.id = 4'000'000'000U, .memory = Memory::pinned, .size = 64_B};
    for (const Buffer& bad : {none, unknown}) {
      EXPECT_THROW(rank.release(bad), UsageError);
      EXPECT_THROW(rank.fill(View(bad), kFilledContent), UsageError);
    }
  });
}

TEST(Memory, ABufferInUseIsNotReleased) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    if (first(rank, peer)) {
      const Scratch into(rank, Memory::pageable, 64_B);
      const Op receiving = rank.receive(peer, tag(0), into.view());
      EXPECT_THROW(rank.release(into.buffer()), UsageError);
      send_control_now(rank, peer, tag(1));
      finish(rank, receiving);
      EXPECT_TRUE(rank.check(into.view(), kFilledContent).intact()) << "the refused release spoiled the buffer";
    } else {
      const Scratch from(rank, Memory::pageable, 64_B);
      rank.fill(from.view(), kFilledContent);
      recv_control_now(rank, peer, tag(1));
      finish(rank, rank.send(peer, tag(0), from.view()));
    }
    meet(rank, peer);
  });
}

TEST(Content, AFilledViewIsIntact) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      for (const Bytes size : {1_B, 3_B, 4096_B, 1_MiB + 1_B}) {
        const Scratch scratch(rank, kind, size);
        rank.fill(scratch.view(), kFilledContent);
        EXPECT_TRUE(rank.check(scratch.view(), kFilledContent).intact()) << to_string(kind) << " " << size.count();
      }
    }
  });
}

TEST(Content, PatternsOfDifferentSeedsDiffer) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch scratch(rank, Memory::device, 4096_B);
    for (std::uint64_t seed = 1; seed < 40; ++seed) {
      rank.fill(scratch.view(), Payload{seed});
      EXPECT_FALSE(rank.check(scratch.view(), Payload{seed + 1}).intact()) << seed;
      EXPECT_FALSE(rank.check(scratch.view(), kSentinel).intact()) << seed;
    }
  });
}

TEST(Content, WhatWasNeverWrittenIsDropped) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      const Scratch scratch(rank, kind, 4096_B);
      for (const Bytes written : {0_B, 1_B, 100_B, 4080_B}) {
        rank.fill(scratch.view(), kSentinel);
        rank.fill(scratch.slice(0_B, written), kFilledContent);
        const Verdict verdict = rank.check(scratch.view(), kFilledContent);
        EXPECT_EQ(verdict.kind, Verdict::Kind::dropped) << to_string(verdict);
        expect_first_bad_near(verdict, written);
      }
    }
  });
}

TEST(Content, WhatWasWrittenWronglyIsScrambled) {
  on_every_rank([](MeasuredRank& rank) {
    for (const Memory kind : kAllMemories) {
      const Scratch scratch(rank, kind, 4096_B);
      for (const Bytes intact : {0_B, 1_B, 100_B, 4000_B}) {
        rank.fill(scratch.view(), kFilledContent);
        rank.fill(scratch.slice(intact, 64_B), kOther);
        const Verdict verdict = rank.check(scratch.view(), kFilledContent);
        EXPECT_EQ(verdict.kind, Verdict::Kind::scrambled) << to_string(verdict);
        expect_first_bad_near(verdict, intact);
      }
    }
  });
}

TEST(Content, ChunksInTheWrongOrderAreScrambled) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch from(rank, Memory::pinned, 3072_B);
    const Scratch to(rank, Memory::pinned, 3072_B);
    rank.fill(from.view(), kFilledContent);
    rank.fill(to.view(), kSentinel);
    copy_now(rank, to.slice(0_B, 1024_B), from.slice(0_B, 1024_B));
    copy_now(rank, to.slice(1024_B, 1024_B), from.slice(2048_B, 1024_B));
    copy_now(rank, to.slice(2048_B, 1024_B), from.slice(1024_B, 1024_B));
    const Verdict verdict = rank.check(to.view(), kFilledContent);
    EXPECT_EQ(verdict.kind, Verdict::Kind::scrambled) << to_string(verdict);
    expect_first_bad_near(verdict, 1024_B);
  });
}

TEST(Content, APatternDependsOnTheViewAndNotOnItsPlace) {
  on_every_rank([](MeasuredRank& rank) {
    const Scratch here(rank, Memory::pinned, 512_B);
    const Scratch there(rank, Memory::device, 512_B);
    rank.fill(here.slice(7_B, 200_B), kFilledContent);
    copy_now(rank, there.slice(300_B, 200_B), here.slice(7_B, 200_B));
    EXPECT_TRUE(rank.check(there.slice(300_B, 200_B), kFilledContent).intact());
    EXPECT_TRUE(rank.check(there.slice(300_B, 100_B), kFilledContent).intact()) << "a view's beginning is a view";
    EXPECT_FALSE(rank.check(there.slice(301_B, 199_B), kFilledContent).intact());
  });
}

/// Who waits must see that a rank lives which fills or compares much; zero everywhere where nobody can stop.
TEST(Content, WhoFillsOrComparesALongViewShowsSignsOfLife) {
  constexpr Bytes kLong = 128_MiB;
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const bool compares : {false, true}) {
      if (first(rank, peer)) {
        const Scratch work(rank, Memory::pageable, kLong);
        if (compares) rank.fill(work.view(), kFilledContent);
        meet(rank, peer);
        if (compares) {
          EXPECT_TRUE(rank.check(work.view(), kFilledContent).intact());
        } else {
          rank.fill(work.view(), kFilledContent);
        }
        send_control_now(rank, peer, tag(0));
      } else {
        meet(rank, peer);
        ControlMessage done;
        const Op message = rank.recv_control(peer, tag(0), done);
        const Seconds began = rank.now();
        Seconds longest{};
        while (!rank.wait_any({&message, 1}, rank.now() + Seconds{1e-4})) {
          longest = std::max(longest, rank.silence_of(peer));
        }
        EXPECT_LE(longest.value(), (rank.now() - began).value() / 3) << (compares ? "comparing" : "filling");
      }
    }
  });
}

TEST(MemoryBeside, IsCopiedToAndFromLikeTheRanksOwn) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    std::optional<Buffer> beside;
    try {
      beside = rank.allocate_beside(peer, 5000_B);
    } catch (const UnavailableError&) {
      return;  // another node, a device that this process does not see, or a backend without such processes
    }
    const Scratch own(rank, Memory::device, 5000_B);
    rank.fill(own.view(), Payload{77});
    rank.fill(View(*beside), kSentinel);
    finish(rank, rank.copy(View(*beside), own.view(), Stream{0}, Engine::dma));
    EXPECT_TRUE(rank.check(View(*beside), Payload{77}).intact());
    rank.fill(own.view(), kSentinel);
    finish(rank, rank.copy(own.view(), View(*beside), Stream{0}, Engine::dma));
    EXPECT_TRUE(rank.check(own.view(), Payload{77}).intact());
    rank.release(*beside);
    EXPECT_THROW(rank.release(*beside), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::contract
