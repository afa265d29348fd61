// --links, --critical-path, --timeline and --report of `run` and `workload`, as a user gives them.
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include <unistd.h>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/results/files.hpp"
#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::AnyOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kRun = "run --platform keeneland-kids -p gpudirect-v1 --from 0/0 --to 1/0 -b 1M -e 1M ";

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
  std::string printed;
  const auto point = first_point(kRun + "--links --critical-path", &printed);
  EXPECT_THAT(printed, AllOf(HasSubstr("node 0 hca0 out"), HasSubstr("# critical path: ")));
  EXPECT_NEAR(length_of(point.at("critical_path")) / 2, point.at("time_us").get<double>(), 1e-3)
      << "nothing overlaps in a message of one piece";
  const auto& links = point.at("links");
  const auto wire = std::ranges::find_if(links, [](const auto& link) { return link.at("link") == "node 0 hca0 out"; });
  ASSERT_NE(wire, links.end());
  EXPECT_EQ(wire->at("bytes"), 1 << 20);
  // 3389 MB/s is what the platform says of the wire, and no other link of a message has less.
  EXPECT_NEAR(wire->at("bottleneck_us").get<double>(), (1 << 20) / 3389.0, 0.01);
}

double sum_of(const nlohmann::json& path, const std::function<bool(const nlohmann::json&)>& of) {
  double sum = 0;
  for (const auto& part : path) sum += of(part) ? part.at("time_us").get<double>() : 0;
  return sum;
}

/// 64 sends of 8 bytes: the CPU posts one after the other, and waits for the last one and the answer only.
TEST(WhyProgram, AWindowOfSmallMessagesIsWorkOfTheCpu) {
  const std::string window = "run --platform selene -p gpudirect-v3 --depth 64 --pattern bandwidth -W 64 -b 8 -e 8 ";
  const auto path = first_point(window + "--critical-path").at("critical_path");
  const auto is_send = [](const auto& part) { return part.at("what") == "send"; };
  EXPECT_LE(std::ranges::count_if(path, is_send), 2) << "one: before its bytes move, and while they do\n" << path;
  EXPECT_GT(sum_of(path, [](const auto& part) { return part.at("what") == "CPU"; }), 0.6 * length_of(path));
}

/// A link that carries four bytes is none that holds up.
TEST(WhyProgram, OfASmallMessageTheLinkIsNotToBlame) {
  const auto path =
      first_point("run --platform h200-nvlink -p gpudirect-v2 -b 4 -e 4 --critical-path").at("critical_path");
  EXPECT_LT(sum_of(path, [](const auto& part) { return part.contains("link"); }), 0.01 * length_of(path));
}

TEST(WhyProgram, ComputingHasItsName) {
  std::string printed;
  const std::string job = "run --platform keeneland-kids -p staging -b 64K -e 64K --compute 200us --critical-path";
  const auto path = first_point(job, &printed).at("critical_path");
  EXPECT_THAT(printed, HasSubstr("# one more round like these, its computing included:"));
  EXPECT_GE(sum_of(path, [](const auto& part) { return part.at("what") == "compute"; }), 400) << "at both ends";
}

/// A wire that loses nine tenths of its bandwidth is held to what it could carry before and after.
TEST(WhyProgram, ALinkIsHeldToTheRatesThatItHad) {
  const std::string slower = "--pattern bandwidth -x 0 -i 1 --no-verify --links --degrade hca0=10%@";
  for (const std::string when : {"1ms", "25ms", "43ms"}) {
    const auto point = first_point(kRun + slower + when);
    for (const auto& link : point.at("links")) {
      EXPECT_LE(link.at("utilisation").get<double>(), 1 + 1e-6) << when << ": " << link.dump();
    }
  }
}

TEST(WhyProgram, OtherFormsHaveItInFilesOnly) {
  std::string printed;
  EXPECT_FALSE(first_point(kRun + "--links --critical-path --format csv", &printed).at("links").empty());
  EXPECT_THAT(printed, Not(HasSubstr("critical path")));
}

TEST(WhyProgram, AWorkloadHasAPathForEachPoint) {
  const std::string job = "workload all-gather --platform h200-nvlink -p gpudirect-v2 --ranks 2 -b 64K -e 1M ";
  const auto points = written(job + "--critical-path").at("points");
  ASSERT_EQ(points.size(), 2U);
  for (const auto& point : points) {
    EXPECT_NEAR(length_of(point.at("critical_path")), point.at("time_us").get<double>(), 1.0)
        << "from the first rank on";
  }
}

/// How many parts of a path begin so.
std::ptrdiff_t parts_of(const nlohmann::json& path, const std::string& words) {
  return std::ranges::count_if(
      path, [&](const auto& part) { return part.at("what").template get<std::string>().starts_with(words); });
}

/// A ring of n ranks passes everything on 2 (n-1) times, and the last one puts it in its place.
TEST(WhyProgram, AProgramHasItsHopsOnThePath) {
  for (const int ranks : {2, 5, 8}) {
    const auto point = first_point("workload all-reduce --platform hgx-h100 -p nccl -b 64K -e 64K -o NCCL_ALGO=Ring " +
                                   fmt::format("-o NCCL_PROTO=Simple -o channels=1 --ranks {} --critical-path", ranks));
    const auto& path = point.at("critical_path");
    EXPECT_EQ(point.at("form"), "ring simple");
    EXPECT_NEAR(length_of(path), point.at("time_us").get<double>(), 0.01);
    EXPECT_EQ(parts_of(path, "hop of channel 0"), 2 * (ranks - 1)) << path;
    EXPECT_EQ(parts_of(path, "slot of channel 0"), 2 * (ranks - 1) + 1) << path;
  }
}

TEST(WhyProgram, ASwitchThatAddsUpIsALink) {
  const auto path =
      first_point("workload all-reduce --platform hgx-h100 -p nccl --ranks 8 -b 64M -e 64M --critical-path -i 1")
          .at("critical_path");
  EXPECT_GT(sum_of(path, [](const auto& part) { return part.value("link", "").ends_with("the switch"); }),
            0.8 * length_of(path));
}

/// Between nodes CPUs carry slots, and adapters hold them up.
TEST(WhyProgram, AProxyIsOnThePath) {
  const std::string job = "workload all-reduce --platform hgx-h100 -p nccl --ranks 16 --critical-path -i 1 ";
  const auto small = first_point(job + "-b 8K -e 8K").at("critical_path");
  for (const char* const part : {"hop of channel", "hop to the proxy", "proxy: send", "hop from the proxy"}) {
    EXPECT_GE(parts_of(small, part), 1) << part << small;
  }
  const auto point = first_point(job + "-o algo=ring -b 64M -e 64M --degrade hca7=10%");
  const auto& large = point.at("critical_path");
  EXPECT_NEAR(length_of(large), point.at("time_us").get<double>(), 0.01);
  EXPECT_GT(sum_of(large, [](const auto& part) { return part.value("link", "").find(" hca") != std::string::npos; }),
            0.5 * length_of(large));
}

TEST(WhyProgram, ATimelineHasRanksAndLinks) {
  const std::string file = ::testing::TempDir() + "twinlink-timeline.json";
  said(kRun + "--timeline '" + file + "'");
  std::vector<std::string> names;
  const nlohmann::json timeline = bench::read_json_file(file);
  for (const auto& event : timeline.at("traceEvents")) {
    if (event.at("name") == "process_name") names.push_back(event.at("args").at("name"));
  }
  EXPECT_THAT(names, ::testing::UnorderedElementsAre("rank 0 on 0/0", "rank 1 on 1/0", "links"));
  std::filesystem::remove(file);
}

TEST(WhyProgram, IsOfOneJob) {
  for (const std::string command :
       {"run --platform keeneland-kids -p staging --pairs 0/0-1/0,0/1-1/1 -b 4 -e 4 --links",
        "run --platform keeneland-kids -p staging --all-pairs -b 4 -e 4 --critical-path",
        "workload shift --platform selene -p gpudirect-v2 --ranks 2 --jobs 2 -b 4 -e 4 --links",
        "workload shift --platform selene -p gpudirect-v2 --ranks 2 --jobs 2 --report x.html"}) {
    EXPECT_THAT(said(command, 2), AnyOf(HasSubstr("of one pair of ranks"), HasSubstr("of one job"))) << command;
  }
}

TEST(WhyProgram, NoOutputIsAPartOfThePlatform) {
  const std::filesystem::path folder = ::testing::TempDir() + "twinlink-parts-" + std::to_string(::getpid());
  std::filesystem::copy(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms", folder,
                        std::filesystem::copy_options::recursive | std::filesystem::copy_options::overwrite_existing);
  const std::filesystem::path part = folder / "parts/fermi.yaml";
  const std::string platform = (folder / "keeneland-kids.yaml").string();
  const auto size = std::filesystem::file_size(part);
  for (const char* option : {"--json", "--csv", "--timeline"}) {
    EXPECT_THAT(said("run --platform " + platform + " -p host -b 4 -e 4 " + option + " " + part.string(), 2),
                HasSubstr("would overwrite an input"))
        << option;
    EXPECT_EQ(std::filesystem::file_size(part), size);
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace twinlink::model
