// Studies: their points, and what is kept of them.
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/study/sweep/study_database.hpp"
#include "model/study/sweep/study_plan.hpp"
#include "model/study/sweep/study_report.hpp"
#include "model/study/sweep/study_results.hpp"
#include "protocols/core/errors.hpp"
#include "tests/support/drawn.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

std::string study_file(const std::string& text) {
  std::string file = ::testing::TempDir() + "study.yaml";
  std::ofstream(file) << "title: a study\n" << text;
  return file;
}

std::string no_number(const std::vector<std::string>&, const std::string&) { return "10 GB/s"; }

std::vector<std::vector<std::string>> values_of(const std::string& text) {
  std::vector<std::vector<std::string>> all;
  for (const StudyPoint& point : read_study(study_file(text)).points(no_number)) all.push_back(point.values);
  return all;
}

std::string refusal_of(const std::string& text) {
  return said_by<InputError>([&] { return read_study(study_file(text)); });
}

TEST(Study, CombinesAxes) {
  const std::string axes = "axes: {chunk: [1, 2], depth: [3, 4]}\n";
  EXPECT_THAT(values_of(axes),
              ElementsAre(ElementsAre("1", "3"), ElementsAre("1", "4"), ElementsAre("2", "3"), ElementsAre("2", "4")));
  EXPECT_THAT(values_of(axes + "combine: zip\n"), ElementsAre(ElementsAre("1", "3"), ElementsAre("2", "4")));
  EXPECT_THAT(values_of("points: [{chunk: 1, depth: 4}, {depth: 3, chunk: 2}]\n"),
              ElementsAre(ElementsAre("1", "4"), ElementsAre("2", "3")));
}

TEST(Study, MakesCommandLines) {
  const Study study = read_study(
      study_file("command: workload\noptions: {no-verify: true, links: false, set: [a=1, b=2]}\n"
                 "axes: {workload: [shift], set nodes.count: [7], option engine: [kernel-push], ranks: [4]}\n"));
  EXPECT_THAT(study.points(no_number).front().arguments,
              ElementsAre("workload", "--no-verify", "--set", "a=1", "--set", "b=2", "shift", "--set", "nodes.count=7",
                          "--option", "engine=kernel-push", "--ranks", "4"));
}

TEST(Study, NamesStandForOptions) {
  const Study study =
      read_study(study_file("command: workload\naxes:\n  ranks: [4, 8]\n  design:\n"
                            "    half: {fail: [hca1, hca3], set fabric.size.0: 8}\n    whole: {}\n"));
  const std::vector<StudyPoint> points = study.points(no_number);
  ASSERT_EQ(points.size(), 4U);
  EXPECT_THAT(points[0].values, ElementsAre("4", "half"));
  EXPECT_THAT(points[0].arguments,
              ElementsAre("workload", "--ranks", "4", "--fail", "hca1", "--fail", "hca3", "--set", "fabric.size.0=8"));
  EXPECT_THAT(points[3].values, ElementsAre("8", "whole"));
  EXPECT_THAT(points[3].arguments, ElementsAre("workload", "--ranks", "8"));
  EXPECT_THAT(refusal_of("axes: {design: {}}\n"), HasSubstr("axis 'design' has no values"));
  EXPECT_THAT(refusal_of("axes: {design: {a: 1}}\n"), HasSubstr("'a' is a map of options"));
  EXPECT_THAT(refusal_of("axes: {design: {a: {json: x}}}\n"), HasSubstr("--json is not of a study's point"));
}

/// What is asked has a best choice each, of what is as fast the first; the fabric's cost stands beside every one.
TEST(Study, ChoicesHaveTheirCost) {
  const StudyIdentity identity{.study = "s", .program = "p", .axes = {"question", "design"}, .points = 4};
  const auto row = [](const char* question, const char* design, std::uint64_t bytes, double us, std::uint64_t ports) {
    return StudyRow{.values = {question, design},
                    .bytes = bytes,
                    .time_us = us,
                    .rate_MBps = 8,
                    .samples = 1,
                    .ports = ports,
                    .cables = 7};
  };
  std::vector<StudyRow> rows{row("reduce", "rails", 64, 4, 1536), row("reduce", "tree", 64, 2, 1024),
                             row("step", "rails", 64, 5, 1536), row("step", "tree", 64, 6, 1024),
                             row("reduce", "rails", 2048, 7, 1536)};
  EXPECT_EQ(report::drawn(to_document("s", identity, rows)), R"(# s

Simulated by p.

## The fastest

| of | size | the fastest | time us | 5th | 95th | MB/s |
| --- | ---: | --- | ---: | ---: | ---: | ---: |
| question reduce | 64 | design tree | 2.000 | 0.000 | 0.000 | 8.0 |
| question step | 64 | design rails | 5.000 | 0.000 | 0.000 | 8.0 |
| question reduce | 2K | design rails | 7.000 | 0.000 | 0.000 | 8.0 |

## What each choice takes and costs

Ports of switches that a cable ends at, and cables of adapters and between switches, of the nodes that there are.

| of | size | choice | time us | times the fastest | ports | cables |
| --- | ---: | --- | ---: | ---: | ---: | ---: |
| question reduce | 64 | design tree | 2.000 | 1.000 | 1024 | 7 |
| question reduce | 64 | design rails | 4.000 | 2.000 | 1536 | 7 |
| question step | 64 | design rails | 5.000 | 1.000 | 1536 | 7 |
| question step | 64 | design tree | 6.000 | 1.200 | 1024 | 7 |
| question reduce | 2K | design rails | 7.000 | 1.000 | 1536 | 7 |

## What each axis changes

How much longer each value takes than the best value of its axis, all else the same: geometric means.

bars of Times the best value's time, 
  question reduce, question: 0..1
  question step, question: 0..1.936
  design rails, design: 0..1.414
  design tree, design: 0..1.095
| axis | value | times the best value's time | compared |
| --- | --- | ---: | ---: |
| question | reduce | 1.000 | 2 |
| question | step | 1.936 | 2 |
| design | rails | 1.414 | 2 |
| design | tree | 1.095 | 2 |

## All points

Along any axis, with a curve for each value of another; of the rest one value, or the one that is fastest.

explorer of Every point, along 2, curves 0
  question: reduce step
  design, the best: rails tree
  size: 64 2K
  time in us
  rate in MB/s
  0 0 0 0:4 0:8
  0 1 0 0:2 0:8
  1 0 0 0:5 0:8
  1 1 0 0:6 0:8
  0 0 1 0:7 0:8
| question | design | size | time us | 5th | 95th | MB/s |
| --- | --- | ---: | ---: | ---: | ---: | ---: |
| reduce | rails | 64 | 4.000 | 0.000 | 0.000 | 8.0 |
| reduce | tree | 64 | 2.000 | 0.000 | 0.000 | 8.0 |
| step | rails | 64 | 5.000 | 0.000 | 0.000 | 8.0 |
| step | tree | 64 | 6.000 | 0.000 | 0.000 | 8.0 |
| reduce | rails | 2K | 7.000 | 0.000 | 0.000 | 8.0 |

)");
  EXPECT_EQ(to_csv(identity, {rows.begin(), 1}),
            "question,design,bytes,ran,time_us,p5_us,p95_us,MBps,samples,ports,cables,error\n"
            "reduce,rails,64,,4,0,0,8,1,1536,7,\n");
  for (StudyRow& each : rows) each.ports = each.cables = 0;
  EXPECT_THAT(report::to_markdown(to_document("s", identity, rows)), Not(HasSubstr("ports")));
}

TEST(Study, SaysWhereItIsWrong) {
  EXPECT_THAT(refusal_of("axes: {chunk: []}\n"), HasSubstr("study.yaml:2:15: error: axis 'chunk' has no values"));
  EXPECT_THAT(refusal_of("axes: {}\n"), HasSubstr("there is no axis"));
  EXPECT_THAT(refusal_of("axes: {json: [a]}\n"), HasSubstr("--json is not of a study's point"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\noptions: {chunk: 2}\n"), HasSubstr("'chunk' is there twice"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1, 1]}\n"), HasSubstr("two points are the same: 1"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1, 2], depth: [1]}\ncombine: zip\n"),
              HasSubstr("'zip' takes them side by side"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\ncombine: sum\n"), HasSubstr("'product' or 'zip'"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\nsamples: 3\n"), HasSubstr("nothing has a 'spread'"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\nspread: {a: 0%}\n"), HasSubstr("'0%' is no spread above 0"));
  for (const std::string spread : {"5", "x%", "-5%", "101%", "5%%"}) {
    EXPECT_THAT(refusal_of("axes: {chunk: [1]}\nsamples: 2\nspread: {a: " + spread + "}\n"),
                HasSubstr("'" + spread + "' is no spread above 0"));
  }
  EXPECT_EQ(refusal_of("axes: {chunk: [1]}\nsamples: 2\nspread: {a: 100%}\n"), "nothing was refused");
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\naxis: 1\n"), HasSubstr("axis"));
  EXPECT_THAT(refusal_of("points: [{chunk: 1}, {depth: 1}]\n"), HasSubstr("same options as the first"));
  EXPECT_THAT(refusal_of("points: [{}, {}]\n"), HasSubstr("one option at least"));
  EXPECT_THAT(refusal_of("points: 5\n"), HasSubstr("'points' is a list"));
  EXPECT_THAT(refusal_of("axes: {pairs: [a]}\n"), HasSubstr("--pairs is not of a study's point"));
  EXPECT_THAT(refusal_of("axes: {chunk 64K: [1]}\n"), HasSubstr("'chunk 64K' is no option"));
  EXPECT_THAT(refusal_of("axes: {chunk: [1]}\nspread: {a: 5%}\n"), HasSubstr("a spread wants 'samples'"));
  EXPECT_THAT(refusal_of("command: advise\naxes: {chunk: [1]}\n"), HasSubstr("'run' or 'workload'"));
  EXPECT_THAT(refusal_of("options: {platform: x}\n"), HasSubstr("a study has 'axes' or 'points'"));
}

TEST(Study, DrawsTheSameSamplesForEveryPoint) {
  const Study study =
      read_study(study_file("axes: {chunk: [1, 2]}\nspread: {fabric.link: 10%}\nsamples: 400\nseed: 7\n"));
  const std::vector<StudyPoint> points = study.points(no_number);
  ASSERT_EQ(points.size(), 800U);
  EXPECT_EQ(points[3].sample, 3);
  EXPECT_EQ(points[3].arguments.back(), points[403].arguments.back());
  EXPECT_NE(points[3].arguments.back(), points[4].arguments.back());
  EXPECT_EQ(study.points(no_number)[799].arguments, points[799].arguments) << "the same seed, the same draws";
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < study.samples; ++i) {
    const std::string& text = points[static_cast<std::size_t>(i)].arguments.back();
    ASSERT_TRUE(text.starts_with("fabric.link=") && text.ends_with(" GB/s")) << text;
    const double part = std::log(std::stod(text.substr(12)) / 10) / std::log(1.1);
    sum += part;
    squares += part * part;
  }
  // Of 400 draws the mean's standard deviation is 0.05, that of the variance 0.07.
  EXPECT_NEAR(sum / study.samples, 0, 0.2);
  EXPECT_NEAR(squares / study.samples, 1, 0.28);
}

/// Each of several numbers is drawn by itself, in the place of what the options set.
TEST(Study, EverySpreadIsDrawn) {
  const Study study = read_study(
      study_file("axes: {set b: [7]}\noptions: {set: [a=1]}\nspread: {a: 10%, b: 10%, c: 10%}\nsamples: 2\n"));
  for (const StudyPoint& point : study.points(no_number)) {
    std::map<std::string, int> set;
    std::set<std::string> values;
    for (std::size_t i = 0; i < point.arguments.size(); ++i) {
      if (point.arguments[i] != "--set") continue;
      const std::string& text = point.arguments.at(i + 1);
      ++set[text.substr(0, text.find('='))];
      values.insert(text.substr(text.find('=')));
    }
    EXPECT_EQ(set, (std::map<std::string, int>{{"a", 1}, {"b", 1}, {"c", 1}}));
    EXPECT_EQ(values.size(), 3U) << "three draws";
    for (const std::string& value : values) EXPECT_TRUE(value.ends_with(" GB/s")) << value;
  }
}

class Databases : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  [[nodiscard]] std::filesystem::path file(const char* name) const { return folder_ / name; }
  static FinishedPoint point(std::size_t place, double time) {
    return {.place = place,
            .values = {std::to_string(place / 3)},
            .sample = static_cast<int>(place % 3),
            .times = {{.bytes = 64, .time_us = time, .rate_MBps = 64 / time}}};
  }

  StudyIdentity identity_{.study = "points", .program = "twinlink-sim 1", .axes = {"chunk"}, .points = 100};

 private:
  std::filesystem::path folder_ = ::testing::TempDir() + "twinlink-studies";
};

TEST_F(Databases, KeepWhatIsFinishedAndKnowTheirStudy) {
  {
    StudyDatabase database(file("a.sqlite"), identity_, false);
    database.add(point(5, 2));
    database.add(point(1, 4));
  }
  EXPECT_THROW(StudyDatabase(file("a.sqlite"), identity_, false), UsageError) << "not without --resume";
  StudyIdentity other = identity_;
  other.study = "other points";
  EXPECT_THROW(StudyDatabase(file("a.sqlite"), other, true), UsageError);
  other = identity_;
  other.axes = {"depth"};
  EXPECT_THROW(StudyDatabase(file("a.sqlite"), other, true), UsageError);
  other = identity_;
  other.program = "twinlink-sim 2";
  EXPECT_THROW(StudyDatabase(file("a.sqlite"), other, true), UsageError);
  StudyDatabase database(file("a.sqlite"), identity_, true);
  EXPECT_THAT(database.done(), ElementsAre(1, 5));
  EXPECT_THAT(database.points(), ElementsAre(point(1, 4), point(5, 2)));
}

TEST_F(Databases, HaveOneStudyAtATime) {
  StudyDatabase database(file("b.sqlite"), identity_, false);
  database.add(point(0, 2));
  for (const bool resume : {false, true}) {
    try {
      const StudyDatabase second(file("b.sqlite"), identity_, resume);
      ADD_FAILURE() << "two studies do the same points";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), AllOf(HasSubstr("b.sqlite"), HasSubstr("another study or fleet is at work")));
    }
  }
  EXPECT_THAT(database.points(), ElementsAre(point(0, 2)));
}

TEST_F(Databases, OfAnythingElseAreRefused) {
  std::ofstream(file("text.sqlite")) << "this is a text, and no database of anybody, however long it may be\n";
  EXPECT_THROW(StudyDatabase(file("text.sqlite")), InputError);
  EXPECT_THROW(StudyDatabase(file("text.sqlite"), identity_, true), InputError);
  EXPECT_THROW(StudyDatabase(file("nothing.sqlite")), InputError);
}

TEST_F(Databases, AreJoined) {
  const std::vector<std::filesystem::path> files{file("a.sqlite"), file("b.sqlite")};
  {
    StudyDatabase a(files[0], identity_, false);
    a.add(point(0, 1));
    a.add(point(2, 3));
    StudyDatabase b(files[1], identity_, false);
    b.add(point(1, 2));
    b.add(point(2, 3));  // a double that agrees
  }
  const std::vector<FinishedPoint> points = merged(files);
  EXPECT_THAT(points, ElementsAre(point(0, 1), point(1, 2), point(2, 3)));
  const std::vector<StudyRow> rows = rows_of(points);
  ASSERT_EQ(rows.size(), 1U) << "three samples of one point";
  EXPECT_EQ(rows[0].time_us, 2);
  EXPECT_EQ(rows[0].samples, 3);
  EXPECT_EQ(rows[0].rate_MBps, 32);
  EXPECT_LT(rows[0].p5_us, rows[0].time_us);
  EXPECT_THAT(to_csv(identity_, rows), HasSubstr("chunk,bytes,ran,time_us,p5_us,p95_us,MBps,samples,error\n0,64,,2,"));
}

TEST(StudyReport, SaysWhatIsFastestAndWhatEachAxisChanges) {
  const StudyIdentity identity{.study = "s", .program = "p", .axes = {"platform", "chunk"}};
  std::vector<StudyRow> rows;
  for (const auto& [platform, chunk, time] : {std::tuple{"a", "1K", 10.0}, std::tuple{"a", "2K", 20.0},
                                              std::tuple{"b", "1K", 30.0}, std::tuple{"b", "2K", 15.0}}) {
    rows.push_back({.values = {platform, chunk},
                    .bytes = 64,
                    .time_us = time,
                    .p5_us = time - 1,
                    .p95_us = time + 2,
                    .rate_MBps = 64 / time,
                    .samples = 3});
  }
  // 1K: 1 and 2 times the better one, geometric mean sqrt(2); 2K: 2 and 1.
  EXPECT_THAT(report::drawn(to_document("chunks", identity, rows)),
              AllOf(HasSubstr("| platform a | 64 | chunk 1K | 10.000 | 9.000 | 12.000 | 6.4 |\n"
                              "| platform b | 64 | chunk 2K | 15.000 | 14.000 | 17.000 | 4.3 |\n"),
                    HasSubstr("| platform | a | 1.155 | 2 |\n| platform | b | 1.732 | 2 |\n"
                              "| chunk | 1K | 1.414 | 2 |\n| chunk | 2K | 1.414 | 2 |\n"),
                    HasSubstr("explorer of Every point, along 0, curves 1\n"),
                    HasSubstr("\n  0 1 0 0:20 from 19 to 22 0:3.2\n")));
  rows.push_back({.values = {"b", "4K"}, .error = "no such chunk"});
  const std::string text = report::to_markdown(to_document("chunks <&>", identity, rows));
  EXPECT_THAT(text, AllOf(HasSubstr("| platform | b | 1.732 | 2 |"), Not(HasSubstr("| chunk | 1K |"))))
      << "4K has no time, so nothing is said of that axis";
  EXPECT_THAT(text, HasSubstr("## What could not run\n\n- platform b, chunk 4K: no such chunk\n"));
  EXPECT_EQ(report::to_markdown(to_document("none", identity, {&rows.back(), 1})),
            "# none\n\nSimulated by p.\n\nNo point could run.\n\n## What could not run\n\n"
            "- platform b, chunk 4K: no such chunk\n");
  rows.resize(2);
  EXPECT_THAT(report::to_markdown(to_document("chunks", identity, rows)),
              AllOf(HasSubstr("| chunk | 2K | 2.000 | 1 |"), Not(HasSubstr("| platform | a |"))))
      << "of one value there is nothing to compare";
}

/// Of more rows than a reader looks through the table has the first; along the axis that has most values.
TEST(StudyReport, TableEndsSomewhere) {
  const StudyIdentity identity{.study = "s", .program = "p", .axes = {"chunk", "depth", "ranks"}};
  std::vector<StudyRow> rows;
  for (int i = 0; i < 1000; ++i) {
    rows.push_back({.values = {"1K", std::to_string(i % 500), std::to_string(i / 500)}, .time_us = 1, .samples = 1});
  }
  const auto explorer = [&] { return std::get<report::Explorer>(to_document("s", identity, rows).back()); };
  EXPECT_EQ(explorer().title, "Every point");
  EXPECT_EQ(explorer().along, 1U);
  EXPECT_EQ(explorer().curves, 2U);
  rows.push_back({.values = {"1K", "0", "2"}, .time_us = 1, .samples = 1});
  EXPECT_EQ(explorer().title, "Every point; the table has the first 1000 of 1001");
  EXPECT_EQ(explorer().table.rows.size(), 1000U);
  EXPECT_EQ(explorer().rows.size(), 1001U);
}

TEST(StudyReport, SaysHowManyAreAsFast) {
  const StudyIdentity identity{.study = "s", .program = "p", .axes = {"chunk", "depth"}};
  std::vector<StudyRow> rows;
  for (const auto& [chunk, depth, time] :
       {std::tuple{"1K", "1", 10.0}, std::tuple{"1K", "2", 10.00004}, std::tuple{"2K", "1", 9.0},
        std::tuple{"2K", "2", 9.0}, std::tuple{"4K", "1", 9.00049}, std::tuple{"4K", "2", 9.001}}) {
    rows.push_back({.values = {chunk, depth}, .bytes = 64, .time_us = time, .samples = 1});
  }
  const auto printed = [&] {
    std::ostringstream best;
    print_best(identity, rows, best);
    return best.str();
  };
  EXPECT_EQ(printed(), R"(#     size       time us         MB/s  the fastest chunk, depth
        64         9.000         0.00  2K, 1 (and 2 more, as fast)
)") << "to the digits that are shown";
  EXPECT_THAT(report::to_markdown(to_document("s", identity, rows)),
              HasSubstr("| chunk 2K, depth 1 (and 2 more, as fast) |"));
  rows.resize(3);
  EXPECT_THAT(printed(), HasSubstr("2K, 1\n"));
}

TEST(SizeTimes, AreReadAsTheyWereWritten) {
  const std::vector<SizeTime> times{{.bytes = 64, .algorithm = "ring", .time_us = 1.0 / 3, .rate_MBps = 192},
                                    {.bytes = 128, .time_us = 2e-7, .rate_MBps = 1e12, .ports = 1536, .cables = 9}};
  EXPECT_EQ(size_times(to_text(times), "p"), times);
  for (const char* wrong : {"{}", "[]", "[{}]", "", "[1]", R"([{"bytes": 64}])", "\xff",
                            R"([{"bytes": 64, "time_us": 0, "MBps": 1, "algorithm": ""}])",
                            R"([{"bytes": -1, "time_us": 1, "MBps": 1, "algorithm": ""}])",
                            R"([{"bytes": 64, "time_us": 1, "MBps": 1, "algorithm": "", "more": 1}])"}) {
    EXPECT_THAT([&] { size_times(wrong, "point 3"); }, ::testing::ThrowsMessage<InputError>(HasSubstr("point 3")))
        << wrong;
  }
}

TEST_F(Databases, WhoseSamplesHaveOtherSizesAreNoRow) {
  FinishedPoint other = point(1, 2);
  other.times.front().bytes = 128;
  const std::vector<FinishedPoint> points{point(0, 1), other};
  EXPECT_THROW(rows_of(points), InputError);
}

TEST_F(Databases, WithAPointThatTheStudyDoesNotHaveAreRefused) {
  StudyDatabase(file("a.sqlite"), identity_, false).add(point(100, 1));
  EXPECT_THAT([&] { static_cast<void>(StudyDatabase(file("a.sqlite")).points()); },
              ::testing::ThrowsMessage<InputError>(HasSubstr("point 100 is none of 100")));
}

TEST_F(Databases, ThatDisagreeAreNamed) {
  const std::vector<std::filesystem::path> files{file("a.sqlite"), file("b.sqlite")};
  {
    StudyDatabase(files[0], identity_, false).add(point(2, 3));
    StudyDatabase(files[1], identity_, false).add(point(2, 3.5));
  }
  try {
    merged(files);
    FAIL() << "joined";
  } catch (const Error& error) {
    EXPECT_THAT(error.what(), ::testing::AllOf(HasSubstr("point 2 (0)"), HasSubstr("a.sqlite"), HasSubstr("b.sqlite")));
  }
}

}  // namespace
}  // namespace twinlink::model
