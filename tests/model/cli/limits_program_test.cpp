// What would take all memory, or minutes, is refused at once with the limit's name.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kPair = " --platform h200-nvlink --from 0/0 --to 0/1 ";

void expect_refused(const std::string& arguments, const std::string& why) {
  EXPECT_THAT(said(arguments, 2), HasSubstr(why)) << arguments;
}

/// A file of `lines` equal lines.
std::string file_of(const std::string& name, const std::string& line, int lines) {
  std::string file = ::testing::TempDir() + name;
  std::ofstream out(file);
  for (int i = 0; i < lines; ++i) out << line << '\n';
  return file;
}

TEST(LimitsProgram, StepsThatNobodyCouldReadAreNotShown) {
  expect_refused(
      "draw h200-nvlink --from 0/0 --to 0/1 -p gpudirect-v1 --chunk 1 --out " + ::testing::TempDir() + "a.dot",
      "a message of 1M has 1048576 parts, and nobody could read the steps of more than 4096");
  expect_refused("explain" + kPair + "-p gpudirect-v1 --chunk 1 -s 8K", "a message of 8K has 8192 parts");
  expect_refused("explain" + kPair + "-p gpudirect-v1 --layout vector:1,2 -s 8K", "a message of 8K has 8192 parts");
  EXPECT_EQ(run("explain" + kPair + "-p gpudirect-v1 --chunk 1 -s 4K").code, 0);
  expect_refused("run" + kPair + "-p gpudirect-v1 --chunk 1 -b 8K -e 8K --report " + ::testing::TempDir() + "a.html",
                 "a message of 8K has 8192 parts");
}

TEST(LimitsProgram, FineLayoutsNeedLargerBlocksOrNoVerification) {
  const std::string fine = "run" + kPair + "-p gpudirect-v2 --layout vector:1,2 --pack kernel ";
  expect_refused(fine + "-b 64K -e 64K", "more than 32768 blocks; --no-verify takes them");
  EXPECT_EQ(run(fine + "-b 64K -e 64K --no-verify").code, 0);
  expect_refused(fine + "-b 512K -e 512K", "more than 32768 blocks");
  expect_refused(fine + "-b 512K -e 512K --no-verify", "more than 262144 blocks");
}

TEST(LimitsProgram, AStepOfTrainingHasAReadableNumberOfBuckets) {
  const std::string step = "workload training-step --platform h200-nvlink -p gpudirect-v2 ";
  expect_refused(step + "--bucket 8",
                 "--bucket 8 cuts gradients of 256M into more than 8192 buckets: at least 32K is needed");
  expect_refused(step + "--bucket 8K -b 128M -e 128M", "at least 16K is needed");
}

TEST(LimitsProgram, AFileOfPlacesEnds) {
  const std::string shift = "workload shift --platform h200-nvlink -p gpudirect-v2 -e 8 --place ";
  expect_refused(shift + file_of("many_places.txt", "0/0", 131'073), "many_places.txt:131073: error: more than 131072");
  const std::string wrong = said(shift + file_of("wrong_places.txt", "nowhere", 100'000), 2);
  EXPECT_THAT(wrong, AllOf(HasSubstr("wrong_places.txt:200: error"), HasSubstr("and maybe more errors")));
  EXPECT_THAT(wrong, ::testing::Not(HasSubstr("wrong_places.txt:201:")));
}

TEST(LimitsProgram, ACopyThatTakesForEverIsNotWaitedForByMillionsOfCopies) {
  const Ended ended =
      run("probe --platform keeneland-kids --only 'finish ended copy' --set nodes.links.gpu1-pcie.latency='100 ms'");
  EXPECT_THAT(ended.text, HasSubstr("no line for 'finish ended copy': a copy takes"));
}

/// The user has named the file: it is named, and no place in our source.
TEST(LimitsProgram, AFullDiskIsNamedByTheFile) {
  const std::string ended = said("run --platform keeneland-kids -p host -b 1K -e 1K --csv /dev/full", 1);
  EXPECT_THAT(ended, HasSubstr("error: /dev/full: write failed: No space left on device"));
  EXPECT_THAT(ended, Not(HasSubstr(".cpp:")));
}

TEST(LimitsProgram, ANameIsAPlatformsWhateverLiesBesideIt) {
  const std::string folder = ::testing::TempDir() + "twinlink_shadow";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/keeneland-kids") << "name: another\n";
  std::ofstream(folder + "/mine.yaml") << "name: another\n";
  setenv("TWINLINK_PLATFORMS", TWINLINK_SOURCE_DIR "/platforms", 1);
  EXPECT_EQ(run("run --platform keeneland-kids -p host -e 4", folder).code, 0);
  EXPECT_THAT(run("run --platform ./keeneland-kids -p host -e 4", folder).text,
              HasSubstr("keeneland-kids:1:1: error: "));
  EXPECT_THAT(run("run --platform mine.yaml -p host -e 4", folder).text, HasSubstr("mine.yaml:1:1: error: "));
}

}  // namespace
}  // namespace twinlink::model
