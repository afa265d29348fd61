// A kernel that stays on the GPU, on the simulated machine: what it costs and what it does not reach.
#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

/// The CPU learns of its end by itself.
TEST(Resident, ACopyHasTheCostsOfItsClass) {
  Platform platform = sample_platform();
  platform.runtime.completion = made_up(1.5_us);
  push(platform, kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    for (const Bytes size : {0_B, 4_KiB, 1_MiB}) {
      const Seconds start = rank.now();
      const Op op = rank.copy({theirs, {}, size}, {own, {}, size}, Stream{}, Engine::resident);
      expect_near(rank.now() - start, kHost);
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + size / kResidentPush);
    }
  });
}

/// It writes the peer's flag and the word that its own CPU looks at together: no event, and no number of the platform.
TEST(Resident, APutEndsWithItsSignalForBothCpus) {
  Platform platform = sample_platform();
  platform.runtime.signal.reset();
  platform.runtime.kernel_signal = made_up(Piecewise(2.0_us));
  platform.runtime.completion = made_up(1.5_us);
  push(platform, kPeers, 1, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds end = rank.now() + kOverhead + 1_MiB / kResidentPush;
    const Op op = rank.put(View(theirs), View(own), Stream{}, Engine::resident, signal_due(end));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now(), end);
  });
}

TEST(Resident, ReachesMemoryOfAPeerOnItsOwnGpu) {
  push(sample_platform(), {kFirstPeer, kFirstPeer}, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.put(View(theirs), View(own), Stream{}, Engine::resident, {}), kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kResidentPush);
  });
}

const std::string kOnlyPushes = "a resident kernel only writes into memory of peers";

TEST(Resident, DoesNothingButPush) {
  push(sample_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Buffer other = rank.allocate(Memory::device, 1_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 1_MiB);
    const auto copy = [&](Buffer to, Buffer from) {
      return refusal([&] { rank.copy(View(to), View(from), Stream{}, Engine::resident); });
    };
    EXPECT_EQ(copy(own, theirs), kOnlyPushes);
    EXPECT_EQ(copy(theirs, theirs), kOnlyPushes);
    EXPECT_EQ(copy(other, own), kOnlyPushes);
    EXPECT_EQ(copy(pinned, own), kOnlyPushes);
    EXPECT_EQ(copy(own, pinned), kOnlyPushes);
    EXPECT_EQ(copy(theirs, pinned), kOnlyPushes);
    const std::vector<Block> blocks{{0_B, 0_B, 8_B}};
    EXPECT_EQ(refusal([&] { rank.copy_blocks(View(theirs), View(own), blocks, Stream{}, Engine::resident); }),
              "a resident kernel copies no blocks that lie apart");
  });
}

TEST(Resident, DoesNotReachBeyondItsPeerDomain) {
  push(sample_platform(), {kFirstPeer, kLoneGpu}, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    EXPECT_EQ(refusal([&] { rank.put(View(theirs), View(own), Stream{}, Engine::resident, {}); }), kOnlyPushes);
  });
}

TEST(Resident, NeedsItsCostOnThePlatform) {
  Platform platform = sample_platform();
  platform.copies.erase(CopyKind::resident_push);
  push(platform, kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    try {
      rank.put(View(theirs), View(own), Stream{}, Engine::resident, {});
      FAIL() << "accepted";
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(),
                   "sample.yaml: error: the platform has no 'driver.copies.resident-push', which this run needs");
    }
  });
}

}  // namespace
}  // namespace twinlink::model
