#include "validate/curve_settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/registry.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;
using ::testing::Not;
using ::testing::ThrowsMessage;

bench::Series pipeline() {
  bench::Series series = test::make_result("measured", "gpudirect-v1", {{1024, 10}, {4096, 16}, {16384, 40}}).series;
  series.settings = {.chunk = 1_MiB, .depth = 4, .options = {{"buffers", "shared"}, {"layout", "vector:8,16"}}};
  series.from = "0/0";
  series.to = "0/1";
  return series;
}

TEST(CurveSettings, AreOptionsThatLeaveNothingToADefault) {
  EXPECT_THAT(run_options(pipeline()),
              ElementsAre("--protocol", "gpudirect-v1", "--option", "buffers=shared", "--layout", "vector:8,16",
                          "--chunk", "1M", "--depth", "4", "--pattern", "pingpong", "--from", "0/0", "--to", "0/1",
                          "--begin", "1K", "--end", "16K", "--factor", "4"));
}

TEST(CurveSettings, OnlyWindowsHaveAWindow) {
  bench::Series series = pipeline();
  series.settings.options.clear();
  series.pattern = bench::Pattern::bandwidth;
  series.window = 16;
  series.points.resize(1);
  EXPECT_THAT(run_options(series), ElementsAre("--protocol", "gpudirect-v1", "--chunk", "1M", "--depth", "4",
                                               "--pattern", "bandwidth", "--window", "16", "--from", "0/0", "--to",
                                               "0/1", "--begin", "1K", "--end", "1K", "--factor", "2"));
}

TEST(CurveSettings, PairsAtOnceAreRepeatedTogether) {
  bench::Series series = pipeline();
  series.settings = find_protocol("gpudirect-v1").defaults();
  series.points.resize(1);
  series.beside = {{.protocol = "staging",
                    .settings = {.chunk = 64_KiB, .depth = 2, .options = {{"layout", "vector:8,16"}}},
                    .from = "0/2",
                    .to = "0/3"}};
  const std::vector<std::string> options = run_options(series);
  EXPECT_THAT(options, IsSupersetOf({"--pairs", "0/0-0/1,0/2-0/3:staging:chunk=64K:depth=2"}));
  EXPECT_THAT(options, Not(Contains("--from")));
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --pairs 0/0-0/1,0/2-0/3:staging:chunk=64K:depth=2");
}

TEST(CurveSettings, WhatCannotBeRepeatedIsRefused) {
  bench::Series series = pipeline();
  series.points[1].size = 5000_B;
  EXPECT_THAT([&] { run_options(series); }, ThrowsMessage<InputError>(HasSubstr("no sizes of a sweep")));
  series = pipeline();
  series.told.settings = false;
  EXPECT_THAT([&] { run_options(series); }, ThrowsMessage<InputError>(HasSubstr("does not tell all")));
}

TEST(CurveSettings, TheLabelSaysWhatIsNoDefault) {
  bench::Series series = pipeline();
  series.settings.options.erase("layout");
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --option buffers=shared --chunk 1M --depth 4");
  series.preset = "openmpi-smcuda-staged";
  EXPECT_EQ(settings_label(series), "gpudirect-v1 --preset openmpi-smcuda-staged");
  series.preset.clear();
  series.settings = {.depth = 2};
  EXPECT_EQ(settings_label(series), "gpudirect-v1");
}

}  // namespace
}  // namespace twinlink::validate
