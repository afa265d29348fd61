#include "real/device/host_runtime.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstring>
#include <utility>
#include <vector>

#include "real/system/pattern.hpp"

namespace twinlink::real {
namespace {

constexpr Bytes kSize = 1_MiB;  // several slices

class HostRuntimeTest : public testing::Test {
 protected:
  std::byte* filled(Payload pattern) {
    std::byte* memory = runtime.allocate(kSize);
    write_pattern({memory, kSize.count()}, pattern, 0);
    return memory;
  }
  static bool holds(const std::byte* memory, Payload pattern) {
    return !find_difference({memory, kSize.count()}, pattern, 0);
  }
  void finish(Event event) {
    while (!runtime.ended(event)) runtime.progress();
  }

  HostRuntime runtime{"here", 1, HostPeers::all};
};

TEST_F(HostRuntimeTest, ACopyRunsOnlyInProgress) {
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  const Event event = runtime.copy(to, from, kSize, Stream{0}, Engine::dma);
  EXPECT_FALSE(runtime.ended(event));
  EXPECT_TRUE(holds(to, Payload{2}));
  finish(event);
  EXPECT_TRUE(holds(to, Payload{1}));
}

TEST_F(HostRuntimeTest, CopiesOfOneStreamEndInOrder) {
  std::byte* a = filled(Payload{1});
  std::byte* b = filled(Payload{2});
  std::byte* c = filled(Payload{3});
  const Event first = runtime.copy(b, a, kSize, Stream{4}, Engine::dma);
  const Event second = runtime.copy(c, b, kSize, Stream{4}, Engine::dma);
  while (!runtime.ended(first)) {
    EXPECT_FALSE(runtime.ended(second));
    EXPECT_TRUE(holds(c, Payload{3}));
    runtime.progress();
  }
  finish(second);
  EXPECT_TRUE(holds(c, Payload{1}));
}

TEST_F(HostRuntimeTest, AFlagIsRaisedBehindTheLastByte) {
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  std::uint64_t word = 0;
  runtime.pin(static_cast<std::byte*>(static_cast<void*>(&word)), Bytes{sizeof word});
  const Event put = runtime.copy_and_raise(to, from, kSize, {.word = &word, .value = 7}, Stream{0}, Engine::dma);
  int turns = 0;
  for (; word == 0 && turns < 1000; ++turns) runtime.progress();
  EXPECT_GT(turns, 1);
  EXPECT_EQ(word, 7U);
  EXPECT_TRUE(holds(to, Payload{1}));
  EXPECT_TRUE(runtime.ended(put));
}

/// As a GPU sees no other host memory.
TEST_F(HostRuntimeTest, AFlagOutsideOfWhatIsPageLockedIsRefused) {
  std::byte* const memory = filled(Payload{1});
  std::array<std::uint64_t, 6> words{};
  const auto at = [&](std::size_t i) { return static_cast<std::byte*>(static_cast<void*>(&words.at(i))); };
  const auto raise = [&](std::size_t i) {
    finish(runtime.copy_and_raise(memory, memory, 8_B, {.word = &words.at(i), .value = 7}, Stream{0}, Engine::dma));
  };
  EXPECT_THROW(raise(2), EnvironmentError);
  runtime.pin(at(1), Bytes{2 * sizeof(std::uint64_t)});
  runtime.pin(at(4), Bytes{sizeof(std::uint64_t) + 4});  // the next one begins in it
  for (const std::size_t i : {1, 2, 4}) EXPECT_NO_THROW(raise(i)) << i;
  for (const std::size_t i : {0, 3, 5}) EXPECT_THROW(raise(i), EnvironmentError) << i;
  EXPECT_EQ(words, (std::array<std::uint64_t, 6>{0, 7, 7, 0, 7, 0}));
  runtime.unpin(at(1));
  EXPECT_THROW(raise(2), EnvironmentError);
  EXPECT_NO_THROW(raise(4));
}

TEST_F(HostRuntimeTest, MemoryIsPageLockedOnceAndAsAWholeGivenBack) {
  std::array<std::byte, 64> bytes{};
  runtime.pin(bytes.data() + 16, 16_B);
  runtime.pin(bytes.data() + 48, 8_B);
  for (const auto& [at, size] : std::vector<std::pair<std::size_t, Bytes>>{
           {0, 0_B}, {0, 17_B}, {0, 64_B}, {16, 16_B}, {20, 4_B}, {31, 1_B}, {31, 17_B}, {40, 9_B}, {55, 9_B}}) {
    EXPECT_THROW(runtime.pin(bytes.data() + at, size), EnvironmentError) << at << " " << size.count();
  }
  for (const auto& [at, size] : std::vector<std::pair<std::size_t, Bytes>>{{0, 16_B}, {32, 16_B}, {56, 8_B}}) {
    EXPECT_NO_THROW(runtime.pin(bytes.data() + at, size)) << at;
  }
  EXPECT_THROW(runtime.unpin(bytes.data() + 20), EnvironmentError);
  runtime.unpin(bytes.data() + 16);
  EXPECT_THROW(runtime.unpin(bytes.data() + 16), EnvironmentError);
  EXPECT_NO_THROW(runtime.pin(bytes.data() + 20, 4_B));
}

TEST_F(HostRuntimeTest, MemoryIsGivenBackAsItWasTaken) {
  std::byte* const own = runtime.allocate(kSize);
  HostRuntime peer("here", 0, HostPeers::all);
  std::byte* const opened = peer.open_memory(runtime.export_memory(own), runtime.device().uuid);
  EXPECT_THROW(runtime.close_memory(own), EnvironmentError);
  EXPECT_THROW(peer.free(opened), EnvironmentError);
  EXPECT_THROW(peer.export_memory(opened), EnvironmentError);
  for (std::byte* const nobodys : {own + 1, static_cast<std::byte*>(nullptr)}) {
    EXPECT_THROW(runtime.free(nobodys), EnvironmentError);
    EXPECT_THROW(runtime.export_memory(nobodys), EnvironmentError);
  }
  peer.close_memory(opened);
  EXPECT_THROW(peer.close_memory(opened), EnvironmentError);
  runtime.free(own);
  EXPECT_THROW(runtime.free(own), EnvironmentError);
}

TEST_F(HostRuntimeTest, NothingPassesTheEndOfDeviceMemory) {
  std::byte* const one = runtime.allocate(kSize);
  std::byte* const other = runtime.allocate(1_KiB);
  const std::vector<Block> blocks{{0_B, 0_B, 8_B}, {1020_B, 100_B, 5_B}};
  EXPECT_THROW(runtime.copy(one, other, 1025_B, Stream{0}, Engine::dma), EnvironmentError);
  EXPECT_THROW(runtime.copy(other + 1, one, 1024_B, Stream{0}, Engine::kernel), EnvironmentError);
  EXPECT_THROW(runtime.copy_blocks(other, one, blocks, Stream{0}, Engine::dma), EnvironmentError);
  EXPECT_THROW(runtime.add(one, other + 8, 1024_B, Stream{0}), EnvironmentError);
  EXPECT_THROW(runtime.copy_now(other, one, 1025_B), EnvironmentError);
  // Of what was refused nothing is left in the stream.
  finish(runtime.copy(other, one, 1024_B, Stream{0}, Engine::dma));
  finish(runtime.copy(other + 1024, one, 0_B, Stream{0}, Engine::kernel));
}

TEST_F(HostRuntimeTest, KernelsReachWhatIsPageLockedAndPeersWithAccess) {
  std::byte* const own = runtime.allocate(kSize);
  std::vector<std::byte> host(1024);
  runtime.pin(host.data() + 8, 1000_B);
  for (const Engine engine : {Engine::kernel, Engine::resident}) {
    EXPECT_THROW(runtime.copy(own, host.data(), 8_B, Stream{0}, engine), UsageError);
    EXPECT_THROW(runtime.copy(host.data() + 8, own, 1001_B, Stream{0}, engine), UsageError);
    finish(runtime.copy(host.data() + 8, own, 1000_B, Stream{0}, engine));
  }
  EXPECT_THROW(runtime.add(own, host.data(), 8_B, Stream{0}), UsageError);
  finish(runtime.copy(own, host.data(), 1024_B, Stream{0}, Engine::dma));
  for (const HostPeers peers : {HostPeers::all, HostPeers::none}) {
    HostRuntime peer("here", 0, peers);
    std::byte* const opened = peer.open_memory(runtime.export_memory(own), runtime.device().uuid);
    std::byte* const theirs = peer.allocate(8_B);
    const auto copy = [&] { peer.copy(opened, theirs, 8_B, Stream{0}, Engine::kernel); };
    if (peers == HostPeers::all) {
      EXPECT_NO_THROW(copy());
    } else {
      EXPECT_THROW(copy(), UsageError);
    }
    EXPECT_NO_THROW(peer.copy(theirs, theirs, 8_B, Stream{0}, Engine::kernel));
  }
}

TEST_F(HostRuntimeTest, StreamsShareTheEngine) {
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  const Event large = runtime.copy(to, from, kSize, Stream{0}, Engine::dma);
  const Event small = runtime.copy(to, from, 8_B, Stream{1}, Engine::dma);
  runtime.progress();
  EXPECT_TRUE(runtime.ended(small));
  EXPECT_FALSE(runtime.ended(large)) << "a large copy must not hold the others up";
  finish(large);
}

TEST_F(HostRuntimeTest, SmallBlocksMoveManyAtATime) {
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  constexpr std::uint64_t kBlocks = 65'536;
  std::vector<Block> blocks;
  for (std::uint64_t i = 0; i < kBlocks; ++i) blocks.push_back({8_B * i, 16_B * i, 8_B});
  const Event event = runtime.copy_blocks(to, from, blocks, Stream{0}, Engine::dma);
  const Event next = runtime.copy(from, to, 8_B, Stream{0}, Engine::dma);
  const Event large = runtime.copy(filled(Payload{3}), from, kSize, Stream{1}, Engine::dma);
  std::uint64_t turns = 0;
  for (; !runtime.ended(event); ++turns) {
    EXPECT_FALSE(runtime.ended(next));
    runtime.progress();
  }
  EXPECT_GT(turns, 1U) << "many of them must not hold other streams and messages up";
  EXPECT_LE(turns, kBlocks / 1000);
  EXPECT_TRUE(runtime.ended(large));
  finish(next);
  for (const Block& block : {blocks[0], blocks[1], blocks[kBlocks / 3]}) {
    EXPECT_EQ(std::memcmp(to + block.to.count(), from + block.from.count(), 8), 0);
  }
}

TEST_F(HostRuntimeTest, SynchronizeEndsAllOfAStreamAndNothingElse) {
  std::byte* from = filled(Payload{1});
  std::byte* to = filled(Payload{2});
  const Event other = runtime.copy(to, from, kSize, Stream{1}, Engine::dma);
  const Event event = runtime.copy(to, from, kSize, Stream{0}, Engine::dma);
  runtime.synchronize(Stream{0});
  EXPECT_TRUE(runtime.ended(event));
  EXPECT_FALSE(runtime.ended(other));
}

TEST_F(HostRuntimeTest, OpenedMemoryIsTheOwners) {
  std::byte* mine = filled(Payload{1});
  HostRuntime peer("here", 0, HostPeers::all);
  std::byte* theirs = peer.open_memory(runtime.export_memory(mine), runtime.device().uuid);
  EXPECT_TRUE(holds(theirs, Payload{1}));
  write_pattern({theirs, kSize.count()}, Payload{2}, 0);
  EXPECT_TRUE(holds(mine, Payload{2}));
  peer.close_memory(theirs);
}

TEST_F(HostRuntimeTest, WithoutPeerAccessCopiesBetweenDevicesArriveToo) {
  HostRuntime lonely("here", 0, HostPeers::none);
  std::byte* opened = lonely.open_memory(runtime.export_memory(filled(Payload{1})), runtime.device().uuid);
  std::byte* own = lonely.allocate(kSize);
  const Event one = lonely.copy(own, opened, kSize, Stream{0}, Engine::dma);
  while (!lonely.ended(one)) lonely.progress();
  EXPECT_TRUE(holds(own, Payload{1}));
  write_pattern({own, kSize.count()}, Payload{2}, 0);
  // From the middle on, and two streams by turns: they must not meet on their way.
  constexpr Bytes kHalf{kSize.count() / 2};
  const Event first = lonely.copy(opened, own, kHalf, Stream{0}, Engine::dma);
  const Event second = lonely.copy(opened + kHalf.count(), own + kHalf.count(), kHalf, Stream{1}, Engine::dma);
  while (!lonely.ended(first)) lonely.progress();
  while (!lonely.ended(second)) lonely.progress();
  EXPECT_TRUE(holds(opened, Payload{2}));
  lonely.close_memory(opened);
}

TEST(EmulatedMemory, HasAnEndThatIsNamed) {
  HostRuntime small("here", 3, HostPeers::all, 1_MiB);
  EXPECT_EQ(small.device().memory, 1_MiB);
  std::byte* const most = small.allocate(1_MiB - 2_B);
  std::byte* const last = small.allocate(1_B);
  try {
    static_cast<void>(small.allocate(2_B));
    ADD_FAILURE() << "the device was full";
  } catch (const EnvironmentError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("allocate 2 B: out of device memory: emulated:03 has 1048576 B, of "
                                                 "which 1048575 B are in use"));
  }
  small.free(small.allocate(1_B));
  small.free(most);
  small.free(small.allocate(1_MiB - 1_B));
  small.free(last);
}

TEST(EmulatedMemory, OfAPeerTakesNoneOfTheOwn) {
  HostRuntime owner("here", 0, HostPeers::all, 1_MiB);
  HostRuntime guest("here", 1, HostPeers::all, 1_MiB);
  std::byte* const opened = guest.open_memory(owner.export_memory(owner.allocate(1_MiB)), owner.device().uuid);
  std::byte* const own = guest.allocate(1_MiB);
  guest.close_memory(opened);
  EXPECT_THROW(static_cast<void>(guest.allocate(1_B)), EnvironmentError);
  guest.free(own);
}

TEST(EmulatedMemory, OfAnotherDeviceGivesNoneBackToTheOwn) {
  HostRuntime runtime("here", 0, HostPeers::all, 1_MiB);
  std::byte* const own = runtime.allocate(1_MiB);
  runtime.free(runtime.allocate_on(emulated_uuid("here", 1), 1_MiB));
  EXPECT_THROW(static_cast<void>(runtime.allocate(1_B)), EnvironmentError);
  EXPECT_THROW(static_cast<void>(runtime.allocate_on(runtime.device().uuid, 1_B)), EnvironmentError);
  runtime.free(own);
  for (int i = 0; i < 2; ++i) runtime.free(runtime.allocate_on(runtime.device().uuid, 1_MiB));
  EXPECT_THROW(static_cast<void>(runtime.allocate(1_MiB + 1_B)), EnvironmentError);
  runtime.free(runtime.allocate(1_MiB));
}

TEST(EmulatedMemory, IsNoMoreThanTheHostHas) {
  HostRuntime runtime("here", 0, HostPeers::all);
  EXPECT_GT(runtime.device().memory, 64_MiB);
  EXPECT_THROW(static_cast<void>(runtime.allocate(runtime.device().memory + 1_B)), EnvironmentError);
}

TEST_F(HostRuntimeTest, DevicesAreToldApartByTheirUuid) {
  const HostRuntime same("here", 1, HostPeers::all);
  const HostRuntime next("here", 2, HostPeers::all);
  const HostRuntime elsewhere("there", 1, HostPeers::all);
  EXPECT_EQ(runtime.device().uuid, same.device().uuid);
  EXPECT_NE(runtime.device().uuid, next.device().uuid);
  EXPECT_NE(runtime.device().uuid, elsewhere.device().uuid);
}

TEST_F(HostRuntimeTest, RefusesPeerAccessIfAskedTo) {
  const HostRuntime lonely("here", 0, HostPeers::none);
  EXPECT_TRUE(*runtime.peer_access(lonely.device()));
  EXPECT_FALSE(*lonely.peer_access(runtime.device()));
  EXPECT_FALSE(lonely.peer_access(runtime.device())->reason.empty());
}

}  // namespace
}  // namespace twinlink::real
