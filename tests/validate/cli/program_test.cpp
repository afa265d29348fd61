// The program as a user runs it: what it prints, what it writes and how it ends.
#include <fstream>
#include <sstream>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/results/files.hpp"
#include "protocols/bench/workload/workload_file.hpp"
#include "protocols/core/text.hpp"
#include "tests/validate/cli/validate_program.hpp"
#include "tests/validate/fixtures.hpp"
#include "tests/validate/import/foreign_files.hpp"
#include "tests/validate/scratch_folder.hpp"

namespace twinlink::validate {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::StartsWith;

class Program : public test::ValidateProgram {
 protected:
  /// m.json and s.json: 25 % off at one of two sizes, a geometric mean of sqrt(1.25) - 1 = 11.8 %.
  void write_pair() {
    write("m.json", test::make_result("measured", "staging", {{4, 10}, {8, 20}}));
    write("s.json", test::make_result("simulated", "staging", {{4, 10}, {8, 25}}));
  }
  void store(const std::string& name, const bench::WorkloadFile& file) {
    bench::write_json_file(folder_.path() / name, to_json(file));
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

/// Of two lines, one 20 % slower than simulated and one twice as fast: sqrt(1.2) - 1.
TEST_F(Program, FasterThanSimulatedIsWithinTheOneSidedLimit) {
  write("m.json", test::make_result("measured", "staging", {{4, 12}, {8, 5}}));
  write("s.json", test::make_result("simulated", "staging", {{4, 10}, {8, 10}}));
  EXPECT_EQ(run("compare m.json s.json --max-slower 9.6").code, 0);
  const auto ended = run("compare m.json s.json --max-slower 9.5 --report r.xml");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.out, HasSubstr("one-sided error 9.54 % exceeds 9.5 %"));
  EXPECT_THAT(read("r.xml"), HasSubstr("<failure message=\"9.54 % exceeds 9.5 %\">"));
}

TEST_F(Program, AnExactLimitPasses) {
  write("m.json", test::make_result("measured", "staging", {{4, 10}}));
  write("s.json", test::make_result("simulated", "staging", {{4, 10}}));
  EXPECT_EQ(run("compare m.json s.json --max-error 0").code, 0);
}

TEST_F(Program, TheTableIsMarkdown) {
  write_pair();
  const auto ended = run("table m.json s.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("| pingpong | 11.8 % |"));
  EXPECT_EQ(run("table m.json").code, 2);
  EXPECT_EQ(run("table m.json s.json --json t.json").code, 0);
  EXPECT_THAT(read("t.json"), HasSubstr("\"twinlink-comparison\""));
}

TEST_F(Program, SettingsAreAnArgumentALine) {
  write_pair();
  const auto ended = run("settings m.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("--protocol\nstaging\n"), HasSubstr("--begin\n4\n--end\n8\n")));
  EXPECT_EQ(run("settings missing.json").code, 2);
  EXPECT_EQ(run("settings m.json --json s.json").code, 0);
  EXPECT_THAT(read("s.json"), HasSubstr("  \"--protocol\",\n  \"staging\",\n"));
}

TEST_F(Program, ACeilingIsWrittenAsJson) {
  write_pair();
  write("p.json", test::make_probes("measured", {{4, 5}, {8, 10}}));
  const auto ended = run("ceiling m.json p.json --line 'host message' --json c.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(
      nlohmann::json::parse(read("c.json")),
      (nlohmann::json{
          {"protocol", "staging"},
          {"points",
           {{{"bytes", 4}, {"primitive", "host message"}, {"primitive_us", 5.0}, {"protocol_us", 10.0}, {"share", 0.5}},
            {{"bytes", 8},
             {"primitive", "host message"},
             {"primitive_us", 10.0},
             {"protocol_us", 20.0},
             {"share", 0.5}}}}}));
  const auto with = [&](const std::string& limit) {
    const auto held = run("ceiling m.json p.json --line 'host message' --min " + limit);
    return std::pair(held.code, held.out.substr(held.out.find("reached:") == std::string::npos
                                                    ? std::min(held.out.find("missed:"), held.out.size())
                                                    : held.out.find("reached:")));
  };
  EXPECT_EQ(with("50"),
            std::pair(0, std::string("reached: the least share from 0 on is 50.0 %, asked for are 50 %\n")));
  EXPECT_EQ(with("50.5 --from 8"),
            std::pair(1, std::string("missed: the least share from 8 on is 50.0 %, asked for are 50.5 %\n")));
  EXPECT_EQ(with("50 --from 9").first, 2) << "there is no such size";
}

TEST_F(Program, SeveralPairsGiveCrossovers) {
  write_pair();
  write("m1.json", test::make_result("measured", "gpudirect-v1", {{4, 20}, {8, 10}}));
  write("s1.json", test::make_result("simulated", "gpudirect-v1", {{4, 20}, {8, 20}}));
  const auto ended = run("compare m.json s.json m1.json s1.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("gpudirect-v1 takes the lead: measured 5.657, simulated 6.757"));
}

TEST_F(Program, TwoOfOneWorldAreComparedByTheirLabels) {
  write("before.json", test::make_result("simulated", "staging", {{4, 10}, {8, 20}}));
  write("after.json", test::make_result("simulated", "staging", {{4, 5}, {8, 25}}));
  const auto ended =
      run("compare before.json after.json --label wide,narrow --max-error 10 --report r.md --json r.json");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("size  wide us  narrow us  difference"), HasSubstr("5.000    -50.00 %"),
                               HasSubstr("geometric mean difference 58.11 % exceeds 10 %"), Not(HasSubstr("easured"))));
  EXPECT_THAT(read("r.md"), AllOf(HasSubstr("# wide and narrow"), HasSubstr("(narrow - wide) / wide")));
  EXPECT_THAT(read("r.json"), HasSubstr("\"narrow\""));
  // Straight lines in log(time) over log(size) meet where ln(10/8) of ln(10/8) + ln(22/20) is over: 4 * 2^0.701.
  write("third.json", test::make_result("simulated", "host", {{4, 8}, {8, 22}}));
  const auto crossed = run("compare before.json after.json third.json third.json --label wide,narrow");
  EXPECT_EQ(crossed.code, 0) << crossed.err;
  EXPECT_THAT(crossed.out, HasSubstr("staging takes the lead: wide 6.501, narrow nowhere"));
  EXPECT_EQ(run("compare --label wide,narrow before.json after.json").code, 0) << "before the files as well";
  // Of another world it may be, of another protocol not.
  write("measured.json", test::make_result("measured", "staging", {{4, 10}, {8, 20}}));
  EXPECT_EQ(run("compare after.json measured.json --label now,machine").code, 0);
  EXPECT_EQ(run("compare before.json third.json --label a,b").code, 2);
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
  expect_refused("compare m.json m.json --label a", "--label takes two");
  expect_refused("compare m.json m.json --label a,a", "--label takes two");
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

TEST_F(Program, WhatIsReadIsNotOverwritten) {
  write_pair();
  write("p.json", test::make_probes("measured", {{4, 5}, {8, 10}}));
  const std::string before = read("m.json");
  for (const std::string arguments :
       {"settings m.json --json m.json", "table m.json s.json --json ./m.json",
        "ceiling m.json p.json --line 'host message' --json m.json", "compare m.json s.json --json m.json",
        "compare m.json s.json --report m.json", "compare m.json s.json --report r.json --json ./r.json"}) {
    const auto ended = run(arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, ::testing::AnyOf(HasSubstr("m.json would overwrite "), HasSubstr("the same file")))
        << arguments;
    EXPECT_THAT(ended.out, IsEmpty()) << arguments;
    EXPECT_EQ(read("m.json"), before) << arguments;
    EXPECT_FALSE(exists("r.json")) << arguments;
  }
}

TEST_F(Program, ForceComparesDifferentProtocols) {
  write_pair();
  write("other.json", test::make_result("simulated", "gpudirect-v1", {{4, 10}}));
  const auto ended = run("compare m.json other.json --force");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("different protocol: measured staging, simulated gpudirect-v1"));
}

/// A collective of four ranks: 1 KiB in 20 us and 1 MiB in 128 us, or 8192 MB/s.
constexpr const char* kNcclText =
    "# nccl-tests version 2.17.6\n# Collective test starting: all_reduce_perf\n"
    "#       size         count      type   redop    root     time   algbw   busbw  #wrong\n"
    "#        (B)    (elements)                               (us)  (GB/s)  (GB/s)        \n"
    "        1024           256     float     sum      -1    20.00    0.05    0.08       0\n"
    "     1048576        262144     float     sum      -1   128.00    8.19   12.29       0\n"
    "# Out of bounds values : 0 OK\n# Avg bus bandwidth    : 6.185\n";
constexpr const char* kOsuText =
    "# OSU MPI-CUDA Allreduce Latency Test v7.5\n# Datatype: MPI_FLOAT.\n"
    "# Send Buffer on DEVICE (D) and Receive Buffer on DEVICE (D)\n"
    "# Size       Avg Latency(us)\n1024                     20.00\n2048                     30.00\n"
    "1048576                 128.00\n";

/// What a simulation says of them: 10 % longer, and by another algorithm 25 % longer.
bench::WorkloadFile simulated_all_reduce() {
  bench::WorkloadFile file{.world = "simulated", .program = "twinlink-sim", .command = "twinlink-sim workload"};
  file.series = {.workload = "all-reduce",
                 .protocol = "cuda-ipc",
                 .protocol_between = "cuda-ipc",
                 .settings = "chunk whole message",
                 .ranks = 4,
                 .nodes = 1,
                 .places = {"0/0", "0/1", "0/2", "0/3"}};
  for (const auto& [algorithm, bytes, time] : {std::tuple{"tree", 1024U, 22.0}, std::tuple{"ring", 1U << 20U, 160.0}}) {
    file.series.points.push_back(
        {.size = Bytes{bytes},
         .algorithm = algorithm,
         .time_us = {.n = 1, .median = time, .min = time, .max = time, .p5 = time, .p95 = time},
         .verified = true});
  }
  return file;
}

TEST_F(Program, ComparesCollectivesOfOtherTools) {
  store("s.json", simulated_all_reduce());
  for (const auto& [name, text] : {std::pair("nccl", kNcclText), std::pair("osu", kOsuText)}) {
    const std::string tool = name;
    std::ofstream(folder_.path() / (tool + ".txt")) << text;
    const auto imported = run("import " + tool + ".txt --ranks 4 --out " + tool + ".json");
    ASSERT_EQ(imported.code, 0) << imported.err;
    EXPECT_THAT(
        imported.out,
        StartsWith("# all-reduce: measured by " +
                   std::string(tool == "nccl" ? "all_reduce_perf" : "osu_allreduce 7.5") +
                   ", 4 ranks\n#        bytes      time us    alg. MB/s     bus MB/s  verified\n" +
                   "          1024        20.00        51.20        76.80  " + (tool == "nccl" ? "yes\n" : "no\n")));
    for (const std::string& files : {tool + ".json s.json", tool + ".txt s.json --ranks 4"}) {
      // sqrt(1.1 x 1.25) - 1
      const auto ended = run("compare " + files + " --max-error 17.27 --json r.json");
      EXPECT_EQ(ended.code, 0) << files << ended.out << ended.err;
      EXPECT_THAT(ended.out, AllOf(HasSubstr("all-reduce over cuda-ipc, 4 ranks"), HasSubstr("17.26 %"),
                                   ContainsRegex("tree +1K +20.0+ +22.0+ +\\+10.00 %"),
                                   ContainsRegex("ring +1M +128.0+ +160.0+ +\\+25.00 %"),
                                   HasSubstr("does not tell its protocol; the other has cuda-ipc"),
                                   HasSubstr("the measured file does not tell its algorithms: its lines are joined by "
                                             "size, and the algorithms are the other's"),
                                   HasSubstr("times are means")))
          << files;
      const auto report = nlohmann::json::parse(read("r.json")).at("pairs").at(0);
      EXPECT_EQ(report.at("rows").at(1).at("name"), "ring");
      EXPECT_DOUBLE_EQ(report.at("rows").at(1).at("error").get<double>(), 0.25);
      EXPECT_FALSE(report.at("measured").contains("settings"));
      EXPECT_EQ(run("compare " + files + " --max-error 17.25 --report r.xml").code, 1);
      EXPECT_THAT(read("r.xml"), HasSubstr("classname=\"all-reduce\""));
      EXPECT_EQ(run("compare " + files + " --report r.md").code, 0);
      EXPECT_THAT(read("r.md"), ContainsRegex("\\| ring +\\| +1M \\| +128.0+ \\| +160.0+ \\| +\\+25.00 %"));
    }
  }
  EXPECT_THAT(run("compare osu.json s.json").out, HasSubstr("only measured: 2K"));
}

TEST_F(Program, RefusesCollectivesOfOtherToolsThatAreNotTheSame) {
  std::ofstream(folder_.path() / "nccl.txt") << kNcclText;
  bench::WorkloadFile simulated = simulated_all_reduce();
  store("s.json", simulated);
  const auto refusal = [&](const std::string& arguments) {
    const auto ended = run("compare " + arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    return ended.err;
  };
  EXPECT_THAT(refusal("nccl.txt s.json"), HasSubstr("say it with --ranks"));
  EXPECT_THAT(refusal("nccl.txt s.json --ranks 4 --table 2"), HasSubstr("--table 2"));
  EXPECT_THAT(refusal("s.json s.json --ranks 4"), HasSubstr("--ranks: none of the files"));
  simulated.series.ranks = 8;
  store("s8.json", simulated);
  EXPECT_THAT(refusal("nccl.txt s8.json --ranks 4"),
              HasSubstr("different number of ranks: measured 4, simulated 8 (--force"));
  simulated = simulated_all_reduce();
  simulated.series.protocol = simulated.series.protocol_between = "host";
  store("host.json", simulated);
  EXPECT_THAT(refusal("nccl.txt host.json --ranks 4"),
              HasSubstr("measured with messages in device memory; those of 'host' lie in host memory"));
  simulated = simulated_all_reduce();
  simulated.series.points[1].size = Bytes{1024};
  store("all.json", simulated);
  EXPECT_THAT(refusal("nccl.txt all.json --ranks 4"),
              HasSubstr("nccl.txt: error: does not tell the algorithm that it took, and all.json has several at 1K "
                        "(tree, ring)"));
}

/// Two workload files, of which the second takes 10 % longer.
bench::WorkloadFile workload_of(const std::string& world, double factor) {
  bench::WorkloadFile file{.world = world, .program = "twinlink", .command = "twinlink workload all-reduce"};
  file.environment = nlohmann::json::object();
  file.series = {.workload = "all-reduce",
                 .protocol = "gpudirect-v2",
                 .protocol_between = "gpudirect-v2",
                 .settings = "chunk whole message, depth 16",
                 .ranks = 2,
                 .nodes = 1,
                 .places = {"0/0", "0/1"}};
  for (const auto& [algorithm, bytes, time_us] :
       {std::tuple{"ring", 8U, 10.0}, std::tuple{"ring", 64U, 20.0}, std::tuple{"tree", 8U, 5.0}}) {
    const double time = time_us * factor;
    file.series.points.push_back(
        {.size = Bytes{bytes},
         .algorithm = algorithm,
         .time_us = {.n = 1, .median = time, .min = time, .max = time, .p5 = time, .p95 = time},
         .verified = true});
  }
  return file;
}

TEST_F(Program, ComparesWorkloadsByAlgorithmAndSize) {
  store("m.json", workload_of("measured", 1));
  bench::WorkloadFile simulated = workload_of("simulated", 1.1);
  simulated.series.points.back().algorithm = "chain";
  store("s.json", simulated);
  const auto ended = run("compare m.json s.json --max-error 5 --json r.json");
  EXPECT_EQ(ended.code, 1) << ended.err;
  EXPECT_THAT(ended.out, AllOf(HasSubstr("all-reduce over gpudirect-v2, 2 ranks"),
                               ContainsRegex("ring +64 +20.0+ +22.0+ +\\+10.00 %"), HasSubstr("only measured: tree 8"),
                               HasSubstr("only simulated: chain 8"), HasSubstr("exceeds 5 %")));
  EXPECT_THAT(read("r.json"), HasSubstr("\"workload\": \"all-reduce\""));
  EXPECT_EQ(run("compare m.json s.json --max-error 10.5 --report r.xml").code, 0);

  simulated = workload_of("simulated", 1);
  simulated.series.workload = "broadcast";
  simulated.series.ranks = 4;
  store("s.json", simulated);
  EXPECT_THAT(run("compare m.json s.json").err,
              HasSubstr("different workload: measured all-reduce, simulated broadcast; different number of ranks: "
                        "measured 2, simulated 4 (--force"));
  write("curve.json", test::make_result("simulated", "staging", {{4, 10}}));
  EXPECT_THAT(run("compare m.json curve.json").err,
              HasSubstr("m.json is a workload file and curve.json is a result file"));
}

TEST_F(Program, SaysWhatOfAPlatformWasChanged) {
  write_pair();
  bench::Result changed = test::make_result("simulated", "staging", {{4, 10}, {8, 20}});
  changed.environment = nlohmann::json{{"platform", "x"}, {"overrides", {"a.b=1us"}}, {"failed", {"hca0"}}};
  write("changed.json", changed);
  EXPECT_THAT(run("compare m.json changed.json").out,
              HasSubstr("the simulated file is of another platform than its file has: --set a.b=1us, --fail hca0"));
}

TEST_F(Program, PrintsNoControlCharacterThatAFileBrings) {
  bench::Result measured = test::make_result("measured", "staging", {{4, 10}});
  measured.series.label = "a\x1B[2J\xC2\x9B";
  measured.program = "evil\x1B]0;title\x07";
  write("m.json", measured);
  write("s.json", test::make_result("simulated", "staging", {{4, 10}}));
  const auto ended = run("compare m.json s.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_EQ(ended.out, plain_text(ended.out));
  EXPECT_THAT(ended.out, HasSubstr("[2J"));
  std::ofstream(folder_.path() / "bad.json") << R"({"kind": "\u001b[31mx"})";
  const auto refused = run("compare bad.json bad.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_EQ(refused.err, plain_text(refused.err));
}

/// An option of no group is not shown.
TEST_F(Program, HelpShowsEveryOption) { EXPECT_THAT(run("compare --help").out, HasSubstr("--label A,B")); }

TEST_F(Program, ReportsGoByTheExtensionAndTheTextIsPrintedAllTheSame) {
  write_pair();
  const auto ended = run("compare m.json s.json --report r.md --json r.json --max-error 1");
  EXPECT_EQ(ended.code, 1) << "a report is written whatever the verdict is";
  EXPECT_THAT(ended.out, AllOf(HasSubstr("Verdict: limits exceeded."), Not(HasSubstr("| ---"))));
  EXPECT_THAT(read("r.md"), AllOf(HasSubstr("# Measured and simulated\n"), HasSubstr("| hosts | alpha, beta |")));
  EXPECT_EQ(nlohmann::json::parse(read("r.json")).at("verdict"), "exceeded");

  EXPECT_EQ(run("compare m.json s.json --report r.txt").code, 0);
  EXPECT_EQ(read("r.txt"), read("out.log"));
  EXPECT_EQ(run("compare m.json s.json --report r.xml").code, 0);
  EXPECT_THAT(read("r.xml"), HasSubstr("<testcase classname=\"staging\" name=\"compared\"><skipped"));
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

TEST_F(Program, ImportWritesAFileThatCompareTakes) {
  std::ignore = folder_.write("osu.txt", test::osu_latency_75());
  write("s.json", test::make_result("simulated", "cuda-ipc", {{1, 8.01}, {2, 8.02}, {4194304, 14.48}}));
  const auto ended = run("import osu.txt --protocol cuda-ipc --places 0/0,1/0 --out m.json");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("# osu_latency: measured pingpong, 0/0 to 1/0"));
  const auto compared = run("compare m.json s.json --max-error 0");
  EXPECT_EQ(compared.code, 0) << compared.err;
  EXPECT_THAT(compared.out, AllOf(HasSubstr("means"), Not(HasSubstr("different"))));
  EXPECT_THAT(compared.out, HasSubstr("measured payloads not verified"));
}

TEST_F(Program, CompareTakesAnotherToolsFileAsItIs) {
  std::ignore = folder_.write("osu.txt", test::osu_bw_72());
  auto simulated = test::make_result("simulated", "cuda-ipc", {{1, 0.8}, {1048576, 20}});
  simulated.series.pattern = bench::Pattern::bandwidth;
  simulated.series.window = 64;
  write("s.json", simulated);
  const auto ended = run("compare osu.txt s.json --report r.md");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out,
              AllOf(HasSubstr("+25.00 %"), HasSubstr("does not tell its protocol; the other is of cuda-ipc"),
                    HasSubstr("does not tell its window; the other has 64"), HasSubstr("only measured: 32M")));
  EXPECT_THAT(read("r.md"), HasSubstr("| origin.tool | osu |"));
  std::ignore = folder_.write("latency.txt", test::osu_latency_75());
  EXPECT_THAT(run("compare latency.txt s.json").err, HasSubstr("different pattern: measured pingpong"));
}

TEST_F(Program, CompareIsToldWhatAnotherToolsFileLacks) {
  std::ignore = folder_.write("nv.json", test::nvbandwidth_08().dump());
  std::ignore = folder_.write("osu.txt", test::osu_latency_75() + test::osu_bw_72());
  bench::ProbeFile probes = test::make_probes("simulated", {{512U << 20U, 9717.1}});
  probes.findings.lines[0].name = "copy pinned-to-device near";
  probes.findings.lines[0].peer.clear();
  write("s.json", probes);
  EXPECT_THAT(run("compare nv.json s.json").out, HasSubstr("512M, unless its --bufferSize was given"));
  const auto ended = run("compare nv.json s.json --size 512M");
  EXPECT_EQ(ended.code, 0) << ended.err;
  EXPECT_THAT(ended.out, HasSubstr("copy pinned-to-device near"));
  write("l.json", test::make_result("simulated", "cuda-ipc", {{1, 8.01}}));
  EXPECT_THAT(run("compare osu.txt l.json").err, HasSubstr("osu.txt: error: holds 2 tables"));
  EXPECT_EQ(run("compare osu.txt l.json --table 1").code, 0);
  EXPECT_EQ(run("compare nv.json s.json osu.txt l.json --table 1 --size 512M").code, 0) << "each takes what is for it";
  EXPECT_THAT(run("compare osu.txt l.json --table 1 --size 4").err, HasSubstr("--size: none of the files is nvband"));
  EXPECT_THAT(run("compare nv.json s.json --size 512M --table 1").err, HasSubstr("--table: none of the files is of"));
}

TEST_F(Program, MessagesOfOtherMemoryAreNotCompared) {
  std::ignore = folder_.write("osu.txt", "# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n1   8.01\n");
  write("s.json", test::make_result("simulated", "cuda-ipc", {{1, 8.01}}));
  const auto refused = run("compare osu.txt s.json");
  EXPECT_EQ(refused.code, 2);
  EXPECT_THAT(refused.err,
              HasSubstr("osu.txt and s.json: error: not comparable: measured with messages in host memory; "
                        "those of 'cuda-ipc' lie in device memory (--force"));
  const auto forced = run("compare osu.txt s.json --force");
  EXPECT_EQ(forced.code, 0);
  EXPECT_THAT(forced.out, HasSubstr("measured with messages in host memory"));
  write("h.json", test::make_result("simulated", "host", {{1, 8.01}}));
  EXPECT_EQ(run("compare osu.txt h.json").code, 0);
}

TEST_F(Program, ImportTakesPrimitivesAndNcclTests) {
  std::ignore = folder_.write("nv.json", test::nvbandwidth_08().dump());
  std::ignore = folder_.write("nccl.json", test::sendrecv_2().dump());
  EXPECT_EQ(run("import --from nvbandwidth nv.json --size 512M --out p.json").code, 0);
  EXPECT_EQ(nlohmann::json::parse(read("p.json")).at("kind"), "twinlink-probe");
  EXPECT_EQ(run("import --from nccl-tests nccl.json --window 1 --out m.json").code, 0);
  EXPECT_EQ(nlohmann::json::parse(read("m.json")).at("window"), 1);
}

TEST_F(Program, BadImportsEndWithTwoAndWriteNothing) {
  std::ignore = folder_.write("cut.txt", "# OSU MPI Latency Test v7.5\n# Size       Avg Latency(us)\n1   8.01\n2\n");
  std::ignore = folder_.write("osu.txt", test::osu_latency_75());
  std::ignore = folder_.write("notes.txt", "hello\n");
  std::ignore = folder_.write("shmem.txt", "# OSU OpenSHMEM Put Latency Test v7.3\n");
  std::ignore = folder_.write("cut.json", test::sendrecv_2().dump().substr(0, 300));
  auto newer = test::sendrecv_2();
  newer["version"] = 9;
  std::ignore = folder_.write("newer.json", newer.dump());
  write("own.json", test::make_result("measured", "staging", {{4, 10}}));
  const auto expect_refused = [this](const std::string& arguments, const std::string& message) {
    const auto ended = run("import --out m.json " + arguments);
    EXPECT_EQ(ended.code, 2) << arguments;
    EXPECT_THAT(ended.err, HasSubstr(message)) << arguments;
    EXPECT_FALSE(exists("m.json")) << arguments;
  };
  expect_refused("cut.txt", "cut.txt:4: error: a row of 1 columns");
  expect_refused("cut.json", "cut.json: error: not JSON");
  expect_refused("newer.json", "'version' is 9");
  expect_refused("notes.txt", "neither the text of an OSU micro-benchmark");
  expect_refused("own.json", "neither the text of an OSU micro-benchmark");
  expect_refused("missing.txt", "missing.txt: error: cannot be read");
  expect_refused("osu.txt --from nvbandwidth", "holds nothing that can be imported: no test");
  expect_refused("newer.json --from osu", "is JSON; osu writes text");
  expect_refused("newer.json --from nvbandwidth --size 1M", "'nvbandwidth' is missing");
  expect_refused("osu.txt --from imb", "unknown tool 'imb' (there are: osu nvbandwidth nccl-tests superbench)");
  expect_refused("osu.txt --protocol stagign", "did you mean 'staging'?");
  expect_refused("osu.txt --pattern ring", "unknown pattern 'ring'");
  expect_refused("osu.txt --places foo,bar", "foo");
  expect_refused("osu.txt --size 0", "a copy of no bytes has no rate");
  EXPECT_THAT(run("import osu.txt --out osu.txt").err, HasSubstr("--out osu.txt would overwrite an input"));
  EXPECT_EQ(read("osu.txt"), test::osu_latency_75());
  expect_refused("osu.txt --pattern bandwidth", "osu.txt measures pingpong");
  expect_refused("osu.txt --places 0/0", "is no pair of places");
  expect_refused("osu.txt --window 0", "is no whole number from 1 to");
  expect_refused("osu.txt --window 1K", "is no whole number from 1 to");
  expect_refused("shmem.txt", "shmem.txt:1: error: unknown test 'OpenSHMEM Put Latency'");
  expect_refused("osu.txt --size 4", "--size: osu.txt tells its sizes");
  expect_refused("", "file");
  EXPECT_EQ(run("import osu.txt").code, 2) << "without --out";
}

TEST_F(Program, AnImportThatCannotBeWrittenIsAnError) {
  std::ignore = folder_.write("osu.txt", test::osu_latency_75());
  const auto ended = run("import osu.txt --out missing/m.json");
  EXPECT_EQ(ended.code, 1);
  EXPECT_THAT(ended.err, HasSubstr("missing/m.json"));
}

TEST_F(Program, HelpOfEveryCommandHasOneForm) {
  for (const std::string command : {"compare", "table", "ceiling", "settings", "import", "calibrate"}) {
    const auto ended = run(command + " --help");
    EXPECT_EQ(ended.code, 0);
    EXPECT_THAT(ended.out, AllOf(HasSubstr("\nExamples:\n  twinlink-validate "), HasSubstr("\nExit codes: 0 ")));
    EXPECT_THAT(ended.err, IsEmpty());
    std::istringstream lines(ended.out);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << command << ": " << line;
  }
  EXPECT_THAT(run("--help").out, HasSubstr("compare"));
  EXPECT_THAT(run("compare --help").out, AllOf(HasSubstr("--max-error"), HasSubstr("PERCENT")));
}

}  // namespace
}  // namespace twinlink::validate
