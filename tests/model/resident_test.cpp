// A kernel that stays on the GPU, on the simulated machine: what it costs and what it does not reach.
#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "model/simulation.hpp"
#include "protocols/tags.hpp"
#include "tests/model/one_message.hpp"
#include "tests/model/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Tag kDone{3};

void expect_near(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.microseconds(), expected.microseconds(), kTolerance_us);
}

/// Rank 0 runs `body` with device memory of its own and with memory of rank 1 that it has opened; then rank 1 waits for
/// `signals` and looks for what should have come.
void push(const Platform& platform, const std::vector<Place>& places, std::size_t signals,
          const std::function<void(Rank&, Buffer own, Buffer theirs)>& body) {
  simulate(platform, places, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer own = rank.allocate(Memory::device, 1_MiB);
    Message message;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.hear(peer, tags::kReady, message), kLong), Status::delivered);
      rank.fill(View(own), Pattern{5});
      const Buffer theirs = rank.open_memory(peer, message.as<IpcHandle>());
      body(rank, own, theirs);
      rank.close_memory(theirs);
      EXPECT_EQ(wait(rank, rank.tell(peer, tags::kReady, Message(1)), kLong), Status::delivered);
      return;
    }
    message = Message(rank.export_memory(own));
    EXPECT_EQ(wait(rank, rank.tell(peer, tags::kReady, message), kLong), Status::delivered);
    for (std::size_t i = 0; i < signals; ++i) {
      std::uint64_t value = 0;
      EXPECT_EQ(wait(rank, rank.await_signal(peer, kDone, value), kLong), Status::delivered);
      expect_near(rank.now(), Seconds{static_cast<double>(value) * 1e-12} + kSignal);
      EXPECT_TRUE(rank.check(View(own), Pattern{5}).intact());
    }
    EXPECT_EQ(wait(rank, rank.hear(peer, tags::kReady, message), kLong), Status::delivered);
  });
}

const std::vector<Place> kPeers{kFirstPeer, kSecondPeer};

TEST(Resident, ACopyHasTheCostsOfItsClass) {
  push(sample_platform(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    for (const Bytes size : {0_B, 4_KiB, 1_MiB}) {
      const Seconds start = rank.now();
      const Op op = rank.copy({theirs, {}, size}, {own, {}, size}, Stream{}, Engine::resident);
      expect_near(rank.now() - start, kHost);
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + size / kResidentPush);
    }
  });
}

/// The value of the signal says when the last byte should be there, in picoseconds.
TEST(Resident, APutRaisesItsSignalAfterTheLastByte) {
  push(sample_platform(), kPeers, 1, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds end = rank.now() + kOverhead + 1_MiB / kResidentPush;
    const Signal signal{kDone, static_cast<std::uint64_t>(std::llround(end.value() * 1e12))};
    const Op op = rank.put(View(theirs), View(own), Stream{}, Engine::resident, signal);
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

std::string refusal(const std::function<void()>& call) {
  try {
    call();
  } catch (const UsageError& error) {
    return error.what();
  }
  return "accepted";
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
  platform.copies.erase(CopyClass::resident_push);
  push(platform, kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    try {
      rank.put(View(theirs), View(own), Stream{}, Engine::resident, {});
      FAIL() << "accepted";
    } catch (const InputError& error) {
      EXPECT_STREQ(error.what(),
                   "sample.yaml: error: the platform's costs have no 'resident-push', which this run needs");
    }
  });
}

}  // namespace
}  // namespace twinlink::model
