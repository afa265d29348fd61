// `twinlink-validate suspect` as a user runs it.
#include <algorithm>
#include <filesystem>
#include <random>
#include <string>

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
  EXPECT_THAT(read("s.json"), AllOf(HasSubstr("\"verdict\": \"as fast\""), HasSubstr("\"tolerance\": 0.1,")));
}

TEST_F(SuspectProgram, TellsWhatTheDriverSaysBesideTheVerdict) {
  bench::ProbeFile probes = bench::read_probes(kH200Probes);
  nlohmann::json ranks = static_cast<const nlohmann::json&>(probes.environment).at("ranks");
  ranks.at(1)["health"]["end"]["row_remapping_pending"] = 1U;
  probes.environment.set("ranks", ranks);
  write("probes.json", probes);
  const auto ended = suspect("probes.json", "h200-nvlink", "--json s.json");
  EXPECT_THAT(ended.out, HasSubstr("Verdict: as fast as the platform says"));
  EXPECT_THAT(ended.out, HasSubstr("The driver says: GPU 1: row remapping pending: reset it."));
  EXPECT_THAT(read("s.json"), HasSubstr("\"GPU 1: row remapping pending: reset it\""));
}

TEST_F(SuspectProgram, ThePlatformIsAnOptionOrAnArgument) {
  const std::string file = "'" + kPlatforms + "h200-nvlink.yaml'";
  const std::string said = suspect(kH200Probes, "h200-nvlink").out;
  EXPECT_THAT(said, HasSubstr("Verdict: as fast as the platform says"));
  for (const std::string& given :
       {file + " '" + kH200Probes + "'", "'" + kH200Probes + "' " + file, "'" + kH200Probes + "' --platform " + file}) {
    EXPECT_EQ(run("suspect " + given).out, said) << given;
  }
  EXPECT_THAT(run("suspect '" + kH200Probes + "'").err, HasSubstr("which platform?"));
  EXPECT_THAT(run("suspect " + file).err, HasSubstr("which probes?"));
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
    line.name = "register device";
  }
  write("no-number.json", unknown);

  const auto expect_refused = [&](const test::Ended& ended, const std::string& message) {
    EXPECT_EQ(ended.code, 2) << message;
    EXPECT_THAT(ended.err, HasSubstr(message));
    EXPECT_THAT(ended.out, IsEmpty()) << message;
  };
  expect_refused(suspect(kH200Probes, "dgx-a100"),
                 "probes of a 'NVIDIA H200', but GPU 1 of the base is a 'NVIDIA A100-SXM4-80GB'");
  expect_refused(suspect("result.json", "h200-nvlink"), "the result of a protocol");
  expect_refused(suspect("unknown.json", "h200-nvlink"), "there is no device 0/7");
  expect_refused(suspect("no-number.json", "h200-nvlink"),
                 "the probes have no line that this platform has numbers for");
  expect_refused(suspect("missing.json", "h200-nvlink"), "missing.json");
  expect_refused(suspect(kH200Probes, "no-such"), "no-such");
  expect_refused(suspect(kH200Probes, "h200-nvlink", "--tolerance 150"), "--tolerance");
}

TEST_F(SuspectProgram, SlowMessagesAreNoHealthyNode) {
  bench::ProbeFile probes = bench::read_probes(kH200Probes);
  for (bench::ProbeLine& line : probes.findings.lines) {
    if (line.name.find("message") != std::string::npos) line.time_us.median *= 10;
  }
  write("slow.json", probes);
  const auto ended = suspect("slow.json", "h200-nvlink");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Verdict: no part explains it: 2 of 2 messages, "),
                               HasSubstr(" are slower by more than 10.0 %")));
  const std::size_t slowest = ended.out.find("Slowest of");
  ASSERT_NE(slowest, std::string::npos);
  for (const char* kind : {"\nqueued message same-node both-ways  ", "\nmessage pinned same-node  "}) {
    EXPECT_NE(ended.out.find(kind, slowest), std::string::npos) << kind << ended.out;
  }
}

#ifdef TWINLINK_SIM_PROGRAM
class SimulatedMachine : public SuspectProgram {
 protected:
  void probe(const std::string& platform, const std::string& options) {
    const auto simulated = run(TWINLINK_SIM_PROGRAM, "probe --platform '" + kPlatforms + platform +
                                                         ".yaml' --no-verify --json p.json " + options);
    ASSERT_EQ(simulated.code, 0) << simulated.err;
  }
};

/// What a simulation degrades is found, by the same name.
class SimulatedSick : public SimulatedMachine,
                      public ::testing::WithParamInterface<std::pair<const char*, const char*>> {};

TEST_P(SimulatedSick, HasItsPartNamed) {
  const auto& [platform, part] = GetParam();
  probe(platform, "--degrade " + std::string(part) + "=50%");
  const auto ended = suspect("p.json", platform);
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("'" + std::string(part) + "' at 50 % of its bandwidth explains it")));
}

INSTANTIATE_TEST_SUITE_P(Machines, SimulatedSick,
                         ::testing::Values(std::pair("keeneland-kids", "qpi"), std::pair("piz-daint", "pcie0"),
                                           std::pair("workstation", "pcie1"), std::pair("perlmutter", "hca-pcie0"),
                                           std::pair("keeneland-kfs", "hca0-pcie"), std::pair("summit-node", "xbus")),
                         [](const auto& tested) {
                           std::string name = std::string(tested.param.first) + "_" + tested.param.second;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });

/// What the simulation does and the closed form says agree, whatever the machine; and 5 % of noise is no alarm.
class SimulatedHealthy : public SimulatedMachine, public ::testing::WithParamInterface<const char*> {};

TEST_P(SimulatedHealthy, RaisesNoAlarm) {
  const std::string platform = GetParam();
  probe(platform, "");
  const auto exact = suspect("p.json", platform, "--tolerance 1");
  EXPECT_EQ(exact.code, 0) << exact.out << exact.err;
  const std::filesystem::path file = folder_.path() / "p.json";
  std::mt19937 random(1);
  std::uniform_real_distribution<double> noise(0.95, 1.05);
  bench::ProbeFile probes = bench::read_probes(file);
  for (bench::ProbeLine& line : probes.findings.lines) line.time_us.median *= noise(random);
  write("noisy.json", probes);
  const auto noisy = suspect("noisy.json", platform);
  EXPECT_EQ(noisy.code, 0) << noisy.out << noisy.err;
}

INSTANTIATE_TEST_SUITE_P(Machines, SimulatedHealthy,
                         ::testing::Values("keeneland-kids", "piz-daint", "workstation", "perlmutter", "gb200-nvl72",
                                           "mixed-v100-a100", "sandybridge-k20-fdr", "rtx4090-no-peers"),
                         [](const auto& tested) {
                           std::string name = tested.param;
                           std::ranges::replace(name, '-', '_');
                           return name;
                         });
#endif

}  // namespace
}  // namespace twinlink::validate
