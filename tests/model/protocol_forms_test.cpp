// The closed form of every way in which the protocols move a message, on an idle machine.
#include <gtest/gtest.h>

#include "model/simulation.hpp"
#include "protocols/options.hpp"
#include "protocols/registry.hpp"
#include "tests/model/one_message.hpp"

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
      kFirstUse + kOverhead + 1_MiB / kKernelPush + kSignal);
}

/// The receiver's last step is its own: it tells the sender.
TEST(GpuDirectV2Forms, AKernelPulls) {
  expect_time(
      one_message("gpudirect-v2", {kFirstPeer, kSecondPeer}, 1_MiB, with("gpudirect-v2", {{"engine", "kernel-pull"}})),
      kFirstUse + kOverhead + 1_MiB / kKernelPull + kHost);
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

TEST(SymmetricPutForms, AMessageIsAPutAndASignal) {
  expect_time(one_message("symmetric-put", {kFirstPeer, kSecondPeer}, 1_MiB, with("symmetric-put", {})),
              kFirstUse + kOverhead + 1_MiB / kPeer + kSignal);
}

TEST(SymmetricPutForms, AKernelsPut) {
  expect_time(
      one_message("symmetric-put", {kFirstPeer, kSecondPeer}, 1_MiB, with("symmetric-put", {{"engine", "kernel"}})),
      kFirstUse + kOverhead + 1_MiB / kKernelPush + kSignal);
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

/// Both sides wait for their copies, so only the two processes overlap: the receiver's copies, which are the slower
/// ones, follow each other. It pays for every credit that the sender needs, one for each fragment beyond the third.
TEST(GpuDirectV1Forms, SmcudasStagedPathOverlapsOnlyBetweenTheTwoProcesses) {
  constexpr Bytes kFragment = 128_KiB - 32_B;
  constexpr int kFragments = 10;
  const Seconds out = kOverhead + kFragment / kUp;
  const Seconds in = kOverhead + kFragment / kDown;
  ASSERT_LT(out + kHost * 2, in) << "the form below is for a slower receiver";
  const Seconds connected = kControl;    // both ends at once; sharing host memory costs nothing
  const Seconds cleared = kControl * 2;  // header, and clear to send
  expect_time(one_message("gpudirect-v1", {kFirstPeer, kSecondPeer}, kFragment * kFragments,
                          find_preset(find_protocol("gpudirect-v1"), "openmpi-smcuda-staged").settings),
              connected + cleared + out + kControl + in * kFragments + kHost * (kFragments - 3));
}

}  // namespace
}  // namespace twinlink::model
