// Rules about memory that one rank exports and another opens.
#include <cstring>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Bytes kIpcSize = 10'000_B;
constexpr Payload kSharedContent{61};

/// Runs `owner` on the pair's first rank, with a device buffer of kIpcSize whose handle `guest` gets on the other.
/// Skips pairs that cannot map each other's memory; for those there is a rule of its own.
void on_every_mapped_pair(const std::function<void(MeasuredRank&, RankId peer, Buffer mine)>& owner,
                          const std::function<void(MeasuredRank&, RankId peer, const IpcHandle& theirs)>& guest) {
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    if (!rank.path_to(peer).device_mapping) return;
    if (first(rank, peer)) {
      const Scratch mine(rank, Memory::device, kIpcSize);
      rank.fill(mine.view(), kSharedContent);
      send_control_now(rank, peer, tag(0), ControlMessage(rank.export_memory(mine.buffer())));
      owner(rank, peer, mine.buffer());
      meet(rank, peer);
    } else {
      const ControlMessage handle = recv_control_now(rank, peer, tag(0));
      ASSERT_EQ(handle.bytes().size(), sizeof(IpcHandle));
      guest(rank, peer, handle.as<IpcHandle>());
      meet(rank, peer);
    }
  });
}

TEST(Ipc, AnOpenedBufferHasTheOwnersSizeAndKind) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         const Buffer opened = rank.open_memory(peer, theirs);
                         EXPECT_NE(opened.id, 0U);
                         EXPECT_EQ(opened.size, kIpcSize);
                         EXPECT_EQ(opened.memory, Memory::device);
                         rank.close_memory(opened);
                       });
}

TEST(Ipc, ACopyReadsTheOwnersBytes) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
                         const Buffer opened = rank.open_memory(peer, theirs);
                         const Scratch mine(rank, Memory::device, kIpcSize);
                         rank.fill(mine.view(), kSentinel);
                         copy_now(rank, mine.view(), View(opened));
                         const Verdict verdict = rank.check(mine.view(), kSharedContent);
                         EXPECT_TRUE(verdict.intact()) << to_string(verdict);
                         rank.close_memory(opened);
                       });
}

TEST(Ipc, ACopyWritesTheOwnersBytes) {
  on_every_mapped_pair(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        rank.fill(View(mine, 0_B, 1000_B), kSentinel);
        rank.fill(View(mine, 1000_B, 2000_B), kSentinel);
        rank.fill(View(mine, 3000_B, 7000_B), kSentinel);
        send_control_now(rank, peer, tag(1));
        recv_control_now(rank, peer, tag(2));
        EXPECT_TRUE(rank.check(View(mine, 0_B, 1000_B), kSentinel).intact());
        EXPECT_TRUE(rank.check(View(mine, 1000_B, 2000_B), Payload{62}).intact());
        EXPECT_TRUE(rank.check(View(mine, 3000_B, 7000_B), kSentinel).intact());
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer opened = rank.open_memory(peer, theirs);
        const Scratch mine(rank, Memory::device, 2000_B);
        rank.fill(mine.view(), Payload{62});
        recv_control_now(rank, peer, tag(1));
        copy_now(rank, View(opened, 1000_B, 2000_B), mine.view());
        send_control_now(rank, peer, tag(2));
        rank.close_memory(opened);
      });
}

TEST(Ipc, AHandleMayBeExportedAndOpenedAgain) {
  on_every_mapped_pair(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        send_control_now(rank, peer, tag(1), ControlMessage(rank.export_memory(mine)));
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        rank.close_memory(rank.open_memory(peer, theirs));
        const auto again = recv_control_now(rank, peer, tag(1)).as<IpcHandle>();
        const Buffer opened = rank.open_memory(peer, again);
        const Scratch mine(rank, Memory::device, kIpcSize);
        copy_now(rank, mine.view(), View(opened));
        EXPECT_TRUE(rank.check(mine.view(), kSharedContent).intact());
        rank.close_memory(opened);
      });
}

TEST(Ipc, TwoBuffersOfOneOwnerAreTwo) {
  on_every_mapped_pair(
      [](MeasuredRank& rank, RankId peer, Buffer) {
        const Scratch second(rank, Memory::device, 500_B);
        rank.fill(second.view(), Payload{63});
        send_control_now(rank, peer, tag(1), ControlMessage(rank.export_memory(second.buffer())));
        recv_control_now(rank, peer, tag(2));
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer one = rank.open_memory(peer, theirs);
        const Buffer two = rank.open_memory(peer, recv_control_now(rank, peer, tag(1)).as<IpcHandle>());
        EXPECT_EQ(two.size, 500_B);
        const Scratch mine(rank, Memory::device, 500_B);
        copy_now(rank, mine.view(), View(two));
        EXPECT_TRUE(rank.check(mine.view(), Payload{63}).intact());
        copy_now(rank, mine.view(), View(one, 0_B, 500_B));
        EXPECT_TRUE(rank.check(mine.view(), kSharedContent).intact());
        rank.close_memory(two);
        rank.close_memory(one);
        send_control_now(rank, peer, tag(2));
      });
}

TEST(Ipc, ABufferThatAPeerHasOpenIsNotReleased) {
  on_every_mapped_pair(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(1));
        EXPECT_THROW(rank.release(mine), UsageError);
        send_control_now(rank, peer, tag(2));
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer opened = rank.open_memory(peer, theirs);
        send_control_now(rank, peer, tag(1));
        recv_control_now(rank, peer, tag(2));
        const Scratch mine(rank, Memory::device, kIpcSize);
        copy_now(rank, mine.view(), View(opened));
        EXPECT_TRUE(rank.check(mine.view(), kSharedContent).intact()) << "the refused release spoiled the buffer";
        rank.close_memory(opened);
      });
}

TEST(Ipc, AnOpenedBufferIsClosedAndNotReleased) {
  on_every_mapped_pair([](Rank& rank, RankId, Buffer mine) { EXPECT_THROW(rank.close_memory(mine), UsageError); },
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         const Buffer opened = rank.open_memory(peer, theirs);
                         EXPECT_THROW(rank.release(opened), UsageError);
                         rank.close_memory(opened);
                       });
}

TEST(Ipc, AClosedBufferIsRefused) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         const Scratch mine(rank, Memory::device, kIpcSize);
                         const Buffer opened = rank.open_memory(peer, theirs);
                         rank.close_memory(opened);
                         EXPECT_THROW(rank.close_memory(opened), UsageError);
                         EXPECT_THROW(rank.copy(mine.view(), View(opened), Stream{0}, Engine::dma), UsageError);
                       });
}

TEST(Ipc, ABufferInUseIsNotClosed) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         const Buffer opened = rank.open_memory(peer, theirs);
                         const Scratch mine(rank, Memory::device, kIpcSize);
                         const Op copying = rank.copy(mine.view(), View(opened), Stream{0}, Engine::dma);
                         EXPECT_THROW(rank.close_memory(opened), UsageError);
                         finish(rank, copying);
                         rank.close_memory(opened);
                       });
}

TEST(Ipc, ABufferIsInUseByItsOwnOperationsAndNotByThoseOfAnotherThatIsTheSameMemory) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
                         const Buffer one = rank.open_memory(peer, theirs);
                         const Buffer other = rank.open_memory(peer, theirs);
                         const Scratch mine(rank, Memory::device, kIpcSize);
                         const Op copying = rank.copy(mine.view(), View(one), Stream{0}, Engine::dma);
                         EXPECT_THROW(rank.close_memory(one), UsageError);
                         EXPECT_NO_THROW(rank.close_memory(other));
                         finish(rank, copying);
                         EXPECT_TRUE(rank.check(mine.view(), kSharedContent).intact());
                         rank.close_memory(one);
                       });
}

TEST(Ipc, AForgedHandleIsRefused) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         IpcHandle forged = theirs;
                         for (std::byte& b : forged.token) b = ~b;
                         EXPECT_THROW(static_cast<void>(rank.open_memory(peer, forged)), Error);
                         EXPECT_THROW(static_cast<void>(rank.open_memory(peer, IpcHandle{})), Error);
                       });
}

/// The handle with a larger size wherever it says the size.
IpcHandle enlarged(IpcHandle handle) {
  const std::uint64_t claimed = handle.size + (1_MiB).count();
  for (std::size_t at = 0; at + sizeof claimed <= handle.token.size(); ++at) {
    if (std::memcmp(&handle.token[at], &handle.size, sizeof handle.size) != 0) continue;
    std::memcpy(&handle.token[at], &claimed, sizeof claimed);
  }
  handle.size = claimed;
  return handle;
}

TEST(Ipc, AHandleThatClaimsMoreThanThereIsIsRefused) {
  on_every_mapped_pair([](Rank&, RankId, Buffer) {},
                       [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                         EXPECT_THROW(static_cast<void>(rank.open_memory(peer, enlarged(theirs))), Error);
                       });
}

TEST(Ipc, AHandleOfReleasedMemoryIsRefused) {
  on_every_mapped_pair(
      [](Rank& rank, RankId peer, Buffer) {
        const Buffer gone = rank.allocate(Memory::device, 4_MiB);
        const IpcHandle handle = rank.export_memory(gone);
        rank.release(gone);
        send_control_now(rank, peer, tag(1), ControlMessage(handle));
      },
      [](Rank& rank, RankId peer, const IpcHandle&) {
        const auto stale = recv_control_now(rank, peer, tag(1)).as<IpcHandle>();
        EXPECT_THROW(static_cast<void>(rank.open_memory(peer, stale)), Error);
      });
}

TEST(Ipc, OwnMemoryIsNotOpened) {
  on_every_rank([](Rank& rank) {
    const Scratch mine(rank, Memory::device, kIpcSize);
    const IpcHandle handle = rank.export_memory(mine.buffer());
    EXPECT_THROW(static_cast<void>(rank.open_memory(rank.id(), handle)), UsageError);
  });
}

TEST(Ipc, TheAddressTellsTheBuffersOfARankApart) {
  on_every_rank([](Rank& rank) {
    const Scratch one(rank, Memory::device, kIpcSize);
    const Scratch other(rank, Memory::device, kIpcSize);
    const Scratch host(rank, Memory::shared_pinned, kIpcSize);
    const std::uint64_t address = rank.export_memory(one.buffer()).address;
    EXPECT_EQ(rank.export_memory(one.buffer()).address, address);
    EXPECT_NE(rank.export_memory(other.buffer()).address, address);
    EXPECT_NE(rank.export_memory(host.buffer()).address, address);
  });
}

/// Runs `owner` on the pair's first rank and `guest`, with a handle of the owner's shared pinned memory, on the other.
void on_every_pair_of_a_node(const std::function<void(MeasuredRank&, RankId peer, Buffer mine)>& owner,
                             const std::function<void(MeasuredRank&, RankId peer, const IpcHandle& theirs)>& guest) {
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    if (!rank.path_to(peer).same_node) return;
    if (first(rank, peer)) {
      const Buffer mine = rank.allocate(Memory::shared_pinned, kIpcSize);
      rank.fill(View(mine), kSharedContent);
      send_control_now(rank, peer, tag(0), ControlMessage(rank.export_memory(mine)));
      owner(rank, peer, mine);
    } else {
      const ControlMessage handle = recv_control_now(rank, peer, tag(0));
      guest(rank, peer, handle.as<IpcHandle>());
    }
    meet(rank, peer);
  });
}

TEST(Ipc, SharedPinnedMemoryIsReadAndWrittenByItsNeighbours) {
  on_every_pair_of_a_node(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(1));
        EXPECT_TRUE(rank.check(View(mine), Payload{64}).intact());
        rank.release(mine);
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer opened = rank.open_memory(peer, theirs);
        EXPECT_EQ(opened.size, kIpcSize);
        EXPECT_EQ(opened.memory, Memory::shared_pinned);
        const Scratch device(rank, Memory::device, kIpcSize);
        copy_now(rank, device.view(), View(opened));
        EXPECT_TRUE(rank.check(device.view(), kSharedContent).intact());
        rank.fill(device.view(), Payload{64});
        copy_now(rank, View(opened), device.view());
        rank.close_memory(opened);
        send_control_now(rank, peer, tag(1));
      });
}

TEST(Ipc, SharedPinnedMemoryStaysForThePeersThatHaveItOpen) {
  on_every_pair_of_a_node(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(1));
        rank.release(mine);
        send_control_now(rank, peer, tag(2));
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer opened = rank.open_memory(peer, theirs);
        send_control_now(rank, peer, tag(1));
        recv_control_now(rank, peer, tag(2));
        const Scratch device(rank, Memory::device, kIpcSize);
        copy_now(rank, device.view(), View(opened));
        EXPECT_TRUE(rank.check(device.view(), kSharedContent).intact());
        rank.close_memory(opened);
        EXPECT_THROW(static_cast<void>(rank.open_memory(peer, theirs)), Error) << "its owner has released it";
      });
}

TEST(Ipc, AForgedHandleOfSharedPinnedMemoryIsRefused) {
  on_every_pair_of_a_node([](Rank& rank, RankId, Buffer mine) { rank.release(mine); },
                          [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                            IpcHandle forged = theirs;
                            for (std::byte& b : forged.token) b = ~b;
                            EXPECT_THROW(static_cast<void>(rank.open_memory(peer, forged)), Error);
                          });
}

TEST(Ipc, AHandleOfSharedPinnedMemoryThatClaimsMoreThanThereIsIsRefused) {
  on_every_pair_of_a_node([](Rank&, RankId, Buffer) {},
                          [](Rank& rank, RankId peer, const IpcHandle& theirs) {
                            EXPECT_THROW(static_cast<void>(rank.open_memory(peer, enlarged(theirs))), Error);
                          });
}

TEST(Ipc, AKernelReachesTheSharedPinnedMemoryOfEveryNeighbour) {
  on_every_pair_of_a_node(
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(1));
        EXPECT_TRUE(rank.check(View(mine), Payload{65}).intact());
        rank.release(mine);
      },
      [](MeasuredRank& rank, RankId peer, const IpcHandle& theirs) {
        const Buffer opened = rank.open_memory(peer, theirs);
        const Scratch device(rank, Memory::device, kIpcSize);
        finish(rank, rank.copy(device.view(), View(opened), Stream{0}, Engine::kernel));
        EXPECT_TRUE(rank.check(device.view(), kSharedContent).intact());
        rank.fill(device.view(), Payload{65});
        finish(rank, rank.copy(View(opened), device.view(), Stream{0}, Engine::kernel));
        rank.close_memory(opened);
        send_control_now(rank, peer, tag(1));
      });
}

TEST(Ipc, SharedPinnedMemoryOfAnotherNodeIsUnavailable) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (rank.path_to(peer).same_node) return;
    const Scratch mine(rank, Memory::shared_pinned, kIpcSize);
    const auto theirs = swap_with(rank, peer, rank.export_memory(mine.buffer()));
    EXPECT_THROW(static_cast<void>(rank.open_memory(peer, theirs)), UnavailableError);
    meet(rank, peer);
  });
}

TEST(Ipc, WhatOtherProcessesCannotMapIsNotExported) {
  on_every_rank([](Rank& rank) {
    for (const Memory kind : {Memory::pageable, Memory::pinned}) {
      const Scratch host(rank, kind, kIpcSize);
      EXPECT_THROW(static_cast<void>(rank.export_memory(host.buffer())), UsageError) << to_string(kind);
    }
    EXPECT_THROW(static_cast<void>(rank.export_memory(Buffer{})), UsageError);
  });
}

TEST(Ipc, OpeningIsUnavailableWhereThePathRefusesIt) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (rank.path_to(peer).device_mapping || rank.path_to(peer).one_sided) return;
    const Scratch mine(rank, Memory::device, kIpcSize);
    const auto theirs = swap_with(rank, peer, rank.export_memory(mine.buffer()));
    EXPECT_THROW(static_cast<void>(rank.open_memory(peer, theirs)), UnavailableError);
    meet(rank, peer);
  });
}

}  // namespace
}  // namespace twinlink::contract
