#include "protocols/bench/measure/pairs.hpp"
#include "protocols/bench/cli/csv.hpp"
#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/cli/print.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include <nlohmann/json.hpp>

#include "protocols/registry.hpp"
#include "tests/explore/explorer/fake_world.hpp"

namespace twinlink::bench {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::SizeIs;

Plan small_plan() {
  return {.sizes = {4_B, 4_KiB}, .small = {.warmup = 1, .iterations = 2}, .large = {.iterations = 2}};
}

PairFile file_of(const FakeWorldOptions& world, const std::string& protocol) {
  PairFile file{.world = "measured", .program = "test", .command = "test", .environment = nlohmann::json::object()};
  run_fake_world(world, [&](MeasuredRank& rank) {
    PairSeries mine = measure_all_pairs(rank, find_protocol(protocol), small_plan());
    if (rank.id() == RankId{0}) {
      file.pairs = std::move(mine);
    } else {
      EXPECT_TRUE(mine.series.empty());
    }
  });
  return file;
}

TEST(Pairs, EveryTwoRanksRunBothWays) {
  const PairFile file = file_of({.ranks = 3}, "gpudirect-v2");
  std::vector<std::string> ways;
  for (const Series& series : file.pairs.series) ways.push_back(series.from + " " + series.to);
  EXPECT_THAT(ways, ElementsAre("0/0 0/1", "0/0 0/2", "0/1 0/0", "0/1 0/2", "0/2 0/0", "0/2 0/1"));
  EXPECT_TRUE(file.pairs.notes.empty());
}

TEST(Pairs, WhatTheProtocolCannotServeIsANote) {
  const PairFile file = file_of({.same_node = false}, "gpudirect-v2");
  EXPECT_TRUE(file.pairs.series.empty());
  EXPECT_THAT(file.pairs.notes, ElementsAre(HasSubstr("different nodes"), HasSubstr("different nodes")));
  std::ostringstream out;
  print_table(file, out);
  EXPECT_THAT(out.str(), HasSubstr("no pair that this protocol serves"));
}

TEST(Pairs, OutliersAreFarFromWhatIsUsualHere) {
  EXPECT_THAT(outliers({10, 10.1, 9.9, 10, 12}), ElementsAre(false, false, false, false, true));
  EXPECT_THAT(outliers({10, 10, 10, 10.4}), ElementsAre(false, false, false, false)) << "within 5 %";
  EXPECT_THAT(outliers({5, 8, 10, 12, 15}), ElementsAre(false, false, false, false, false)) << "all differ";
  EXPECT_THAT(outliers({7}), ElementsAre(false));
  EXPECT_THAT(outliers({}), SizeIs(0));
}

/// Devices by their numbers, and a pair that nobody measured.
TEST(Pairs, TheMatrixMarksThem) {
  PairFile file{.world = "measured"};
  for (const std::string from : {"0/12", "0/2", "0/0"}) {
    for (const std::string to : {"0/12", "0/2", "0/0"}) {
      if (from == to || (from == "0/12" && to == "0/0")) continue;
      const double slow = from == "0/2" && to == "0/0" ? 2 : 1;
      Series series{.label = "v2", .from = from, .to = to};
      series.points = {{.size = 4_B, .time_us = {.median = 2.5 * slow}, .bandwidth_MBps = 1},
                       {.size = 4_KiB, .time_us = {.median = 9}, .bandwidth_MBps = 450.125}};
      file.pairs.series.push_back(series);
    }
  }
  std::ostringstream out;
  print_table(file, out);
  EXPECT_EQ(out.str(),
            "# v2: measured pingpong, all pairs; * is an outlier among the pairs of one path\n"
            "\n"
            "# us at 4\n"
            "# from, to         0/0          0/2         0/12 \n"
            "0/0                  -         2.50         2.50 \n"
            "0/2               5.00*           -         2.50 \n"
            "0/12                 -         2.50            - \n"
            "\n"
            "# MB/s at 4K\n"
            "# from, to         0/0          0/2         0/12 \n"
            "0/0                  -       450.12       450.12 \n"
            "0/2             450.12            -       450.12 \n"
            "0/12                 -       450.12            - \n");
}

TEST(Pairs, FilesHoldAResultForEachPair) {
  const PairFile file = file_of({}, "staging");
  const nlohmann::json json = to_json(file);
  EXPECT_EQ(json.at("kind"), kPairsKind);
  ASSERT_THAT(json.at("results"), SizeIs(2));
  EXPECT_EQ(result_from_json(json.at("results")[1], "test").series.from, "0/1");
  const std::string csv = to_csv(file);
  EXPECT_EQ(std::ranges::count(csv, '\n'), 1 + 2 * 2) << "one header, two sizes of two pairs";
}

}  // namespace
}  // namespace twinlink::bench
