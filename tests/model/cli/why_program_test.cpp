// --links, --critical-path, --timeline and --report of `run` and `workload`, as a user gives them.
#include <filesystem>
#include <string>

#include <unistd.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRun = "run --platform keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0 -b 1M -e 1M ";
const std::string kJson = ::testing::TempDir() + "twinlink-why-" + std::to_string(::getpid()) + ".json";

nlohmann::json points_of_file() {
  const auto points = nlohmann::json::parse(bench::read_file(kJson)).at("points");
  std::filesystem::remove(kJson);
  return points;
}

/// Its stretches without a gap, from the beginning; how long they take together, in us.
double length_of(const nlohmann::json& path) {
  double end = 0;
  for (const auto& part : path) {
    EXPECT_NEAR(part.at("began_us").get<double>(), end, 1e-6);
    end = part.at("began_us").get<double>() + part.at("time_us").get<double>();
  }
  return end;
}

TEST(WhyProgram, AMessageIsThereAndBack) {
  const Ended ended = run(kRun + "--links --critical-path --json " + kJson);
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr("node 0 hca0 out"), HasSubstr("# critical path: ")));
  const auto point = points_of_file().at(0);
  EXPECT_NEAR(length_of(point.at("critical_path")) / 2, point.at("time_us").get<double>(), 1e-3)
      << "nothing overlaps in a message of one piece";
  const auto& links = point.at("links");
  const auto wire = std::ranges::find_if(links, [](const auto& link) { return link.at("link") == "node 0 hca0 out"; });
  ASSERT_NE(wire, links.end());
  EXPECT_EQ(wire->at("bytes"), 1 << 20);
  // 3389 MB/s is what the platform says of the wire, and no other link of a message has less.
  EXPECT_NEAR(wire->at("bottleneck_us").get<double>(), (1 << 20) / 3389.0, 0.01);
}

TEST(WhyProgram, OtherFormsHaveItInFilesOnly) {
  const Ended ended = run(kRun + "--links --critical-path --format csv --json " + kJson);
  EXPECT_EQ(ended.code, 0);
  EXPECT_THAT(ended.text, Not(HasSubstr("critical path")));
  EXPECT_FALSE(points_of_file().at(0).at("links").empty());
}

TEST(WhyProgram, AWorkloadHasAPathForEachPoint) {
  const Ended ended =
      run("workload all-gather --platform h200-nvlink -p gpudirect-v2 --ranks 2 -b 64K -e 1M --critical-path --json " +
          kJson);
  EXPECT_EQ(ended.code, 0) << ended.text;
  const auto points = points_of_file();
  ASSERT_EQ(points.size(), 2U);
  for (const auto& point : points) {
    EXPECT_NEAR(length_of(point.at("critical_path")), point.at("time_us").get<double>(), 1.0)
        << "from the first rank on";
  }
}

TEST(WhyProgram, IsOfOneJob) {
  for (const char* command : {"run --platform keeneland-kids -p staging --pairs 0/0-1/0,0/1-1/1 -b 4 -e 4 --links",
                              "run --platform keeneland-kids -p staging --all-pairs -b 4 -e 4 --critical-path",
                              "workload shift --platform selene -p gpudirect-v2 --ranks 2 --jobs 2 -b 4 -e 4 --links",
                              "workload shift --platform selene -p gpudirect-v2 --ranks 2 --jobs 2 --report x.html"}) {
    EXPECT_EQ(run(command).code, 2) << command;
  }
}

TEST(WhyProgram, NoOutputIsAPartOfThePlatform) {
  const std::filesystem::path part = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/parts/fermi.yaml";
  const std::string platform = (part.parent_path().parent_path() / "keeneland-kids.yaml").string();
  const auto size = std::filesystem::file_size(part);
  for (const char* option : {"--json", "--csv", "--timeline"}) {
    const Ended ended = run("run --platform " + platform + " -p host -b 4 -e 4 " + option + " " + part.string());
    EXPECT_EQ(ended.code, 2) << option;
    EXPECT_THAT(ended.text, HasSubstr("would overwrite a part of the platform")) << option;
    EXPECT_EQ(std::filesystem::file_size(part), size);
  }
}

}  // namespace
}  // namespace twinlink::model
