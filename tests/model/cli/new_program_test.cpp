// twinlink-sim new, as a user runs it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

/// A file that is not there.
std::string fresh(const std::string& name) {
  const std::string file = ::testing::TempDir() + "twinlink-" + name + ".yaml";
  std::filesystem::remove(file);
  return file;
}

std::string make(const std::string& options, const std::string& file) {
  return run("new " + options + " --out '" + file + "'").text;
}

TEST(NewProgram, ATemplateOfKnownPartsRuns) {
  const std::string file = fresh("new-h100");
  EXPECT_THAT(make("--gpu h100 --nic cx7 --mpi openmpi", file),
              HasSubstr("8 x NVIDIA H100 80GB HBM3, 2 node(s) with 8 GPU(s)"));
  EXPECT_EQ(run("check '" + file + "'").code, 0);
  EXPECT_THAT(run("explain --platform '" + file + "' --from 0/0 --to 0/7").text,
              HasSubstr("by gpu0 -> nvswitch -> gpu7"));
  EXPECT_THAT(run("explain --platform '" + file + "' --from 0/5 --to 1/0 -p gpudirect-v3 -s 4K").text,
              HasSubstr("gpu5 -> socket1 -> hca5 => hca0 -> socket0 -> gpu0"));
}

TEST(NewProgram, WithoutANetworkThereIsOneNode) {
  const std::string file = fresh("new-l40s");
  EXPECT_THAT(make("--gpu l40s --cpu 2-genoa --gpus 4", file), HasSubstr("1 node(s) with 4 GPU(s)"));
  EXPECT_THAT(run("explain --platform '" + file + "' --from 0/0 --to 0/1").text, HasSubstr("gpu0 -> socket0 -> gpu1"));
}

TEST(NewProgram, SaysWhichPartsThereAre) {
  const std::string file = fresh("new-none");
  EXPECT_THAT(make("--gpu h100-sxn", file), AllOf(HasSubstr("did you mean 'h100-sxm'?"), HasSubstr("titan-rtx")));
  EXPECT_THAT(make("--gpu v100", file), HasSubstr("may be v100-nvlink-host or v100-pcie or v100-sxm2: say which"));
  EXPECT_THAT(make("--gpu l40s --gpus 3", file), HasSubstr("the 2 sockets of this CPU cannot share them evenly"));
  EXPECT_FALSE(std::filesystem::exists(file));
}

TEST(NewProgram, AMachineMayHaveOneAdapter) {
  const std::string file = fresh("new-one-adapter");
  EXPECT_THAT(make("--gpu a100-sxm --cpu 2-rome --nic cx6 --gpus 4 --adapters 1", file),
              HasSubstr("2 node(s) with 4 GPU(s)"));
  EXPECT_THAT(run("explain --platform '" + file + "' --from 0/3 --to 1/0 -p gpudirect-v3 -s 4K").text,
              HasSubstr("gpu3 -> socket1 -> socket0 -> hca0 => hca0 -> socket0 -> gpu0"));
  EXPECT_THAT(make("--gpu a100-sxm --nic cx6 --adapters 3", fresh("new-odd")), HasSubstr("cannot share them evenly"));
  EXPECT_THAT(make("--gpu a100-sxm --adapters 1", fresh("new-odd")), HasSubstr("--adapters needs --nic"));
}

/// A link to a folder elsewhere: '..' leads out of that one.
TEST(NewProgram, IncludesArePathsFromTheFolderThatALinkLeadsTo) {
  const std::filesystem::path folder = std::filesystem::path(::testing::TempDir()) / "twinlink-new-links";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder / "deep/er");
  std::filesystem::create_directory_symlink(folder / "deep/er", folder / "link");
  EXPECT_THAT(make("--gpu l40s --cpu 2-genoa --gpus 4", (folder / "link/node.yaml").string()), HasSubstr("1 node(s)"));
  EXPECT_EQ(run("check '" + (folder / "deep/er/node.yaml").string() + "'").code, 0);
}

TEST(NewProgram, OverwritesNothing) {
  EXPECT_THAT(make("--gpu h100", "platforms/keeneland-kids.yaml"), HasSubstr("is there already"));
  EXPECT_EQ(run("check platforms/keeneland-kids.yaml").code, 0);
}

}  // namespace
}  // namespace twinlink::model
