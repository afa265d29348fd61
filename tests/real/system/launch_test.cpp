#include "real/system/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <map>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

Environ variables(const std::map<std::string, std::string>& values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

TEST(LocalRank, IsZeroWithoutALauncher) { EXPECT_EQ(local_rank(variables({})), 0); }

TEST(LocalRank, ComesFromEveryLauncher) {
  for (const char* name : {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK",
                           "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"}) {
    EXPECT_EQ(local_rank(variables({{name, "3"}})), 3) << name;
  }
}

TEST(LocalRank, TheLibraryKnowsBetterThanTheBatchSystem) {
  EXPECT_EQ(local_rank(variables({{"SLURM_LOCALID", "0"}, {"LOCAL_RANK", "5"}, {"OMPI_COMM_WORLD_LOCAL_RANK", "2"}})),
            2);
}

TEST(LocalRank, WhatIsNoNumberIsRefusedByName) {
  for (const char* text : {"", "x", "-1", "1x", "99999999999"}) {
    try {
      local_rank(variables({{"SLURM_LOCALID", text}}));
      ADD_FAILURE() << "'" << text << "' was taken";
    } catch (const UsageError& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("SLURM_LOCALID: '" + std::string(text) + "' is not"));
    }
  }
}

TEST(LauncherRank, IsNothingWithoutALauncher) {
  EXPECT_FALSE(launcher_rank(variables({{"LOCAL_RANK", "1"}})));
  EXPECT_EQ(launcher_rank(variables({{"OMPI_COMM_WORLD_RANK", "7"}})), 7);
}

TEST(LocalRanks, AreWhatTheLauncherSaysOrNothing) {
  EXPECT_EQ(local_ranks(variables({})), std::nullopt);
  EXPECT_EQ(local_ranks(variables({{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}})), 3);
}

TEST(HostName, IsNotEmpty) { EXPECT_FALSE(host_name().empty()); }

}  // namespace
}  // namespace twinlink::real
