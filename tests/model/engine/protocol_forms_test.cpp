// The closed form of every way in which the protocols move a message, on an idle machine.
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/parts/segment_channel.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/one_message.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

Settings with(const std::string& protocol, const std::vector<std::pair<std::string, std::string>>& options,
              Bytes chunk = {}, int depth = 1) {
  Settings settings{.chunk = chunk, .depth = depth};
  for (const auto& [name, value] : options) set_option(find_protocol(protocol), settings, name, value);
  return settings;
}

void expect_time(Seconds measured, Seconds expected) {
  EXPECT_NEAR(measured.microseconds(), expected.microseconds(), kTolerance_us);
}

// The first message of a connection: a buffer is exported and opened, once.
constexpr Seconds kFirstUse = kExport + kControl + kOpen;

TEST(GpuDirectV2Forms, AKernelPushesAndRaisesItsFlag) {
  expect_time(
      one_message("gpudirect-v2", {kFirstPeer, kSecondPeer}, 1_MiB, with("gpudirect-v2", {{"engine", "kernel-push"}})),
      kPeersConnectWithFlags + kFirstUse + kOverhead + 1_MiB / kKernelPush + kSignal);
}

/// The receiver's last step is its own: it sends the sender a control message.
TEST(GpuDirectV2Forms, AKernelPulls) {
  expect_time(
      one_message("gpudirect-v2", {kFirstPeer, kSecondPeer}, 1_MiB, with("gpudirect-v2", {{"engine", "kernel-pull"}})),
      kPeersConnect + kFirstUse + kOverhead + 1_MiB / kKernelPull + kHost);
}

TEST(GpuDirectV2Forms, AKernelHasNoDriverThatHelpsItBetweenHubs) {
  simulate(sample_platform(), std::vector{kLoneGpu, kSecondPeer}, [&](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    for (const char* engine : {"kernel-push", "kernel-pull"}) {
      const Settings settings = with("gpudirect-v2", {{"engine", engine}});
      EXPECT_THROW(static_cast<void>(find_protocol("gpudirect-v2").connect(rank, peer, settings)), UnavailableError);
    }
  });
}

// The first message of a connection, which makes the heap. Behind the epoch the target opens its memory: with two
// control messages, for it names the places.
constexpr Seconds kHeap = handshake_of(2) + kFirstUse + kRaisedEpoch + kHost + kControl;

TEST(SymmetricPutForms, AMessageIsAPutAndASignal) {
  expect_time(one_message("symmetric-put", {kFirstPeer, kSecondPeer}, 1_MiB, with("symmetric-put", {})),
              kHeap + kOverhead + 1_MiB / kPeer + kSignal);
}

TEST(SymmetricPutForms, AKernelsPut) {
  expect_time(
      one_message("symmetric-put", {kFirstPeer, kSecondPeer}, 1_MiB, with("symmetric-put", {{"engine", "kernel"}})),
      kHeap + kOverhead + 1_MiB / kKernelPush + kSignal);
}

TEST(HostForms, PageableMemoryCostsTheAdapterARegistrationOncePinnedMemoryNone) {
  simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, [](Rank& rank) {
    const RankId peer{1 - rank.id().value};
    for (const Memory memory : {Memory::pageable, Memory::pinned}) {
      const Buffer host = rank.allocate(memory, 1_MiB);
      for (const bool first : {true, false}) {
        for (const Bytes size : {kEager, 1_MiB}) {
          const bool large = size > kEager;
          const View view{host, {}, size};
          const Seconds start = rank.now();
          const Op op =
              rank.id().value == 0 ? rank.send(peer, tags::kData, view) : rank.receive(peer, tags::kData, view);
          EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
          const Seconds learning = first && large && memory == Memory::pageable ? kLearning : Seconds{};
          EXPECT_NEAR((rank.now() - start).microseconds(), (learning + kHost + kLatency + size / kWire).microseconds(),
                      kTolerance_us)
              << to_string(memory) << ", " << size.count();
        }
      }
    }
  });
}

/// Messages that flow at once share the CPU that copies them, so that it is busy once.
TEST(CpuTime, OfAWindowIsNotThatOfItsMessagesOneByOne) {
  Platform platform = sample_platform();
  platform.intra_node.copied_by = CopiedBy::both;
  simulate(platform, std::vector{kFirstPeer, kSecondPeer}, [](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer host = rank.allocate(Memory::pageable, 8_MiB);
    const auto channel = find_protocol("host").connect(rank, peer, find_protocol("host").defaults());
    std::vector<View> window;
    for (std::uint64_t i = 0; i < 8; ++i) window.push_back(View(host).slice(1_MiB * i, 1_MiB));
    const Seconds start = rank.now();
    const Seconds before = rank.cpu_time().value();
    EXPECT_TRUE((rank.id().value == 0 ? channel->exchange(window, {}) : channel->exchange({}, window)).ok());
    // The sender's CPU posts until the first bytes move, and copies from then on; the receiver's copies alone.
    const Seconds took = rank.now() - start;
    expect_time(rank.cpu_time().value() - before, rank.id().value == 0 ? took : took - kOverhead);
  });
}

/// What the caches hold does not cross the DRAM.
TEST(HostForms, CopiesCrossTheDramOnlyWithWhatTheCachesLack) {
  Platform platform = sample_platform();
  const Source source{Quality::assumed, "a round number"};
  constexpr Rate kDram{1e9};
  platform.node.memories[0].bandwidth = {kDram, source};
  platform.node.memories[0].cache = {3_MiB, source};
  simulate(platform, std::vector{kLoneGpu}, [&](Rank& rank) {
    const Buffer device = rank.allocate(Memory::device, 8_MiB);
    const Buffer pinned = rank.allocate(Memory::pinned, 8_MiB);
    const auto time = [&](Bytes size) {
      const Seconds start = rank.now();
      EXPECT_EQ(wait(rank, rank.copy({device, {}, size}, {pinned, {}, size}, Stream{}, Engine::dma), kLong),
                Status::delivered);
      return rank.now() - start;
    };
    time(2_MiB);
    expect_time(time(2_MiB), kOverhead + 2_MiB / kDown);
    time(8_MiB);
    expect_time(time(8_MiB), kOverhead + 8_MiB / kDram);
  });
}

/// Page-locked buffers that the adapter does not share: the CPU copies once more on either side.
/// How long the CPUs of both ends are busy with a warm message of 1 MiB.
Seconds busy(const std::string& protocol, const Settings& settings) {
  std::array<Seconds, 2> all{};
  simulate(sample_platform(), std::vector{kLoneGpu, kOtherNode}, [&](MeasuredRank& rank) {
    const RankId peer{1 - rank.id().value};
    const Buffer device = rank.allocate(Memory::device, 1_MiB);
    const auto channel = find_protocol(protocol).connect(rank, peer, settings);
    for (const bool warm : {false, true}) {
      const Seconds before = rank.cpu_time().value();
      EXPECT_TRUE((rank.id().value == 0 ? channel->send(View(device)) : channel->receive(View(device))).ok());
      if (warm) all[static_cast<std::size_t>(rank.id().value)] = rank.cpu_time().value() - before;
    }
  });
  return all[0] + all[1];
}

/// Copy out and send, receive and copy in: a receive costs the sample platform's CPU nothing.
TEST(CpuTime, IsWhatTheCpuStarts) { expect_time(busy("gpudirect-v1", with("gpudirect-v1", {})), kHost * 3); }

TEST(CpuTime, TheCpuWaitsForPageableCopies) {
  expect_time(busy("staging", with("staging", {})), kHost + (kOverhead + 1_MiB / kUp) + (kOverhead + 1_MiB / kDown));
}

TEST(CpuTime, TheCpuMovesTheBytesOfHostCopies) {
  expect_time(busy("staging", with("staging", {{"memory", "pinned"}})),
              kHost * 3 + (kOverhead + 1_MiB / Rate{8e9}) * 2);
}

TEST(StagingForms, TwoHostBuffersCostAHostCopyOnEitherSide) {
  const Seconds host_copy = kOverhead + 1_MiB / Rate{8e9};
  const Seconds expected = kOverhead * 3 + 1_MiB / kUp + host_copy + 1_MiB / kWire + host_copy + 1_MiB / kDown;
  expect_time(one_message("staging", {kLoneGpu, kOtherNode}, 1_MiB, with("staging", {{"memory", "pinned"}})), expected);
}

/// With one buffer nothing overlaps but the copy out with the copy in before it: send, copy in, credit, send, ...
TEST(GpuDirectV1Forms, CreditsOfASingleBufferSerialiseThePipeline) {
  constexpr Bytes kChunk = 256_KiB;
  constexpr int kChunks = 5;
  const Seconds out = kOverhead + kChunk / kUp;
  const Seconds wire = kOverhead + kChunk / kWire;
  const Seconds in = kOverhead + kChunk / kDown;
  ASSERT_LT(out, in + kControl) << "the form below is for a sender that waits for its credit";
  expect_time(one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, kChunk * kChunks,
                          with("gpudirect-v1", {{"credits", "1"}}, kChunk, 1)),
              out + wire * kChunks + (in + kControl) * (kChunks - 1) + in);
}

constexpr Bytes kBlock = 256_KiB;
constexpr int kBlocks = 32;
/// The wire is the slowest hop of a pipeline of kBlocks blocks, and does not rest.
const Seconds kPipelined =
    kOverhead * 3 + kBlock / kUp + (kBlock / kWire) * static_cast<double>(kBlocks) + kBlock / kDown;

TEST(GpuDirectV1Forms, CreditsThatComeEarlyEnoughCostNothing) {
  expect_time(one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, kBlock * kBlocks,
                          with("gpudirect-v1", {{"credits", "2"}}, kBlock, 8)),
              kPipelined);
}

/// MVAPICH2 grants as many credits at once as it has buffers: at the end of each batch the wire waits until the last
/// block is copied in, the credits have come, and the next send has started.
TEST(GpuDirectV1Forms, CreditsForAllBuffersAtOnceStallTheWireAtEveryBatch) {
  const Seconds stall = kOverhead + kBlock / kDown + kControl + kOverhead;
  expect_time(one_message("gpudirect-v1", {kLoneGpu, kOtherNode}, kBlock * kBlocks,
                          find_preset(find_protocol("gpudirect-v1"), "mvapich2").settings),
              kPipelined + stall * (kBlocks / 8 - 1));
}

// Both ends at once send their segments, and that they have opened them; sharing host memory costs nothing.
constexpr Seconds kSegmentsConnect = handshake_of(4) + kControl * 2;

/// Both sides wait for their copies, so only the two processes overlap: the receiver's copies, which are the slower
/// ones, follow each other. It pays for every credit that the sender needs, one for each fragment beyond the third.
TEST(GpuDirectV1Forms, SmcudasStagedPathOverlapsOnlyBetweenTheTwoProcesses) {
  constexpr Bytes kFragment = 128_KiB - 32_B;
  constexpr int kFragments = 10;
  const Seconds out = kOverhead + kFragment / kUp;
  const Seconds in = kOverhead + kFragment / kDown;
  ASSERT_LT(out + kHost * 2, in) << "the form below is for a slower receiver";
  const Seconds connected = kSegmentsConnect;
  const Seconds cleared = kControl * 2;  // header, and clear to send
  expect_time(one_message("gpudirect-v1", {kFirstPeer, kSecondPeer}, kFragment * kFragments,
                          find_preset(find_protocol("gpudirect-v1"), "openmpi-smcuda-staged").settings),
              connected + cleared + out + kControl + in * kFragments + kHost * (kFragments - 3));
}

/// The chunk of an automatic pipeline is the one that the message's size chooses: `chunks` of them, all of one size.
/// The copies in are the slower ones, and follow each other without a break.
void expect_automatic_chunks(Bytes message, Bytes chunk, int chunks) {
  ASSERT_EQ(automatic_chunk(message), chunk);
  ASSERT_EQ(chunk * static_cast<std::uint64_t>(chunks), message);
  ASSERT_LT(chunk / kUp + kOverhead + kControl * 2, chunk / kDown) << "the form below is for a slower receiver";
  const Seconds connected = kSegmentsConnect;
  const Seconds cleared = kControl * 2;
  expect_time(one_message("gpudirect-v1", {kFirstPeer, kSecondPeer}, message,
                          with("gpudirect-v1", {{"buffers", "shared"}}, {}, 4)),
              connected + cleared + kOverhead + chunk / kUp + kControl + kOverhead +
                  (chunk / kDown) * static_cast<double>(chunks));
}

TEST(GpuDirectV1Forms, AutomaticChunksOf4MiBAreOf1MiB) { expect_automatic_chunks(4_MiB, 1_MiB, 4); }
TEST(GpuDirectV1Forms, AutomaticChunksOf16MiBAreOf2MiB) { expect_automatic_chunks(16_MiB, 2_MiB, 8); }

TEST(GpuDirectV1Forms, AutomaticChunksOfDifferentMessagesAreRefused) {
  simulate(sample_platform(), std::vector{kFirstPeer, kSecondPeer}, [&](MeasuredRank& rank) {
    const bool sends = rank.id().value == 0;
    const Settings settings = with("gpudirect-v1", {{"buffers", "shared"}}, {}, 4);
    // The first fits; of the second the ends have different lengths, and would cut it into different chunks.
    const Buffer buffer = rank.allocate(Memory::device, 20_MiB);
    const std::vector<View> messages{{buffer, {}, 1_MiB}, {buffer, 1_MiB, sends ? 16_MiB : 4_MiB}};
    for (const View& message : messages) rank.fill(message, sends ? Payload{1} : kSentinel);
    const auto channel = find_protocol("gpudirect-v1").connect(rank, RankId{sends ? 1 : 0}, settings);
    const Outcome outcome = sends ? channel->exchange(messages, {}) : channel->exchange({}, messages);
    EXPECT_EQ(outcome.status, Status::wrong_size) << outcome.reason;
    EXPECT_LT(rank.now(), settings.timeout) << "not by the deadline";
    if (!sends) {
      EXPECT_TRUE(rank.check(messages[1], kSentinel).intact()) << "no piece of it was used";
    }
  });
}

// ---- batches --------------------------------------------------------------------------------------------------------

constexpr int kMessages = 64;
constexpr Bytes kSmall = 4_KiB;

/// When the last of a window of small messages has arrived. They lie 8 KiB apart.
Seconds batched_window(const std::string& engine, const char* batch) {
  return simulated(sample_platform(), std::vector{kFirstPeer, kSecondPeer}, [&](MeasuredRank& rank, Seconds& arrived) {
    const bool sends = rank.id().value == 0;
    const RankId peer{sends ? 1 : 0};
    const Buffer buffer = rank.allocate(Memory::device, kSmall * 2 * kMessages);
    std::vector<View> window;
    for (std::uint64_t i = 0; i < kMessages; ++i) window.emplace_back(buffer, kSmall * 2 * i, kSmall);
    for (std::uint64_t i = 0; i < kMessages; ++i) rank.fill(window[i], sends ? Payload{i + 1} : kSentinel);
    {
      const Settings settings = with("gpudirect-v2", {{"engine", engine}, {"batch", batch}}, {}, 16);
      const auto channel = find_protocol("gpudirect-v2").connect(rank, peer, settings);
      const Outcome outcome = sends ? channel->exchange(window, {}) : channel->exchange({}, window);
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
      if (!sends) arrived = rank.now();
      for (std::uint64_t i = 0; i < kMessages; ++i) EXPECT_TRUE(rank.check(window[i], Payload{i + 1}).intact());
      ControlMessage done;
      if (sends) finish(rank, rank.recv_control(peer, tags::kFirstFree, done), kLong);
    }
    if (!sends) finish(rank, rank.send_control(peer, tags::kFirstFree, ControlMessage()), kLong);
  });
}

TEST(BatchForms, AWindowIsOneCopyOfBlocks) {
  expect_time(batched_window("copy-engine", "64"),
              kPeersConnect + kFirstUse + kOverhead + kSmall * kMessages / kPeer + kEngineBlock * kMessages + kControl);
}

/// What raises the flag waits behind the copy, and its own start is hidden by that.
TEST(BatchForms, AWindowByAKernelIsOneCopyOfBlocksAndAFlag) {
  expect_time(batched_window("kernel-push", "64"), kPeersConnectWithFlags + kFirstUse + kOverhead +
                                                       kSmall * kMessages / kKernelPush + kKernelBlock * kMessages +
                                                       kSignal);
}

TEST(BatchForms, AWindowThatAKernelPullsIsOneCopyOfBlocks) {
  expect_time(
      batched_window("kernel-pull", "64"),
      kPeersConnect + kFirstUse + kOverhead + kSmall * kMessages / kKernelPull + kKernelBlock * kMessages + kHost);
}

/// Two batches: the second ready comes while the first is opened, and its copy follows behind the first.
TEST(BatchForms, AWindowOfTwoBatchesIsTwoCopies) {
  expect_time(batched_window("copy-engine", "32"),
              kPeersConnect + kFirstUse + kOverhead + kSmall * kMessages / kPeer + kEngineBlock * kMessages + kControl);
}

}  // namespace
}  // namespace twinlink::model
