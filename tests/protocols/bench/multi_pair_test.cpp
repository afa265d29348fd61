#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/print.hpp"
#include "protocols/bench/measure/pairs.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/measure/expectation.hpp"
#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

PairPlan pair(const std::string& protocol, int first, int second) {
  return {&find_protocol(protocol),
          {.sizes = {4_B, 4_KiB},
           .small = {.warmup = 1, .iterations = 40},
           .large = {.iterations = 40},
           .settings = {.depth = 2},
           .first = RankId{first},
           .second = RankId{second}}};
}

/// What rank 0 gets; the others must get nothing.
std::vector<Series> run(int ranks, std::vector<PairPlan> pairs) {
  put_side_by_side(pairs);
  std::vector<Series> all;
  run_fake_world({.ranks = ranks}, [&](MeasuredRank& rank) {
    std::vector<Series> mine = measure_at_once(rank, pairs);
    if (rank.id() == RankId{0}) {
      all = std::move(mine);
    } else {
      EXPECT_THAT(mine, IsEmpty());
    }
  });
  return all;
}

TEST(MultiPair, EveryPairHasItsCurveInTheOrderOfThePlans) {
  const std::vector<Series> all = run(5, {pair("staging", 4, 2), pair("gpudirect-v2", 0, 1)});
  ASSERT_THAT(all, SizeIs(2));
  EXPECT_EQ(all[0].from + " " + all[0].to, "0/4 0/2");
  EXPECT_EQ(all[1].from + " " + all[1].to, "0/0 0/1");
  EXPECT_EQ(all[0].protocol, "staging");
  EXPECT_EQ(all[1].protocol, "gpudirect-v2");
  for (const Series& series : all) {
    ASSERT_THAT(series.points, SizeIs(2));
    EXPECT_EQ(series.points[1].time_us.n, 40) << "all run the same number of rounds";
    EXPECT_TRUE(series.points[1].verified);
  }
}

TEST(MultiPair, ACurveSaysWhatRanBesideIt) {
  const std::vector<Series> all = run(6, {pair("staging", 0, 1), pair("host", 2, 3), pair("staging", 5, 4)});
  ASSERT_THAT(all, SizeIs(3));
  ASSERT_THAT(all[1].beside, SizeIs(2));
  EXPECT_EQ(all[1].beside[0].where_and_what(), "0/0-0/1:staging:depth=2");
  EXPECT_EQ(all[1].beside[1].where_and_what(), "0/5-0/4:staging:depth=2");
  EXPECT_EQ(all[0].beside[0].what(), "host:depth=2");
}

TEST(MultiPair, WindowsOverlapToo) {
  std::vector<PairPlan> pairs{pair("gpudirect-v1", 0, 1), pair("gpudirect-v1", 3, 2)};
  for (const Pattern pattern : {Pattern::bandwidth, Pattern::bidirectional}) {
    for (PairPlan& each : pairs) {
      each.plan.pattern = pattern;
      each.plan.window = 4;
    }
    EXPECT_THAT(run(4, pairs), SizeIs(2));
  }
}

TEST(MultiPair, OnePairIsAlone) {
  const std::vector<Series> all = run(3, {pair("host", 1, 2)});
  ASSERT_THAT(all, SizeIs(1));
  EXPECT_THAT(all[0].beside, IsEmpty());
  EXPECT_EQ(all[0].from, "0/1");
}

TEST(MultiPair, ARankHasOnePeer) {
  std::vector<PairPlan> shared{pair("host", 0, 1), pair("host", 2, 0)};
  EXPECT_THAT([&] { put_side_by_side(shared); }, testing::ThrowsMessage<UsageError>("rank 0 is in two pairs"));
  std::vector<PairPlan> lonely{pair("host", 1, 1)};
  EXPECT_THAT([&] { put_side_by_side(lonely); }, testing::ThrowsMessage<UsageError>(HasSubstr("two different ranks")));
}

TEST(MultiPair, WhatAPairReceivesIsCheckedWhileTheOthersRun) {
  std::vector<PairPlan> pairs{pair("staging", 0, 1), pair("staging", 2, 3)};
  put_side_by_side(pairs);
  const FakeWorldOptions world{.ranks = 4, .fault = Fault{.victim = RankId{3}, .transfer = 1, .offset = 1_B}};
  EXPECT_THAT([&] { run_fake_world(world, [&](MeasuredRank& rank) { measure_at_once(rank, pairs); }); },
              testing::ThrowsMessage<CheckError>(HasSubstr("rank 3: staging, 4 B: scrambled at byte 1 of message 0")));
}

TEST(MultiPair, EveryPairHasItsFile) {
  EXPECT_EQ(file_of_pair("out/run.json", 0), "out/run.json");
  EXPECT_EQ(file_of_pair("out/run.json", 1), "out/run-2.json");
  EXPECT_EQ(file_of_pair("run", 2), "run-3");
  EXPECT_EQ(file_of_pair("", 1), "");
}

/// Two results of one size sweep, the second with another way at its second size.
std::vector<Result> two_results() {
  std::vector<Result> results{sample_result(), sample_result()};
  results[0].series.label = "gpudirect-v1";
  results[1].series.label = "staging";
  results[1].series.settings = {};
  results[1].series.from = "0/0";
  results[1].series.to = "1/0";
  results[1].series.cold_us = 99;
  results[1].series.points[0].bandwidth_MBps = 0.5;
  results[1].series.points[1].path = "staged through pinned host memory";
  results[1].series.counters = {{"cache hits", 3}};
  results[0].series.beside = {{.protocol = "staging", .from = "0/0", .to = "1/0"}};
  results[1].series.beside = {{.protocol = "gpudirect-v1", .settings = {.chunk = 256_KiB, .depth = 8}, .from = "0/1"}};
  return results;
}

TEST(MultiPair, TheTableHasTwoColumnsForEachPairAndTheSum) {
  std::ostringstream out;
  print_table(two_results(), out);
  EXPECT_EQ(out.str(),
            "# 2 pairs at once: measured bandwidth\n"
            "# pair 1: 0/1 to 1/2, gpudirect-v1, window 64, chunk 256K, depth 8\n"
            "# pair 2: 0/0 to 1/0, staging, window 64\n"
            "# pair 1, first message, set-up included: 181.500 us\n"
            "# pair 2, first message, set-up included: 99.000 us\n"
            "# pair 1, path: staged through pinned host memory\n"
            "# pair 2, path: staged through pinned host memory\n"
            "# size           1: us        MB/s       2: us        MB/s    sum MB/s\n"
            "4                2.500~       1.60       2.500~       0.50        2.10\n"
            "# pair 1, path: peer copy, directly\n"
            "64K             20.250     3236.35      20.250     3236.35     6472.69\n"
            "# pair 1, 1 of 2 sizes unstable (~): the medians of passes, or of the two halves of a single pass, lie "
            "more than 10 % apart, or the 95th percentile is more than twice the median\n"
            "# pair 2, 1 of 2 sizes unstable (~): the medians of passes, or of the two halves of a single pass, lie "
            "more than 10 % apart, or the 95th percentile is more than twice the median\n"
            "# pair 2, cache hits: 3\n");
}

TEST(MultiPair, TheTableEndsWithWhatWasExpectedOfEach) {
  std::vector<Result> results = two_results();
  results[1].environment.set(
      "expected", to_json(Expectation{.file = "s-2.json", .platform = "example", .points = {{65536_B, 20.25}}}));
  results[0].series.points[0].verified = false;
  std::ostringstream out;
  print_table(results, out);
  EXPECT_THAT(out.str(),
              AllOf(testing::EndsWith("# pair 2, expected from example, written before: geometric mean error "
                                      "0.00 % at 1 of 2 sizes\n"),
                    HasSubstr("# the payload was not verified\n")));
}

TEST(MultiPair, TheFilesKeepWhatRanBeside) {
  const std::vector<Result> results = two_results();
  const Result read = result_from_json(to_json(results[1]), "test");
  ASSERT_THAT(read.series.beside, SizeIs(1));
  EXPECT_EQ(read.series.beside[0].where_and_what(), "0/1-:gpudirect-v1:chunk=256K:depth=8");
  EXPECT_THAT(to_csv(results), HasSubstr(",twinlink-real 0.1.0,0/0-1/0:staging,\n"));
  EXPECT_EQ(to_json(results).at("results").size(), 2U);
  nlohmann::json spoilt = to_json(results[1]);
  spoilt["beside"][0].erase("protocol");
  EXPECT_THAT([&] { result_from_json(spoilt, "test"); },
              testing::ThrowsMessage<InputError>(HasSubstr("'beside[0].protocol' is missing")));
}

std::vector<PairPlan> plans_of(std::vector<std::string> arguments) {
  CLI::App app;
  RunOptions options;
  add_run_options(app, options);
  add_pairs_option(app, options, "RANK-RANK", "0-1,2-3");
  std::ranges::reverse(arguments);  // as CLI11 wants them
  app.parse(arguments);
  return make_pair_plans(options, simulated_repeats(), [](const std::string& text) { return RankId{std::stoi(text)}; });
}

std::string refusal_of_pairs(std::vector<std::string> arguments) {
  arguments.insert(arguments.end(), {"-p", "gpudirect-v1"});
  return said_by<std::exception>([&] { plans_of(std::move(arguments)); });
}

TEST(PairOptions, APairMayRunAnotherProtocol) {
  const auto plans = plans_of({"-p", "gpudirect-v1", "--chunk", "64K", "--depth", "3", "-e", "1K", "--pairs",
                               "0-1,3-2:staging,4-5:gpudirect-v1:chunk=1M:depth=4:buffers=shared,"
                               "6-7:gpudirect-v1:preset=mvapich2"});
  ASSERT_THAT(plans, SizeIs(4));
  EXPECT_EQ(plans[0].plan.settings.chunk, 64_KiB);
  EXPECT_EQ(plans[0].plan.settings.depth, 3);
  EXPECT_EQ(plans[1].protocol->name(), "staging");
  EXPECT_EQ(plans[1].plan.first, RankId{3});
  EXPECT_EQ(plans[1].plan.settings.chunk, find_protocol("staging").defaults().chunk) << "--chunk is not staging's";
  EXPECT_EQ(plans[2].plan.settings.chunk, 1_MiB);
  EXPECT_EQ(plans[2].plan.settings.depth, 4);
  EXPECT_EQ(plans[2].plan.settings.options.at("buffers"), "shared");
  EXPECT_EQ(plans[3].plan.preset, "mvapich2");
  for (const PairPlan& each : plans) {
    EXPECT_EQ(each.plan.sizes, plans[0].plan.sizes);
    EXPECT_THAT(each.plan.beside, SizeIs(3));
  }
}

TEST(PairOptions, NonsenseIsRefused) {
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,1-2"}), HasSubstr("1 is in two pairs"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,1-00"}), HasSubstr("1 is in two pairs"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,2-00"}), HasSubstr("rank 0 is in two pairs"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,2-2"}), HasSubstr("'2-2' is a pair with itself"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,"}), HasSubstr("'' is no pair"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0"}), HasSubstr("'0' is no pair"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1-2"}), HasSubstr("is no pair: FIRST-SECOND"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1:stagin"}), HasSubstr("unknown protocol 'stagin'"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1:staging:64K"}), HasSubstr("'64K' is no NAME=VALUE"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1:staging:chunk=64X"}), HasSubstr("64X"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1:staging:depth=0"}),
              HasSubstr("depth '0' is no whole number from 1 to 1024"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1:staging:engine=x"}), HasSubstr("has no option 'engine'"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,2-3", "--all-pairs"}), HasSubstr("excludes"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,2-3", "--trace", "t"}), HasSubstr("excludes"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "0-1,2-3", "--format", "osu"}), HasSubstr("several pairs have no OSU form"));
  EXPECT_THAT(refusal_of_pairs({"--pairs", "2-3", "--format", "osu"}), HasSubstr("nothing was refused"));
}

}  // namespace
}  // namespace twinlink::bench
