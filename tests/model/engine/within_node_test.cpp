// Messages within a node: through shared memory, or in loopback through the adapter. Closed forms.
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/timed_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Rate kWithinNode{3e9};
constexpr Rate kMemcpy{8e9};
const Place kLone{0, 0, {}};
const Place kFirst{0, 1, {}};
const Place kSecond{0, 2, {}};

/// Shared memory and the network cost something else each.
Platform platform(WithinNode within_node) {
  Platform platform = sample_platform_with_rdma();
  platform.intra_node.latency.value = Piecewise({{Bytes{}, 1.0_us}});
  platform.intra_node.control.value = 1.0_us;
  platform.within_node = within_node;
  return platform;
}

Seconds host_message(const Platform& machine, const Place& from, const Place& to, Bytes size) {
  return timed_message(machine, {from, to}, "host", size, {}).warm;
}

TEST(WithinNode, SharedMemoryHasItsOwnCosts) {
  expect_near(host_message(platform({}), kFirst, kSecond, 1_MiB), kHost + 1.0_us + 1_MiB / kWithinNode);
}

/// smcuda has no KNEM or CMA: both CPUs copy, where otherwise the receiver's does alone. With one memory and no
/// fragments both copy at the same time, so that only who is busy differs.
TEST(WithinNode, SmcudaHasNoSingleCopy) {
  for (const bool smcuda : {false, true}) {
    Platform machine = sample_platform();
    machine.intra_node.copied_by = CopiedBy::receiver;
    set_within_node(machine, {.smcuda = smcuda});
    EXPECT_EQ(machine.intra_node.copied_by, smcuda ? CopiedBy::both : CopiedBy::receiver);
    set_within_node(machine, {.loopback = true});
    EXPECT_TRUE(machine.within_node.loopback);
  }
}

TEST(WithinNode, InLoopbackAMessageCostsWhatTheNetworkCosts) {
  expect_near(host_message(platform({.loopback = true}), kFirst, kSecond, 1_MiB),
              kOverhead + kSocketHop * 3 + 1_MiB / kWire);
}

TEST(WithinNode, InLoopbackItMayComeBackToTheMemoryFromWhichItCame) {
  expect_near(host_message(platform({.loopback = true}), kLone, kLone, 1_MiB), kOverhead + 1_MiB / kWire);
}

TEST(WithinNode, InLoopbackItCrossesTheAdaptersBusOnTheWayOut) {
  Platform machine = platform({.loopback = true});
  machine.node.links.back().backward.value = Rate{1e9};
  expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / Rate{1e9});
}

TEST(WithinNode, InLoopbackItCrossesTheAdaptersBusOnTheWayIn) {
  Platform machine = platform({.loopback = true});
  machine.node.links.back().forward.value = Rate{1e9};
  expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / Rate{1e9});
}

TEST(WithinNode, InLoopbackAMessageGetsHalfOfWhatTheAdapterMovesBothWays) {
  Platform machine = platform({.loopback = true});
  machine.fabric.value().duplex = Sourced<Rate>{Rate{4e9}, {}};
  expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / Rate{2e9});
}

TEST(WithinNode, InLoopbackItSharesTheAdapterWithMessagesFromOtherNodes) {
  const std::vector<Place> places{kFirst, kSecond, {1, 0, {}}, kLone};
  simulate(platform({.loopback = true}), places, [](Rank& rank) {
    const bool sends = rank.id().value % 2 == 0;
    const RankId peer{rank.id().value + (sends ? 1 : -1)};
    const Buffer buffer = rank.allocate(Memory::pinned, 1_MiB);
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    // The message from the other node, which has no hop between sockets on its way, begins to flow three hops earlier,
    // and ends as much earlier.
    const Seconds later = rank.id().value < 2 ? kSocketHop * 3 : Seconds{};
    expect_near(rank.now(), kOverhead + later + 2_MiB / kWire - kSocketHop * 3);
  });
}

TEST(WithinNode, ControlMessagesGoTheSameWay) {
  simulate(platform({.loopback = true}), std::vector<Place>{kFirst, kSecond}, [](Rank& rank) {
    ControlMessage message;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send_control(RankId{1}, tags::kReady, message), kLong), Status::delivered);
    } else {
      EXPECT_EQ(wait(rank, rank.recv_control(RankId{0}, tags::kReady, message), kLong), Status::delivered);
      expect_near(rank.now(), kControl + kSocketHop * 3);
    }
  });
}

TEST(WithinNode, InLoopbackTheAdapterReachesDeviceMemory) {
  const Settings direct{.options = {{"send_limit", "1G"}, {"receive_limit", "1G"}}};
  const Timed timed = timed_message(platform({.loopback = true}), {kLone, kSecond}, "gpudirect-v3", 1_MiB, direct);
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + kSocketHop + 1_MiB / kFarWrite);
}

TEST(WithinNode, PeerCopiesDoNotCareHowMessagesGo) {
  const Timed timed = timed_message(platform({.loopback = true}), {kFirst, kSecond}, "gpudirect-v2", 1_MiB, {});
  expect_near(timed.cold, kExport + kControl + kOpen + kOverhead + 1_MiB / kNearWrite + kControl + kSocketHop * 6);
}

TEST(WithinNode, CopiesOfASizeDelayALargeMessageByTheFirstAndByEachCall) {
  constexpr Bytes piece = 64_KiB;
  // 17 pieces, the last of one byte. In the sample a call of memcpy costs kHost.
  constexpr Bytes size = 1_MiB + 1_B;
  expect_near(host_message(platform({.copy_size = piece}), kFirst, kSecond, size),
              kHost + 1.0_us + piece / kMemcpy + kHost * 17 + size / kWithinNode);
}

TEST(WithinNode, AMessageOfOnePieceIsCopiedTwiceWithoutOverlap) {
  expect_near(host_message(platform({.copy_size = 1_MiB}), kFirst, kSecond, 64_KiB),
              kHost + 1.0_us + 64_KiB / kMemcpy + kHost + 64_KiB / kWithinNode);
}

TEST(WithinNode, CopiesOfASizeAreForMessagesAboveTheEagerLimit) {
  expect_near(host_message(platform({.copy_size = 1_KiB}), kFirst, kSecond, kEager),
              kHost + 1.0_us + kEager / kWithinNode);
}

TEST(WithinNode, CopiesOfASizeDoNotConcernMessagesBetweenNodes) {
  expect_near(host_message(platform({.copy_size = 64_KiB}), kFirst, {1, 1, {}}, 1_MiB),
              kOverhead + kSocketHop * 3 + 1_MiB / kWire);
}

}  // namespace
}  // namespace twinlink::model
