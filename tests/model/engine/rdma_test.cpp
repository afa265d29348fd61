// GPUDirect v3 and puts between nodes on the simulated machine, against closed forms. As in simulation_test.cpp the
// tolerance is that of the arithmetic.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/model/engine/push_pair.hpp"

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

constexpr Seconds kDirect = kOverhead + kRdmaExtra * 2;

/// What becomes of a message on a machine that is changed before.
using Change = std::function<void(Platform&)>;
void expect_warm(const std::vector<Place>& places, Seconds warm, const Change& change = {},
                 const Settings& settings = direct(), Bytes size = 1_MiB) {
  Platform platform = sample_platform_with_rdma();
  if (change) change(platform);
  expect_near(v3(places, size, settings, platform).warm, warm);
}

const std::vector<Place> kBothNear{kNear, kOtherNear};

TEST(ClosedFormV3, TheFirstMessageIsRegistered) {
  const Timed timed = v3(kBothNear, 1_MiB, direct());
  expect_near(timed.cold, registration(1_MiB) + timed.warm);
}

/// A message of the host is in the request, and one of a device is read as the first that is not.
TEST(InlineMessages, CrossToTheAdapterOnceAndThoseOfDevicesAreRead) {
  Platform platform = sample_platform_with_rdma();
  for (Link& link : platform.node.links) link.latency = made_up(0.25_us);
  platform.network->latency = made_up(Piecewise{{{1_B, 1.0_us}, {128_B, 1.0_us}, {129_B, 3.0_us}}});
  const auto time = [&](const std::string& protocol, Bytes size, bool in_request) {
    platform.network->inline_limit.reset();
    if (in_request) platform.network->inline_limit = made_up(128_B);
    const Settings settings = protocol == "host" ? find_protocol("host").defaults() : direct();
    return timed_message(platform, kBothNear, protocol, size, settings).warm;
  };
  const Topology topology(platform);
  const std::size_t gpu = topology.gpu_of(kNear);
  const Location memory{Location::Kind::memory, topology.memory_near(gpu)};
  const Seconds to_adapter = topology.latency(topology.to_nic_route(memory, topology.graph().gpus[gpu].nic));
  ASSERT_GT(to_adapter, Seconds{});
  for (const Bytes size : {1_B, 128_B}) {
    expect_near(time("host", size, true), time("host", size, false) - to_adapter);
    expect_near(time("gpudirect-v3", size, true), time("gpudirect-v3", size, false) + 2.0_us);
  }
  for (const std::string protocol : {"host", "gpudirect-v3"}) {
    expect_near(time(protocol, 129_B, true), time(protocol, 129_B, false));
  }
}

TEST(ClosedFormV3, OfADirectMessageTheSlowestHopCounts) {
  const auto widened = [](bool writing) {
    return [writing](Platform& platform) {
      for (Hub& hub : platform.node.hubs) {
        hub.passing.peer_read->value = Rate{10e9};
        if (writing) hub.passing.peer_write->value = Rate{10e9};
      }
    };
  };
  expect_warm(kBothNear, kDirect + 1_MiB / kNearRead);
  expect_warm(kBothNear, kDirect + 1_MiB / kNearWrite, widened(false));
  expect_warm(kBothNear, kDirect + 1_MiB / kWire, widened(true));
  expect_warm({kFar, kOtherFar}, kDirect + kSocketHop * 3 + 1_MiB / kFarWrite);
  expect_warm({kFar, kOtherNear}, kDirect + kSocketHop * 2 + 1_MiB / kFarRead);
}

/// What sockets forward to each other, beside what either forwards itself; and what one message may have of a link.
TEST(ClosedFormV3, ALinkMayLetDevicesReadAndWriteLessThanWhatItLeadsTo) {
  const auto with = [](std::optional<Sourced<Rate>> Link::*what, double rate) {
    return [=](Platform& platform) {
      const bool one = what == &Link::each_read || what == &Link::each_write;
      (one ? platform.node.links.back() : platform.node.links.front()).*what = Sourced<Rate>{Rate{rate}, {}};
    };
  };
  expect_warm({kFar, kOtherNear}, kDirect + kSocketHop * 2 + 1_MiB / Rate{1e8}, with(&Link::peer_read, 1e8));
  expect_warm({kNear, kOtherFar}, kDirect + kSocketHop + 1_MiB / Rate{1e8}, with(&Link::peer_write, 1e8));
  expect_warm({kNear, kOtherFar}, kDirect + kSocketHop + 1_MiB / kFarWrite, with(&Link::peer_read, 1e8));
  expect_warm(kBothNear, kDirect + 1_MiB / Rate{5e8}, with(&Link::each_read, 5e8));
  expect_warm(kBothNear, kDirect + 1_MiB / Rate{4e8}, with(&Link::each_write, 4e8));
}

/// Both ends ask at the same time, and the receive is there before the bytes; nobody asks where host memory lies.
TEST(ClosedFormV3, ALibraryFindsOutThatItsMessageLiesInDeviceMemory) {
  const auto asks = [](Platform& platform) { platform.network->device_pointer = Sourced<Seconds>{20.0_us, {}}; };
  expect_warm(kBothNear, 20.0_us + kDirect + 1_MiB / kNearRead, asks);
  expect_warm(kBothNear, kOverhead * 3 + 1_MiB / kUp + 1_MiB / kWire + 1_MiB / kDown, asks, limits("0", "0"));
}

TEST(ClosedFormV3, UpToTheLimitsAMessageIsDirectAtEachEnd) {
  constexpr Bytes kMore = 64_KiB + 1_B;
  const auto chunked = [](Bytes chunk, const char* send, const char* receive) {
    Settings settings = limits(send, receive);
    settings.chunk = chunk;
    return settings;
  };
  expect_warm(kBothNear, kDirect + 64_KiB / kNearRead, {}, limits("64K", "64K"), 64_KiB);
  expect_warm(kBothNear, kOverhead * 3 + kMore / kUp + kMore / kWire + kMore / kDown, {}, limits("64K", "64K"), kMore);
  // The adapter's writing is the slowest hop; after the first chunk has been copied out it never rests.
  expect_warm(kBothNear, kOverhead * 2 + 16_KiB / kUp + kRdmaExtra + 64_KiB / kNearWrite, {},
              chunked(16_KiB, "8K", "64K"), 64_KiB);
  // The adapter's reading is the slowest hop; the last chunk is copied in after it.
  expect_warm(kBothNear, kOverhead * 2 + kRdmaExtra + 64_KiB / kNearRead + 16_KiB / kDown, {},
              chunked(16_KiB, "64K", "8K"), 64_KiB);
  // The pipeline of v1.
  expect_warm(kBothNear, kOverhead * 3 + 256_KiB / kUp + 8_MiB / kWire + 256_KiB / kDown, {},
              chunked(256_KiB, "8K", "8K"), 8_MiB);
}

/// Three direct messages of 1 MiB at once, whose buffers are registered already.
Seconds window_of_three() {
  return simulated(sample_platform_with_rdma(), std::vector{kNear, kOtherNear}, [&](Rank& rank, Seconds& took) {
    Settings settings = direct();
    settings.depth = 1;
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
}

/// A depth counts the buffers of a pipeline, which direct messages do not have: all are posted before the first ends.
TEST(ClosedFormV3, DirectMessagesOfAWindowDoNotWaitForEachOther) {
  expect_near(window_of_three(), kDirect + 3_MiB / kNearRead);
}

/// An eager message from device memory beside the adapter, whose receive comes at `posted`: when its sender is through,
/// and when it has been taken into device memory.
void expect_taken_in(Seconds posted, Seconds sent, Seconds taken, const Place& receiver = kOtherNear,
                     const Platform& platform = sample_platform_with_rdma()) {
  simulate(platform, std::vector{kNear, receiver}, [&](Rank& rank) {
    const View message(rank.allocate(Memory::device, kEager));
    rank.register_memory(message.buffer);
    const RankId peer{1 - rank.id().value};
    const Seconds start = rank.now();
    if (rank.id() == RankId{0}) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, message), kLong), Status::delivered);
      return expect_near(rank.now() - start, sent);
    }
    ControlMessage nothing;
    EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kFirstFree, nothing), start + posted), Status::timed_out);
    EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, message), kLong), Status::delivered);
    expect_near(rank.now() - start, taken);
  });
}

constexpr Seconds kLate = 500.0_us;
constexpr Seconds kFetched = kLate + kOverhead + kEager / kDown;
/// The library's buffer lies in host memory, near the receiver.
constexpr Seconds kUnexpected = kOverhead + kRdmaExtra + kEager / kNearRead;

TEST(UnexpectedInDeviceMemory, AReceiveThatComesBeforeTheBytesFlowTakesThemWhereTheyBelong) {
  constexpr Seconds kThere = kOverhead + kRdmaExtra * 2 + kEager / kNearRead;
  expect_taken_in(2.0_us, kThere, kThere);
}
TEST(UnexpectedInDeviceMemory, OfAFarGpuTheyBelongThereToo) {
  constexpr Seconds kThere = kOverhead + kRdmaExtra * 2 + kSocketHop + kEager / kFarWrite;
  expect_taken_in(2.0_us, kThere, kThere, kOtherFar);
}

TEST(UnexpectedInDeviceMemory, LaterTheLibraryCopiesThem) { expect_taken_in(kLate, kUnexpected, kFetched); }
TEST(UnexpectedInDeviceMemory, ItsBufferIsNearTheReceiver) {
  expect_taken_in(kLate, kUnexpected + kSocketHop, kFetched, kOtherFar);
}

/// An engine without a rate of its own copies as fast as the links let it.
TEST(UnexpectedInDeviceMemory, TheLibrarysCopyIsNoFasterThanTheLinks) {
  Platform platform = sample_platform_with_rdma();
  platform.copies[CopyKind::pinned_to_device].rate.reset();
  constexpr Rate kBus{8e9};  // narrower than from the hub to its memory
  expect_taken_in(kLate, kUnexpected, kLate + kOverhead + kEager / kBus, kOtherNear, platform);
}

TEST(ClosedFormV3, WithoutACacheEveryMessageRegistersAndDeregisters) {
  Settings settings = direct();
  for (const bool cached : {true, false}) {
    settings.options["registration_cache"] = cached ? "on" : "off";
    const Timed timed = v3(kBothNear, 1_MiB, settings);
    const Seconds more = cached ? Seconds{} : registration(1_MiB) + kDeregister;
    expect_near(timed.warm, more + kDirect + 1_MiB / kNearRead);
    EXPECT_EQ(timed.counters.at(0).value, cached ? 1U : 0U) << "hits";
    EXPECT_EQ(timed.counters.at(1).value, cached ? 1U : 2U) << "misses";
  }
}

/// Two ranks of a node, each with a peer of its own on another node: both messages share `rate`.
void expect_shared(const Place& first, const Place& second, Seconds before, Rate rate) {
  const std::vector<Place> places{first, second, {1, 0, {}}, {2, 0, {}}};
  simulate(sample_platform_with_rdma(), places, [&](Rank& rank) {
    const bool sends = rank.id().value < 2;
    const RankId peer{(rank.id().value + 2) % 4};
    const Buffer buffer = rank.allocate(Memory::device, 1_MiB);
    rank.register_memory(buffer);
    const Seconds start = rank.now();
    const Op op = sends ? rank.send(peer, tags::kData, View(buffer)) : rank.receive(peer, tags::kData, View(buffer));
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, before + 2_MiB / rate);
  });
}

TEST(Rdma, WhatAnAdapterReadsFromOneGpuIsSharedByAllItsFlows) { expect_shared(kNear, kNear, kDirect, kNearRead); }
TEST(Rdma, GpusOfOneSocketShareWhatItForwards) {
  expect_shared({0, 1, {}}, {0, 2, {}}, kDirect + kSocketHop * 2, kFarRead);
}

TEST(Rdma, HostMemoryIsNotLimited) {
  const Timed timed = timed_message(sample_platform_with_rdma(), {kNear, kOtherNear}, "host", 1_MiB, {});
  expect_near(timed.warm, kOverhead + 1_MiB / kWire);
}

/// The first rank puts into memory of the second, which may lie on another node.
void put_and_expect(const std::vector<Place>& places, Memory from, Seconds expected,
                    const Platform& platform = sample_platform_with_rdma()) {
  constexpr Tag done{3};
  Seconds began{};
  simulate(platform, places, [&](MeasuredRank& rank) {
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
    for (const Engine engine : {Engine::dma, Engine::kernel}) {
      EXPECT_THAT(refusal([&] { rank.copy(View(theirs), View(mine), Stream{}, engine); }),
                  HasSubstr("a copy does not leave its node"));
    }
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

/// GPUs without peer access, were they on one node.
TEST(Rdma, APutToAnotherNodeGoesThroughNoBufferOfTheDriver) {
  Platform platform = sample_platform_with_rdma();
  platform.fallback->chunk.value = 64_KiB;
  platform.fallback->per_chunk.value = 100.0_us;
  platform.fallback->in_flight = 2;
  put_and_expect({kNear, kOtherFar}, Memory::device, kOverhead + kRdmaExtra * 2 + kSocketHop + 1_MiB / kFarWrite,
                 platform);
}

TEST(Rdma, APutFromHostMemoryIsLimitedAtItsTargetOnly) {
  put_and_expect({kNear, kOtherNear}, Memory::pinned, kOverhead + kRdmaExtra + 1_MiB / kNearWrite);
}

/// The receive comes before the latency of its message is over, or long after.
class LateReceive : public ::testing::TestWithParam<double> {};
INSTANTIATE_TEST_SUITE_P(Rdma, LateReceive, ::testing::Values(1.0, 100.0));

TEST_P(LateReceive, PaysForItsDeviceMemoryToo) {
  simulate(sample_platform_with_rdma(), std::vector<Place>{kNear, kOtherFar}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer buffer = rank.allocate(Memory::device, 1_MiB);
    rank.register_memory(buffer);
    const Seconds start = rank.now();
    const Seconds late{GetParam() * 1e-6};
    if (rank.id().value == 0) {
      EXPECT_EQ(wait(rank, rank.send(peer, tags::kData, View(buffer)), kLong), Status::delivered);
      const Seconds ready = kOverhead + kRdmaExtra + kSocketHop;
      const Seconds asked = late + kControl + kSocketHop * 2;
      expect_near(rank.now() - start, std::max(ready, asked) + kRdmaExtra + 1_MiB / kFarWrite);
    } else {
      ControlMessage nothing;
      EXPECT_EQ(wait(rank, rank.recv_control(peer, tags::kFirstFree, nothing), start + late), Status::timed_out);
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
