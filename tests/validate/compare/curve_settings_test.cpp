#include "validate/compare/curve_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/core/errors.hpp"
#include "protocols/registry.hpp"
#include "tests/support/said_by.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

bench::Series pipeline() {
  bench::Series series = test::make_result("measured", "gpudirect-v1", {{1024, 10}, {4096, 16}, {16384, 40}}).series;
  series.settings = {.chunk = 1_MiB, .depth = 4, .options = {{"buffers", "shared"}}};
  series.facts.packing = {Layout::vector(8_B, 16_B), PackMethod::copies};
  series.from = "0/0";
  series.to = "0/1";
  return series;
}

TEST(CurveSettings, AreOptionsThatLeaveNothingToADefault) {
  EXPECT_THAT(run_options(pipeline(), "r.json"),
              ElementsAre("--protocol", "gpudirect-v1", "--option", "buffers=shared", "--layout", "vector:8,16",
                          "--pack", "copies", "--chunk", "1M", "--depth", "4", "--pattern", "pingpong", "--from", "0/0",
                          "--to", "0/1", "--begin", "1K", "--end", "16K", "--factor", "4"));
}

TEST(CurveSettings, WhatTheRunDidIsRepeated) {
  bench::Series series = pipeline();
  series.facts = {.ends = bench::Ends{Memory::device, Memory::pageable}, .compute = 20.0_us, .one_process = true};
  EXPECT_THAT(run_options(series, "r.json"),
              AllOf(IsSupersetOf({"--ends", "device,host", "--compute", "20us", "--one-process"}),
                    Not(Contains("--layout")), Not(Contains("yes"))));
}

TEST(CurveSettings, WhatWasNotSetIsNotSetAgain) {
  bench::Series series = pipeline();
  series.protocol = "cuda-aware";
  series.settings = {.chunk = 64_KiB};
  series.facts = {};
  EXPECT_THAT(run_options(series, "r.json"), AllOf(Contains("--chunk"), Not(Contains("--depth"))));
  EXPECT_EQ(settings_label(series), "cuda-aware --chunk 64K");
}

TEST(CurveSettings, OnlyWindowsHaveAWindow) {
  bench::Series series = pipeline();
  series.settings.options.clear();
  series.facts = {};
  series.pattern = bench::Pattern::bandwidth;
  series.window = 16;
  series.points.resize(1);
  EXPECT_THAT(
      run_options(series, "r.json"),
      ElementsAre("--protocol", "gpudirect-v1", "--chunk", "1M", "--depth", "4", "--pattern", "bandwidth", "--window",
                  "16", "--from", "0/0", "--to", "0/1", "--begin", "1K", "--end", "1K", "--factor", "2"));
}

TEST(CurveSettings, PairsAtOnceAreRepeatedTogether) {
  bench::Series series = pipeline();
  series.settings = find_protocol("gpudirect-v1").defaults();
  series.facts = {};
  series.points.resize(1);
  series.beside = {{.protocol = "staging",
                    .settings = {.chunk = 64_KiB, .depth = 2},
                    .facts = {.compute = 20.0_us},
                    .from = "0/2",
                    .to = "0/3"}};
  const std::vector<std::string> options = run_options(series, "r.json");
  EXPECT_THAT(options, IsSupersetOf({"--pairs", "0/0-0/1,0/2-0/3:staging:chunk=64K:depth=2"}));
  EXPECT_THAT(options, Not(Contains("--from")));
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --pairs 0/0-0/1,0/2-0/3:staging:chunk=64K:depth=2");
}

TEST(CurveSettings, WhatCannotBeRepeatedIsRefused) {
  bench::Series series = pipeline();
  series.points[1].size = 5000_B;
  EXPECT_THAT([&] { run_options(series, "r.json"); },
              ThrowsMessage<InputError>(AllOf(StartsWith("r.json: error: "), HasSubstr("no sizes of a sweep"))));
  series = pipeline();
  series.points[1].size = Bytes{std::uint64_t{1} << 60U};
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
  series = pipeline();
  series.points[2].size = 1_B;
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
  series = pipeline();
  series.points.clear();
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
  series = pipeline();
  series.points[0].size = 0_B;
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
  series = pipeline();
  series.pattern = bench::Pattern::copy;
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("is of copies")));
  for (int lack = 0; lack < 5; ++lack) {
    series = pipeline();
    if (lack == 0) series.told.settings = false;
    if (lack == 1) series.told.window = false;
    if (lack == 2) series.protocol.clear();
    if (lack == 3) series.from.clear();
    if (lack == 4) series.to.clear();
    EXPECT_THAT([&] { run_options(series, "r.json"); },
                ThrowsMessage<InputError>(AllOf(StartsWith("r.json: error: "), HasSubstr("does not tell all"))))
        << lack;
  }
}

/// A factor that run takes at the most.
TEST(CurveSettings, SizesAreThoseOfASweep) {
  bench::Series series = pipeline();
  series.points.resize(2);
  series.points[0].size = 1_B;
  series.points[1].size = 1_MiB;
  EXPECT_THAT(run_options(series, "r.json"), IsSupersetOf({"--begin", "1", "--end", "1M", "--factor", "1048576"}));
  series.points[1].size = 2_MiB;
  EXPECT_THAT([&] { run_options(series, "r.json"); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
}

TEST(CurveSettings, TheLabelSaysWhatIsNoDefault) {
  bench::Series series = pipeline();
  series.facts = {};
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --option buffers=shared --chunk 1M --depth 4");
  series.preset = "openmpi-smcuda-staged";
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --preset openmpi-smcuda-staged");
  series.preset.clear();
  series.settings = {.depth = 2};
  EXPECT_EQ(settings_label(series), "gpudirect-v1");
}

/// What is wrong with a result of the platform "example" in some/where/example.yaml whose environment has `member`.
std::string refusal(const std::string& member, const nlohmann::json& value) {
  const platforms::Platform platform{.name = "example", .file = "some/where/example.yaml"};
  bench::Result result = test::make_result("simulated", "staging", {{1024, 10}});
  result.environment = nlohmann::json{{"platform", "example"},
                                      {"platform_file", "example.yaml"},
                                      {"overrides", nlohmann::json::array()},
                                      {"intra_node", "shared-memory"}};
  result.environment.set(member, value);
  return said_by<InputError>([&] { return require_simulated_on(platform, result, "s.json"); });
}

TEST(CurveSettings, AResultIsOfThePlatformThatItWasSimulatedOn) {
  EXPECT_EQ(refusal("platform", "example"), "nothing was refused");
  EXPECT_EQ(refusal("platform_file", "/else/where/example.yaml"), "nothing was refused");
  EXPECT_EQ(refusal("platform", "other"),
            "s.json: error: simulated on platform 'other' of example.yaml, and not on 'example' of example.yaml");
  EXPECT_EQ(refusal("platform_file", "mine.yaml"),
            "s.json: error: simulated on platform 'example' of mine.yaml, and not on 'example' of example.yaml");
  EXPECT_THAT(refusal("overrides", {"driver.runtime.signal=1us"}), HasSubstr("with other values"));
  EXPECT_THAT(refusal("intra_node", "loopback"), HasSubstr("with other values or ways within the node"));
  for (const char* member : {"smp_copy_size_bytes", "degraded", "failed"}) {
    EXPECT_THAT(refusal(member, 8192), HasSubstr("with other values or ways within the node than example.yaml has"));
  }
  EXPECT_THAT(refusal("platform", nullptr), HasSubstr("environment.platform"));
}

TEST(CurveSettings, AMeasuredResultIsOfNoPlatform) {
  const bench::Result measured = test::make_result("measured", "staging", {{1024, 10}});
  EXPECT_THAT([&] { require_simulated_on({}, measured, "m.json"); },
              ThrowsMessage<InputError>(HasSubstr("m.json: error: this result is not simulated")));
}

}  // namespace
}  // namespace twinlink::validate
