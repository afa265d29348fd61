// What lies at the ends of messages and between them: host memory at one end, sends that wait for the receiver,
// computing, copies of a process with two GPUs, the driver's answer about peers.
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr RankId kSender{0};

/// When a message of 1 MiB has arrived that lies so at its ends. Byte for byte.
Seconds arrival(const std::string& name, const std::vector<Place>& places, Memory from, Memory to,
                const Settings& settings, std::string* path = nullptr) {
  Seconds arrived{};
  simulate(sample_platform(), places, [&](MeasuredRank& rank) {
    const bool sends = rank.id() == kSender;
    const View message(rank.allocate(sends ? from : to, 1_MiB));
    rank.fill(message, sends ? Payload{1} : kSentinel);
    Settings mine = settings;
    mine.peer_memory = sends ? to : from;
    const auto channel = find_protocol(name).connect(rank, RankId{1 - rank.id().value}, mine);
    const Seconds start = rank.now();
    const Outcome outcome = sends ? channel->send(message) : channel->receive(message);
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    if (sends) return;
    arrived = rank.now() - start;
    EXPECT_TRUE(rank.check(message, Payload{1}).intact());
    if (path != nullptr) *path = channel->path_taken();
  });
  return arrived;
}

Settings whole() { return {.chunk = Bytes{}, .depth = 1}; }

TEST(EndsInHostMemory, AReceiverInPageLockedMemoryCopiesNothing) {
  expect_near(arrival("gpudirect-v1", {kLoneGpu, kOtherNode}, Memory::device, Memory::pinned, whole()),
              kOverhead + 1_MiB / kUp + kOverhead + 1_MiB / kWire);
}

TEST(EndsInHostMemory, ASenderInPageLockedMemoryCopiesNothing) {
  std::string path;
  expect_near(arrival("gpudirect-v1", {kLoneGpu, kOtherNode}, Memory::pinned, Memory::device, whole(), &path),
              kOverhead + 1_MiB / kWire + kOverhead + 1_MiB / kDown);
  EXPECT_EQ(path, "staged through pinned host memory at one end, in host memory at the other");
}

/// The GPU's buffer and the adapter's are two, but a message that lies in host memory needs neither of them.
TEST(EndsInHostMemory, StagingCopiesOnTheSideOfTheGpuOnly) {
  Settings settings = whole();
  set_option(find_protocol("staging"), settings, "memory", "pinned");
  expect_near(arrival("staging", {kLoneGpu, kOtherNode}, Memory::device, Memory::pinned, settings),
              kOverhead * 3 + 1_MiB / kUp + 1_MiB / Rate{8e9} + 1_MiB / kWire);
}

/// 1 MiB would go by CUDA IPC between these two; with one end on the host it is a pipeline on the other's side.
TEST(EndsInHostMemory, ACudaAwareLibrarySeesByThePointerThatIpcIsNotToBeHad) {
  std::string path;
  static_cast<void>(arrival("cuda-aware", {kFirstPeer, kSecondPeer}, Memory::device, Memory::pinned,
                            find_protocol("cuda-aware").defaults(), &path));
  EXPECT_EQ(path, "gpudirect-v1: staged through pinned host memory at one end, in host memory at the other");
}

TEST(EndsInHostMemory, BothMakeItAnOrdinaryMessage) {
  std::string path;
  expect_near(arrival("cuda-aware", {kLoneGpu, kOtherNode}, Memory::pinned, Memory::pinned,
                      find_protocol("cuda-aware").defaults(), &path),
              kOverhead + 1_MiB / kWire);
  EXPECT_EQ(path, "host: host memory to host memory");
}

/// The copy to the attached memory is a blocking one to pageable memory; the message then lies on the host.
TEST(BufferedSends, CopyToTheAttachedMemoryFirst) {
  Settings settings = find_protocol("cuda-aware").defaults();
  set_option(find_protocol("cuda-aware"), settings, "send", "buffered");
  set_option(find_protocol("cuda-aware"), settings, "whole_to", "1M");
  Seconds arrived{};
  simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, [&](MeasuredRank& rank) {
    const bool sends = rank.id() == kSender;
    const View message(rank.allocate(Memory::device, 1_MiB));
    rank.fill(message, sends ? Payload{1} : kSentinel);
    const auto channel = find_protocol("cuda-aware").connect(rank, RankId{1 - rank.id().value}, settings);
    const Seconds start = rank.now();
    EXPECT_TRUE((sends ? channel->send(message) : channel->receive(message)).ok());
    if (!sends) arrived = rank.now() - start;
    EXPECT_TRUE(rank.check(message, Payload{1}).intact());
  });
  expect_near(arrived, kOverhead + 1_MiB / kUp + kLearning + kOverhead + 1_MiB / kWire + kOverhead + 1_MiB / kDown);
}

/// When a send of `size` bytes to a receiver that waits already has ended for its sender.
Seconds ended(Bytes size, bool synchronous, const Platform& platform = sample_platform()) {
  return simulated(platform, std::vector{kLoneGpu, kOtherNode}, [&](Rank& rank, Seconds& end) {
    const View host(rank.allocate(Memory::pinned, size));
    const RankId peer{1 - rank.id().value};
    if (rank.id() != kSender) {
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, host), kLong), Status::delivered);
      return;
    }
    const Seconds start = rank.now();
    const Op op = synchronous ? rank.send_synchronously(peer, tags::kData, host) : rank.send(peer, tags::kData, host);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    end = rank.now() - start;
  });
}

/// Measured with `measured` as its limit, and run with `limit`.
Platform with_limits(Bytes measured, Bytes limit) {
  Platform platform = sample_platform();
  NetworkCosts& costs = platform.network.value();
  costs.latency.value = Piecewise({{4_KiB, kLatency}, {64_KiB, kLatency * 3}});
  costs.latency_limit = Sourced<Bytes>{measured, {}};
  costs.eager_limit.value = limit;
  return platform;
}

Seconds asked(Bytes size, Bytes limit) { return ended(size, false, with_limits(4_KiB, limit)); }

/// What was measured above the limit has its round trip within it: without it a message is faster by that, but not than
/// the largest that never asked, where the curve rises by less: nobody knows what it holds of one.
TEST(Rendezvous, IsLeftOutOfMessagesThatAskNoMore) {
  expect_near(asked(64_KiB, 4_KiB), kHost + kLatency * 3 + 64_KiB / kWire);
  expect_near(asked(64_KiB, 1_MiB), kHost + kLatency * 3 - kControl * 2 + 64_KiB / kWire);
  expect_near(asked(8_KiB, 1_MiB), kOverhead + 8_KiB / kWire);
}

/// The first point behind the limit of the file shows what asking takes at most.
TEST(Rendezvous, TakesMessagesThatAskNowARoundTripMore) {
  expect_near(asked(256_B, 1_KiB), kOverhead + 256_B / kWire);
  expect_near(asked(1_KiB, 256_B), kOverhead + kControl * 2 + 1_KiB / kWire);
  Platform platform = with_limits(4_KiB, 256_B);
  platform.network->control.value = kLatency * 3;
  expect_near(ended(1_KiB, false, platform), kHost + kLatency * 3 + 1_KiB / kWire);
}

/// Of one control message if they are eager; they learn of their end as others do.
TEST(SynchronousSends, WaitForTheReceiver) {
  expect_near(ended(kEager, true), kOverhead + kEager / kWire + kControl);
  expect_near(ended(1_MiB, true), kOverhead + 1_MiB / kWire);
  Platform platform = sample_platform();
  platform.network.value().send_completion = made_up(0.25_us);
  expect_near(ended(kEager, true, platform), kOverhead + kEager / kWire + kControl + 0.25_us);
}

TEST(SynchronousSends, EndNotBeforeTheReceiverHasBegun) {
  constexpr Seconds kLate = 500.0_us;
  simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, [&](Rank& rank) {
    const View host(rank.allocate(Memory::pinned, kEager));
    const RankId peer{1 - rank.id().value};
    ControlMessage nothing;
    if (rank.id() != kSender) {
      const Op never = rank.recv_control(peer, tags::kFirstFree, nothing);
      EXPECT_EQ(wait(rank, never, kLate), Status::timed_out);
      EXPECT_EQ(wait(rank, rank.receive(peer, tags::kData, host), kLong), Status::delivered);
      return;
    }
    EXPECT_EQ(wait(rank, rank.send_synchronously(peer, tags::kData, host), kLong), Status::delivered);
    expect_near(rank.now(), kLate + kControl);
  });
}

TEST(Computing, TakesItsTimeBehindALaunch) {
  simulate(sample_platform(), std::vector{kLoneGpu}, [](MeasuredRank& rank) {
    constexpr Seconds kWork = 20.0_us;
    for (int i = 0; i < 2; ++i) {
      const Seconds start = rank.now();
      const Seconds busy = rank.cpu_time().value();
      EXPECT_EQ(wait(rank, rank.compute(kWork, Stream{0}), kLong), Status::delivered);
      expect_near(rank.now() - start, kOverhead + kWork);
      expect_near(rank.cpu_time().value() - busy, kHost);
    }
  });
}

TEST(Computing, HoldsUpWhatComesBehindItInItsStreamOnly) {
  simulate(sample_platform(), std::vector{kLoneGpu}, [](MeasuredRank& rank) {
    const View device(rank.allocate(Memory::device, 1_MiB));
    const View host(rank.allocate(Memory::pinned, 1_MiB));
    const Seconds start = rank.now();
    const Op computing = rank.compute(1000.0_us, Stream{0});
    EXPECT_EQ(wait(rank, rank.copy(host, device, Stream{1}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - start, kHost + kOverhead + 1_MiB / kUp);
    EXPECT_EQ(wait(rank, rank.copy(host, device, Stream{0}, Engine::dma), kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1000.0_us + 1_MiB / kUp);
    EXPECT_EQ(wait(rank, computing, kLong), Status::delivered);
  });
}

Seconds one_process_copy(const Place& here, const Place& there) {
  return simulated(sample_platform(), std::vector{here, there}, [&](MeasuredRank& rank, Seconds& time) {
    if (rank.id() != kSender) return;
    const View mine(rank.allocate(Memory::device, 1_MiB));
    const View beside(rank.allocate_beside(RankId{1}, 1_MiB));
    rank.fill(mine, Payload{7});
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.copy(beside, mine, Stream{0}, Engine::dma), kLong), Status::delivered);
    time = rank.now() - start;
    EXPECT_TRUE(rank.check(beside, Payload{7}).intact());
    rank.release(beside.buffer);
    rank.release(mine.buffer);
  });
}

TEST(OneProcess, CopiesWithOneCallAndThroughTheHostBetweenHubs) {
  expect_near(one_process_copy(kFirstPeer, kSecondPeer), kOverhead + 1_MiB / kPeer);
  expect_near(one_process_copy(kLoneGpu, kSecondPeer), kOverhead + 1_MiB / kStagedPeer);
}

TEST(OneProcess, HasNoGpuOfAnotherNode) {
  simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, [](MeasuredRank& rank) {
    EXPECT_THROW(static_cast<void>(rank.allocate_beside(RankId{1 - rank.id().value}, 4_B)), UnavailableError);
  });
}

TEST(PeerCheck, IsPaidForWhenItIsAsked) {
  Platform platform = sample_platform();
  platform.runtime.peer_check = Sourced<Seconds>{3.0_us, {Quality::assumed, "a round number"}};
  simulate(platform, std::vector{kLoneGpu, kSecondPeer}, [](Rank& rank) {
    const Seconds start = rank.now();
    const Answer answer = rank.check_peer_access(RankId{1 - rank.id().value});
    expect_near(rank.now() - start, 3.0_us);
    EXPECT_FALSE(answer);
    EXPECT_FALSE(answer.reason.empty());
  });
}

}  // namespace
}  // namespace twinlink::model
