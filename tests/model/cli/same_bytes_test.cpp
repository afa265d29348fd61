// Who builds the program in another folder, and keeps the platforms elsewhere, gets the same results to the last byte.
// Only the environment of a result file names a folder: where the platform lies.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <gtest/gtest.h>

namespace twinlink::model {
namespace {

namespace fs = std::filesystem;

/// The files below `folder` without the lines that say where the platform's file lies.
std::map<std::string, std::string> files_in(const fs::path& folder) {
  std::map<std::string, std::string> files;
  for (const auto& entry : fs::recursive_directory_iterator(folder)) {
    if (!entry.is_regular_file()) continue;
    std::string& content = files[fs::relative(entry.path(), folder).string()];
    std::ifstream stream(entry.path(), std::ios::binary);
    for (std::string line; std::getline(stream, line);) {
      if (line.find("\"platform_file\": ") == std::string::npos) content += line + '\n';
    }
  }
  return files;
}

/// What the program writes into a folder of its own when it runs each command with the platforms of that folder.
std::map<std::string, std::string> results(const fs::path& program, const fs::path& platforms, const fs::path& folder) {
  fs::create_directories(folder);
  for (const char* arguments : {
           "run --platform keeneland-kids -p gpudirect-v1 -b 4 -e 64K --json run.json --csv run.csv --trace run.trace",
           "run --platform keeneland-kids -p staging --pairs 0/1-1/1,0/2-1/2 -b 4 -e 4K --json pairs.json",
           "probe --platform keeneland-kids -b 1 -e 4K --json probe.json",
           "figure keeneland-kids --out figure --json figure.json",
       }) {
    const std::string command = "cd '" + folder.string() + "' && TWINLINK_PLATFORMS='" + platforms.string() + "' '" +
                                program.string() + "' " + arguments + " >>printed.txt 2>&1";
    EXPECT_EQ(std::system(command.c_str()), 0) << command;
  }
  return files_in(folder);
}

TEST(SameBytes, ComeOutOfACopyInAnotherFolder) {
  const fs::path scratch = fs::path(::testing::TempDir()) / "twinlink-same-bytes";
  fs::remove_all(scratch);
  const fs::path original = fs::path(TWINLINK_SOURCE_DIR) / "platforms";
  const auto here = results(TWINLINK_SIM_PROGRAM, original, scratch / "here");

  const fs::path bin = scratch / "other place/bin";
  fs::create_directories(bin);
  fs::copy_file(TWINLINK_SIM_PROGRAM, bin / "twinlink-sim");
  fs::copy(original, scratch / "other place/machines", fs::copy_options::recursive);
  const auto there = results(bin / "twinlink-sim", scratch / "other place/machines", scratch / "there/deeper");

  for (const auto& [name, content] : here) {
    ASSERT_TRUE(there.contains(name)) << name;
    EXPECT_EQ(content, there.at(name)) << name;
  }
  EXPECT_EQ(here.size(), there.size());
  for (const char* name : {"run.json", "run.csv", "run.trace", "pairs.json", "probe.json", "figure.json"}) {
    EXPECT_TRUE(here.contains(name)) << name;
  }
  EXPECT_NE(here.at("run.json").find("\"points\""), std::string::npos);
  fs::remove_all(scratch);
}

}  // namespace
}  // namespace twinlink::model
