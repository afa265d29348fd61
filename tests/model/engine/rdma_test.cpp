// GPUDirect v3 and puts between nodes on the simulated machine, against closed forms. As in simulation_test.cpp the
// tolerance is that of the arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/timed_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using ::testing::HasSubstr;

const Place kNear{0, 0, {}};
const Place kFar{0, 1, {}};
const Place kOtherNear{1, 0, {}};
const Place kOtherFar{1, 1, {}};

/// Direct up to these sizes, without chunks above.
Settings limits(const std::string& send, const std::string& receive) {
  return {.depth = 4, .options = {{"send_limit", send}, {"receive_limit", receive}}};
}

Settings direct() { return limits("1G", "1G"); }

Seconds registration(Bytes size) {
  return kRegister + kRegisterPerGib * (static_cast<double>(size.count()) / static_cast<double>((1_GiB).count()));
}

Timed v3(const std::vector<Place>& places, Bytes size, const Settings& settings,
         const Platform& platform = sample_platform_with_rdma()) {
  return timed_message(platform, places, "gpudirect-v3", size, settings);
}

TEST(ClosedFormV3, DirectBesideTheAdapterItsReadingIsTheSlowest) {
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, direct());
  const Seconds message = kOverhead + kRdmaExtra * 2 + 1_MiB / kNearRead;
  expect_near(timed.cold, registration(1_MiB) + message);
  expect_near(timed.warm, message);
}

TEST(ClosedFormV3, DirectIntoDeviceMemoryItsWritingMayBeTheSlowest) {
  Platform platform = sample_platform_with_rdma();
  for (Hub& hub : platform.node.hubs) hub.passing.peer_read.value().value = Rate{10e9};
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, direct(), platform);
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + 1_MiB / kNearWrite);
}

TEST(ClosedFormV3, DirectBeyondTheLimitsOfTheRootComplexTheWireIsTheSlowest) {
  Platform platform = sample_platform_with_rdma();
  for (Hub& hub : platform.node.hubs) {
    hub.passing.peer_read.value().value = hub.passing.peer_write.value().value = Rate{10e9};
  }
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, direct(), platform);
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + 1_MiB / kWire);
}

TEST(ClosedFormV3, FarFromTheAdapterAtBothEnds) {
  const Timed timed = v3({kFar, kOtherFar}, 1_MiB, direct());
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + kSocketHop * 3 + 1_MiB / kFarWrite);
}

TEST(ClosedFormV3, FarFromTheAdapterAtOneEnd) {
  const Timed timed = v3({kFar, kOtherNear}, 1_MiB, direct());
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + kSocketHop * 2 + 1_MiB / kFarRead);
}

std::optional<Sourced<Rate>> gigabytes(double rate) {
  return Sourced<Rate>{Rate{rate * 1e9}, {Quality::assumed, "a round number"}};
}

/// What sockets forward to each other, beside what either forwards itself.
TEST(ClosedFormV3, FarFromTheAdapterALinkMayLetItReadLessThanWhatItLeadsTo) {
  Platform platform = sample_platform_with_rdma();
  platform.node.links.front().peer_read = gigabytes(0.1);
  expect_near(v3({kFar, kOtherNear}, 1_MiB, direct(), platform).warm,
              kOverhead + kRdmaExtra * 2 + kSocketHop * 2 + 1_MiB / Rate{0.1e9});
}

TEST(ClosedFormV3, FarFromTheAdapterALinkMayLetItWriteLessThanWhatItLeadsTo) {
  Platform platform = sample_platform_with_rdma();
  platform.node.links.front().peer_write = gigabytes(0.1);
  expect_near(v3({kNear, kOtherFar}, 1_MiB, direct(), platform).warm,
              kOverhead + kRdmaExtra * 2 + kSocketHop + 1_MiB / Rate{0.1e9});
}

TEST(ClosedFormV3, WhatALinkLetsPeersReadLimitsNoWriting) {
  Platform platform = sample_platform_with_rdma();
  platform.node.links.front().peer_read = gigabytes(0.1);
  expect_near(v3({kNear, kOtherFar}, 1_MiB, direct(), platform).warm,
              kOverhead + kRdmaExtra * 2 + kSocketHop + 1_MiB / kFarWrite);
}

TEST(ClosedFormV3, OneMessageReadsNoMoreAcrossALinkThanOneMay) {
  Platform platform = sample_platform_with_rdma();
  platform.node.links.back().each_read = gigabytes(0.5);
  expect_near(v3({kNear, kOtherNear}, 1_MiB, direct(), platform).warm,
              kOverhead + kRdmaExtra * 2 + 1_MiB / Rate{0.5e9});
}

TEST(ClosedFormV3, OneMessageWritesNoMoreAcrossALinkThanOneMay) {
  Platform platform = sample_platform_with_rdma();
  platform.node.links.back().each_write = gigabytes(0.4);
  expect_near(v3({kNear, kOtherNear}, 1_MiB, direct(), platform).warm,
              kOverhead + kRdmaExtra * 2 + 1_MiB / Rate{0.4e9});
}

/// Three direct messages of 1 MiB at once, whose buffers are registered already.
Seconds window_of_three(int depth) {
  Seconds took{};
  simulate(sample_platform_with_rdma(), std::vector{kNear, kOtherNear}, [&](Rank& rank) {
    Settings settings = direct();
    settings.depth = depth;
    const auto channel = find_protocol("gpudirect-v3").connect(rank, RankId{1 - rank.id().value}, settings);
    std::vector<View> window;
    for (int i = 0; i < 3; ++i) window.emplace_back(rank.allocate(Memory::device, 1_MiB));
    for (const bool warm : {false, true}) {
      const Seconds start = rank.now();
      const bool sends = rank.id().value == 0;
      EXPECT_TRUE((sends ? channel->exchange(window, {}) : channel->exchange({}, window)).ok());
      if (warm && !sends) took = rank.now() - start;
    }
  });
  return took;
}

/// A depth counts the buffers of a pipeline, which direct messages do not have: all are posted before the first ends.
TEST(ClosedFormV3, DirectMessagesOfAWindowDoNotWaitForEachOther) {
  expect_near(window_of_three(1), kOverhead + kRdmaExtra * 2 + 3_MiB / kNearRead);
}

/// When an eager message has been taken into device memory beside the adapter, whose receive comes at `posted`.
Seconds taken_in(Seconds posted, const Platform& platform = sample_platform_with_rdma()) {
  Seconds taken{};
  simulate(platform, std::vector{kNear, kOtherNear}, [&](Rank& rank) {
    const View message(rank.allocate(Memory::device, kEager));
    rank.register_memory(message.buffer);
    const RankId peer{1 - rank.id().value};
    const Seconds start = rank.now();
    if (rank.id() == RankId{0}) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, message), kLong), Status::delivered);
      return;
    }
    ControlMessage nothing;
    EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kFirstFree, nothing), start + posted), Status::timed_out);
    EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, message), kLong), Status::delivered);
    taken = rank.now() - start;
  });
  return taken;
}

TEST(UnexpectedInDeviceMemory, AReceiveThatComesBeforeTheBytesFlowTakesThemWhereTheyBelong) {
  expect_near(taken_in(2.0_us), kOverhead + kRdmaExtra * 2 + kEager / kNearRead);
}

TEST(UnexpectedInDeviceMemory, LaterTheLibraryCopiesThem) {
  expect_near(taken_in(500.0_us), 500.0_us + kOverhead + kEager / kDown);
}

/// An engine without a rate of its own copies as fast as the links let it.
TEST(UnexpectedInDeviceMemory, TheLibrarysCopyIsNoFasterThanTheLinks) {
  Platform platform = sample_platform_with_rdma();
  platform.copies[CopyKind::pinned_to_device].rate.reset();
  constexpr Rate kBus{8e9};  // narrower than from the hub to its memory
  expect_near(taken_in(500.0_us, platform), 500.0_us + kOverhead + kEager / kBus);
}

TEST(ClosedFormV3, UpToTheLimitsAMessageIsDirect) {
  const Timed timed = v3({kNear, kOtherNear}, 64_KiB, limits("64K", "64K"));
  expect_near(timed.warm, kOverhead + kRdmaExtra * 2 + 64_KiB / kNearRead);
}

TEST(ClosedFormV3, OneByteBeyondTheLimitsItIsStaged) {
  constexpr Bytes size = 64_KiB + 1_B;
  const Timed timed = v3({kNear, kOtherNear}, size, limits("64K", "64K"));
  expect_near(timed.warm, kOverhead * 3 + size / kUp + size / kWire + size / kDown);
}

TEST(ClosedFormV3, BetweenTheLimitsOnlyTheReceiverIsDirect) {
  constexpr Bytes chunk = 16_KiB;
  constexpr std::uint64_t chunks = 4;
  Settings settings = limits("8K", "64K");
  settings.chunk = chunk;
  const Timed timed = v3({kNear, kOtherNear}, chunk * chunks, settings);
  // The adapter's writing is the slowest hop; after the first chunk has been copied out it never rests.
  expect_near(timed.warm, kOverhead + chunk / kUp + kOverhead + kRdmaExtra + (chunk * chunks) / kNearWrite);
}

TEST(ClosedFormV3, BetweenTheLimitsOnlyTheSenderIsDirect) {
  constexpr Bytes chunk = 16_KiB;
  constexpr std::uint64_t chunks = 4;
  Settings settings = limits("64K", "8K");
  settings.chunk = chunk;
  const Timed timed = v3({kNear, kOtherNear}, chunk * chunks, settings);
  // The adapter's reading is the slowest hop; the last chunk is copied in after it.
  expect_near(timed.warm, kOverhead + kRdmaExtra + (chunk * chunks) / kNearRead + kOverhead + chunk / kDown);
}

TEST(ClosedFormV3, AboveBothLimitsItIsThePipelineOfV1) {
  Settings settings = limits("8K", "8K");
  settings.chunk = 256_KiB;
  constexpr Bytes size = 8_MiB;
  const Timed timed = v3({kNear, kOtherNear}, size, settings);
  expect_near(timed.warm, kOverhead * 3 + 256_KiB / kUp + size / kWire + 256_KiB / kDown);
}

TEST(ClosedFormV3, WithoutACacheEveryMessageRegistersAndDeregisters) {
  Settings settings = direct();
  settings.options["registration_cache"] = "off";
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, settings);
  const Seconds message = kOverhead + kRdmaExtra * 2 + 1_MiB / kNearRead;
  expect_near(timed.warm, registration(1_MiB) + message + kDeregister);
  EXPECT_EQ(timed.counters.at(0).value, 0U) << "hits";
  EXPECT_EQ(timed.counters.at(1).value, 2U) << "misses";
}

TEST(ClosedFormV3, WithACacheTheSecondMessageHits) {
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, direct());
  EXPECT_EQ(timed.counters.at(0).value, 1U) << "hits";
  EXPECT_EQ(timed.counters.at(1).value, 1U) << "misses";
}

TEST(Rdma, WhatAnAdapterReadsFromOneGpuIsSharedByAllItsFlows) {
  // Two ranks on one GPU, each with a peer of its own.
  const std::vector<Place> places{kNear, kNear, {1, 0, {}}, {2, 0, {}}};
  simulate(sample_platform_with_rdma(), places, [](Rank& rank) {
    const bool sends = rank.id().value < 2;
    const RankId peer{(rank.id().value + 2) % 4};
    const Buffer buffer = rank.allocate(Memory::device, 1_MiB);
    rank.register_memory(buffer);
    const Seconds start = rank.now();
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + kRdmaExtra * 2 + 2_MiB / kNearRead);
  });
}

TEST(Rdma, GpusOfOneSocketShareWhatItForwards) {
  const std::vector<Place> places{{0, 1, {}}, {0, 2, {}}, {1, 0, {}}, {2, 0, {}}};
  simulate(sample_platform_with_rdma(), places, [](Rank& rank) {
    const bool sends = rank.id().value < 2;
    const RankId peer{(rank.id().value + 2) % 4};
    const Buffer buffer = rank.allocate(Memory::device, 1_MiB);
    rank.register_memory(buffer);
    const Seconds start = rank.now();
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + kRdmaExtra * 2 + kSocketHop * 2 + 2_MiB / kFarRead);
  });
}

TEST(Rdma, HostMemoryIsNotLimited) {
  const Timed timed = timed_message(sample_platform_with_rdma(), {kNear, kOtherNear}, "host", 1_MiB, {});
  expect_near(timed.warm, kOverhead + 1_MiB / kWire);
}

/// The first rank puts into memory of the second, which may lie on another node.
void put_and_expect(const std::vector<Place>& places, Memory from, Seconds expected) {
  constexpr Tag done{3};
  Seconds began{};
  simulate(sample_platform_with_rdma(), places, [&](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer mine = rank.allocate(rank.id().value == 0 ? from : Memory::device, 1_MiB);
    if (mine.memory == Memory::device) rank.register_memory(mine);
    if (rank.id().value == 1) {
      EXPECT_EQ(wait(rank, rank.send_control(peer, tags::kReady, ControlMessage(rank.export_memory(mine))), kLong),
                Status::delivered);
      std::uint64_t value = 0;
      EXPECT_EQ(wait(rank, rank.await_signal(peer, done, value), kLong), Status::delivered);
      expect_near(rank.now() - began, expected + kSignal);
      EXPECT_TRUE(rank.check(View(mine), Payload{5}).intact());
      return;
    }
    rank.fill(View(mine), Payload{5});
    ControlMessage handle;
    EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kReady, handle), kLong), Status::delivered);
    const Seconds received = rank.now();
    const Buffer theirs = rank.open_memory(peer, handle.as<IpcHandle>());
    EXPECT_EQ(rank.now(), received) << "a key came with the handle, and nothing is mapped";
    began = rank.now();
    EXPECT_EQ(wait(rank, rank.put(View(theirs), View(mine), Stream{}, Engine::dma, Signal{done}), kLong),
              Status::delivered);
    expect_near(rank.now() - began, expected);
    rank.close_memory(theirs);
    expect_near(rank.now() - began, expected);
  });
}

TEST(Rdma, APutToAnotherNodeCostsWhatADirectMessageCosts) {
  put_and_expect({kNear, kOtherNear}, Memory::device, kOverhead + kRdmaExtra * 2 + 1_MiB / kNearRead);
}

TEST(Rdma, APutToAFarGpuOfAnotherNodeIsAsSlowAsItsWriting) {
  put_and_expect({kNear, kOtherFar}, Memory::device, kOverhead + kRdmaExtra * 2 + kSocketHop + 1_MiB / kFarWrite);
}

TEST(Rdma, APutFromHostMemoryIsLimitedAtItsTargetOnly) {
  put_and_expect({kNear, kOtherNear}, Memory::pinned, kOverhead + kRdmaExtra + 1_MiB / kNearWrite);
}

/// Both ends ask at the same time, and the receive is there before the bytes.
TEST(ClosedFormV3, ALibraryFindsOutThatItsMessageLiesInDeviceMemory) {
  constexpr Seconds kPointer = 2.0_us;
  Platform platform = sample_platform_with_rdma();
  platform.network->device_pointer = Sourced<Seconds>{kPointer, {Quality::assumed, "a round number"}};
  const Timed timed = v3({kNear, kOtherNear}, 1_MiB, direct(), platform);
  expect_near(timed.warm, kPointer + kOverhead + kRdmaExtra * 2 + 1_MiB / kNearRead);
}

TEST(ClosedFormV3, NothingIsFoundOutOfMessagesInHostMemory) {
  Platform platform = sample_platform_with_rdma();
  platform.network->device_pointer = Sourced<Seconds>{100.0_us, {Quality::assumed, "a round number"}};
  const Timed with = v3({kNear, kOtherNear}, 1_MiB, limits("0", "0"), platform);
  expect_near(with.warm, kOverhead + 1_MiB / kUp + kOverhead + 1_MiB / kWire + kOverhead + 1_MiB / kDown);
}

TEST(Rdma, ALateReceivePaysForItsDeviceMemoryToo) {
  simulate(sample_platform_with_rdma(), std::vector<Place>{kNear, kOtherFar}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer buffer = rank.allocate(Memory::device, 1_MiB);
    rank.register_memory(buffer);
    const Seconds start = rank.now();
    constexpr Seconds kLate = 100.0_us;
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, View(buffer)), kLong), Status::delivered);
      expect_near(rank.now() - start, kLate + kControl + kSocketHop * 2 + kRdmaExtra + 1_MiB / kFarWrite);
    } else {
      ControlMessage nothing;
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kFirstFree, nothing), start + kLate), Status::timed_out);
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, View(buffer)), kLong), Status::delivered);
    }
  });
}

TEST(Rdma, APlatformWithoutTheCostOfRegisteringSaysSo) {
  Platform platform = sample_platform_with_rdma();
  platform.runtime.register_base.reset();
  try {
    v3({kNear, kOtherNear}, 4_KiB, direct(), platform);
    FAIL() << "registered for nothing";
  } catch (const InputError& error) {
    EXPECT_THAT(error.what(), HasSubstr("no 'driver.runtime.register_base', which this run needs"));
  }
}

}  // namespace
}  // namespace twinlink::model
