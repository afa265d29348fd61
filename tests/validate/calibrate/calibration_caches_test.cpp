// What caches hold, told by probes: messages made from known costs give these costs back.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/probe/probe.hpp"
#include "tests/validate/calibrate/synthetic_probes.hpp"

namespace twinlink::validate {
namespace {

using test::platform_of;
using test::Probes;
using ::testing::HasSubstr;

constexpr double kLatency_us = 4;
constexpr double kCopied = 12;  // in GB/s
constexpr double kFetched = 6;
constexpr double kMiB = 1 << 20;

/// Messages of which rounds of more than `held` bytes take longer. A round of one each way goes through four times its
/// size, and one of a window through 32 times.
Probes messages(double held, double fetched = kFetched, double copied = kCopied, Bytes most = 64_MiB) {
  const auto one = [=](double bytes) { return kLatency_us + bytes / ((4 * bytes > held ? fetched : copied) * 1e3); };
  const auto window = [=](double bytes) {
    constexpr double kQueued = bench::kQueuedCopies;
    return kLatency_us / kQueued + bytes / ((2 * kQueued * bytes > held ? fetched : copied) * 1e3);
  };
  return Probes()
      .add("message pageable same-node", one, "0/0", "0/1", 1_KiB, most)
      .add("message pinned same-node", one, "0/0", "0/1", 1_KiB, most)
      .add("queued message same-node", window, "0/0", "0/1", 1_KiB, most);
}

/// The middle of what the probes leave open, 64 MiB and 128 MiB, on a logarithmic scale.
constexpr Bytes kFound = 91_MiB;

TEST(CalibrationOfCaches, TellsWhatTheyHoldAndWhatTheyDoNot) {
  const auto calibration = messages(100 * kMiB).calibrate();
  const platforms::Platform platform = platform_of(calibration);
  ASSERT_TRUE(platform.node.memories.front().cache);
  EXPECT_EQ(platform.node.memories.front().cache->value, kFound);
  EXPECT_EQ(platform.node.memories.front().cache->source.quality, platforms::Quality::measured);
  ASSERT_TRUE(platform.intra_node.uncached);
  EXPECT_NEAR(platform.intra_node.uncached->value.bytes_per_second(), kFetched * 1e9, kFetched * 1e9 * 0.02);
  EXPECT_THAT(platform.intra_node.uncached->source.text, HasSubstr("message pinned same-node"));
  EXPECT_NEAR(platform.intra_node.rate->value.bytes_per_second(), kCopied * 1e9, kCopied * 1e9 * 0.01);
}

TEST(CalibrationOfCaches, LatencyIsOfWhatTheyHold) {
  const platforms::Platform platform = platform_of(messages(100 * kMiB).calibrate());
  for (const Bytes size : {1_KiB, 1_MiB, 16_MiB, 64_MiB}) {
    const Seconds beside = platform.intra_node.latency.value.at(size) + platform.intra_node.posting(size);
    EXPECT_NEAR(beside.microseconds(), kLatency_us, 0.01 * (kLatency_us + static_cast<double>(size.count()) / 12e3));
  }
}

TEST(CalibrationOfCaches, ThatHoldAllAreNotThere) {
  const platforms::Platform platform = platform_of(messages(1e12).calibrate());
  EXPECT_FALSE(platform.node.memories.front().cache);
  EXPECT_FALSE(platform.intra_node.uncached);
}

TEST(CalibrationOfCaches, ADifferenceThatMayBeAnythingIsNone) {
  EXPECT_FALSE(platform_of(messages(100 * kMiB, kCopied / 1.08).calibrate()).intra_node.uncached);
}

TEST(CalibrationOfCaches, WhatTakesLongerInOneKindOfProbesOnlyIsNone) {
  const auto one = [](double bytes) { return kLatency_us + bytes / (kCopied * 1e3); };
  const auto window = [](double bytes) { return bytes / ((bytes > 4 * kMiB ? kFetched : kCopied) * 1e3); };
  const auto calibration = Probes()
                               .add("message pageable same-node", one, "0/0", "0/1", 1_KiB)
                               .add("queued message same-node", window, "0/0", "0/1", 1_KiB)
                               .calibrate();
  EXPECT_FALSE(platform_of(calibration).intra_node.uncached);
}

TEST(CalibrationOfCaches, ThatHoldAllTakeTheBasesDifferenceBack) {
  const test::ScratchFolder folder;
  const auto base = folder.write("base.yaml", messages(100 * kMiB).calibrate().platform_text);
  const platforms::Platform platform = platform_of(messages(1e12).calibrate(base));
  EXPECT_EQ(platform.intra_node.uncached->value, platform.intra_node.rate->value);
}

TEST(CalibrationOfCaches, ProbesThatDoNotGoSoFarLeaveTheBases) {
  const test::ScratchFolder folder;
  const auto base = folder.write("base.yaml", messages(100 * kMiB).calibrate().platform_text);
  const platforms::Platform platform = platform_of(messages(1e12, kFetched, kCopied, 1_MiB).calibrate(base));
  EXPECT_NEAR(platform.intra_node.uncached->value.bytes_per_second(), kFetched * 1e9, kFetched * 1e9 * 0.02);
}

TEST(CalibrationOfCaches, AMachineMayHaveBecomeSlowerThanWhatItLacked) {
  const test::ScratchFolder folder;
  const auto base = folder.write("base.yaml", messages(100 * kMiB).calibrate().platform_text);
  const double slow = kFetched / 2;
  const platforms::Platform lacking = platform_of(messages(100 * kMiB, slow / 2, slow).calibrate(base));
  EXPECT_NEAR(lacking.intra_node.rate->value.bytes_per_second(), slow * 1e9, slow * 1e9 * 0.01);
  EXPECT_NEAR(lacking.intra_node.uncached->value.bytes_per_second(), slow / 2 * 1e9, slow / 2 * 1e9 * 0.02);
  const platforms::Platform held = platform_of(messages(1e12, slow, slow, 1_MiB).calibrate(base));
  EXPECT_EQ(held.intra_node.uncached->value, held.intra_node.rate->value) << "it is never above the rate";
}

/// A round goes through four times the size of a message. The middle is rounded where whole MiB lie between the two.
TEST(CalibrationOfCaches, OfFewSizesSomeAreOnEachSide) {
  for (const auto& [least, most] : {std::pair{256_KiB, 1_MiB}, {300_KiB, 360_KiB}}) {
    const double held = static_cast<double>(least.count()) * 1.1;
    const auto one = [=](double bytes) { return bytes / ((bytes > held ? kFetched / 2 : kCopied) * 1e3); };
    const std::string name = "message pinned same-node";
    const auto calibration =
        Probes().add(name, one, "0/0", "0/1", least, least).add(name, one, "0/0", "0/1", most, most).calibrate();
    const platforms::Platform platform = platform_of(calibration);
    ASSERT_TRUE(platform.node.memories.front().cache);
    const Bytes found = platform.node.memories.front().cache->value;
    EXPECT_GE(found, least * 4);
    EXPECT_LT(found, most * 4);
    EXPECT_EQ(found == 2_MiB, most == 1_MiB);
  }
}

TEST(CalibrationOfCaches, TheNextProbesTellAnew) {
  const test::ScratchFolder folder;
  const auto base = folder.write("base.yaml", messages(100 * kMiB).calibrate().platform_text);
  const auto calibration = messages(30 * kMiB, 5).calibrate(base);
  const platforms::Platform platform = platform_of(calibration);
  EXPECT_EQ(platform.node.memories.front().cache->value, 23_MiB) << "between 16 MiB and 32 MiB";
  EXPECT_NEAR(platform.intra_node.uncached->value.bytes_per_second(), 5e9, 5e9 * 0.02);
}

}  // namespace
}  // namespace twinlink::validate
