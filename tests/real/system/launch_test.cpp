#include "real/system/launch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

Environ variables(const std::map<std::string, std::string>& values) {
  return [values](const char* name) {
    const auto found = values.find(name);
    return found == values.end() ? nullptr : found->second.c_str();
  };
}

/// Each of the variables tells it, and before those that follow it: libraries know better than the batch system.
void expect_order(const std::function<std::optional<int>(const Environ&)>& ask, std::vector<std::string> names) {
  std::map<std::string, std::string> set;
  while (!names.empty()) {
    const auto number = static_cast<int>(set.size());
    set[names.back()] = std::to_string(number);
    EXPECT_EQ(ask(variables(set)), number) << names.back();
    names.pop_back();
  }
}

TEST(LocalRank, IsZeroWithoutALauncher) { EXPECT_EQ(local_rank(variables({})), 0); }

TEST(LocalRank, ComesFromEveryLauncher) {
  expect_order([](const Environ& environ) { return std::optional(local_rank(environ)); },
               {"OMPI_COMM_WORLD_LOCAL_RANK", "MV2_COMM_WORLD_LOCAL_RANK", "MVP_COMM_WORLD_LOCAL_RANK",
                "MPI_LOCALRANKID", "SLURM_LOCALID", "LOCAL_RANK"});
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
  expect_order(
      [](const Environ& environ) { return launcher_rank(environ); },
      {"OMPI_COMM_WORLD_RANK", "MV2_COMM_WORLD_RANK", "MVP_COMM_WORLD_RANK", "PMI_RANK", "PMIX_RANK", "SLURM_PROCID"});
}

TEST(LocalRanks, AreWhatTheLauncherSaysOrNothing) {
  EXPECT_EQ(local_ranks(variables({})), std::nullopt);
  EXPECT_EQ(local_ranks(variables({{"OMPI_COMM_WORLD_LOCAL_SIZE", "3"}})), 3);
}

TEST(HostName, IsNotEmpty) { EXPECT_FALSE(host_name().empty()); }

}  // namespace
}  // namespace twinlink::real
