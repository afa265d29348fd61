// Faults of a machine, as a user runs them.
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

const std::string kPeers = "--platform platforms/keeneland-kids.yaml -p gpudirect-v2 --from 0/1 --to 0/2 ";

TEST(FaultsProgram, HalfALinkDoublesTheTimeOfABulkMessage) {
  const std::string bulk = kPeers + "-b 256M -e 256M --set 'nodes.links.gpu1-pcie.bandwidth=4 GB/s' ";
  EXPECT_NEAR(time_of(bulk + "--degrade gpu1-pcie=50%") / time_of(bulk), 2, 0.002);
  EXPECT_EQ(time_of(bulk + "--degrade gpu0-pcie=50%"), time_of(bulk)) << "off the way";
}

/// 256 MiB at 20 GB/s, and at the 7.31 GB/s of PCIe; what starts a copy is less than a thousandth.
TEST(FaultsProgram, WithoutNvlinkPeersGoOverPcie) {
  const std::string bulk =
      "--platform tests/data/nvlink_and_pcie.yaml -p gpudirect-v2 --from 0/1 --to 0/2 -b 256M -e 256M ";
  EXPECT_NEAR(time_of(bulk), 13436.5, 20);
  EXPECT_NEAR(time_of(bulk + "--fail nvlink"), 36737.6, 20);
}

TEST(FaultsProgram, EveryCommandThatTakesAMachineTakesThem) {
  for (const std::string command : {"run -p host", "explain", "advise -p gpudirect-v2 -b 1M -e 1M", "probe"}) {
    const Ended ended = run(command + " --platform keeneland-kids --fail gpu1-pcie");
    EXPECT_EQ(ended.code, 2) << command;
    EXPECT_THAT(ended.text, HasSubstr("cuts parts off: no route from 'gpu1' to 'numa0', 'numa1'")) << command;
  }
}

TEST(FaultsProgram, StandInTheResult) {
  const Ended ended = run("run " + kPeers + "-b 4 -e 4 --degrade qpi=50% --json /dev/stdout");
  EXPECT_THAT(ended.text, ContainsRegex("\"degraded\": \\[\n +\"qpi=50%\""));
}

TEST(ToolsProgram, HelpHasExamplesAndShortLines) {
  for (const std::string command : {"draw"}) {
    const Ended help = run(command + " --help");
    EXPECT_EQ(help.code, 0) << command;
    EXPECT_THAT(help.text, ContainsRegex("\nExamples:\n  twinlink-sim .*\n  twinlink-sim ")) << command;
  }
}

}  // namespace
}  // namespace twinlink::model
