#include "tests/layering/include_rules.hpp"

#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::layering {
namespace {

namespace fs = std::filesystem;
using testing::Each;
using testing::ElementsAre;
using testing::Gt;
using testing::IsEmpty;
using testing::Pair;
using testing::SizeIs;

TEST(IncludeRules, TheProjectKeepsThem) {
  const Report report = check_includes(TWINLINK_SOURCE_DIR);
  EXPECT_THAT(report.findings, IsEmpty());
  EXPECT_THAT(report.files, SizeIs(55));
  EXPECT_THAT(report.files, Each(Pair(testing::_, Gt(0))));
}

/// A project of one file per part, in a folder of its own, to which a test adds the line that it is about.
class PlantedInclude : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    for (const char* file :
         {"protocols/core/rank.hpp", "protocols/core/measured_rank.hpp", "protocols/bench/measure/driver.hpp",
          "platforms/machine/platform.hpp", "model/engine/flows/machine.hpp", "real/job/job.hpp",
          "validate/compare/report.hpp", "tests/contract/suite.hpp"}) {
      write(file, "#pragma once\n");
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  /// The findings while `include` is line 2 of `file`.
  [[nodiscard]] std::vector<std::string> findings(const fs::path& file, const std::string& include) const {
    write(file, "// A comment.\n#include " + include + "\n");
    auto found = check_includes(root_).findings;
    write(file, "");
    return found;
  }

 private:
  fs::path root_ = fs::path(testing::TempDir()) /
                   (std::string("twinlink-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PlantedInclude, AllowedOnesPass) {
  EXPECT_THAT(findings("protocols/a.cpp", "<vector>"), IsEmpty());
  EXPECT_THAT(findings("protocols/b.cpp", "\"protocols/core/rank.hpp\""), IsEmpty());
  EXPECT_THAT(findings("protocols/bench/results/c.cpp", "<nlohmann/json.hpp>"), IsEmpty());
  EXPECT_THAT(findings("model/engine/d.cpp", "<simgrid/s4u.hpp>"), IsEmpty());
  EXPECT_THAT(findings("real/system/e.cpp", "<mpi.h>"), IsEmpty());
  EXPECT_THAT(findings("real/device/cuda/f.cu", "<cuda_runtime.h>"), IsEmpty());
  EXPECT_THAT(findings("real/pace/i.cpp", "\"platforms/machine/platform.hpp\""), IsEmpty());
  EXPECT_THAT(findings("validate/compare/g.cpp", "\"platforms/machine/platform.hpp\""), IsEmpty());
  EXPECT_THAT(findings("tests/contract/h.cpp", "\"real/job/job.hpp\""), IsEmpty());
}

TEST_F(PlantedInclude, ProtocolsSeeARankAndNothingThatMeasures) {
  EXPECT_THAT(findings("protocols/trace/a.cpp", "\"protocols/core/measured_rank.hpp\""), IsEmpty());
  for (const char* file : {"protocols/a.cpp", "protocols/parts/a.cpp", "protocols/cuda_ipc/a.cpp",
                           "protocols/gpudirect_v2/a.cpp", "protocols/layout/a.cpp", "protocols/core/rank.cpp"}) {
    EXPECT_THAT(findings(file, "\"protocols/core/measured_rank.hpp\""), SizeIs(1)) << file;
  }
}

TEST_F(PlantedInclude, TheCoreTakesNothingButTheStandardLibrary) {
  EXPECT_THAT(
      findings("protocols/a.cpp", "<unistd.h>"),
      ElementsAre("protocols/a.cpp:2: protocols must not include <unistd.h>: no headers outside the standard library"));
  EXPECT_THAT(findings("protocols/core/a.cpp", "<fmt/format.h>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/parts/a.cpp", "<yaml-cpp/yaml.h>"), SizeIs(1));
}

TEST_F(PlantedInclude, TheCoreHasNoClockThreadRandomNumberOrFile) {
  EXPECT_THAT(findings("protocols/core/a.cpp", "<chrono>"),
              ElementsAre("protocols/core/a.cpp:2: core must not include <chrono>: no clocks"));
  EXPECT_THAT(findings("protocols/core/a.cpp", "<mutex>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/core/a.cpp", "<random>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/core/a.cpp", "<fstream>"), SizeIs(1));
}

TEST_F(PlantedInclude, ProtocolsDoNotKnowTheirDriver) {
  EXPECT_THAT(
      findings("protocols/a.cpp", "\"protocols/bench/measure/driver.hpp\""),
      ElementsAre("protocols/a.cpp:2: protocols must not include \"protocols/bench/measure/driver.hpp\" of measure"));
}

TEST_F(PlantedInclude, TheWorldsDoNotMix) {
  EXPECT_THAT(findings("model/engine/a.cpp", "<mpi.h>"),
              ElementsAre("model/engine/a.cpp:2: engine must not include <mpi.h>: no MPI"));
}

TEST_F(PlantedInclude, RealTakesPlatformsButNotTheSimulatedMachine) {
  EXPECT_THAT(findings("real/pace/a.hpp", "\"model/engine/flows/machine.hpp\""),
              ElementsAre("real/pace/a.hpp:2: pace must not include \"model/engine/flows/machine.hpp\" of flows"));
  EXPECT_THAT(findings("real/pace/a.hpp", "<simgrid/s4u.hpp>"), SizeIs(1));
  EXPECT_THAT(findings("real/pace/a.hpp", "<yaml-cpp/yaml.h>"), SizeIs(1));
}

TEST_F(PlantedInclude, ValidateTakesPlatformsButNeitherOfItsEquals) {
  EXPECT_THAT(findings("validate/compare/a.cpp", "\"model/engine/flows/machine.hpp\""), SizeIs(1));
  EXPECT_THAT(findings("validate/compare/a.cpp", "\"real/job/job.hpp\""), SizeIs(1));
  EXPECT_THAT(findings("platforms/tools/a.cpp", "\"validate/compare/report.hpp\""), SizeIs(1));
}

TEST_F(PlantedInclude, ThePlatformDescriptionDoesNotNeedTheSimulator) {
  EXPECT_THAT(findings("platforms/reader/platform_reader.cpp", "<simgrid/s4u.hpp>"), SizeIs(1));
}

TEST_F(PlantedInclude, FoldersThatIncludeEachOtherAreACircle) {
  write("tests/one/a.hpp", "#include \"tests/two/b.hpp\"\n");
  EXPECT_THAT(findings("tests/two/b.hpp", "\"tests/one/a.hpp\""),
              ElementsAre("a circle of folders: tests/one -> tests/two -> tests/one"));
}

TEST_F(PlantedInclude, AFolderThatNobodyHasThoughtOfIsNoRoom) {
  EXPECT_THAT(findings("real/a.cpp", "<vector>"), ElementsAre("real/a.cpp: the rules know no room for it"));
}

TEST_F(PlantedInclude, PathsStartAtTheRoot) {
  EXPECT_THAT(findings("protocols/a.cpp", "\"rank.hpp\""),
              ElementsAre("protocols/a.cpp:2: \"rank.hpp\" is no file of the project, named from its root"));
}

TEST_F(PlantedInclude, ComputedIncludesAreRefused) { EXPECT_THAT(findings("real/job/a.cpp", "MPI_HEADER"), SizeIs(1)); }

TEST_F(PlantedInclude, AHeaderHasNoTemplateOverAnObject) {
  const std::string include = "<array>\n";
  EXPECT_THAT(findings("protocols/core/a.hpp", include + "template <const auto& kTable>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/core/a.hpp", include + "template <class A, auto* kTable>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/core/a.hpp", include + "template <auto member>"), IsEmpty());
  EXPECT_THAT(findings("protocols/core/a.cpp", include + "template <const auto& kTable>"), IsEmpty());
}

}  // namespace
}  // namespace twinlink::layering
