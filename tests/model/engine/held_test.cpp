// What it adds that a CPU holds what a device is to write. Closed forms on the sample machine.
#include <gtest/gtest.h>

#include <array>
#include <functional>
#include <vector>

#include "model/engine/sim_rank.hpp"
#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kOwnCache = 2_MiB;
constexpr Bytes kSize = 256_KiB;
constexpr Seconds kHeld = 8.0_us;  ///< of 1 MiB; a quarter of it takes a quarter of that

const Source kGuess{Quality::assumed, "a round number"};

Platform with_own_caches() {
  Platform platform = sample_platform();
  for (HostMemory& memory : platform.node.memories) memory.core_cache = Sourced<Bytes>{kOwnCache, kGuess};
  platform.copies[CopyClass::device_to_pinned_near].cpu_held =
      Sourced<Piecewise>{Piecewise({{Bytes{}, Seconds{}}, {1_MiB, kHeld}}), kGuess};
  platform.intra_node.copied_by = CopiedBy::both;
  platform.intra_node.rate = Sourced<Rate>{Rate{3e9}, kGuess};
  return platform;
}

/// What a copy out takes, of as many bytes as fit.
Seconds copy_out(Rank& rank, View pinned, View device) {
  const Seconds before = rank.now();
  wait(rank, rank.copy(pinned, device.slice(Bytes{}, pinned.length), Stream{0}, Engine::dma), kLong);
  return rank.now() - before;
}

constexpr Seconds copied_out(Bytes size) { return kHost + kLatency + size / kUp; }

/// The memories of a rank that is alone on its machine.
struct Memories {
  View device;
  View pinned;
  View pageable;
};
void alone(const Platform& platform, const std::function<void(Rank&, const Memories&)>& body) {
  simulate(platform, std::vector{kLoneGpu}, [&](Rank& rank) {
    body(rank, {View(rank.allocate(Memory::device, 4_MiB)), View(rank.allocate(Memory::pinned, 4_MiB)),
                View(rank.allocate(Memory::pageable, 4_MiB))});
  });
}

/// This rank's CPU reads so much.
void read(Rank& rank, View from, View to) {
  wait(rank, rank.copy(to.slice(Bytes{}, from.length), from, Stream{1}, Engine::dma), kLong);
}

TEST(HeldByACpu, MemoryTakesLongerToWriteOnce) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize));
    read(rank, target, memories.pageable);
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize) + kHeld / 4);
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize));
  });
}

TEST(HeldByACpu, IsWhatTheRanksOwnCodeWroteOrRead) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    rank.fill(target, Pattern{1});
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize) + kHeld / 4);
    rank.check(target, Pattern{1});
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize) + kHeld / 4);
  });
}

/// What engines move goes through no CPU's cache.
TEST(HeldByACpu, IsNotWhatAnEngineReads) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    read(rank, target, memories.device);
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize));
  });
}

/// Another one counts once more only if the CPU has touched it since it began.
TEST(HeldByACpu, IsPaidForOnceWhileTheCopyWaitsForItsTurn) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    read(rank, target, memories.pageable);
    const Seconds before = rank.now();
    const Op op = rank.copy(target, memories.device.slice(Bytes{}, kSize), Stream{0}, Engine::dma);
    EXPECT_FALSE(rank.wait_any({&op, 1}, rank.now() + kLatency + kHeld / 8));
    rank.fill(target, Pattern{1});  // while it waits for what is held
    wait(rank, op, kLong);
    expect_near(rank.now() - before, copied_out(kSize) + kHeld / 4);
  });
}

TEST(HeldByACpu, CountsBlockByBlock) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, 1_MiB);
    read(rank, target.slice(512_KiB, 512_KiB), memories.pageable);
    const std::array blocks{Block{.to = 256_KiB, .from = Bytes{}, .length = 128_KiB},
                            Block{.to = 512_KiB, .from = 128_KiB, .length = 128_KiB}};
    const auto copy_blocks = [&] {
      const Seconds before = rank.now();
      wait(rank, rank.copy_blocks(target, memories.device.slice(Bytes{}, 1_MiB), blocks, Stream{0}, Engine::dma),
           kLong);
      return rank.now() - before;
    };
    const Seconds longer = copy_blocks();
    expect_near(longer - copy_blocks(), kHeld / 8);
  });
}

TEST(HeldByACpu, CountsAsFarAsItIsWritten) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    read(rank, memories.pinned.slice(kSize, kSize), memories.pageable);
    const View half = memories.pinned.slice(128_KiB, kSize);
    expect_near(copy_out(rank, half, memories.device), copied_out(kSize) + kHeld / 8);
  });
}

TEST(HeldByACpu, IsWhatItUsedLast) {
  alone(with_own_caches(), [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    read(rank, target, memories.pageable);
    read(rank, memories.pinned.slice(1_MiB, 1_MiB), memories.pageable);  // as much is written
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize));
  });
}

TEST(HeldByACpu, MemoryOfAPlatformThatDoesNotSayHowMuchThatIsTakesNoLonger) {
  Platform platform = with_own_caches();
  for (HostMemory& memory : platform.node.memories) memory.core_cache.reset();
  alone(platform, [](Rank& rank, const Memories& memories) {
    const View target = memories.pinned.slice(Bytes{}, kSize);
    read(rank, target, memories.pageable);
    expect_near(copy_out(rank, target, memories.device), copied_out(kSize));
  });
}

/// Rank 0 sends a message to rank 1, and then each copies out to where it came from, or has come. What that takes
/// longer.
Seconds longer_after_a_message(Rank& rank) {
  const View pinned(rank.allocate(Memory::pinned, kSize));
  const View device(rank.allocate(Memory::device, kSize));
  const bool sends = rank.id().value == 0;
  const RankId peer{sends ? 1 : 0};
  const Op op = sends ? rank.send(peer, tags::kData, pinned) : rank.receive(peer, tags::kData, pinned);
  EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
  return copy_out(rank, pinned, device) - copied_out(kSize);
}

/// Rank 1 lives next to a memory whose CPUs hold something, rank 0 does not.
TEST(HeldByACpu, IsUpToTheCpuThatHoldsIt) {
  Platform platform = with_own_caches();
  platform.node.memories[0].core_cache.reset();
  simulate(platform, std::vector{kLoneGpu, kFirstPeer}, [&](Rank& rank) {
    expect_near(longer_after_a_message(rank), rank.id().value == 0 ? Seconds{} : kHeld / 4);
  });
}

void expect_after_a_message(CopiedBy copied_by, Seconds longer) {
  Platform platform = with_own_caches();
  platform.intra_node.copied_by = copied_by;
  simulate(platform, std::vector{kFirstPeer, kSecondPeer},
           [&](Rank& rank) { expect_near(longer_after_a_message(rank), longer); });
}

TEST(HeldByACpu, AreTheEndsOfAMessageThatCpusCopied) { expect_after_a_message(CopiedBy::both, kHeld / 4); }
/// Whose CPU reads the source as well.
TEST(HeldByACpu, AreTheEndsOfAMessageThatTheReceiverCopied) { expect_after_a_message(CopiedBy::receiver, kHeld / 4); }
TEST(HeldByACpu, IsNothingOfAMessageThatNobodyCopied) { expect_after_a_message(CopiedBy::none, Seconds{}); }

}  // namespace
}  // namespace twinlink::model
