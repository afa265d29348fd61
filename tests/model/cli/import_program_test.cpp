// twinlink-sim import, as a user runs it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;

TEST(ImportProgram, WritesAPlatformThatRuns) {
  for (const std::string file :
       {"tests/data/topo_mesh.txt", "tests/data/nccl_switch.xml", "tests/real/topologies/two_sockets.xml"}) {
    const std::string out = ::testing::TempDir() + "twinlink-imported.yaml";
    EXPECT_THAT(
        said("import " + file + " --name mine --out '" + out + "'"),
        AllOf(ContainsRegex("[1-9][0-9]* of [0-9]+ numbers are assumed, until something better tells:"),
              HasSubstr("    probes of the node: twinlink-real probe, then twinlink-validate calibrate\n    * ")));
    EXPECT_THAT(run("check '" + out + "'").text,
                AllOf(HasSubstr(".yaml: ok: mine, "), ContainsRegex("    assumed: [1-9][0-9]* of [0-9]+ numbers")));
    EXPECT_THAT(run("run --platform '" + out + "' -p staging --from 0/0 --to 0/1 -b 1M -e 1M").text,
                HasSubstr("staged through pageable"));
    EXPECT_THAT(run("run --platform '" + out + "' --set nodes.count=2 -p gpudirect-v3 --to 1/0 -b 1M -e 1M").code, 0);
  }
}

TEST(ImportProgram, SaysWhatTheUserMustKnow) {
  const std::string out = ::testing::TempDir() + "twinlink-remarked.yaml";
  EXPECT_THAT(said("import tests/real/topologies/two_sockets.xml --out '" + out + "'"),
              HasSubstr("twinlink-sim: note: hwloc does not tell of NVLinks"));
  EXPECT_THAT(run("check '" + out + "'").text, HasSubstr(".yaml: ok: twinlink-remarked, ")) << "the name of the file";
  EXPECT_THAT(run("import tests/data/topo_mesh.txt --gpu V100-SXM2-32GB --out '" + out + "'").text,
              HasSubstr("4 x Tesla V100-SXM2-32GB"));
}

TEST(ImportProgram, HoldsWhatNcclHasLoggedAgainstItsProtocol) {
  const std::string out = ::testing::TempDir() + "twinlink-logged.yaml";
  EXPECT_THAT(
      said("import tests/data/nccl_log.txt --out '" + out + "'"),
      AllOf(
          HasSubstr("What NCCL 2.28.9 has logged, and what -p nccl does on this platform by the tables of nccl-2.28:"),
          HasSubstr("    settings: NCCL NCCL_SOCKET_IFNAME=eth0, -p nccl does not know them\n"),
          HasSubstr("    ring that is found: 12 of 30 GB/s, neighbours NVL, both\n"),
          HasSubstr("    channels: 24, both\n"), HasSubstr("    ring of channel 0 and 1: 0 1 2 3, both\n"),
          HasSubstr("    ring of channel 3: 2 3 0, both\n"),
          HasSubstr("    ring of channel 2: NCCL 0 2 1 3, -p nccl 0 1 2 3\n"),
          HasSubstr("    way from rank 0 to 1: P2P, both\n"),
          HasSubstr("    way from rank 2 to 3: NCCL SHM, -p nccl P2P\n"),
          HasSubstr("    AllReduce of 1073741824 B: ring simple, 24 channels, both\n")));
}

TEST(ImportProgram, WritesNothingWhereItDoesNotUnderstand) {
  const std::string out = ::testing::TempDir() + "twinlink-not-imported.yaml";
  EXPECT_THAT(said("import README.md --out '" + out + "'", 2), HasSubstr("README.md:1: error: "));
  EXPECT_FALSE(std::filesystem::exists(out));
  EXPECT_THAT(run("import tests/data/topo_mesh.txt --out ./tests/data/topo_mesh.txt").text,
              HasSubstr("would overwrite an input"));
}

TEST(ImportProgram, HelpHasExamples) {
  EXPECT_THAT(run("import --help").text, AllOf(HasSubstr("\nExamples:\n  "), HasSubstr("nvidia-smi topo -m")));
}

}  // namespace
}  // namespace twinlink::model
