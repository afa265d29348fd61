// `advise workload`, `sensitivity workload` and `diff workload`, as a user runs them.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kJob = " all-reduce --ranks 4 -b 4M ";

double time_of_job(const std::string& arguments) {
  return first_point("workload " + arguments).at("time_us").get<double>();
}

/// What is advised takes the time that is said, for whoever adds the words to the command.
TEST(WorkloadQuestions, AdviceHolds) {
  const std::string job = kJob + "-e 4M --platform keeneland-kids -p gpudirect-v1 ";
  std::string printed;
  const nlohmann::json point = first_point("advise workload" + job, &printed);
  EXPECT_THAT(printed, AllOf(HasSubstr("Advice for all-reduce of 4 ranks on keeneland-kids"),
                             ContainsRegex("Added to the command\n  4M +--algorithm "), HasSubstr("  place  ")));
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
    return first_point("advise workload" + kJob + "-e 4M " + on + more).at("given").at("time_us").get<double>();
  };
  const double well = advised("");
  EXPECT_GT(advised(" --degrade hca0=25%"), 1.5 * well);
  EXPECT_GT(advised(" --set 'fabric.link=500 MB/s'"), 1.5 * well);
}

TEST(WorkloadQuestions, SensitivityIsOfOneSizeAndOneAlgorithm) {
  EXPECT_THAT(said("sensitivity workload" + kJob + "--platform keeneland-kids -p gpudirect-v1 --place spread"),
              AllOf(ContainsRegex("all-reduce of 4M of 4 ranks on keeneland-kids by [a-z-]+: [0-9.]+ us"),
                    ContainsRegex("\n[0-9]+ numbers have no influence\n")));
}

TEST(WorkloadQuestions, SensitivityIsOfTheLargestSizeOrOfATrace) {
  const std::string on = " --platform h200-nvlink -p host";
  EXPECT_THAT(run("sensitivity workload shift" + on).text,
              HasSubstr("shift of 16M of 2 ranks on h200-nvlink by direct"));
  EXPECT_THAT(said("sensitivity workload tests/data/two_ranks.goal" + on),
              HasSubstr("two_ranks.goal of 2 ranks on h200-nvlink: "));
}

TEST(WorkloadQuestions, DiffChangesTheSecondAlone) {
  const std::string job = " shift --ranks 2 --place spread -p host -b 4M -e 4M ";
  EXPECT_THAT(said("diff workload" + job + "keeneland-kids keeneland-kids"),
              AllOf(HasSubstr("No part, word or number differs"), ContainsRegex("\n4M .* 1\\.0000  ")));
  EXPECT_THAT(said("diff workload" + job + "keeneland-kids keeneland-kids --set 'fabric.link=1 GB/s'"),
              AllOf(HasSubstr("fabric.link"), ContainsRegex("\n4M .* 3\\.[0-9]{4}  ")));
  // The ranks are on other nodes then, which are alike.
  EXPECT_THAT(said("diff workload" + job + "keeneland-kids keeneland-kids --fail node1 --fail node2"),
              ContainsRegex("\n4M .* 1\\.0000  "));
  const Ended idle = run("diff workload" + job + "keeneland-kids keeneland-kids --degrade 7/hca0=50%");
  EXPECT_THAT(idle.text, HasSubstr("note: --degrade 7/hca0=50%"));
}

/// Algorithms that one platform lacks stand beside nothing, and no size beside another.
TEST(WorkloadQuestions, DiffPairsRowsBySizeAndAlgorithm) {
  const std::string job = " all-reduce --ranks 6 -p staging --algorithm all -b 64K -e 256K --factor 4 ";
  for (const std::string platforms : {"hgx-h100 keeneland-kids", "keeneland-kids hgx-h100"}) {
    const nlohmann::json result = written("diff workload" + job + platforms).at("run");
    std::size_t lacks = 0;
    for (std::size_t i = 0; i < result.at("bytes").size(); ++i) {
      const bool in_a = !result.at("a").at("time_us").at(i).is_null();
      const bool in_b = !result.at("b").at("time_us").at(i).is_null();
      lacks += in_a && in_b ? 0 : 1;
      if (!in_a || !in_b) continue;
      EXPECT_EQ(result.at("a").at("algorithms").at(i), result.at("b").at("algorithms").at(i));
    }
    EXPECT_EQ(lacks, 6) << "the hierarchical one, and those of a single node, of two sizes: " << result;
    const std::string alone = platforms.substr(0, platforms.find(' '));
    EXPECT_NEAR(result.at("a").at("time_us").at(0).get<double>(),
                time_of_job(job.substr(0, job.find("--algorithm")) + "-b 64K -e 64K --platform " + alone +
                            " --algorithm " + result.at("a").at("algorithms").at(0).get<std::string>()),
                0.01);
  }
}

/// Of what each chooses by itself a size has one row.
TEST(WorkloadQuestions, DiffPairsWhatEachChooses) {
  const nlohmann::json chosen =
      written("diff workload all-reduce --ranks 6 -p staging -b 8 -e 2M --factor 8 hgx-h100 keeneland-kids").at("run");
  EXPECT_NE(chosen.at("a").at("algorithms"), chosen.at("b").at("algorithms"));
  EXPECT_EQ(chosen.at("bytes").size(), 7U);
}

/// What the user names is not varied, and what is advised can be added to what the user has typed.
TEST(WorkloadQuestions, AdviceLeavesWhatIsNamed) {
  const std::string job =
      " all-reduce --ranks 4 --place packed -b 64K -e 64K --platform keeneland-kids --between-nodes staging ";
  const nlohmann::json best = first_point("advise workload" + job).at("ranking").at(0);
  const auto words = best.at("words").get<std::string>();
  EXPECT_THAT(words, Not(HasSubstr("--between-nodes")));
  EXPECT_NEAR(time_of_job(job + words), best.at("time_us").get<double>(), 1e-3 * best.at("time_us").get<double>());
  EXPECT_THAT(said("advise workload reshape --platform h200-nvlink -p gpudirect-v2 --global 64x64x64 --from slab-x "
                   "--to slab-y"),
              Not(HasSubstr("--algorithm")));
}

/// Without that option it has messages as others do, and is no faster.
TEST(WorkloadQuestions, AnOptionWithWhichAProtocolDoesTheWorkloadByItselfIsFound) {
  const std::string job = " dispatch --ranks 4 --place packed -b 1M -e 1M --platform hgx-h100 --chunk 0 --depth 2 ";
  const nlohmann::json best = first_point("advise workload" + job).at("ranking").at(0);
  const auto words = best.at("words").get<std::string>();
  EXPECT_EQ(words, "--algorithm kernel -p symmetric-put -o engine=blocks");
  EXPECT_NEAR(time_of_job(job + words), best.at("time_us").get<double>(), 1e-3 * best.at("time_us").get<double>());
}

TEST(WorkloadQuestions, WhatIsMissingIsSaid) {
  EXPECT_THAT(run("sensitivity").text, HasSubstr("platform is required"));
  EXPECT_THAT(run("diff selene").text, HasSubstr("second is required"));
  EXPECT_THAT(run("advise -b 4 workload all-reduce --platform selene").text,
              HasSubstr("options of 'advise workload' stand behind it"));
  EXPECT_THAT(said("advise workload all-reduce --platform h200-nvlink --ranks 4096", 2),
              HasSubstr("--ranks 4096: --place packed has places for"));
  for (const char* question : {"advise", "sensitivity", "diff"}) {
    const std::string machine = question == std::string("diff") ? "h200-nvlink h200-nvlink" : "--platform h200-nvlink";
    EXPECT_EQ(run(std::string(question) + " workload shift --json /no-such-folder/f " + machine).code, 2) << question;
  }
}

}  // namespace
}  // namespace twinlink::model
