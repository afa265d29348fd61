// What a measured time goes to: closed forms.
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "tests/validate/calibrate/synthetic_probes.hpp"
#include "validate/calibrate/calibration_report.hpp"

namespace twinlink::validate {
namespace {

using test::kBase;
using test::platform_of;
using test::Probes;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

constexpr double kUsPerByte = 1 / 50e3;  // 50 GB/s
constexpr double kExact = 1e-4;          // of a fit without noise

/// The base whose copies to the host wait 2 us for the CPU, with links that take 0.5 us.
std::filesystem::path base_with_a_way(const test::ScratchFolder& folder) {
  std::string text = test::read_file(kBase);
  const std::string link = "gpu0-pcie: {from: gpu0, to: numa0, ";
  text.insert(text.find(link) + link.size(), "latency: {value: 0.5 us, assumed: \"of a test\"}, ");
  return folder.write("base.yaml", text);
}

/// The mean over the sizes of the synthetic probes of `part_us` over the time of a copy.
double mean_share(double start_us, const std::function<double(double)>& part_us) {
  double sum = 0;
  int count = 0;
  for (Bytes size{1}; size <= 64_MiB; size = size * 4, ++count) {
    const auto bytes = static_cast<double>(size.count());
    sum += part_us(bytes) / (start_us + bytes * kUsPerByte);
  }
  return sum / count;
}

double constant(double) { return 1; }
double bytes_us(double bytes) { return bytes * kUsPerByte; }

TEST(TimeShares, OfACopyAreOverheadWayBytesAndTheLatencyThatIsLeft) {
  const test::ScratchFolder folder;
  // 2 us of the CPU, a read that crosses a link of 0.5 us twice, 4 us of residual.
  const auto calibration =
      Probes().add("copy pinned-to-device near", test::line(7, 50)).calibrate(base_with_a_way(folder));
  ASSERT_EQ(calibration.fits.size(), 1U);
  const TimeShares& shares = calibration.fits.front().shares;
  EXPECT_NEAR(shares.start, 2 * mean_share(7, constant), kExact);
  EXPECT_NEAR(shares.way, 1 * mean_share(7, constant), kExact);
  EXPECT_NEAR(shares.residual, 4 * mean_share(7, constant), kExact);
  EXPECT_NEAR(shares.bytes, mean_share(7, bytes_us), kExact);
  EXPECT_NEAR(shares.left_over, 0, kExact);
  EXPECT_NEAR(shares.parts() + shares.residual + shares.left_over, 1, 1e-12);
}

/// A line that takes 3 us instead of 6 us: what the fit, between the two, misses of each is left over.
TEST(TimeShares, WhatTheFitMissesIsLeftOver) {
  const auto calibration = Probes().add_one("handle export", 4).add_one("handle export", 8, "0/1").calibrate();
  ASSERT_EQ(calibration.fits.size(), 1U);
  const TimeShares& shares = calibration.fits.front().shares;
  const double fit_us = platform_of(calibration).runtime.ipc_export.value.microseconds();
  EXPECT_NEAR(shares.start, (fit_us / 4 + fit_us / 8) / 2, 1e-9);
  EXPECT_NEAR(shares.left_over, 1 - shares.start, 1e-9);
  EXPECT_EQ(shares.residual, 0);
}

TEST(TimeShares, OfAllAreTheMeanOfAllLines) {
  const auto calibration =
      Probes().add("copy pinned-to-device near", test::line(7, 50)).add_one("allocate device", 30).calibrate();
  const double sizes = 14;
  EXPECT_NEAR(calibration.shares.residual, 5 * mean_share(7, constant) * sizes / (sizes + 1), kExact);
  EXPECT_NEAR(calibration.shares.start, (2 * mean_share(7, constant) * sizes + 1) / (sizes + 1), kExact);
}

TEST(TimeShares, OfMessagesTheLibrarysLatencyIsTheResidual) {
  const auto calibration = Probes().add("message pageable same-node", test::line(0.7, 10), "0/0", "0/1").calibrate();
  const platforms::Platform platform = platform_of(calibration);
  double residual = 0;
  const auto& rows = Probes().add("message pageable same-node", test::line(0.7, 10), "0/0", "0/1").set().probes;
  for (const Probe& probe : rows) {
    residual += platform.intra_node.latency.value.at(probe.line.size).microseconds() / probe.line.time_us.median;
  }
  EXPECT_NEAR(calibration.shares.residual, residual / static_cast<double>(rows.size()), kExact);
}

/// Of a message between nodes, of blocks, and of what no cache holds.
TEST(TimeShares, OfEachKindOfBytesAreAllOfThem) {
  const auto shares_of = [](platforms::Platform platform, const std::string& name, const std::string& peer, Bytes size,
                            const auto& check) {
    const platforms::Topology topology(platform);
    std::string reason;
    const auto primitive = find_primitive({.name = name, .gpu = "0/0", .peer = peer, .size = size}, topology, reason);
    ASSERT_TRUE(primitive) << reason;
    const Seconds time = predict(*primitive, size, topology).value();
    const TimeShares shares = TimeSplit(platform).shares(*primitive, size, time * 2).value();
    EXPECT_NEAR(shares.parts() + shares.residual + shares.left_over, 1, 1e-12) << name;
    EXPECT_NEAR(shares.left_over, 0.5, 1e-12) << "twice the time was measured";
    check(
        *primitive, topology, [&](double share) { return Seconds{share * time.value() * 2}; }, shares);
  };
  const platforms::Platform dgx = platforms::read_platform(test::kPlatforms / "dgx-a100.yaml");
  shares_of(
      dgx, "message pinned other-node", "1/1", 16_MiB,
      [](const Primitive& message, const platforms::Topology& topology, const auto& time_of, const TimeShares& shares) {
        const auto& network = *topology.platform().network;
        EXPECT_NEAR(time_of(shares.way).microseconds(), message_way(message, 16_MiB, topology).microseconds(), 1e-6);
        EXPECT_NEAR(time_of(shares.residual).microseconds(), network.latency.value.at(16_MiB).microseconds(), 1e-6);
        const auto rate = network.rate ? std::optional(network.rate->value) : std::nullopt;
        EXPECT_NEAR(time_of(shares.bytes).microseconds(),
                    flow_time(16_MiB, narrowest_link(message, 16_MiB, topology), rate).microseconds(), 1e-3);
      });
  platforms::Platform base = platforms::read_platform(kBase);
  const auto rate = [](double gigabytes) { return platforms::Sourced<Rate>{.value = Rate{gigabytes * 1e9}}; };
  base.gpu_types[0].blocks = platforms::BlockCosts{.rate = rate(4), .ll_rate = rate(3), .ll128_rate = rate(2)};
  base.node.memories[0].cache = {.value = 1_MiB};
  base.intra_node.uncached = rate(1);
  const auto all_bytes = [](const auto&, const auto&, const auto&, const TimeShares& shares) {
    EXPECT_NEAR(shares.bytes, 0.5, 1e-9);
  };
  for (const std::string format : {"simple", "ll", "ll128"}) {
    shares_of(base, format + " by 1 blocks", "0/1", 1_MiB, all_bytes);
  }
  base.intra_node.send_overhead.value = base.intra_node.latency.value = {};
  shares_of(base, "message pinned same-node", "0/1", 64_MiB, all_bytes);
}

TEST(TimeShares, StandInBothReports) {
  const auto calibration = Probes().add("copy pinned-to-device near", test::line(7, 50)).calibrate();
  const std::string text = to_text(calibration_report(calibration));
  EXPECT_THAT(text, HasSubstr("What the measured time goes to"));
  EXPECT_THAT(text, ContainsRegex("\nall +14 .*%\n"));
  const nlohmann::json json = to_json(calibration);
  for (const auto* shares : {&json.at("shares"), &json.at("fits").at(0).at("shares")}) {
    EXPECT_EQ(shares->at("residual"), calibration.shares.residual);
    EXPECT_EQ(shares->at("parts"), calibration.shares.parts());
    EXPECT_EQ(shares->size(), 6U);
  }
}

}  // namespace
}  // namespace twinlink::validate
