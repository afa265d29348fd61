// `advise workload`, `sensitivity workload` and `diff workload`, as a user runs them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

const std::string kJob = " all-reduce --ranks 4 -b 4M ";

double time_of_job(const std::string& arguments) {
  const std::string file = ::testing::TempDir() + "twinlink-question.json";
  const Ended ended = run("workload " + arguments + " --json " + file);
  EXPECT_EQ(ended.code, 0) << ended.text;
  return bench::read_json_file(file).at("points").at(0).at("time_us").get<double>();
}

/// What is advised takes the time that is said, for whoever adds the words to the command.
TEST(WorkloadQuestions, AdviceHolds) {
  const std::string file = ::testing::TempDir() + "twinlink-job-advice.json";
  const std::string job = kJob + "-e 4M --platform keeneland-kids -p gpudirect-v1 ";
  const Ended ended = run("advise workload" + job + "--json " + file);
  ASSERT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr("Advice for all-reduce of 4 ranks on keeneland-kids"),
                                ContainsRegex("Added to the command\n  4M +--algorithm "), HasSubstr("  place  ")));
  const nlohmann::json point = bench::read_json_file(file).at("points").at(0);
  const nlohmann::json& best = point.at("ranking").at(0);
  const double us = best.at("time_us").get<double>();
  EXPECT_NEAR(time_of_job(job + best.at("words").get<std::string>()), us, 1e-3 * us);
  EXPECT_NEAR(time_of_job(job), point.at("given").at("time_us").get<double>(), 1e-3 * us);
  for (const nlohmann::json& tried : point.at("tried")) EXPECT_GE(tried.at("time_us").get<double>() * 1.0101, us);
}

TEST(WorkloadQuestions, FaultsAndOtherNumbersCount) {
  const std::string on =
      "--platform keeneland-kids -p gpudirect-v1 --algorithm ring --place spread --chunk 64K --depth 4";
  const auto advised = [&](const std::string& more) {
    const std::string file = ::testing::TempDir() + "twinlink-job-advice.json";
    const Ended ended = run("advise workload" + kJob + "-e 4M " + on + more + " --json " + file);
    EXPECT_EQ(ended.code, 0) << ended.text;
    return bench::read_json_file(file).at("points").at(0).at("given").at("time_us").get<double>();
  };
  const double well = advised("");
  EXPECT_GT(advised(" --degrade hca0=25%"), 1.5 * well);
  EXPECT_GT(advised(" --set 'fabric.link=500 MB/s'"), 1.5 * well);
}

TEST(WorkloadQuestions, SensitivityIsOfOneSizeAndOneAlgorithm) {
  const Ended ended = run("sensitivity workload" + kJob + "--platform keeneland-kids -p gpudirect-v1 --place spread");
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, AllOf(ContainsRegex("all-reduce of 4M of 4 ranks on keeneland-kids by [a-z-]+: [0-9.]+ us"),
                                ContainsRegex("\n[0-9]+ numbers have no influence\n")));
}

TEST(WorkloadQuestions, DiffChangesTheSecondAlone) {
  const std::string job = " shift --ranks 2 --place spread -p host -b 4M -e 4M ";
  const Ended same = run("diff workload" + job + "keeneland-kids keeneland-kids");
  EXPECT_EQ(same.code, 0) << same.text;
  EXPECT_THAT(same.text, AllOf(HasSubstr("No part, word or number differs"), ContainsRegex("\n4M .* 1\\.0000  ")));
  const Ended slow = run("diff workload" + job + "keeneland-kids keeneland-kids --set 'fabric.link=1 GB/s'");
  EXPECT_EQ(slow.code, 0) << slow.text;
  EXPECT_THAT(slow.text, AllOf(HasSubstr("fabric.link"), ContainsRegex("\n4M .* 3\\.[0-9]{4}  ")));
  const Ended gone = run("diff workload" + job + "keeneland-kids keeneland-kids --fail node1 --fail node2");
  EXPECT_EQ(gone.code, 0) << gone.text;
}

TEST(WorkloadQuestions, WhatIsMissingIsSaid) {
  EXPECT_THAT(run("sensitivity").text, HasSubstr("platform is required"));
  EXPECT_THAT(run("diff selene").text, HasSubstr("second is required"));
  EXPECT_THAT(run("advise -b 4 workload all-reduce --platform selene").text,
              HasSubstr("options of 'advise workload' stand behind it"));
  const Ended many = run("advise workload all-reduce --platform h200-nvlink --ranks 4096");
  EXPECT_EQ(many.code, 2);
  EXPECT_THAT(many.text, HasSubstr("--ranks 4096: --place packed has places for"));
}

}  // namespace
}  // namespace twinlink::model
