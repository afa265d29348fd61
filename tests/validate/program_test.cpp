// The program as a user runs it: what it prints, what it writes and how it ends.
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/fixtures.hpp"
#include "tests/validate/validate_program.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

class Program : public test::ValidateProgram {
 protected:
  /// m.json and s.json: 25 % off at one of two sizes, a geometric mean of sqrt(1.25) - 1 = 11.8 %.
  void write_pair() {
    write("m.json", test::make_result("measured", "staging", {{4, 10}, {8, 20}}));
    write("s.json", test::make_result("simulated", "staging", {{4, 10}, {8, 25}}));
  }
};

TEST_F(Program, EndsWithZeroWithoutALimit) {
  write_pair();
  const auto ended = run("compare m.json s.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("+25.00 %"), HasSubstr("11.80 %"), HasSubstr("Verdict: none")));
  EXPECT_THAT(ended.err, IsEmpty());
}

TEST_F(Program, TheLimitDecidesTheExitCode) {
  write_pair();
  EXPECT_EQ(run("compare m.json s.json --max-error 11.9").code, 0);
  const auto ended = run("compare m.json s.json --max-error 11.7");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("geometric mean error 11.80 % exceeds 11.7 %"));
  EXPECT_EQ(run("compare m.json s.json --max-p95 23.8").code, 0);
  EXPECT_EQ(run("compare m.json s.json --max-p95 23.7").code, 1);
  EXPECT_EQ(run("compare m.json s.json --max-error 50 --max-p95 1").code, 1);
}

TEST_F(Program, AnExactLimitPasses) {
  write("m.json", test::make_result("measured", "staging", {{4, 10}}));
  write("s.json", test::make_result("simulated", "staging", {{4, 10}}));
  EXPECT_EQ(run("compare m.json s.json --max-error 0").code, 0);
}

TEST_F(Program, SeveralPairsGiveCrossovers) {
  write_pair();
  write("m1.json", test::make_result("measured", "gpudirect-v1", {{4, 20}, {8, 10}}));
  write("s1.json", test::make_result("simulated", "gpudirect-v1", {{4, 20}, {8, 20}}));
  const auto ended = run("compare m.json s.json m1.json s1.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("gpudirect-v1 takes the lead: measured 5.657, simulated 6.757"));
}

TEST_F(Program, ProbesAreComparedLineByLine) {
  write_pair();
  bench::write_json(test::make_probes("measured", {{4, 10}, {8, 20}}), folder_.path() / "pm.json");
  bench::write_json(test::make_probes("simulated", {{8, 25}, {16, 30}}), folder_.path() / "ps.json");
  const auto ended = run("compare pm.json ps.json --max-error 24");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("host message  0/0 to 1/0     8       20.000        25.000  +25.00 %"),
                               HasSubstr("only measured: host message 0/0 to 1/0 4"),
                               HasSubstr("only simulated: host message 0/0 to 1/0 16")));
  EXPECT_EQ(run("compare pm.json s.json").code, 2) << "probes and a result";
}

TEST_F(Program, BadInputEndsWithTwo) {
  write_pair();
  std::ofstream(folder_.path() / "broken.json") << "{";
  write("zero.json", test::make_result("simulated", "staging", {{4, 0}}));
  write("other.json", test::make_result("simulated", "gpudirect-v1", {{4, 10}}));
  write("apart.json", test::make_result("simulated", "staging", {{64, 10}}));

  const auto expect_refused = [this](const std::string& arguments, const std::string& message) {
    const auto ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(message)) << arguments;
    EXPECT_THAT(ended.out, IsEmpty()) << arguments;
  };
  expect_refused("compare s.json m.json", "wrong order");
  expect_refused("compare m.json m.json", "both are measured");
  expect_refused("compare m.json broken.json", "broken.json");
  expect_refused("compare m.json missing.json", "missing.json");
  expect_refused("compare m.json zero.json", "the time must be positive");
  expect_refused("compare m.json other.json", "different protocol");
  expect_refused("compare m.json apart.json", "no line in common");
  expect_refused("compare m.json", "in pairs");
  expect_refused("compare m.json s.json m.json", "in pairs");
  expect_refused("compare", "files");
  expect_refused("", "");
  expect_refused("compare m.json s.json --max-error -1", "--max-error");
  expect_refused("compare m.json s.json --max-error nan", "--max-error");
  expect_refused("compare m.json s.json --max-error 5x", "--max-error");
  expect_refused("compare m.json s.json --report r.pdf", ".md");
  expect_refused("compare m.json s.json --format yaml", "--format");
  expect_refused("compare m.json s.json --format markdown", "--report");
  expect_refused("compare m.json s.json --no-such-flag", "--no-such-flag");
}

TEST_F(Program, AllBadFilesAreNamedAtOnce) {
  std::ofstream(folder_.path() / "broken.json") << "{";
  EXPECT_THAT(run("compare missing.json broken.json").err, AllOf(HasSubstr("missing.json"), HasSubstr("broken.json")));
}

TEST_F(Program, ForceComparesDifferentProtocols) {
  write_pair();
  write("other.json", test::make_result("simulated", "gpudirect-v1", {{4, 10}}));
  const auto ended = run("compare m.json other.json --force");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("different protocol: measured staging, simulated gpudirect-v1"));
}

TEST_F(Program, ReportsGoByTheExtensionAndTheTextIsPrintedAllTheSame) {
  write_pair();
  const auto ended = run("compare m.json s.json --report r.md --json r.json --max-error 1");
  EXPECT_EQ(ended.code, 1) << "a report is written whatever the verdict is";
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Verdict: limits exceeded."), Not(HasSubstr("| ---"))));
  EXPECT_THAT(read("r.md"), AllOf(HasSubstr("# Measured and simulated\n"), HasSubstr("| hosts | alpha, beta |")));
  EXPECT_EQ(nlohmann::json::parse(read("r.json")).at("verdict"), "exceeded");

  EXPECT_EQ(run("compare m.json s.json --report r.txt").code, 0);
  EXPECT_EQ(read("r.txt"), read("out.log"));
  EXPECT_EQ(run("compare m.json s.json --report README --format markdown").code, 0);
  EXPECT_THAT(read("README"), HasSubstr("# Measured and simulated\n"));
}

TEST_F(Program, AReportThatCannotBeWrittenIsAnErrorAndLeavesNothing) {
  write_pair();
  const auto ended = run("compare m.json s.json --report missing/r.md");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("missing/r.md"));
  EXPECT_THAT(ended.out, HasSubstr("Verdict")) << "the work is not lost";
  EXPECT_FALSE(exists("missing"));
}

TEST_F(Program, BadInputWritesNoReport) {
  write_pair();
  EXPECT_EQ(run("compare s.json m.json --report r.md").code, 2);
  EXPECT_FALSE(exists("r.md"));
}

TEST_F(Program, HelpIsStandardOutput) {
  for (const auto* arguments : {"--help", "compare --help"}) {
    const auto ended = run(arguments);
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, HasSubstr("compare"));
    EXPECT_THAT(ended.err, IsEmpty());
  }
  EXPECT_THAT(run("compare --help").out, AllOf(HasSubstr("--max-error"), HasSubstr("PERCENT")));
}

}  // namespace
}  // namespace twinlink::validate
