// Which part of a study a process takes, by what launchers set.
#include "model/study/sweep/launcher_share.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <utility>

#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

using Variables = std::map<std::string, std::string>;

/// Sets what a launcher would, and nothing of another one.
std::pair<int, int> share(const Variables& variables) {
  for (const char* name : {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_PROCID",
                           "SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_MIN",
                           "SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP"}) {
    ::unsetenv(name);
  }
  for (const auto& [name, value] : variables) ::setenv(name.c_str(), value.c_str(), 1);
  const Share found = share_of_launcher();
  return {found.rank, found.ranks};
}

Variables array(int id, int first, int last, int step) {
  return {{"SLURM_ARRAY_TASK_ID", std::to_string(id)},
          {"SLURM_ARRAY_TASK_MIN", std::to_string(first)},
          {"SLURM_ARRAY_TASK_MAX", std::to_string(last)},
          {"SLURM_ARRAY_TASK_STEP", std::to_string(step)}};
}

TEST(LauncherShare, WithoutALauncherItIsAll) { EXPECT_EQ(share({}), std::pair(0, 1)); }

TEST(LauncherShare, IsTheRankOfAnyLauncher) {
  EXPECT_EQ(share({{"OMPI_COMM_WORLD_RANK", "2"}, {"OMPI_COMM_WORLD_SIZE", "5"}}), std::pair(2, 5));
  EXPECT_EQ(share({{"PMI_RANK", "2"}, {"PMI_SIZE", "5"}}), std::pair(2, 5));
  EXPECT_EQ(share({{"SLURM_PROCID", "2"}, {"SLURM_STEP_NUM_TASKS", "5"}}), std::pair(2, 5));
  EXPECT_EQ(share({{"SLURM_PROCID", "0"}, {"SLURM_NTASKS", "5"}}), std::pair(0, 1)) << "a batch script";
}

/// Tasks of an array take every share once: Slurm's MAX is the largest index that there is.
TEST(LauncherShare, TasksOfAnArrayTakeEveryShareOnce) {
  for (const int first : {0, 1, 3}) {
    for (const int step : {1, 2, 3, 7}) {
      for (const int tasks : {1, 2, 5}) {
        const int last = first + (tasks - 1) * step;
        for (int task = 0; task < tasks; ++task) {
          EXPECT_EQ(share(array(first + task * step, first, last, step)), std::pair(task, tasks))
              << first << "-" << last << ":" << step;
        }
      }
    }
  }
}

TEST(LauncherShare, ATaskThatLaunchesOneProcessIsStillATask) {
  Variables variables = array(5, 1, 9, 2);
  variables["SLURM_PROCID"] = "0";
  variables["SLURM_STEP_NUM_TASKS"] = "1";
  EXPECT_EQ(share(variables), std::pair(2, 5));
}

TEST(LauncherShare, WhatIsNoShareIsRefused) {
  EXPECT_THROW(share({{"PMI_RANK", "5"}, {"PMI_SIZE", "5"}}), UsageError);
  EXPECT_THROW(share({{"PMI_RANK", "-1"}, {"PMI_SIZE", "5"}}), UsageError);
  EXPECT_THROW(share({{"PMI_RANK", "one"}, {"PMI_SIZE", "5"}}), UsageError);
  EXPECT_THROW(share({{"PMI_RANK", "1x"}, {"PMI_SIZE", "5"}}), UsageError);
  EXPECT_THROW(share(array(7, 0, 6, 1)), UsageError);
  EXPECT_THROW(share(array(1, 3, 6, 1)), UsageError);
}

}  // namespace
}  // namespace twinlink::model
