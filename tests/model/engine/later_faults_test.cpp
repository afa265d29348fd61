// Parts that become slow or break while the machine runs: closed forms, and what both ends are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kMessage = 1_MiB;
constexpr Bytes kHalfMessage = 512_KiB;
const std::vector<Place> kTwoNodes{{0, 0, {}}, {1, 0, {}}};

Platform with(const LaterFault& fault) {
  Platform platform = sample_platform();
  platform.later_faults.push_back(fault);
  return platform;
}

/// Between page-locked buffers of two nodes: how it ended for both, and when.
std::map<int, std::pair<Status, Seconds>> one_message(const Platform& platform, Bytes size) {
  std::map<int, std::pair<Status, Seconds>> ends;
  simulate(platform, kTwoNodes, [&](Rank& rank) {
    const Buffer buffer = rank.allocate(Memory::pinned, size);
    const RankId peer{1 - rank.id().value};
    const Op op = rank.id().value == 0 ? rank.send(peer, tags::kData, View(buffer))
                                       : rank.receive(peer, tags::kData, View(buffer));
    const Status status = wait(rank, op, kLong);
    ends[rank.id().value] = {status, rank.now()};
  });
  return ends;
}

TEST(LaterFaults, ALinkThatBecomesSlowLetsTheRestThroughAtItsNewRate) {
  const LaterFault fault{.at = kOverhead + kHalfMessage / kWire, .part = "nic", .share = 0.125};
  const auto ends = one_message(with(fault), kMessage);
  expect_near(ends.at(1).second, kOverhead + kHalfMessage / kWire + kHalfMessage / Rate{1e9});
  EXPECT_EQ(ends.at(1).first, Status::delivered);
}

TEST(LaterFaults, OneThatIsSlowBeforeItIsUsedIsSlowForAll) {
  const auto ends = one_message(with({.at = Seconds{}, .part = "nic", .share = 0.125}), kMessage);
  expect_near(ends.at(1).second, kOverhead + kMessage / Rate{1e9});
}

/// Of its port to the fabric, which what joins it to its node outlasts.
TEST(LaterFaults, AnAdapterThatIsSlowIsSlowAtItsPort) {
  const auto ends = one_message(with({.at = Seconds{}, .part = "nic0", .share = 0.125}), kMessage);
  expect_near(ends.at(1).second, kOverhead + kMessage / Rate{kWire.bytes_per_second() / 8});
}

/// Two nodes of a leaf send to two of another one, over two cables. One goes when half of all has passed: what is left
/// of both messages shares the other one, whoever chose the cables.
class Cables : public ::testing::TestWithParam<FabricRouting> {};

TEST_P(Cables, WhatIsLeftOfMessagesGoesRoundOneThatFails) {
  const std::vector<Place> places{{0, 0, {}}, {1, 0, {}}, {2, 0, {}}, {3, 0, {}}};
  Platform platform = with({.at = kOverhead + kHalfMessage / kWire, .part = "fabric/leaf0-up1"});
  platform.fabric = Fabric{.link = {.value = kWire}, .shape = FabricShape::fat_tree, .routing = GetParam()};
  platform.fabric->size = {2, 2};
  simulate(platform, places, [&](Rank& rank) {
    const bool sends = rank.id().value < 2;
    const RankId peer{(rank.id().value + 2) % 4};
    const Buffer buffer = rank.allocate(Memory::pinned, kMessage);
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now(), kOverhead + kHalfMessage / kWire + kMessage / kWire);
  });
}

INSTANTIATE_TEST_SUITE_P(LaterFaults, Cables,
                         ::testing::Values(FabricRouting::adaptive, FabricRouting::by_target,
                                           FabricRouting::by_source));

TEST(LaterFaults, BothEndsOfAMessageLearnThatItsLinkHasBroken) {
  const LaterFault fault{.at = kOverhead + kHalfMessage / kWire, .part = "nic"};
  const auto ends = one_message(with(fault), kMessage);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(ends.at(rank).first, Status::peer_failed) << rank;
    expect_near(ends.at(rank).second, fault.at);
  }
}

TEST(LaterFaults, AMessageThatStartsLaterFailsWhenItWouldFlow) {
  const auto ends = one_message(with({.at = Seconds{}, .part = "nic"}), kMessage);
  for (const int rank : {0, 1}) {
    EXPECT_EQ(ends.at(rank).first, Status::peer_failed) << rank;
    expect_near(ends.at(rank).second, kOverhead);
  }
}

TEST(LaterFaults, AnEagerMessageThatNobodyAwaitsYetTellsItsReceiver) {
  simulate(with({.at = Seconds{}, .part = "nic"}), kTwoNodes, [&](Rank& rank) {
    const Buffer buffer = rank.allocate(Memory::pinned, 1_KiB);
    const RankId peer{1 - rank.id().value};
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, View(buffer)), kLong), Status::peer_failed);
    } else {
      ControlMessage never;
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, never), Seconds{1e-3}), Status::timed_out);
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, View(buffer)), kLong), Status::peer_failed);
    }
  });
}

TEST(LaterFaults, ControlMessagesAreLost) {
  simulate(with({.at = Seconds{}, .part = "nic"}), kTwoNodes, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    ControlMessage message;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, message), kLong), Status::delivered);
    } else {
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), Seconds{1e-3}), Status::timed_out);
    }
  });
}

/// Of gpu0 and gpu1 the one has its memory beside the adapter, the other one beyond the link that breaks.
void expect_lost_control(int from, int to) {
  simulate(with({.at = Seconds{}, .part = "sockets"}), std::vector<Place>{{0, from, {}}, {1, to, {}}}, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    ControlMessage message;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, message), kLong), Status::delivered);
    } else {
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), Seconds{1e-3}), Status::timed_out);
    }
  });
}

TEST(LaterFaults, ControlMessagesAreLostOnTheSendersSide) { expect_lost_control(1, 0); }
TEST(LaterFaults, ControlMessagesAreLostOnTheReceiversSide) { expect_lost_control(0, 1); }

TEST(LaterFaults, CopiesOverABrokenLinkFailAndOthersGoOn) {
  const Seconds middle = kOverhead + kHalfMessage / kUp;
  simulate(with({.at = middle, .part = "bus1"}), std::vector<Place>{{0, 1, {}}, {0, 2, {}}}, [&](Rank& rank) {
    const Buffer from = rank.allocate(Memory::device, kMessage);
    const Buffer to = rank.allocate(Memory::pinned, kMessage);
    const auto copy = [&] { return wait(rank, rank.copy(View(to), View(from), Stream{}, Engine::dma), kLong); };
    const Status status = copy();
    if (rank.id().value == 0) {
      EXPECT_EQ(status, Status::peer_failed);
      expect_near(rank.now(), middle);
      EXPECT_EQ(copy(), Status::peer_failed);
      expect_near(rank.now(), middle + kOverhead);
    } else {
      EXPECT_EQ(status, Status::delivered);
      expect_near(rank.now(), kOverhead + kMessage / kUp);
    }
  });
}

/// Half of the bytes from interleaved memory come over the link that breaks; the other half ends with them.
TEST(LaterFaults, WhatIsLeftOfAFailedCopyTakesNothingFromOthers) {
  constexpr Seconds kBreaks{5e-3};
  constexpr Bytes kLarge = 64_MiB;
  constexpr Rate kBus{6e9};
  Platform platform = with({.at = kBreaks, .part = "sockets"});
  platform.node.host_buffers = HostBuffers::interleaved;
  Link& bus = *std::ranges::find(platform.node.links, "bus1", &Link::name);
  bus.forward.value = bus.backward.value = kBus;
  simulate(platform, std::vector<Place>{{0, 1, {}}, {0, 2, {}}}, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer own = rank.allocate(Memory::device, kLarge);
    ControlMessage message(rank.export_memory(own));
    const Op sent = rank.send_control(peer, tags::kReady, message);
    EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), kLong), Status::delivered);
    EXPECT_EQ(wait(rank, sent, kLong), Status::delivered);
    if (rank.id().value == 1) {  // its memory is in use until the other has closed it
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kDelivered, message), kLong), Status::delivered);
      return;
    }
    const Buffer opened = rank.open_memory(peer, message.as<IpcHandle>());
    const Buffer host = rank.allocate(Memory::pinned, kLarge);
    const Buffer other = rank.allocate(Memory::device, kLarge);
    const Op half = rank.copy(View(own), View(host), Stream{0}, Engine::dma);
    const Seconds begun = rank.now() + kOverhead;
    const Op whole = rank.copy(View(other), View(opened), Stream{1}, Engine::dma);
    EXPECT_EQ(wait(rank, half, kLong), Status::peer_failed);
    expect_near(rank.now(), kBreaks);
    EXPECT_EQ(wait(rank, whole, kLong), Status::delivered);
    const Rate beside{kBus.bytes_per_second() - kDown.bytes_per_second()};
    const Bytes before{static_cast<std::uint64_t>(std::llround((kBreaks - begun).value() * beside.bytes_per_second()))};
    expect_near(rank.now(), kBreaks + (kLarge - before) / kBus);
    rank.close_memory(opened);
    EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kDelivered, message), kLong), Status::delivered);
  });
}

/// Whatever the protocol does when its link breaks: both ends have an outcome, and that in time.
class BrokenLink : public ::testing::TestWithParam<std::string> {};

TEST_P(BrokenLink, GivesBothEndsAnOutcome) {
  const bool network = GetParam() == "staging" || GetParam() == "host";
  Platform platform = sample_platform_with_rdma();
  platform.later_faults.push_back({.at = 2000.0_us, .part = network ? "nic" : "bus2"});
  const std::vector<Place> places = network ? kTwoNodes : std::vector<Place>{{0, 1, {}}, {0, 2, {}}};
  constexpr Seconds kTimeout{20e-3};
  simulate(platform, places, [&](Rank& rank) {
    const Protocol& protocol = find_protocol(GetParam());
    Settings settings = protocol.defaults();
    settings.timeout = kTimeout;
    const Buffer buffer = rank.allocate(protocol.message_memory(), kMessage);
    const auto channel = protocol.connect(rank, RankId{1 - rank.id().value}, settings);
    Outcome outcome{};
    int messages = 0;
    for (; outcome.ok() && messages < 1000; ++messages) {
      outcome = rank.id().value == 0 ? channel->send(View(buffer)) : channel->receive(View(buffer));
    }
    EXPECT_GT(messages, 1) << "some arrive before";
    EXPECT_FALSE(outcome.ok());
    EXPECT_FALSE(outcome.reason.empty());
    EXPECT_LT(rank.now(), 2000.0_us + kTimeout * 3);
  });
}

INSTANTIATE_TEST_SUITE_P(Of, BrokenLink,
                         ::testing::Values("staging", "host", "gpudirect-v2", "cuda-ipc", "symmetric-put"),
                         [](const auto& test) {
                           std::string name = test.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// What a host message between two nodes says of faults that make no difference to it.
std::vector<std::string> idle_faults(const Platform& platform) {
  std::vector<std::string> idle;
  simulate(platform, kTwoNodes,
           [&](Rank& rank) {
             const View message(rank.allocate(Memory::pinned, kMessage));
             const RankId peer{1 - rank.id().value};
             const Op op = rank.id().value == 0 ? rank.send(peer, tags::kData, message)
                                                : rank.receive(peer, tags::kData, message);
             EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
           },
           {.idle_faults = &idle});
  return idle;
}

TEST(IdleFaults, AreOfPartsThatNothingCrosses) {
  Platform platform = sample_platform();
  platform.slowed_parts = {{"nic", "--degrade nic=50%"}, {"bus2", "--degrade bus2=50%"}};
  EXPECT_EQ(idle_faults(platform),
            std::vector<std::string>{"--degrade bus2=50% makes no difference: nothing has crossed it"});
}

TEST(IdleFaults, AreThoseThatComeAfterTheEnd) {
  Platform platform = with({.at = Seconds{1}, .part = "nic", .share = 0.5, .text = "--degrade nic=50%@1s"});
  platform.later_faults.push_back(
      {.at = kOverhead / 2, .part = "nic0", .share = 0.5, .text = "--degrade nic0=50%@2us"});
  const std::vector<std::string> idle = idle_faults(platform);
  ASSERT_EQ(idle.size(), 1U);
  EXPECT_EQ(idle.front().find("--degrade nic=50%@1s makes no difference: all had ended after "), 0U) << idle.front();
}

TEST(IdleFaults, AreNotThoseThatComeWhileBytesFlow) {
  const LaterFault fault{.at = kOverhead + kHalfMessage / kWire, .part = "nic", .share = 0.5, .text = "--degrade"};
  EXPECT_TRUE(idle_faults(with(fault)).empty());
}

/// Such as a whole node.
TEST(IdleFaults, AreNotThoseOfWhichOnePartIsCrossed) {
  Platform platform = sample_platform();
  platform.slowed_parts = {{"nic", "--degrade node0=50%"}, {"bus2", "--degrade node0=50%"}};
  EXPECT_TRUE(idle_faults(platform).empty());
}

}  // namespace
}  // namespace twinlink::model
