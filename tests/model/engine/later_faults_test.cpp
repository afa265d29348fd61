// Parts that become slow or break while the machine runs: closed forms, and what both ends are told.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/block_machine.hpp"
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
  const Seconds middle = kOverhead + kHalfMessage / kWire;
  const auto expect_slow = [](Seconds at, const char* part, Seconds end) {
    apart([&] {
      const auto ends = one_message(with({.at = at, .part = part, .share = 0.125}), kMessage);
      EXPECT_EQ(ends.at(1).first, Status::delivered);
      expect_near(ends.at(1).second, end);
    });
  };
  expect_slow(middle, "nic", middle + kHalfMessage / Rate{1e9});
  expect_slow(Seconds{}, "nic", kOverhead + kMessage / Rate{1e9});
  // Of its port to the fabric, which what joins it to its node outlasts.
  expect_slow(Seconds{}, "nic0", kOverhead + kMessage / Rate{kWire.bytes_per_second() / 8});
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

/// A message has the link between its two routers and what leads round it over two others; the first of one of these,
/// which nothing else crosses, becomes slow when half has passed.
TEST(LaterFaults, ADetourThatBecomesSlowBringsLess) {
  const Rate link{kWire.bytes_per_second() / 4};
  const Seconds half = kHalfMessage / Rate{3 * link.bytes_per_second()};
  Platform platform = with({.at = kOverhead + half, .part = "fabric/router0-router2", .share = 0.125});
  platform.fabric = Fabric{.link = {.value = kWire}, .shape = FabricShape::hyperx, .routing = FabricRouting::adaptive};
  platform.fabric->switch_link = {.value = link};
  platform.fabric->size = {4, 1};
  const auto ends = one_message(platform, kMessage);
  EXPECT_EQ(ends.at(1).first, Status::delivered);
  expect_near(ends.at(1).second, kOverhead + half + kHalfMessage / Rate{2.125 * link.bytes_per_second()});
}

/// And a message that starts later when it would flow.
TEST(LaterFaults, BothEndsOfAMessageLearnThatItsLinkHasBroken) {
  for (const Seconds at : {kOverhead + kHalfMessage / kWire, Seconds{}}) {
    apart([&] {
      for (const auto& [rank, end] : one_message(with({.at = at, .part = "nic"}), kMessage)) {
        EXPECT_EQ(end.first, Status::peer_failed) << rank;
        expect_near(end.second, std::max(at, kOverhead));
      }
    });
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

/// On either side: of gpu0 and gpu1 the one has its memory beside the adapter, the other one beyond the link `sockets`.
TEST(LaterFaults, ControlMessagesAreLost) {
  const auto expect_lost = [](const char* part, int from, int to) {
    const std::vector<Place> places{{0, from, {}}, {1, to, {}}};
    simulated(with({.at = Seconds{}, .part = part}), places, [](Rank& rank, Seconds& /*time*/) {
      const RankId peer{1 - rank.id().value};
      ControlMessage message;
      if (rank.id().value == 0) {
        EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, message), kLong), Status::delivered);
      } else {
        EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, message), Seconds{1e-3}), Status::timed_out);
      }
    });
  };
  expect_lost("nic", 0, 0);
  expect_lost("sockets", 1, 0);
  expect_lost("sockets", 0, 1);
}

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

/// The fault comes as long after that as it is said to.
class FaultsBegin : public ::testing::TestWithParam<SimulationOptions::Engine> {};

TEST_P(FaultsBegin, OnceAndFromThen) {
  std::function<void()> begin;
  std::vector<std::string> come;
  constexpr Seconds kFlowing = 100.0_us;
  const LaterFault fault{.at = kLatency + kFlowing, .part = "bus0", .text = "--fail bus0@104us"};
  simulate(with(fault), std::vector<Place>{kLoneGpu, kFirstPeer},
           [&](MeasuredRank& rank) {
             const View device(rank.allocate(Memory::device, kMessage));
             const View host(rank.allocate(Memory::pinned, kMessage));
             const Op whole = rank.copy(device, host, Stream{}, Engine::dma);
             if (rank.id().value == 1) {
               EXPECT_EQ(wait(rank, whole, kLong), Status::delivered);
               return expect_near(rank.now(), kOverhead + kMessage / kDown);
             }
             EXPECT_EQ(wait(rank, whole, kLong), Status::delivered);
             EXPECT_TRUE(come.empty());
             const Seconds start = rank.now();
             const Op cut = rank.copy(device, host, Stream{}, Engine::dma);
             begin();
             EXPECT_EQ(wait(rank, cut, kLong), Status::peer_failed);
             expect_near(rank.now() - start, kOverhead + kFlowing);
             EXPECT_EQ(come, std::vector<std::string>{fault.text});
             begin();  // does nothing
             EXPECT_EQ(wait(rank, rank.compute(kLatency * 2, kOnHost), kLong), Status::delivered);
             EXPECT_EQ(come.size(), 1U);
           },
           {.engine = GetParam(), .faults_begin = &begin, .faults_come = &come});
}

INSTANTIATE_TEST_SUITE_P(LaterFaults, FaultsBegin,
                         ::testing::Values(SimulationOptions::Engine::automatic, SimulationOptions::Engine::exact));

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
  Platform platform = GetParam() == "nccl" ? machine_with_blocks() : sample_platform_with_rdma();
  // What is gone does not come back, whatever it would be slowed to.
  for (const double share : {0.0, 0.5}) {
    const Seconds at = 2000.0_us + 500.0_us * share;
    platform.later_faults.push_back({.at = at, .part = network ? "nic" : "bus2", .share = share});
  }
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
                         ::testing::Values("staging", "host", "gpudirect-v2", "cuda-ipc", "symmetric-put", "nccl"),
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

/// Of a link's two ways one has carried all that it will, and the other is at it.
class OneWay : public ::testing::TestWithParam<bool> {};

TEST_P(OneWay, OfALinkIsEnoughForAFaultToMakeADifference) {
  const bool last_is_out = GetParam();
  const auto took = [](bool out) { return kOverhead + kMessage / (out ? kUp : kDown); };
  const LaterFault fault{
      .at = took(!last_is_out) + took(last_is_out) - 50.0_us, .part = "bus0", .share = 0.5, .text = "--degrade"};
  std::vector<std::string> idle;
  simulate(with(fault), std::vector<Place>{kLoneGpu},
           [&](Rank& rank) {
             const View device(rank.allocate(Memory::device, kMessage));
             const View host(rank.allocate(Memory::pinned, kMessage));
             for (const bool out : {!last_is_out, last_is_out}) {
               const Op op = out ? rank.copy(host, device, Stream{}, Engine::dma)
                                 : rank.copy(device, host, Stream{}, Engine::dma);
               EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
             }
           },
           {.idle_faults = &idle});
  EXPECT_TRUE(idle.empty());
}

INSTANTIATE_TEST_SUITE_P(IdleFaults, OneWay, ::testing::Bool());

/// Such as a whole node.
TEST(IdleFaults, AreNotThoseOfWhichOnePartIsCrossed) {
  Platform platform = sample_platform();
  platform.slowed_parts = {{"nic", "--degrade node0=50%"}, {"bus2", "--degrade node0=50%"}};
  EXPECT_TRUE(idle_faults(platform).empty());
}

}  // namespace
}  // namespace twinlink::model
