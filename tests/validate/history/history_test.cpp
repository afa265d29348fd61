// Results by date: what is stored, what comes back, and what has become slower.
#include "validate/history/history.hpp"

#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/database/database.hpp"
#include "protocols/core/errors.hpp"
#include "tests/validate/golden.hpp"
#include "tests/validate/nodes/made_up_fleet.hpp"
#include "validate/compare/spread.hpp"
#include "validate/history/history_report.hpp"
#include "validate/history/regressions.hpp"

namespace twinlink::validate {
namespace {

using test::curve_of;
using test::file_with;
using test::fleet_of;
using test::Times;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Pair;
using ::testing::StartsWith;
using ::testing::ThrowsMessage;

#ifdef TWINLINK_SQLITE
class Histories : public ::testing::Test {
 protected:
  /// A node's file of one curve on a day.
  static FleetFiles one(const std::string& date, const Times& times, const std::string& file = "f") {
    FleetFiles files =
        fleet_of(1, [&](std::size_t) { return std::vector{file_with({curve_of("write", times)}, date)}; });
    files.nodes[0].files[0].file = file;
    return files;
  }
  /// "write small sizes: DATE=VALUE DATE=VALUE"
  static std::vector<std::string> words(const NodeResultsOverTime& results) {
    std::vector<std::string> all;
    for (const FigureHistory& figure : results.figures) {
      all.push_back(fmt::format("{} {}:", figure.key.name, to_string(figure.band)));
      for (const DatedFigure& dated : figure.dated) {
        all.back() += fmt::format(" {}={:.3g}{}", dated.date, dated.log_us, dated.unstable ? "~" : "");
      }
    }
    return all;
  }
  void execute(const char* sql) const { platforms::Database(file_, platforms::Database::Access::write).execute(sql); }
  /// The first figure or text of the answer.
  [[nodiscard]] std::string ask(const char* sql) const {
    const platforms::Database database(file_, platforms::Database::Access::write);
    platforms::Statement answer(database, sql);
    EXPECT_TRUE(answer.step()) << sql;
    return answer.text(0);
  }

  test::ScratchFolder folder_;
  std::filesystem::path file_ = folder_.path() / "h.sqlite";
};

/// The mean of a band's stable points, whose deviations add up as those of a mean; of none that is stable all.
TEST_F(Histories, KeepFiguresOfBandsOnce) {
  FleetFiles files = one("2026-11-01", {{1_KiB, 1}, {2_KiB, 3}, {16_KiB, 90}, {64_KiB, 5}, {1_MiB, 7}, {2_MiB, 9}});
  auto& points = files.nodes[0].files[0].curves[0].points;
  points[0].deviation = 0.3;
  points[1].deviation = 0.4;
  points[2].unstable = points[4].unstable = points[5].unstable = true;
  NodeFile undated = files.nodes[0].files[0];
  undated.date.clear();
  files.nodes[0].files.push_back(undated);
  for (int times = 0; times < 2; ++times) History(file_).add(files);
  const auto results = History(file_).of(files);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_THAT(words(results[0]), ElementsAre("write small sizes: 2026-11-01=2", "write middle sizes: 2026-11-01=5",
                                             "write large sizes: 2026-11-01=8~"));
  EXPECT_DOUBLE_EQ(results[0].figures[0].dated[0].deviation, 0.25);
  EXPECT_EQ(results[0].figures[0].key, (CurveKey{"tool 1, 2 x GPU", "peer copies", "write", "0/0", "0/1"}));
  EXPECT_THAT(results[0].dates, ElementsAre("2026-11-01"));
}

TEST_F(Histories, KeepWhoMeasured) {
  FleetFiles files = one("2026-11-01", {{1_KiB, 1}});
  files.nodes[0].gpus = {{.place = "0/0", .bus = "1b"}, {.place = "0/1", .bus = "2b"}};
  files.nodes[0].files[0].hosts = {"first", "second"};
  files.nodes[0].files[0].software = "driver 1";
  History(file_).add(files);
  EXPECT_EQ(ask("SELECT node || '|' || kind || '|' || date || '|' || host || '|' || gpus || '|' || software || '|' || "
                "file FROM node_runs"),
            "node0000|tool 1, 2 x GPU|2026-11-01|first|GPU 0 (1b); GPU 1 (2b)|driver 1|f");
  EXPECT_EQ(ask("SELECT test || '|' || curve || '|' || gpu || '|' || peer || '|' || band || '|' || sizes FROM "
                "node_figures"),
            "peer copies|write|0/0|0/1|0|1024");
  // Others may read meanwhile, and what a run has is found by it.
  EXPECT_EQ(ask("PRAGMA journal_mode"), "wal");
  EXPECT_EQ(ask("SELECT tbl_name FROM sqlite_master WHERE name = 'node_figures_of_run'"), "node_figures");
}

TEST_F(Histories, ComeBackByDateAndOverTheNewestSizes) {
  History history(file_);
  const Times both{{1_KiB, 1}, {2_KiB, 3}};
  history.add(one("2026-11-03", both));
  history.add(one("2026-11-01", {{1_KiB, 0}, {2_KiB, 2}}, "late"));
  history.add(one("2026-11-02", {{1_KiB, 9}, {4_KiB, 9}, {1_MiB, 4}}));
  history.add(one("2026-11-03", {{1_KiB, 5}, {2_KiB, 5}}, "again"));
  FleetFiles other = one("2026-11-04", both);
  other.nodes[0].name = "another";
  history.add(other);
  const FleetFiles asked = one("", both);
  EXPECT_THAT(words(history.of(asked)[0]),
              ElementsAre("write small sizes: 2026-11-01=1 2026-11-03=5", "write large sizes: 2026-11-02=4"));
  EXPECT_THAT(history.of(asked)[0].dates, ElementsAre("2026-11-01", "2026-11-02", "2026-11-03"));
  EXPECT_THAT(history.newest(), ElementsAre(Pair(Pair("another", "tool 1, 2 x GPU"), "2026-11-04"),
                                            Pair(Pair("node0000", "tool 1, 2 x GPU"), "2026-11-03")));
  FleetFiles two = asked;
  two.nodes.push_back({.name = "unknown"});
  two.nodes.push_back(other.nodes[0]);
  const auto results = history.of(two);
  EXPECT_THAT(words(results[1]), IsEmpty());
  EXPECT_THAT(words(results[2]), ElementsAre("write small sizes: 2026-11-04=2"));
}

TEST_F(Histories, DatesThatCannotBeAreRemarks) {
  History history(file_);
  FleetFiles files = one("2026-11-05", {{1_KiB, 1}});
  EXPECT_EQ(keep_results(history, files)[0].figures.size(), 1U);
  EXPECT_THAT(files.nodes[0].remarks, IsEmpty()) << "it is not older than itself";
  files = one("2026-11-05", {{1_KiB, 1}});
  keep_results(history, files);
  EXPECT_THAT(files.nodes[0].remarks, IsEmpty());
  files = one("2026-11-06", {{1_KiB, 1}});
  files.nodes[0].files.push_back(one("2026-11-05", {{1_KiB, 1}}).nodes[0].files[0]);
  keep_results(history, files);
  EXPECT_THAT(files.nodes[0].remarks, IsEmpty()) << "nor than what comes with it";
  files = one("2026-11-02", {{1_KiB, 1}});
  keep_results(history, files);
  EXPECT_THAT(files.nodes[0].remarks,
              ElementsAre("f is of 2026-11-02, and the history has results of 2026-11-06: they came late, or the clock "
                          "runs backward"));
  files = one("", {{1_KiB, 1}});
  EXPECT_EQ(keep_results(history, files)[0].dates.size(), 3U);
  EXPECT_THAT(files.nodes[0].remarks,
              ElementsAre("f tells no date, nor do its folders' names: not kept in the history"));
  files = one("9026-11-02T07:00:00Z", {{1_KiB, 1}});
  note_dates_to_come(files, "2026-11-28T00:00:00Z");
  EXPECT_EQ(keep_results(history, files)[0].dates.size(), 3U) << "it would make all that follow late";
}

TEST_F(Histories, StandInTheFileOfAStudyAndInNoOther) {
  execute("CREATE TABLE study (x)");
  execute("CREATE TABLE others (x)");
  History(file_).add(one("2026-11-05", {{1_KiB, 1}}));
  execute("UPDATE node_history SET schema = 2");
  EXPECT_THAT([&] { History{file_}; },
              ThrowsMessage<UsageError>(file_.string() + ": its history has schema 2, and this program knows 1"));
  std::filesystem::remove(file_);
  execute("CREATE TABLE others (x)");
  EXPECT_THAT([&] { History{file_}; },
              ThrowsMessage<UsageError>(file_.string() + ": a database of something else; name another file"));
  std::filesystem::remove(file_);
  std::ignore = folder_.write("h.sqlite", std::string(5000, 'x'));
  EXPECT_THAT([&] { History{file_}; },
              ThrowsMessage<InputError>(StartsWith(file_.string() + ": error: no database: ")));
  EXPECT_THROW(History{folder_.path() / "missing/h.sqlite"}, EnvironmentError);
}

/// All or nothing: a second run is stored as a whole, or what was there stays as it was.
TEST_F(Histories, ARunThatFailsLeavesNothing) {
  History(file_).add(one("2026-11-05", {{1_KiB, 1}}));
  execute("CREATE TRIGGER full BEFORE INSERT ON node_figures BEGIN SELECT RAISE(ABORT, 'the disk is full'); END");
  History history(file_);
  EXPECT_THAT(
      [&] {
        history.add(one("2026-11-06", {{1_KiB, 2}}));
      },
      ThrowsMessage<EnvironmentError>(HasSubstr("full")));
  EXPECT_EQ(history.newest().begin()->second, "2026-11-05");
  execute("DROP TRIGGER full");
  history.add(one("2026-11-06", {{1_KiB, 2}}));
  EXPECT_EQ(history.newest().begin()->second, "2026-11-06") << "and it is no longer locked";
}
#endif

// --- Steps by themselves -------------------------------------------------------------------------------------------

/// A day each; what is below 0 is unstable.
FigureHistory figure(const std::string& test, const std::vector<double>& times, double deviation = 0.001) {
  FigureHistory history{.key = {.test = test, .name = test}, .band = Band::middle};
  for (const double time : times) {
    const std::string date = fmt::format("2026-11-{:02}", history.dated.size() + 1);
    history.dated.push_back(
        {.date = date, .log_us = std::log(std::abs(time)), .deviation = deviation, .unstable = time < 0});
  }
  return history;
}

/// "30.00 % of 10.00 % since 04"; empty: no step.
std::string step_in(const FigureHistory& history, double tolerance = 0.1, std::size_t trials = 1) {
  const auto steps = steps_of(history, tolerance, trials);
  if (steps.empty()) return "";
  EXPECT_EQ(steps.size(), 1U);
  EXPECT_EQ(std::tuple(steps[0].key, steps[0].band, steps[0].dated.size()),
            std::tuple(history.key, history.band, history.dated.size()));
  return fmt::format("{:.2f} % of {:.2f} % since {}", steps[0].slower * 100, steps[0].allowed * 100,
                     steps[0].since.substr(8));
}

TEST(Regressions, AreStepsOfWhatHasStayedSlow) {
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1.3, 1.3})), "30.00 % of 10.00 % since 04");
  EXPECT_EQ(step_in(figure("x", {1, 1.3})), "30.00 % of 10.00 % since 02");
  EXPECT_EQ(step_in(figure("x", {1, 1, 1.2, 1, 1.3, 1.3, 1.3})), "30.00 % of 10.00 % since 05") << "an odd day is none";
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1.09})), "");
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1.09}), 0.05), "9.00 % of 5.00 % since 04");
  EXPECT_EQ(step_in(figure("x", {1, 1, 1.3, 1.3, 1})), "") << "it has recovered";
  EXPECT_EQ(step_in(figure("x", {1, 1, 1.3, 1.3, 1.3, 1.2})), "30.00 % of 10.00 % since 03") << "not by half";
  EXPECT_EQ(step_in(figure("x", {1.3, 1.3, 1, 1})), "") << "it is faster";
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1})), "");
  EXPECT_EQ(step_in(figure("x", {1})), "");
  EXPECT_EQ(step_in(figure("x", {1, -9, 1, -9, 1.3, 1.3})), "30.00 % of 10.00 % since 05") << "stable ones alone count";
  EXPECT_EQ(step_in(figure("x", {1, 1, 1.3, -1.3})), "") << "the newest did not repeat itself";
}

/// A median of n values is off by sqrt(1.57 / n) of what one of them is.
TEST(Regressions, ChanceIsWhatBothMediansMayBeOff) {
  const double told = 0.05 * std::sqrt(1.57 * (1 / 3.0 + 1 / 2.0)) * farthest_of(100);
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1.3, 1.3}, 0.05), 0.1, 100),
            fmt::format("30.00 % of {:.2f} % since 04", std::expm1(told) * 100));
  EXPECT_EQ(step_in(figure("x", {1, 1, 1, 1.3, 1.3}, 0.1), 0.1, 100), "");
  // The scatter around both medians, where it is more than what the points say of themselves: of these half is 1 %.
  const std::vector<double> scattered{0.99, 1.01, 1, 0.98, 1.02, 1.287, 1.313, 1.3};
  const double scatter = 1.4826 * (std::log(1.01) + -std::log(0.99)) / 2;
  for (const double deviation : {0.0, 0.001, 0.05}) {
    // Where no point says anything, the scatter of so few is uncertain itself.
    const double one = std::max(scatter, deviation);
    const double farthest = deviation == 0 ? farthest_of(7, 8) : farthest_of(7);
    const double allowed = std::expm1(one * std::sqrt(1.57 * (1 / 5.0 + 1 / 3.0)) * farthest);
    const auto steps = steps_of(figure("x", scattered, deviation), 0, 7);
    ASSERT_EQ(steps.size(), 1U) << deviation;
    EXPECT_NEAR(steps[0].allowed / allowed, 1, 0.02) << deviation;
    EXPECT_NEAR(steps[0].slower, 0.3, 1e-9);
  }
}

TEST(Regressions, TheWorstOfANodeComesFirst) {
  const FigureHistory slow = figure("slow", {1, 1, 1, 1.5, 1.5});
  const FigureHistory slower = figure("slower", {1, 1, 2, 2, 2});
  const FigureHistory third = figure("third", {1, 1.2});
  const FigureHistory faster = figure("faster", {2, 2, 1, 1});
  for (const auto& figures : {std::vector{slow, slower, faster}, {faster, slower, slow}}) {
    std::vector<FigureHistory> more = figures;
    more.push_back(third);
    const auto found = find_regressions(
        {{.figures = figures, .dates = {"1", "2", "3"}}, {.figures = {faster}}, {.figures = more}, {.figures = {slow}}},
        0.1);
    ASSERT_EQ(found[0].regressions.size(), 2U);
    EXPECT_EQ(std::tuple(found[0].judged, found[0].dates), std::tuple(3U, 3U));
    EXPECT_NEAR(found[0].regressions[0].slower, 1, 1e-9);
    EXPECT_NEAR(found[0].regressions[1].slower, 0.5, 1e-9);
    EXPECT_EQ(in_words(found), (std::vector<std::string>{"slower slower by 100 % since 2026-11-03, and 1 more test", "",
                                                         "slower slower by 100 % since 2026-11-03, and 2 more tests",
                                                         "slow slower by 50 % since 2026-11-04"}));
  }
}

/// The more figures with a past there are, the more chance does to one of them.
TEST(Regressions, ChanceIsOfAllNodesTogether) {
  const FigureHistory noisy = figure("x", {1, 1, 1.3, 1.3}, 0.08);
  const auto allowed = [&](std::vector<NodeResultsOverTime> others) {
    others.push_back({.figures = {noisy}});
    return find_regressions(others, 0.1).back().regressions.at(0).allowed;
  };
  const auto chance = [](std::size_t trials) { return std::expm1(0.08 * std::sqrt(1.57) * farthest_of(trials)); };
  EXPECT_NEAR(allowed({}), chance(1), 1e-9);
  EXPECT_NEAR(allowed({{.figures = {noisy, figure("new", {1})}}}), chance(2), 1e-9);
}

TEST(Regressions, WithoutAPastNothingIsJudged) {
  const auto found = find_regressions(
      {{.figures = {figure("new", {1}), figure("odd", {1, -2}), figure("past", {-1, 2}), figure("old", {1, 1})}}}, 0.1);
  EXPECT_EQ(std::tuple(found[0].judged, found[0].single, found[0].unstable), std::tuple(1U, 2U, 1U));
}

// --- What is said of them --------------------------------------------------------------------------------------------

/// 15 % in 30 days with 1 % of noise: a step would be half of it, and is within the tolerance. It is told from the
/// first date to the last; noise alone, and a step, are no drift.
TEST(Steps, ADriftIsToldFromEndToEnd) {
  const auto drifting = [](double change, double step) {
    FigureHistory history{.key = {.test = "t", .name = "t"}, .band = Band::large};
    for (int day = 0; day < 30; ++day) {
      const double noise = 0.01 * std::sin(1.7 * day * day);
      const double value = 3 + change * day / 29 + (day >= 12 ? step : 0) + noise;
      history.dated.push_back({.date = fmt::format("2026-11-{:02}", day + 1), .log_us = value, .deviation = 0.01});
    }
    return steps_of(history, 0.1, 1000);
  };
  for (const double change : {std::log(1.15), std::log(1.3)}) {
    const auto found = drifting(change, 0);
    ASSERT_EQ(found.size(), 1U) << change;
    EXPECT_TRUE(found[0].drift);
    EXPECT_NEAR(std::log1p(found[0].slower), change, 0.015);
    EXPECT_EQ(found[0].since, "2026-11-01");
  }
  EXPECT_THAT(drifting(0, 0), IsEmpty());
  EXPECT_THAT(drifting(-0.3, 0), IsEmpty()) << "faster is no failure";
  const auto step = drifting(0, 0.2);
  ASSERT_EQ(step.size(), 1U);
  EXPECT_FALSE(step[0].drift);
  EXPECT_EQ(step[0].since, "2026-11-13");
}

TEST(HistoryReport, IsAsItWas) {
  Fleet fleet;
  for (std::size_t node = 0; node < 22; ++node) fleet.files.nodes.push_back({.name = test::node_name(node)});
  fleet.files.nodes[1].gpus = {{.place = "0/1", .bus = "2b"}};
  std::vector<NodeHistory> history(3);
  FigureHistory curve = figure("peer copies", {10, 10.5, -13, 13, 13, 13.5, 13, 13, 13, 13, 13, 13, 13}, 0.02);
  curve.key = {.test = "peer copies", .name = "peer copy write direct", .from = "0/1", .to = "0/1"};
  const Regression regression{.key = curve.key,
                              .band = Band::large,
                              .slower = 0.3,
                              .allowed = 0.1,
                              .since = "2026-11-04",
                              .dated = curve.dated};
  Regression worse = regression;
  worse.slower = 0.5;
  worse.key.to = "0/2";
  worse.dated = figure("x", {1, 1.5}, 0).dated;
  history[0] = {.dates = 4, .judged = 7, .unstable = 1, .single = 2};
  history[1] = {.regressions = {regression, regression}, .dates = 13, .judged = 5};
  history[2] = {.regressions = {worse}, .dates = 2, .judged = 3, .unstable = 1};
  const report::Document page = history_report(fleet, history, true);
  test::expect_golden("history.markdown", to_markdown(page) + "\n" + test::drawn(page));
  EXPECT_EQ(test::drawn(history_report(fleet, history, false)), "");
  fleet.rows = {{.node = 2}, {.node = 0}, {.node = 1}};
  const nlohmann::json written = with_history({{"nodes", {nlohmann::json::object(), {}, {}}}}, fleet, history);
  EXPECT_EQ(written.at("nodes").at(0).at("regressions"), (nlohmann::json::array({{{"test", "peer copies"},
                                                                                  {"curve", "peer copy write direct"},
                                                                                  {"from", "0/1"},
                                                                                  {"to", "0/2"},
                                                                                  {"sizes", "large sizes"},
                                                                                  {"slower", 0.5},
                                                                                  {"allowed", 0.1},
                                                                                  {"since", "2026-11-04"},
                                                                                  {"drift", false}}})));
  EXPECT_EQ(written.at("nodes").at(1).at("regressions"), nlohmann::json::array());
  EXPECT_EQ(written.at("nodes").at(1).at("dates"), 4);
  EXPECT_EQ(written.at("nodes").at(2).at("regressions").size(), 2U);
  EXPECT_THAT(history_report(fleet, {}, true), IsEmpty());
  EXPECT_EQ(with_history({{"a", 1}}, fleet, {}), nlohmann::json({{"a", 1}}));
  // Of many nodes the worst twenty are told of, and the worst six drawn.
  history = std::vector<NodeHistory>(22, NodeHistory(history[1]));
  const report::Document many = history_report(fleet, history, true);
  EXPECT_THAT(to_text(many), HasSubstr("And 2 more."));
  EXPECT_EQ(std::ranges::count_if(many, [](const auto& block) { return std::holds_alternative<report::Plot>(block); }),
            6);
}

}  // namespace
}  // namespace twinlink::validate
