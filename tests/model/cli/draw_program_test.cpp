// twinlink-sim draw, as a user runs it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using bench::read_file;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(DrawProgram, DrawsTheWayThatAMessageReallyTakes) {
  const std::string file = ::testing::TempDir() + "twinlink-way.dot";
  said("draw platforms/keeneland-kids.yaml --from 0/0 --to 1/1 -p gpudirect-v1 --out '" + file + "'");
  const std::string dot = read_file(file);
  EXPECT_THAT(dot, AllOf(HasSubstr("gpudirect-v1 on keeneland-kids: a message of 1M from 0/0 to 1/1, staged through "),
                         HasSubstr("cluster_1"), HasSubstr("1: gpu0-pcie"), HasSubstr(": hca0-pcie"),
                         HasSubstr(": gpu1-pcie"), Not(HasSubstr(": gpu2-pcie"))));
}

TEST(DrawProgram, WithoutDevicesItDrawsTheNodeAlone) {
  const std::string file = ::testing::TempDir() + "twinlink-node.dot";
  EXPECT_EQ(run("draw h200-nvlink --out '" + file + "'").code, 0);
  EXPECT_THAT(read_file(file), AllOf(HasSubstr("NVIDIA H200"), Not(HasSubstr("color=red"))));
}

TEST(DrawProgram, DrawsTheFabric) {
  const std::string file = ::testing::TempDir() + "twinlink-fabric.dot";
  said("draw hgx-h100-64 --fabric --set nodes.count=16 --fail fabric/leaf3-up2 --out '" + file + "'");
  EXPECT_THAT(read_file(file), AllOf(HasSubstr("\"leaf3\" -- \"spine2\""), HasSubstr("color=red"),
                                     HasSubstr("style=dashed"), HasSubstr("bisection")));
  EXPECT_THAT(said("draw h200-nvlink --fabric --out '" + file + "'", 2), HasSubstr("has no fabric: it is one node"));
  EXPECT_THAT(said("draw hgx-h100-64 --fabric --from 0/0 --out '" + file + "'", 2), HasSubstr("without a message"));
}

TEST(DrawProgram, SvgIsMadeByGraphvizOrTheErrorNamesItsPackage) {
  const std::string file = ::testing::TempDir() + "twinlink-node.svg";
  std::filesystem::remove(file);
  const Ended ended = run("draw h200-nvlink --out '" + file + "'");
  if (ended.code == 0) {
    EXPECT_THAT(read_file(file), AllOf(HasSubstr("<svg"), HasSubstr("</svg>"), HasSubstr("gpu1")));
  } else {
    EXPECT_EQ(ended.code, 1);
    EXPECT_THAT(ended.text, HasSubstr("apt-get install graphviz"));
    EXPECT_FALSE(std::filesystem::exists(file));
  }
}

TEST(DrawProgram, RefusesWhatMakesNoSense) {
  EXPECT_THAT(run("draw h200-nvlink --out picture.png").text, HasSubstr(".dot or .svg"));
  EXPECT_THAT(run("draw h200-nvlink -p host --out picture.dot").text, HasSubstr("--from and --to"));
  EXPECT_THAT(run("draw h200-nvlink --from 0/1 --to 0/1 --out picture.dot").text, HasSubstr("same device"));
  EXPECT_FALSE(std::filesystem::exists(std::string(TWINLINK_SOURCE_DIR) + "/picture.dot"));
}

TEST(DrawProgram, NeverOverwritesItsInput) {
  const std::string file = ::testing::TempDir() + "twinlink-input.dot";
  std::filesystem::copy_file(std::string(TWINLINK_SOURCE_DIR) + "/platforms/keeneland-kfs.yaml", file,
                             std::filesystem::copy_options::overwrite_existing);
  const std::string before = read_file(file);
  said("draw '" + file + "' --out '" + ::testing::TempDir() + "./twinlink-input.dot'", 2);
  EXPECT_EQ(read_file(file), before);
}

}  // namespace
}  // namespace twinlink::model
