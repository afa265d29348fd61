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
using ::testing::Not;

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
  // The ranks are on other nodes then, which are alike.
  const Ended gone = run("diff workload" + job + "keeneland-kids keeneland-kids --fail node1 --fail node2");
  EXPECT_EQ(gone.code, 0) << gone.text;
  EXPECT_THAT(gone.text, ContainsRegex("\n4M .* 1\\.0000  "));
  const Ended idle = run("diff workload" + job + "keeneland-kids keeneland-kids --degrade 7/hca0=50%");
  EXPECT_THAT(idle.text, HasSubstr("note: --degrade 7/hca0=50%"));
}

/// Algorithms that one platform lacks stand beside nothing, and no size beside another.
TEST(WorkloadQuestions, DiffPairsRowsBySizeAndAlgorithm) {
  const std::string job = " all-reduce --ranks 6 -p staging --algorithm all -b 64K -e 256K --factor 4 ";
  for (const std::string platforms : {"hgx-h100 keeneland-kids", "keeneland-kids hgx-h100"}) {
    const std::string file = ::testing::TempDir() + "twinlink-job-diff.json";
    const Ended ended = run("diff workload" + job + platforms + " --json " + file);
    ASSERT_EQ(ended.code, 0) << ended.text;
    const nlohmann::json result = bench::read_json_file(file).at("run");
    std::size_t lacks = 0;
    for (std::size_t i = 0; i < result.at("bytes").size(); ++i) {
      const bool in_a = !result.at("a").at("time_us").at(i).is_null();
      const bool in_b = !result.at("b").at("time_us").at(i).is_null();
      lacks += in_a && in_b ? 0 : 1;
      if (!in_a || !in_b) continue;
      EXPECT_EQ(result.at("a").at("algorithms").at(i), result.at("b").at("algorithms").at(i));
    }
    EXPECT_EQ(lacks, 2) << "the hierarchical one of two sizes: " << ended.text;
    const std::string alone = platforms.substr(0, platforms.find(' '));
    EXPECT_NEAR(result.at("a").at("time_us").at(0).get<double>(),
                time_of_job(job.substr(0, job.find("--algorithm")) + "-b 64K -e 64K --platform " + alone +
                            " --algorithm " + result.at("a").at("algorithms").at(0).get<std::string>()),
                0.01);
  }
}

/// What the user names is not varied, and what is advised can be added to what the user has typed.
TEST(WorkloadQuestions, AdviceLeavesWhatIsNamed) {
  const std::string file = ::testing::TempDir() + "twinlink-job-advice.json";
  const std::string job =
      " all-reduce --ranks 4 --place packed -b 64K -e 64K --platform keeneland-kids --between-nodes staging ";
  ASSERT_EQ(run("advise workload" + job + "--json " + file).code, 0);
  const nlohmann::json best = bench::read_json_file(file).at("points").at(0).at("ranking").at(0);
  const auto words = best.at("words").get<std::string>();
  EXPECT_THAT(words, Not(HasSubstr("--between-nodes")));
  EXPECT_NEAR(time_of_job(job + words), best.at("time_us").get<double>(), 1e-3 * best.at("time_us").get<double>());
  const Ended array =
      run("advise workload reshape --platform h200-nvlink -p gpudirect-v2 --global 64x64x64 --from slab-x "
          "--to slab-y");
  EXPECT_EQ(array.code, 0) << array.text;
  EXPECT_THAT(array.text, Not(HasSubstr("--algorithm")));
}

/// Without that option it has messages as others do, and is no faster.
TEST(WorkloadQuestions, AnOptionWithWhichAProtocolDoesTheWorkloadByItselfIsFound) {
  const std::string file = ::testing::TempDir() + "twinlink-job-advice.json";
  const std::string job = " dispatch --ranks 4 --place packed -b 1M -e 1M --platform hgx-h100 --chunk 0 --depth 2 ";
  const Ended ended = run("advise workload" + job + "--json " + file);
  ASSERT_EQ(ended.code, 0) << ended.text;
  const nlohmann::json best = bench::read_json_file(file).at("points").at(0).at("ranking").at(0);
  const auto words = best.at("words").get<std::string>();
  EXPECT_EQ(words, "--algorithm kernel -p symmetric-put -o engine=blocks");
  EXPECT_NEAR(time_of_job(job + words), best.at("time_us").get<double>(), 1e-3 * best.at("time_us").get<double>());
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
