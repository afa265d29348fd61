// What it adds to a copy that a CPU has just written its source. Closed forms on the sample machine.
#include "model/engine/memory/written.hpp"

#include <gtest/gtest.h>

#include <array>
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

// ---- which bytes ----------------------------------------------------------------------------------------------------

TEST(WrittenBytes, AreNoneAtFirst) {
  WrittenBytes bytes;
  EXPECT_EQ(bytes.take(Bytes{}, 1_MiB), Bytes{});
}

TEST(WrittenBytes, AreAtRestOnceSomebodyHasTakenThem) {
  WrittenBytes bytes;
  bytes.write(Bytes{}, Bytes{100});
  bytes.write(Bytes{50}, Bytes{100});
  EXPECT_EQ(bytes.take(Bytes{40}, Bytes{70}), Bytes{70});
  EXPECT_EQ(bytes.take(Bytes{40}, Bytes{70}), Bytes{});
  EXPECT_EQ(bytes.take(Bytes{}, Bytes{1000}), Bytes{80});
}

TEST(WrittenBytes, InTheMidstOfOthersLeaveBothSides) {
  WrittenBytes bytes;
  bytes.write(Bytes{}, Bytes{100});
  bytes.write(Bytes{70}, Bytes{});
  EXPECT_EQ(bytes.take(Bytes{40}, Bytes{20}), Bytes{20});
  bytes.write(Bytes{90}, Bytes{20});
  EXPECT_EQ(bytes.take(Bytes{30}, Bytes{50}), Bytes{30});
  EXPECT_EQ(bytes.take(Bytes{}, Bytes{200}), Bytes{60});
}

// ---- what they cost -------------------------------------------------------------------------------------------------

constexpr Seconds kCopyExtra = 3.0_us;      ///< of 1 MiB; half of it takes half of that
constexpr Seconds kPageableExtra = 7.0_us;  ///< of any size

Sourced<Piecewise> curve(std::vector<Piecewise::Knot> knots) {
  return {Piecewise(std::move(knots)), {Quality::assumed, "round numbers"}};
}

Platform with_extras() {
  Platform platform = sample_platform();
  platform.copies[CopyKind::pinned_to_device].cpu_written = curve({{Bytes{}, Seconds{}}, {1_MiB, kCopyExtra}});
  platform.copies[CopyKind::pageable_to_device].cpu_written = curve({{Bytes{}, kPageableExtra}});
  return platform;
}

/// Device and host memory of a rank that is alone on its machine.
void alone(Memory kind, const std::function<void(MeasuredRank&, Buffer device, Buffer host)>& body) {
  simulate(with_extras(), std::vector{kLoneGpu},
           [&](MeasuredRank& rank) { body(rank, rank.allocate(Memory::device, 4_MiB), rank.allocate(kind, 4_MiB)); });
}

Op start(Rank& rank, View to, View from) { return rank.copy(to, from, Stream{}, Engine::dma); }
void finish(Rank& rank, Op op) { EXPECT_EQ(wait(rank, op, kLong), Status::delivered); }

Seconds time_of(Rank& rank, View to, View from) {
  const Seconds began = rank.now();
  finish(rank, start(rank, to, from));
  return rank.now() - began;
}

/// How long a copy takes beyond host, latency and flow.
Seconds extra_of(Rank& rank, View to, View from, Rate rate) {
  return time_of(rank, to, from) - kOverhead - to.length / rate;
}

TEST(Written, ByACpuASourceTakesLongerOnce) {
  alone(Memory::pinned, [](MeasuredRank& rank, Buffer device, Buffer host) {
    const View to{device, {}, 1_MiB};
    const View from{host, {}, 1_MiB};
    expect_near(extra_of(rank, to, from, kDown), Seconds{});
    rank.fill(from, Payload{1});
    expect_near(extra_of(rank, to, from, kDown), kCopyExtra);
    expect_near(extra_of(rank, to, from, kDown), Seconds{});
    EXPECT_TRUE(rank.check(to, Payload{1}).intact());
  });
}

TEST(Written, ByACpuOnlySoManyBytesCount) {
  alone(Memory::pinned, [](MeasuredRank& rank, Buffer device, Buffer host) {
    rank.fill({host, 512_KiB, 1_MiB}, Payload{1});
    expect_near(extra_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB}, kDown), kCopyExtra / 2);
    expect_near(extra_of(rank, {device, {}, 1_MiB}, {host, 2_MiB, 1_MiB}, kDown), Seconds{});
    expect_near(extra_of(rank, {device, {}, 512_KiB}, {host, 1_MiB, 512_KiB}, kDown), kCopyExtra / 2);
  });
}

TEST(Written, ByADeviceASourceOfCopiesTakesNoLonger) {
  alone(Memory::pinned, [](MeasuredRank& rank, Buffer device, Buffer host) {
    rank.fill({host, {}, 1_MiB}, Payload{1});
    finish(rank, start(rank, {host, {}, 1_MiB}, {device, {}, 1_MiB}));
    expect_near(extra_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB}, kDown), Seconds{});
  });
}

/// Out to pageable memory it is the driver's CPU that writes. Copies make no difference between that and others.
TEST(Written, ByTheDriverASourceOfCopiesIsWrittenByACpu) {
  alone(Memory::pageable, [](Rank& rank, Buffer device, Buffer host) {
    const Seconds rest = time_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB});
    time_of(rank, {host, {}, 1_MiB}, {device, {}, 1_MiB});
    expect_near(time_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB}) - rest, kPageableExtra);
  });
}

TEST(Written, ByTheDriverAndByACpuAreOneSourceOfCopies) {
  alone(Memory::pageable, [](MeasuredRank& rank, Buffer device, Buffer host) {
    const Seconds rest = time_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB});
    rank.fill({host, {}, 512_KiB}, Payload{1});
    time_of(rank, {host, 512_KiB, 512_KiB}, {device, {}, 512_KiB});
    expect_near(time_of(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB}) - rest, kPageableExtra);
  });
}

/// The latency of the second copy hides behind the first, and what reading takes longer does not.
TEST(Written, SourcesOfAStreamOverlapNothing) {
  alone(Memory::pinned, [](MeasuredRank& rank, Buffer device, Buffer host) {
    rank.fill({host, {}, 2_MiB}, Payload{1});
    const Seconds began = rank.now();
    const Op first = start(rank, {device, {}, 1_MiB}, {host, {}, 1_MiB});
    const Op second = start(rank, {device, 1_MiB, 1_MiB}, {host, 1_MiB, 1_MiB});
    finish(rank, first);
    finish(rank, second);
    expect_near(rank.now() - began, kOverhead + kCopyExtra * 2 + 2_MiB / kDown);
  });
}

TEST(Written, BlocksCountByTheirBytes) {
  alone(Memory::pinned, [](MeasuredRank& rank, Buffer device, Buffer host) {
    const std::vector<Block> blocks{{Bytes{}, Bytes{}, 256_KiB}, {1_MiB, 1_MiB, 256_KiB}};
    rank.fill({host, {}, 1_MiB}, Payload{1});
    const Seconds began = rank.now();
    finish(rank, rank.copy_blocks(View(device), View(host), blocks, Stream{}, Engine::dma));
    expect_near(rank.now() - began, kOverhead + kEngineBlock * 2 + kCopyExtra / 4 + 512_KiB / kDown);
  });
}

/// An adapter reads it as memory at rest, and what it has brought no CPU has written.
TEST(Written, ByACpuMakesNoDifferenceToMessages) {
  simulate(with_extras(), std::vector{kLoneGpu, kOtherNode}, [](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer host = rank.allocate(Memory::pinned, 1_MiB);
    rank.fill(View(host), Payload{1});
    const Seconds began = rank.now();
    if (rank.id().value == 0) {
      finish(rank, rank.send(peer, tags::kData, View(host)));
      expect_near(rank.now() - began, kOverhead + 1_MiB / kWire);
    } else {
      finish(rank, rank.receive(peer, tags::kData, View(host)));
    }
    // It has read the one end, and written the other.
    expect_near(extra_of(rank, View(device), View(host), kDown), Seconds{});
  });
}

/// Through shared memory a CPU puts a message where the copy in reads it; so it does with an eager one everywhere.
TEST(Written, ByACpuIsWhatASharedMemoryHasBrought) {
  simulate(with_extras(), std::vector{kFirstPeer, kSecondPeer}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const Buffer host = rank.allocate(Memory::pinned, 1_MiB);
    if (rank.id().value == 0) return finish(rank, rank.send(peer, tags::kData, View(host)));
    finish(rank, rank.receive(peer, tags::kData, View(host)));
    expect_near(extra_of(rank, View(device), View(host), kDown), kCopyExtra);
  });
}

TEST(Written, ByACpuIsWhatAnEagerMessageHasBrought) {
  simulate(with_extras(), std::vector{kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer device = rank.allocate(Memory::device, kEager);
    const Buffer host = rank.allocate(Memory::pinned, kEager);
    if (rank.id().value == 0) return finish(rank, rank.send(peer, tags::kData, View(host)));
    finish(rank, rank.receive(peer, tags::kData, View(host)));
    expect_near(extra_of(rank, View(device), View(host), kDown), kCopyExtra / 256);
  });
}

}  // namespace
}  // namespace twinlink::model
