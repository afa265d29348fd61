// `twinlink-sim study` as a user runs it, and as what interrupts it leaves it.
#include <filesystem>
#include <fstream>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

class StudyProgram : public ::testing::Test {
 protected:
  void SetUp() override { std::filesystem::create_directories(folder_); }
  void TearDown() override { std::filesystem::remove_all(folder_); }
  std::string file(const std::string& text) {
    std::ofstream(folder_ + "study.yaml") << text;
    return folder_ + "study.yaml";
  }
  std::string out(const std::string& name) { return folder_ + name; }
  static std::string table(const std::string& folder) { return bench::read_file(folder + "/study.csv"); }
  static std::size_t lines(const std::string& text) { return static_cast<std::size_t>(std::ranges::count(text, '\n')); }

  const std::string chunks_ =
      "title: chunks\noptions: {platform: keeneland-kids, protocol: staging, begin: 1M, end: 4M, factor: 4}\n"
      "axes: {chunk: [64K, 256K, 1M], depth: [1, 2]}\n";

 private:
  std::string folder_ = ::testing::TempDir() + "twinlink-study/";
};

TEST_F(StudyProgram, WritesARowForEachPointAndSize) {
  said("study " + file(chunks_) + " --out " + out("a") + " -j 2");
  EXPECT_EQ(lines(table(out("a"))), 1U + 6 * 2);
  const Ended single = run("run --platform keeneland-kids -p staging -b 4M -e 4M --chunk 256K --depth 2");
  const auto row = table(out("a")).find("256K,2,4194304,,");
  ASSERT_NE(row, std::string::npos);
  const double time = std::stod(table(out("a")).substr(row + 16));
  EXPECT_NEAR(std::stod(single.text.substr(single.text.find("\n4M ") + 4)), time, time * 1e-5) << single.text;
}

TEST_F(StudyProgram, SaysWhichProtocolWasChosenWhereItNamesNone) {
  const std::string end = ", begin: 64K, end: 64K}\naxes: {iterations: [1]}\n";
  EXPECT_THAT(said("study " + file("title: a\noptions: {platform: keeneland-kids, from: 0/1, to: 0/2" + end) +
                   " --out " + out("a")),
              Not(HasSubstr("note:")))
      << "what points print nobody sees";
  EXPECT_THAT(table(out("a")), HasSubstr("\n1,65536,gpudirect-v2,"));
  EXPECT_EQ(
      run("study " +
          file("title: a\ncommand: workload\noptions: {platform: h200-nvlink, workload: all-reduce, algorithm: ring" +
               end) +
          " --out " + out("b"))
          .code,
      0);
  EXPECT_THAT(table(out("b")), HasSubstr("\n1,65536,ring over gpudirect-v2,"));
}

TEST_F(StudyProgram, KilledLosesNothingAndRepeatsNothing) {
  const std::string study = "study " + file(chunks_) + " -j 1 --out ";
  ASSERT_EQ(run(study + out("whole")).code, 0);
  // A file of at most so many KiB is a full disk: some points are kept, the next one is not.
  const Ended full = run_shell("ulimit -f 32; exec \"$0\" " + study + out("part"));
  EXPECT_EQ(full.code, 1) << full.text;
  EXPECT_THAT(full.text, HasSubstr("SQLite"));
  EXPECT_THAT(run(study + out("part")).text, ContainsRegex("[1-5] points of this study are there"));
  said(study + out("part") + " --resume");
  EXPECT_EQ(table(out("part")), table(out("whole")));
}

TEST_F(StudyProgram, SharesThePointsOfALauncher) {
  const std::string study = "study " + file(chunks_) + " -j 1 --out ";
  ASSERT_EQ(run(study + out("whole")).code, 0);
  for (const char* rank : {"0", "1"}) {
    const Ended ended = run_shell(std::string("PMI_SIZE=2 PMI_RANK=") + rank + " exec \"$0\" " + study + out("shares"));
    EXPECT_THAT(ended.text, HasSubstr("3 of 6 points")) << ended.text;
  }
  const Ended joined = run("study merge " + out("shares") + " --out " + out("joined"));
  EXPECT_EQ(joined.code, 0) << joined.text;
  EXPECT_EQ(table(out("joined")), table(out("whole")));
}

TEST_F(StudyProgram, GoesOnWithTheSameFilesOnly) {
  const std::string places = out("places.txt");
  const std::string study = "study " +
                            file(
                                "title: some\ncommand: workload\noptions: {workload: shift, protocol: host, platform: "
                                "keeneland-kids, begin: 4, end: 4, ranks: 2}\naxes: {place: [" +
                                places + "]}\n") +
                            " --resume --out " + out("a");
  for (const char* second : {"1/0", "1/0", "2/0"}) {
    std::ofstream(places) << "0/0\n" << second << "\n";
    const Ended ended = run(study);
    EXPECT_EQ(ended.code, second[0] == '1' ? 0 : 2) << ended.text;
  }
}

TEST_F(StudyProgram, SaysWhichPointsCannotRun) {
  said("study " +
           file("title: some\noptions: {protocol: host, begin: 4, end: 4}\n"
                "axes: {platform: [h200-nvlink, no-such-machine]}\n") +
           " --out " + out("a"),
       1);
  EXPECT_THAT(table(out("a")),
              AllOf(HasSubstr("h200-nvlink,4,,"), HasSubstr("there is no platform 'no-such-machine'")));
}

TEST_F(StudyProgram, SaysWhichPlatformsLackANumberWithASpread) {
  said("study " +
           file("title: a\noptions: {protocol: host, begin: 4, end: 4}\nspread: {driver.fallback.chunk: 5%}\n"
                "samples: 2\naxes: {platform: [keeneland-kids, h200-nvlink]}\n") +
           " --out " + out("a"),
       1);
  EXPECT_THAT(table(out("a")), HasSubstr("has no number 'driver.fallback.chunk'"));
}

/// Before any point runs.
TEST_F(StudyProgram, RefusesWhatIsNoTextInUtf8) {
  EXPECT_THAT(said("study " +
                       file("title: a\noptions: {platform: h200-nvlink, protocol: host, begin: 4, end: 4}\n"
                            "axes: {chunk: [32K, \xff"
                            "2M]}\n") +
                       " --out " + out("a"),
                   2),
              AllOf(HasSubstr("study.yaml:3:"), HasSubstr("UTF-8"), Not(HasSubstr("json.exception"))));
  EXPECT_FALSE(std::filesystem::exists(out("a")));
}

/// A build has another program file: bytes behind its end change nothing but what it is.
TEST_F(StudyProgram, IsResumedByTheSameBuildOnly) {
  const std::string study = "study " + file(chunks_) + " -j 1 --resume --out " + out("a");
  ASSERT_EQ(run(study).code, 0);
  EXPECT_EQ(run(study).code, 0);
  const std::string other = out("other-build");
  const Ended ended = run_shell("cp \"$0\" " + other + " && echo >> " + other + " && exec " + other + " " + study);
  EXPECT_EQ(ended.code, 2) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr(", build "), HasSubstr("take another --out")));
}

TEST_F(StudyProgram, SaysWhatIsMissingOfAJoinedStudy) {
  const std::string study = "study " + file(chunks_) + " -j 1 --out ";
  ASSERT_EQ(run_shell("PMI_SIZE=2 PMI_RANK=1 exec \"$0\" " + study + out("shares")).code, 0);
  EXPECT_THAT(said("study merge " + out("shares") + " --out " + out("joined"), 1),
              HasSubstr("3 of 6 points are missing"));
  EXPECT_EQ(run_shell("PMI_SIZE=2 PMI_RANK=x exec \"$0\" " + study + out("x")).code, 2);
}

TEST_F(StudyProgram, RefusesWhatIsNoStudy) {
  const auto refused = [&](const std::string& text, const std::string& why) {
    EXPECT_THAT(said("study " + file(text) + " --out " + out("a"), 2), HasSubstr(why));
  };
  refused("title: a\noptions: {platform: h200-nvlink}\naxes: {chunks: [1]}\n",
          "study.yaml:3:8: error: 'chunks' is no option of 'run'");
  refused("title: a\noptions: {protocol: host}\naxes: {chunk: [1]}\n", "no 'platform'");
  const std::string here = file(chunks_);
  EXPECT_EQ(run("study " + here + " --out " + out("b") + " --report " + here).code, 2) << "over the study";
  std::filesystem::copy_file(here, out("study.csv"));
  EXPECT_EQ(run("study " + out("study.csv") + " --out " + out("")).code, 2) << "the study is where a result would be";
  EXPECT_EQ(run("study").code, 2);
}

}  // namespace
}  // namespace twinlink::model
