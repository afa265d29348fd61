// Messages within a node: through shared memory, or in loopback through the adapter. Closed forms.
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/one_message.hpp"

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
  const Platform machine = platform({.loopback = true});
  expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / kWire);
  expect_near(host_message(machine, kLone, kLone, 1_MiB), kOverhead + 1_MiB / kWire);
}

TEST(WithinNode, InLoopbackItCrossesTheAdaptersBusOutAndIn) {
  for (const auto way : {&Link::forward, &Link::backward}) {
    Platform machine = platform({.loopback = true});
    (machine.node.links.back().*way).value = Rate{1e9};
    expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / Rate{1e9});
  }
}

TEST(WithinNode, InLoopbackAMessageGetsHalfOfWhatTheAdapterMovesBothWays) {
  Platform machine = platform({.loopback = true});
  machine.fabric.value().duplex = Sourced<Rate>{Rate{4e9}, {}};
  expect_near(host_message(machine, kFirst, kSecond, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / Rate{2e9});
}

/// From one adapter to another each of them moves it one way.
TEST(WithinNode, InLoopbackBetweenTwoAdaptersItGetsAllOfThem) {
  Platform machine = platform({.loopback = true});
  machine.fabric.value().duplex = Sourced<Rate>{Rate{4e9}, {}};
  Node& node = machine.node;
  node.nics.push_back({.name = "nic1"});
  Link second = node.links.back();
  second.name = "second";
  second.from = "nic1";
  second.to = "hub1";
  node.links.push_back(second);
  node.gpus[1].nic = "nic1";
  expect_near(host_message(machine, kLone, kFirst, 1_MiB), kOverhead + 1_MiB / kWire);
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

/// By the first one and by each call of memcpy, which costs kHost in the sample: of messages within a node above the
/// eager limit.
TEST(WithinNode, CopiesOfASizeDelayALargeMessage) {
  constexpr Bytes kPiece = 64_KiB;
  constexpr Bytes kSeventeen = 1_MiB + 1_B;  // pieces, the last of one byte
  const auto with = [](Bytes piece) { return platform({.copy_size = piece}); };
  expect_near(host_message(with(kPiece), kFirst, kSecond, kSeventeen),
              kHost + 1.0_us + kPiece / kMemcpy + kHost * 17 + kSeventeen / kWithinNode);
  expect_near(host_message(with(1_MiB), kFirst, kSecond, kPiece),
              kHost + 1.0_us + kPiece / kMemcpy + kHost + kPiece / kWithinNode);
  expect_near(host_message(with(1_KiB), kFirst, kSecond, kEager), kHost + 1.0_us + kEager / kWithinNode);
  expect_near(host_message(with(kPiece), kFirst, {1, 1, {}}, 1_MiB), kOverhead + kSocketHop * 3 + 1_MiB / kWire);
}

}  // namespace
}  // namespace twinlink::model
