// `twinlink-validate suspect` as a user runs it.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/fixtures.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

const std::string kPlatforms = TWINLINK_SOURCE_DIR "/platforms/";
const std::string kH200Probes = TWINLINK_SOURCE_DIR "/validate/data/h200-nvlink-probes.json";

class SuspectProgram : public test::ValidateProgram {
 protected:
  test::Ended suspect(const std::string& probes, const std::string& base, const std::string& rest = {}) {
    return run("suspect '" + probes + "' --base '" + kPlatforms + base + ".yaml' " + rest);
  }
};

TEST_F(SuspectProgram, SaysThatAHealthyMachineIsHealthy) {
  const auto ended = suspect(kH200Probes, "h200-nvlink", "--json s.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("Verdict: as fast as the platform says"));
  EXPECT_THAT(read("s.json"), HasSubstr("\"verdict\": \"as fast\""));
}

TEST_F(SuspectProgram, BadInputEndsWithTwo) {
  write("result.json", test::make_result("measured", "gpudirect-v2", {{4, 1}, {8, 2}}));
  auto unknown = test::make_probes("measured", {{4, 1}});
  for (bench::ProbeLine& line : unknown.findings.lines) {
    line.gpu = "0/7";
    line.name = "copy device-to-device";
    line.peer.clear();
  }
  write("unknown.json", unknown);
  for (bench::ProbeLine& line : unknown.findings.lines) {
    line.gpu = "0/0";
    line.name = "handle export";
  }
  write("no-copy.json", unknown);

  const auto expect_refused = [&](const test::Ended& ended, const std::string& message) {
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_THAT(ended.out, IsEmpty()) << message;
  };
  expect_refused(suspect(kH200Probes, "dgx-a100"),
                 "probes of a 'NVIDIA H200', but GPU 1 of the base is a 'NVIDIA A100-SXM4-80GB'");
  expect_refused(suspect("result.json", "h200-nvlink"), "the result of a protocol");
  expect_refused(suspect("unknown.json", "h200-nvlink"), "there is no device 0/7");
  expect_refused(suspect("no-copy.json", "h200-nvlink"), "the probes have no copy that this platform has numbers for");
  expect_refused(suspect("missing.json", "h200-nvlink"), "missing.json");
  expect_refused(suspect(kH200Probes, "no-such"), "no-such");
  expect_refused(suspect(kH200Probes, "h200-nvlink", "--tolerance 150"), "--tolerance");
}

#ifdef TWINLINK_SIM_PROGRAM
/// What a simulation degrades is found, by the same name.
class SimulatedSick : public SuspectProgram,
                      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(SimulatedSick, HasItsPartNamed) {
  const auto& [platform, part] = GetParam();
  const auto simulated =
      run(TWINLINK_SIM_PROGRAM, "probe --platform '" + kPlatforms + platform +
                                    ".yaml' --no-verify --only copy --json p.json --degrade " + part + "=50%");
  ASSERT_EQ(simulated.code, 0) << simulated.err;
  const auto ended = suspect("p.json", platform);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("'" + std::string(part) + "' at 50 % of its bandwidth explains it")));
}

INSTANTIATE_TEST_SUITE_P(Machines, SimulatedSick,
                         ::testing::Values(std::pair("keeneland-kids", "qpi"), std::pair("piz-daint", "pcie0"),
                                           std::pair("workstation", "pcie1")),
                         [](const auto& tested) { return std::string(tested.param.second); });
#endif

}  // namespace
}  // namespace twinlink::validate
