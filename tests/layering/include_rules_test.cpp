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
  EXPECT_THAT(report.files, SizeIs(7));
  EXPECT_THAT(report.files, Each(Pair(testing::_, Gt(0))));
}

/// A project of one file per part, in a folder of its own, to which a test adds the line that it is about.
class PlantedInclude : public testing::Test {
 protected:
  void SetUp() override {
    fs::remove_all(root_);
    for (const char* file : {"protocols/rank.hpp", "protocols/bench/driver.hpp", "model/platform.hpp",
                             "model/machine.hpp", "real/job.hpp", "validate/compare.hpp", "tests/contract/suite.hpp"}) {
      write(file, "#pragma once\n");
    }
  }
  void TearDown() override { fs::remove_all(root_); }

  void write(const fs::path& file, const std::string& text) const {
    fs::create_directories((root_ / file).parent_path());
    std::ofstream(root_ / file) << text;
  }

  /// The findings after `include` was written as line 2 of `file`.
  [[nodiscard]] std::vector<std::string> findings(const fs::path& file, const std::string& include) const {
    write(file, "// A comment.\n#include " + include + "\n");
    return check_includes(root_).findings;
  }

 private:
  fs::path root_ = fs::path(testing::TempDir()) /
                   (std::string("twinlink-") + testing::UnitTest::GetInstance()->current_test_info()->name());
};

TEST_F(PlantedInclude, AllowedOnesPass) {
  EXPECT_THAT(findings("protocols/a.cpp", "<vector>"), IsEmpty());
  EXPECT_THAT(findings("protocols/b.cpp", "\"protocols/rank.hpp\""), IsEmpty());
  EXPECT_THAT(findings("protocols/bench/c.cpp", "<nlohmann/json.hpp>"), IsEmpty());
  EXPECT_THAT(findings("model/d.cpp", "<simgrid/s4u.hpp>"), IsEmpty());
  EXPECT_THAT(findings("real/e.cpp", "<mpi.h>"), IsEmpty());
  EXPECT_THAT(findings("real/f.cu", "<cuda_runtime.h>"), IsEmpty());
  EXPECT_THAT(findings("real/i.cpp", "\"model/platform.hpp\""), IsEmpty());
  EXPECT_THAT(findings("validate/g.cpp", "\"model/platform.hpp\""), IsEmpty());
  EXPECT_THAT(findings("tests/contract/h.cpp", "\"real/job.hpp\""), IsEmpty());
}

TEST_F(PlantedInclude, TheCoreTakesNothingButTheStandardLibrary) {
  EXPECT_THAT(
      findings("protocols/a.cpp", "<unistd.h>"),
      ElementsAre("protocols/a.cpp:2: protocols must not include <unistd.h>: no headers outside the standard library"));
  EXPECT_THAT(findings("protocols/a.cpp", "<fmt/format.h>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/a.cpp", "<yaml-cpp/yaml.h>"), SizeIs(1));
}

TEST_F(PlantedInclude, TheCoreHasNoClockThreadRandomNumberOrFile) {
  EXPECT_THAT(findings("protocols/a.cpp", "<chrono>"),
              ElementsAre("protocols/a.cpp:2: protocols must not include <chrono>: no clocks"));
  EXPECT_THAT(findings("protocols/a.cpp", "<mutex>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/a.cpp", "<random>"), SizeIs(1));
  EXPECT_THAT(findings("protocols/a.cpp", "<fstream>"), SizeIs(1));
}

TEST_F(PlantedInclude, TheCoreDoesNotKnowItsDriver) {
  EXPECT_THAT(findings("protocols/a.cpp", "\"protocols/bench/driver.hpp\""),
              ElementsAre("protocols/a.cpp:2: protocols must not include \"protocols/bench/driver.hpp\" of bench"));
}

TEST_F(PlantedInclude, TheWorldsDoNotMix) {
  EXPECT_THAT(findings("model/a.cpp", "<mpi.h>"), ElementsAre("model/a.cpp:2: model must not include <mpi.h>: no MPI"));
}

TEST_F(PlantedInclude, RealTakesThePlatformButNeitherTheMachineNorItsFileFormat) {
  EXPECT_THAT(findings("real/a.hpp", "\"model/machine.hpp\""),
              ElementsAre("real/a.hpp:2: real must not include \"model/machine.hpp\" of model"));
  EXPECT_THAT(findings("real/a.hpp", "<simgrid/s4u.hpp>"), SizeIs(1));
  EXPECT_THAT(findings("real/a.hpp", "<yaml-cpp/yaml.h>"), SizeIs(1));
}

TEST_F(PlantedInclude, ValidateTakesThePlatformButNotTheMachine) {
  EXPECT_THAT(findings("validate/a.cpp", "\"model/machine.hpp\""), SizeIs(1));
}

TEST_F(PlantedInclude, ThePlatformDescriptionDoesNotNeedTheSimulator) {
  EXPECT_THAT(findings("model/platform_reader.cpp", "<simgrid/s4u.hpp>"), SizeIs(1));
}

TEST_F(PlantedInclude, PathsStartAtTheRoot) {
  EXPECT_THAT(findings("protocols/a.cpp", "\"rank.hpp\""),
              ElementsAre("protocols/a.cpp:2: \"rank.hpp\" is no file of the project, named from its root"));
}

TEST_F(PlantedInclude, ComputedIncludesAreRefused) { EXPECT_THAT(findings("real/a.cpp", "MPI_HEADER"), SizeIs(1)); }

}  // namespace
}  // namespace twinlink::layering
