// `twinlink-sim plot` as a user runs it.
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::string kMeasured = "validate/data/h200-nvlink-gpudirect-v2.json";
const std::string kOther = "validate/data/h200-nvlink-host.json";

TEST(PlotProgram, DrawsCurvesOfFilesAndTellsThemApart) {
  EXPECT_THAT(
      said("plot " + kMeasured + " " + kOther),
      AllOf(HasSubstr("Bandwidth (measured)"), HasSubstr("(1) gpudirect-v2, measured (h200-nvlink-gpudirect-v2)"),
            HasSubstr("(2) host, measured (h200-nvlink-host)")));
}

TEST(PlotProgram, WritesAPageWithTheNamesThatAreGiven) {
  const std::string page = ::testing::TempDir() + "twinlink-plot.html";
  const Ended ended = run("plot " + kMeasured + " " + kOther + " --label '<a>,b' --title Two --report " + page);
  if (ended.code == 77) GTEST_SKIP() << "no Chart.js here";
  EXPECT_EQ(ended.code, 0) << ended.text;
  const std::string text = bench::read_file(page);
  for (const char* part : {"<h1>Two</h1>", "&lt;a&gt;", "390713.28"}) {
    EXPECT_NE(text.find(part), std::string::npos) << part;
  }
  std::filesystem::remove(page);
}

TEST(PlotProgram, SaysWhatOfAPlatformWasChanged) {
  const std::string file = ::testing::TempDir() + "twinlink-changed.json";
  const std::string changes = "--set nodes.links.qpi.latency=1us --degrade hca0-pcie=50%";
  ASSERT_EQ(run("run --platform keeneland-kids -p host -b 4 -e 4 " + changes + " --json " + file).code, 0);
  for (const char* label : {"", " --label mine"}) {
    EXPECT_THAT(said("plot " + file + label),
                HasSubstr(" with --set nodes.links.qpi.latency=1us, --degrade hca0-pcie=50%"));
  }
  std::filesystem::remove(file);
}

TEST(PlotProgram, DrawsACurveForEachAlgorithmOfAWorkload) {
  const std::string file = ::testing::TempDir() + "twinlink-plot-workload.json";
  const std::string job = "workload all-reduce --platform h200-nvlink -p gpudirect-v2 --ranks 2 ";
  ASSERT_EQ(run(job + "-b 64K -e 128K -f 2 --algorithm all --json " + file).code, 0);
  EXPECT_THAT(said("plot " + file), AllOf(HasSubstr("all-reduce, ring, simulated (twinlink-plot-workload)"),
                                          HasSubstr("all-reduce, tree, simulated"), HasSubstr("\n      128K ")));
  EXPECT_THAT(run("plot " + file + " --label mine").text, HasSubstr("(1) mine, "));
  // A job that sends nothing has no size.
  const std::string goal = ::testing::TempDir() + "twinlink-plot.goal";
  bench::write_file(goal, "num_ranks 2\nrank 0 {\ncalc 100\n}\nrank 1 {\ncalc 100\n}\n");
  ASSERT_EQ(run("workload " + goal + " --platform h200-nvlink -p gpudirect-v2 --json " + file).code, 0);
  EXPECT_THAT(said("plot " + file, 2), HasSubstr(file + ": error: no point has a size"));
  std::filesystem::remove(file);
}

TEST(PlotProgram, RefusesWhatItCannotDraw) {
  const auto refused = [](const std::string& arguments, const std::string& why) {
    EXPECT_THAT(said("plot " + arguments, 2), HasSubstr(why));
  };
  refused(kMeasured + " --label a,b", "--label: 2 names for 1 files");
  refused(kMeasured + " --report x.svg", "a name that ends in .html is expected");
  refused("README.md", "not JSON");
  refused("validate/data/h200-nvlink-probes.json", "error");
  refused("", "files");
}

}  // namespace
}  // namespace twinlink::model
