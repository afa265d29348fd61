#include "validate/compare/comparison.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/registry.hpp"
#include "tests/support/said_by.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using test::Curve;
using test::make_recording;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const Curve kCurve{{4, 10}, {8, 20}, {16, 40}};

Recording measured() { return make_recording("measured", "staging", kCurve); }
Recording simulated() { return make_recording("simulated", "staging", kCurve); }

Pair pair_of(const std::string& protocol, const Curve& measured_curve, const Curve& simulated_curve) {
  return compare_pair(make_recording("measured", protocol, measured_curve),
                      make_recording("simulated", protocol, simulated_curve), false);
}

/// The message of the InputError that comparing ends with; empty if there is none.
std::string refusal(Recording first, Recording second, bool force = false) {
  return said_by<InputError>([&] { return compare_pair(std::move(first), std::move(second), force); });
}

TEST(ComparePair, LikeWithLikeHasNothingToNote) {
  const auto pair = compare_pair(measured(), simulated(), false);
  EXPECT_EQ(pair.label, "staging");
  EXPECT_THAT(pair.notes, IsEmpty());
  EXPECT_EQ(pair.joined.rows.size(), 3U);
  EXPECT_EQ(pair.errors.geometric_mean, 0);
}

TEST(ComparePair, WrongOrderSaysSo) {
  EXPECT_THAT(refusal(simulated(), measured()), HasSubstr("staging-simulated.json: error: wrong order"));
}

TEST(ComparePair, TwoOfOneWorldAreRefused) {
  EXPECT_THAT(refusal(measured(), measured()), HasSubstr("both are measured"));
  EXPECT_THAT(refusal(simulated(), simulated()), HasSubstr("both are simulated"));
}

TEST(ComparePair, ForceDoesNotTurnTheWorldsAround) {
  EXPECT_THAT(refusal(simulated(), measured(), true), HasSubstr("wrong order"));
}

TEST(ComparePair, AnotherProtocolOrPatternNeedsForce) {
  auto other = make_recording("simulated", "gpudirect-v1", kCurve);
  other.series->pattern = bench::Pattern::bandwidth;
  EXPECT_THAT(refusal(measured(), other),
              ::testing::AllOf(HasSubstr("different pattern: measured pingpong, simulated bandwidth"),
                               HasSubstr("different protocol: measured staging, simulated gpudirect-v1"),
                               HasSubstr("--force")));
  const auto pair = compare_pair(measured(), other, true);
  EXPECT_THAT(pair.notes, ElementsAre(HasSubstr("different pattern"), HasSubstr("different protocol")));
}

TEST(ComparePair, AnotherLayoutOrMethodOfPackingNeedsForce) {
  auto spread = make_recording("simulated", "staging", kCurve);
  spread.series->facts.packing = {Layout::vector(8_B, 16_B), PackMethod::kernel};
  EXPECT_THAT(refusal(measured(), spread),
              HasSubstr("different layout: measured contiguous, simulated vector:8,16 packed by kernel"));
  auto copied = measured();
  copied.series->facts.packing = {Layout::vector(8_B, 16_B), PackMethod::copies};
  EXPECT_THAT(refusal(copied, spread),
              HasSubstr("measured vector:8,16 packed by copies, simulated vector:8,16 packed"));
  copied.series->facts.packing.method = PackMethod::kernel;
  EXPECT_THAT(compare_pair(copied, spread, false).notes, IsEmpty());
}

TEST(ComparePair, ACurveThatWasNotAloneNeedsOneThatWasNotAlone) {
  auto busy = make_recording("simulated", "staging", kCurve);
  busy.series->beside = {{.protocol = "staging", .from = "0/2", .to = "0/3"}, {.protocol = "host"}};
  EXPECT_THAT(refusal(measured(), busy),
              HasSubstr("different pairs at once: measured alone, simulated beside host, staging"));
  EXPECT_THAT(compare_pair(measured(), busy, true).notes, ElementsAre(HasSubstr("different pairs at once")));
  auto other = measured();
  other.series->beside = {{.protocol = "staging"}};
  EXPECT_THAT(refusal(other, busy), HasSubstr("measured beside staging, simulated beside host, staging"));
  other.series->beside = {busy.series->beside[1], busy.series->beside[0]};
  EXPECT_THAT(compare_pair(other, busy, false).notes, IsEmpty()) << "in any order";
}

TEST(ComparePair, OtherPairsElsewhereAreNoted) {
  auto here = measured();
  auto there = simulated();
  here.series->beside = {{.protocol = "host", .from = "0/2", .to = "0/3"}};
  there.series->beside = {{.protocol = "host", .from = "0/4", .to = "0/5"}};
  EXPECT_THAT(compare_pair(here, there, false).notes,
              ElementsAre("different other pairs: measured 0/2-0/3:host, simulated "
                          "0/4-0/5:host"));
}

TEST(ComparePair, AnotherToolsFileDoesNotTellWhatRanBeside) {
  auto imported = measured();
  imported.environment = nlohmann::json{{"origin", {{"tool", "osu"}}}};
  auto busy = simulated();
  busy.series->beside = {{.protocol = "staging"}};
  EXPECT_THAT(compare_pair(imported, busy, false).notes,
              ElementsAre("the measured file does not tell which pairs ran at once; the other ran beside staging"));
}

TEST(ComparePair, WhatACurveDoesNotTellIsNoted) {
  const auto untold = [](const char* world) {
    auto recording = make_recording(world, "staging", kCurve);
    recording.environment = nlohmann::json{{"origin", {{"tool", "osu"}}}};
    recording.series->protocol.clear();
    recording.series->from.clear();
    recording.series->told = {.settings = false, .window = false, .cold_us = false};
    return recording;
  };
  EXPECT_THAT(compare_pair(untold("measured"), simulated(), false).notes,
              ElementsAre("the measured file does not tell its protocol; the other is of staging",
                          "the measured file does not tell its window; the other has 1"));
  EXPECT_THAT(compare_pair(measured(), untold("simulated"), false).notes,
              ElementsAre("the simulated file does not tell its protocol; the other is of staging",
                          "the simulated file does not tell its window; the other has 1"));
  EXPECT_THAT(compare_pair(untold("measured"), untold("simulated"), false).notes,
              ElementsAre("the measured file does not tell its protocol; the other is of none that is told",
                          "the simulated file does not tell its protocol; the other is of none that is told"));
}

TEST(ComparePair, ProbesAndResultsDoNotMix) {
  auto probes = simulated();
  probes.series.reset();
  EXPECT_THAT(refusal(measured(), probes), HasSubstr("two files of one kind"));
}

TEST(ComparePair, WhatWasNotProbedIsNoted) {
  auto first = measured();
  auto second = simulated();
  first.series.reset();
  second.series.reset();
  first.notes = {"no peer copies: one device"};
  second.notes = {"no registration"};
  first.environment = nlohmann::json{{"emulated_devices", true}, {"pace", "h200-nvlink"}};
  second.environment = nlohmann::json{{"overrides", {"a.b=1us"}}};
  EXPECT_THAT(compare_pair(first, second, false).notes,
              ElementsAre("measured: no peer copies: one device", "simulated: no registration",
                          "measured on emulated devices that keep a platform's pace: no GPU was there",
                          "the simulated file is of another platform than its file has: --set a.b=1us"));
}

TEST(ComparePair, EmulatedDevicesAreNoted) {
  auto emulated = measured();
  emulated.environment = nlohmann::json{{"emulated_devices", true}};
  EXPECT_THAT(compare_pair(emulated, simulated(), false).notes,
              testing::Contains(HasSubstr("emulated in host memory: the times are this host's, not a GPU's")));
}

/// A workload's file; what another tool's lacks is empty, 0 or "not told".
Recording workload(const std::string& world, const std::string& algorithm, const std::string& protocol) {
  Recording recording{.file = world + ".json", .world = world, .program = "p", .command = "c"};
  recording.environment = nlohmann::json::object();
  recording.workload = bench::WorkloadSeries{.workload = "all-reduce",
                                             .protocol = protocol,
                                             .protocol_between = protocol,
                                             .settings = protocol.empty() ? "" : "chunk 4K",
                                             .ranks = 4,
                                             .nodes = protocol.empty() ? 0 : 2};
  for (const std::uint64_t size : {4U, 16U}) {
    recording.workload->points.push_back({.size = Bytes{size}, .algorithm = algorithm, .verified = true});
    recording.samples.push_back({.key = {.name = algorithm, .size = Bytes{size}}, .time_us = 10});
  }
  return recording;
}

/// Whichever of the two files does not tell something.
TEST(ComparePair, WhatAWorkloadDoesNotTellIsNotedAndTakenFromTheOther) {
  const std::string untold(kUntoldAlgorithm);
  for (const bool first : {true, false}) {
    const auto pair =
        first ? compare_pair(workload("measured", untold, ""), workload("simulated", "ring", "host"), false)
              : compare_pair(workload("measured", "ring", "host"), workload("simulated", untold, ""), false);
    const std::string side = first ? "the measured file does not tell its " : "the simulated file does not tell its ";
    EXPECT_THAT(pair.notes, ElementsAre(side + "protocol; the other has host",
                                        side + "settings; the other has chunk 4K", side + "nodes; the other has 2",
                                        side + "algorithms: its lines are joined by size, and the algorithms are the "
                                               "other's"));
    ASSERT_EQ(pair.joined.rows.size(), 2U);
    EXPECT_EQ(pair.joined.rows[0].key.name, "ring");
  }
  auto other = workload("simulated", "ring", "host");
  other.workload->protocol_between = "staging";
  other.workload->places = {"0/0", "0/1"};
  auto mine = workload("measured", "ring", "host");
  mine.workload->places = {"0/0", "1/0"};
  mine.workload->points[1].verified = false;
  other.workload->settings = "chunk 8K";
  mine.notes = {"mine"};
  other.notes = {"the other's"};
  mine.environment = nlohmann::json{{"emulated_devices", true}};
  other.environment = nlohmann::json{{"overrides", {"a.b=1us"}}};
  EXPECT_THAT(
      compare_pair(mine, other, true).notes,
      ElementsAre("different protocol between nodes: measured host, simulated staging", "mine", "the other's",
                  "different settings: measured chunk 4K, simulated chunk 8K",
                  "different places: measured 0/0 1/0, simulated 0/0 0/1",
                  "measured on devices that are emulated in host memory: the times are this host's, not a GPU's",
                  "the simulated file is of another platform than its file has: --set a.b=1us",
                  "measured payloads are not verified"));
  EXPECT_THAT(refusal(mine, other),
              HasSubstr("not comparable: different protocol between nodes: measured host, simulated "
                        "staging (--force compares them all the same)"));
  // Of two algorithms at one size nobody knows which it was, in whichever file they are.
  auto two = workload("simulated", "ring", "host");
  two.samples.push_back({.key = {.name = "tree", .size = 16_B}, .time_us = 10});
  EXPECT_THAT(
      refusal(workload("measured", untold, ""), two),
      HasSubstr("measured.json: error: does not tell the algorithm that it took, and simulated.json has several "
                "at 16 (ring, tree): which is to be compared?"));
}

TEST(ComparePair, DifferentSettingsAreNoted) {
  auto other = simulated();
  other.series->settings.chunk = Bytes{0};
  other.series->settings.depth = 4;
  other.series->window = 64;
  other.series->to = "1/1";
  EXPECT_THAT(
      compare_pair(measured(), other, false).notes,
      ElementsAre("different chunk: measured 256K, simulated whole message", "different depth: measured 2, simulated 4",
                  "different window: measured 1, simulated 64", "different receiver: measured 1/0, simulated 1/1"));
}

TEST(ComparePair, DifferentWaysAndUnverifiedPayloadsAreNoted) {
  auto first = measured();
  first.series->points[1].path = "peer copy";
  first.series->points[2].path = "peer copy";
  first.series->points[0].verified = false;
  EXPECT_THAT(compare_pair(first, simulated(), false).notes,
              ElementsAre("different ways taken at 2 sizes (8 to 16): measured \"peer copy\", simulated \"staged\"",
                          "measured payloads not verified at: 4"));
}

TEST(ComparePair, OneWayForDifferentReasonsIsOneWay) {
  auto first = measured();
  auto second = simulated();
  for (auto& point : first.series->points) point.path = "staged through the host by the driver: no peer access (0/0)";
  for (auto& point : second.series->points) point.path = "staged through the host by the driver: different hubs";
  EXPECT_THAT(compare_pair(first, second, false).notes, IsEmpty());

  second.series->points[0].path = "peer copy: different hubs";
  EXPECT_THAT(compare_pair(first, second, false).notes, ElementsAre(HasSubstr("different ways taken at 1 sizes")));
}

TEST(ComparePair, NoCommonSizeIsRefused) {
  EXPECT_THAT(refusal(measured(), make_recording("simulated", "staging", {{5, 1}})), HasSubstr("no line in common"));
}

TEST(ComparePair, OneCommonSizeIsEnough) {
  const auto pair = pair_of("staging", {{4, 10}, {8, 20}}, {{8, 25}, {16, 1}});
  EXPECT_EQ(pair.errors.n, 1U);
  EXPECT_DOUBLE_EQ(pair.errors.max, 0.25);
  EXPECT_NEAR(pair.errors.geometric_mean, 0.25, 1e-14);
  EXPECT_DOUBLE_EQ(pair.errors.p95, 0.25);
  EXPECT_EQ(pair.joined.only_measured.size(), 1U);
  EXPECT_EQ(pair.joined.only_simulated.size(), 1U);
}

TEST(Verdict, NoneWithoutALimit) {
  EXPECT_EQ(compare({pair_of("staging", {{4, 10}}, {{4, 99}})}, {}).verdict(), Verdict::no_limit);
}

TEST(Verdict, ALimitIsTheLargestErrorThatPasses) {
  const auto pair = pair_of("staging", {{4, 8}}, {{4, 10}});
  EXPECT_EQ(compare({pair}, {.geometric_mean = pair.errors.geometric_mean}).verdict(), Verdict::passed);
  const double below = std::nextafter(pair.errors.geometric_mean, 0.0);
  EXPECT_EQ(compare({pair}, {.geometric_mean = below}).verdict(), Verdict::exceeded);
  EXPECT_EQ(compare({pair}, {.p95 = 0.25}).verdict(), Verdict::passed);
  EXPECT_EQ(compare({pair}, {.p95 = 0.2499}).verdict(), Verdict::exceeded);
}

TEST(Verdict, EveryPairMustPass) {
  const auto good = pair_of("staging", {{4, 10}}, {{4, 10}});
  const auto bad = pair_of("host", {{4, 10}}, {{4, 20}});
  const auto comparison = compare({good, bad}, {.geometric_mean = 0.5, .p95 = 2.0});
  EXPECT_EQ(comparison.verdict(), Verdict::exceeded);
  EXPECT_THAT(comparison.exceeded, ElementsAre("host: geometric mean error 100.00 % exceeds 50 %"));
}

TEST(CurveOrder, CrossoversComeFromSizesThatAllFilesHold) {
  // Both worlds: v1 leads, then staging. Measured at 2^11; simulated at 2^12. Sizes 1 and 65536 are not in all files.
  const double e = std::exp(1.0);
  const auto v1 = pair_of("v1", {{1, 9}, {1024, 1}, {4096, e}, {16384, e}}, {{1024, 1}, {4096, 1}, {16384, e}});
  const auto staging =
      pair_of("staging", {{1024, e}, {4096, 1}, {16384, 1}}, {{1024, e}, {4096, 1}, {16384, 1}, {65536, 9}});
  const auto comparison = compare({v1, staging}, {});

  ASSERT_EQ(comparison.orders.size(), 1U);
  const auto& order = comparison.orders[0];
  EXPECT_EQ(order.sizes, 3U);
  EXPECT_EQ(order.same_order, 2U) << "at 4096 the simulation has a tie";
  ASSERT_EQ(order.crossovers.size(), 1U);
  EXPECT_EQ(order.crossovers[0].curve, Faster::b);
  EXPECT_NEAR(order.crossovers[0].measured_bytes.value(), 2048, 1e-9);
  EXPECT_NEAR(order.crossovers[0].simulated_bytes.value(), 4096, 1e-9);
  EXPECT_NEAR(order.crossovers[0].distance().value(), 1.0, 1e-9);
}

TEST(CurveOrder, EveryTwoCurvesOfOnePattern) {
  auto bandwidth = pair_of("v2", kCurve, kCurve);
  bandwidth.measured.series->pattern = bench::Pattern::bandwidth;
  const auto comparison = compare(
      {pair_of("host", kCurve, kCurve), pair_of("staging", kCurve, kCurve), bandwidth, pair_of("v1", kCurve, kCurve)},
      {});
  std::vector<std::pair<std::size_t, std::size_t>> compared;
  for (const auto& order : comparison.orders) compared.emplace_back(order.a, order.b);
  EXPECT_THAT(compared, ElementsAre(std::pair{0, 1}, std::pair{0, 3}, std::pair{1, 3}));
}

TEST(CurveOrder, CurvesWithoutACommonSizeHaveNoOrder) {
  const auto comparison = compare({pair_of("host", {{4, 1}}, {{4, 1}}), pair_of("staging", {{8, 1}}, {{8, 1}})}, {});
  ASSERT_EQ(comparison.orders.size(), 1U);
  EXPECT_EQ(comparison.orders[0].sizes, 0U);
  EXPECT_THAT(comparison.orders[0].crossovers, IsEmpty());
}

TEST(Compare, CurvesOfOneNameAreToldApartByTheirFiles) {
  auto second = pair_of("staging", kCurve, kCurve);
  second.measured.file = "second.json";
  const auto comparison = compare({pair_of("staging", kCurve, kCurve), second, pair_of("host", kCurve, kCurve)}, {});
  EXPECT_EQ(comparison.pairs[0].label, "staging (staging-measured.json)");
  EXPECT_EQ(comparison.pairs[1].label, "staging (second.json)");
  EXPECT_EQ(comparison.pairs[2].label, "host");
}

TEST(Compare, CurvesOfOneNameAreToldApartByPatternAndSettingsFirst) {
  auto chunked = pair_of("staging", kCurve, kCurve);
  chunked.measured.series->settings.chunk = Bytes{1U << 20U};
  auto window = pair_of("staging", kCurve, kCurve);
  window.measured.series->pattern = bench::Pattern::bandwidth;
  auto plain = pair_of("staging", kCurve, kCurve);
  for (auto* pair : {&plain, &window}) pair->measured.series->settings = find_protocol("staging").defaults();
  chunked.measured.series->settings.depth = find_protocol("staging").defaults().depth;
  const auto comparison = compare({plain, chunked, window}, {});
  EXPECT_EQ(comparison.pairs[0].label, "staging (pingpong)");
  EXPECT_EQ(comparison.pairs[1].label, "staging (pingpong, --chunk 1M)");
  EXPECT_EQ(comparison.pairs[2].label, "staging (bandwidth)");
}

TEST(Compare, OneMeasuredFileIsToldApartByTheSimulatedFiles) {
  const auto first = pair_of("staging", kCurve, kCurve);
  auto second = first;
  second.simulated.file = "second.json";
  auto third = first;
  third.measured.file = "third.json";
  const auto comparison = compare({first, second, third}, {});
  EXPECT_EQ(comparison.pairs[0].label, "staging (staging-measured.json, staging-simulated.json)");
  EXPECT_EQ(comparison.pairs[1].label, "staging (staging-measured.json, second.json)");
  EXPECT_EQ(comparison.pairs[2].label, "staging (third.json)");
}

TEST(Compare, OnePairNamedTwiceIsToldApartByItsPlace) {
  const auto pair = pair_of("staging", kCurve, kCurve);
  const auto comparison = compare({pair, pair}, {});
  EXPECT_EQ(comparison.pairs[0].label, "staging (pair 1)");
  EXPECT_EQ(comparison.pairs[1].label, "staging (pair 2)");
}

}  // namespace
}  // namespace twinlink::validate
