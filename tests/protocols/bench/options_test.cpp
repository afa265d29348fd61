#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/cli/csv.hpp"

#include <gmock/gmock.h>

#include <sstream>

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include "protocols/registry.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::AllOf;
using testing::ContainsRegex;
using testing::HasSubstr;
using testing::Not;

void parse(CLI::App& app, std::vector<std::string> arguments) {
  std::ranges::reverse(arguments);  // as CLI11 wants them
  app.parse(arguments);
}

Plan plan_of(std::vector<std::string> arguments, const DefaultRepeats& defaults = simulated_repeats()) {
  CLI::App app;
  RunOptions options;
  add_run_options(app, options);
  parse(app, std::move(arguments));
  return make_plan(options, defaults);
}

/// What is said of a command line. A protocol is added unless it names one.
std::string refusal(std::vector<std::string> arguments) {
  if (arguments[0] != "--protocol") arguments.insert(arguments.end(), {"--protocol", "staging"});
  return said_by<std::exception>([&] { plan_of(std::move(arguments)); });
}

TEST(RunOptions, LeaveDefaultsToProtocolPatternAndWorld) {
  const Plan plan = plan_of({"--protocol", "gpudirect-v2"}, measured_repeats());
  EXPECT_EQ(plan.pattern, Pattern::pingpong);
  EXPECT_EQ(plan.sizes.front(), 4_B);
  EXPECT_EQ(plan.sizes.back(), 64_MiB);
  EXPECT_EQ(plan.sizes.size(), 25U);
  EXPECT_EQ(plan.settings.depth, find_protocol("gpudirect-v2").defaults().depth);
  EXPECT_EQ(plan.settings.chunk, 0_B);
  EXPECT_TRUE(plan.verify);
}

TEST(RunOptions, AllReachThePlan) {
  const Plan plan = plan_of(
      {"-p",      "gpudirect-v1", "-b",      "1K", "-e", "1M", "-f", "4", "--pattern", "bandwidth", "-W",         "16",
       "--chunk", "256K",         "--depth", "3",  "-x", "5",  "-i", "7", "--timeout", "500ms",     "--no-verify"});
  EXPECT_EQ(plan.pattern, Pattern::bandwidth);
  EXPECT_EQ(plan.sizes, (std::vector{1_KiB, 4_KiB, 16_KiB, 64_KiB, 256_KiB, 1_MiB}));
  EXPECT_EQ(plan.window, 16);
  EXPECT_EQ(plan.settings.chunk, 256_KiB);
  EXPECT_EQ(plan.settings.depth, 3);
  EXPECT_EQ(plan.settings.timeout, Seconds{0.5});
  EXPECT_EQ(plan.small.warmup, 5);
  EXPECT_EQ(plan.large.warmup, 5);
  EXPECT_EQ(plan.small.iterations, 7);
  EXPECT_EQ(plan.large.iterations, 7);
  EXPECT_FALSE(plan.verify);
}

TEST(RunOptions, ThePresetReachesThePlan) {
  EXPECT_EQ(plan_of({"-p", "gpudirect-v1"}).preset, "");
  EXPECT_EQ(plan_of({"-p", "gpudirect-v1", "--preset", "mvapich2"}).preset, "mvapich2");
}

TEST(RunOptions, PassesReachThePlanWhereTheyAreOffered) {
  EXPECT_THAT(refusal({"--passes", "3"}), HasSubstr("--passes"));
  CLI::App app;
  RunOptions options;
  add_run_options(app, options);
  add_passes_option(app, options.passes);
  parse(app, {"-p", "host", "--passes", "3"});
  EXPECT_EQ(make_plan(options, measured_repeats()).passes, 3);
  EXPECT_THROW(parse(app, {"-p", "host", "--passes", "0"}), CLI::ValidationError);
}

TEST(RunOptions, RepeatsOfBandwidthAreItsOwn) {
  const auto repeats = [](const char* pattern) {
    const Plan plan = plan_of({"-p", "host", "--pattern", pattern}, measured_repeats());
    EXPECT_EQ(plan.budget, Seconds{2});
    return std::vector{plan.small.warmup, plan.small.iterations, plan.large.warmup, plan.large.iterations};
  };
  EXPECT_EQ(repeats("pingpong"), (std::vector{100, 1000, 10, 100}));
  for (const char* pattern : {"bandwidth", "bidirectional"}) {
    EXPECT_EQ(repeats(pattern), (std::vector{10, 1000, 2, 100})) << pattern;
  }
}

TEST(RunOptions, IterationsAskedForAreNotCutToABudget) {
  EXPECT_EQ(plan_of({"-p", "host", "-i", "9"}, measured_repeats()).budget, Seconds{});
}

TEST(RunOptions, WrongValuesSayWhatIsAllowed) {
  EXPECT_THAT(refusal({"--protocol", "stagign"}),
              AllOf(HasSubstr("did you mean 'staging'?"), HasSubstr("gpudirect-v2")));
  EXPECT_THAT(refusal({"--pattern", "ring"}),
              AllOf(HasSubstr("'ring'"), HasSubstr("pingpong bandwidth bidirectional")));
  EXPECT_THAT(refusal({"--pattern", "copy"}), HasSubstr("has no peer"));
  EXPECT_THAT(refusal({"--format", "xml"}), AllOf(HasSubstr("'xml'"), HasSubstr("csv, json, osu, table")));
  EXPECT_THAT(refusal({"-b", "4Q"}), AllOf(HasSubstr("--begin"), HasSubstr("unknown unit 'Q'"), HasSubstr("K, M, G")));
  EXPECT_THAT(refusal({"-e", "-1"}), HasSubstr("'-1' is negative"));
  EXPECT_THAT(refusal({"--chunk", "nan"}), HasSubstr("'nan'"));
  EXPECT_THAT(refusal({"-f", "1"}), HasSubstr("'1' is no whole number from 2 to"));
  EXPECT_THAT(refusal({"-W", "0"}), HasSubstr("'0' is no whole number from 1 to 4096"));
  EXPECT_THAT(refusal({"--depth", "0"}), HasSubstr("'0' is no whole number from 1 to 1024"));
  EXPECT_THAT(refusal({"-i", "0"}), HasSubstr("'0' is no whole number from 1 to"));
  EXPECT_THAT(refusal({"-x", "many"}), HasSubstr("'many' is no whole number from 0 to"));
  EXPECT_THAT(refusal({"-i", "99999999999999999999"}), HasSubstr("is no whole number"));
  EXPECT_THAT(refusal({"--timeout", "30"}), AllOf(HasSubstr("--timeout"), HasSubstr("has no unit")));
  EXPECT_THAT(refusal({"--timeout", "0s"}), HasSubstr("not longer than zero"));
  EXPECT_THAT(refusal({"--speed"}), HasSubstr("--speed"));
}

TEST(RunOptions, WrongValuesAreErrorsOfTheCommandLine) {
  for (const auto& arguments :
       {std::vector<std::string>{"-p", "stagign"}, {"-p", "staging", "-b", "x"}, {"-p", "staging", "-f", "x"}}) {
    EXPECT_THROW(plan_of(arguments), CLI::ParseError);
  }
}

TEST(RunOptions, ThatContradictEachOtherAreRefused) {
  EXPECT_THAT(refusal({"-b", "8", "-e", "4"}), HasSubstr("begin at 8 and end at 4"));
  EXPECT_THAT(refusal({"-b", "0"}), HasSubstr("smallest message size is 1 B"));
}

TEST(RunOptions, WholeNumbersAreDecimal) {
  for (const std::string text : {"0x10", "1e1", "4.0", " 4", "4 ", "+4", "4x", "99999999999999999999"}) {
    EXPECT_THAT(refusal({"--warmup=" + text}), HasSubstr("'" + text + "' is no whole number from 0 to")) << text;
  }
  EXPECT_THAT(refusal({"--warmup="}), HasSubstr("--warmup"));
}

TEST(RunOptions, ChunksThatCutAMessageToShredsAreRefused) {
  EXPECT_THAT(refusal({"-e", "64M", "--chunk", "1023"}), AllOf(HasSubstr("message of 64M"), HasSubstr("at least 1K")));
  EXPECT_EQ(plan_of({"-p", "host", "-e", "64M", "--chunk", "1K"}).settings.chunk, 1_KiB);
  EXPECT_EQ(plan_of({"-p", "host", "-e", "64K", "--chunk", "1"}).settings.chunk, 1_B);
}

TEST(RunOptions, ChunksThatCutAWindowToShredsAreRefused) {
  const auto with_chunk = [](const std::string& chunk) {
    return std::vector<std::string>{"--protocol", "staging", "--pattern", "bandwidth", "-W",      "4096",
                                    "-e",         "64M",     "-b",        "64M",       "--chunk", chunk};
  };
  EXPECT_THAT(refusal(with_chunk("1K")), HasSubstr("--chunk 1K cuts a window of 4096 messages of 64M into more than "
                                                   "1048576 pieces: at least 256K is needed, or a smaller window"));
  EXPECT_THAT(refusal(with_chunk("262143")), HasSubstr("at least 256K"));
  EXPECT_EQ(plan_of(with_chunk("256K")).window, 4096);
  EXPECT_EQ(plan_of(with_chunk("0")).window, 4096);
}

TEST(RunOptions, AWindowOfTooManyBlocksIsRefused) {
  const auto of_size = [](const std::string& size) {
    return std::vector<std::string>{"--protocol", "host", "--pattern", "bandwidth", "-W",       "16",
                                    "-b",         size,   "-e",        size,        "--layout", "vector:1,2"};
  };
  const auto unverified = [&of_size](const std::string& size) {
    std::vector<std::string> arguments = of_size(size);
    arguments.emplace_back("--no-verify");
    return arguments;
  };
  EXPECT_THAT(refusal(of_size("2049")), HasSubstr("--layout vector:1,2 gives a window of 16 messages of 2049 more than "
                                                  "32768 blocks; --no-verify takes them"));
  EXPECT_EQ(plan_of(of_size("2K")).window, 16);
  EXPECT_THAT(refusal(of_size("16K")), HasSubstr("--no-verify takes them"));
  EXPECT_THAT(refusal(of_size("16385")), Not(HasSubstr("--no-verify")));
  EXPECT_THAT(refusal(unverified("16385")), AllOf(HasSubstr("more than 262144 blocks"), Not(HasSubstr("--no-verify"))));
  EXPECT_EQ(plan_of(unverified("16K")).window, 16);
}

TEST(RunOptions, ARefusalSaysWhoseChunkItIs) {
  EXPECT_THAT(refusal({"--protocol", "cuda-ipc", "-o", "ipc=0", "-e", "16G"}),
              HasSubstr("the protocol's chunk of 128K cuts a message of 16G"));
  EXPECT_THAT(refusal({"--protocol", "gpudirect-v1", "--preset", "mvapich2", "-e", "32G"}),
              HasSubstr("the preset's chunk of 256K cuts a message of 32G"));
  EXPECT_THAT(refusal({"--protocol", "gpudirect-v1", "-o", "MV2_CUDA_BLOCK_SIZE=4K", "-e", "1G"}),
              HasSubstr("--option's chunk of 4K cuts a message of 1G"));
}

TEST(RunOptions, AProtocolThatSendsMessagesWholeMayHaveAnyChunk) {
  EXPECT_EQ(plan_of({"-p", "cuda-ipc", "-e", "16G"}).sizes.back(), 16_GiB);
}

TEST(RunOptions, AWindowForPingpongIsRefused) {
  EXPECT_THAT(refusal({"-W", "16"}), AllOf(HasSubstr("--window 16 has no effect"), HasSubstr("bandwidth")));
  EXPECT_EQ(plan_of({"-p", "staging"}).window, 1);
  EXPECT_EQ(plan_of({"-p", "staging", "--pattern", "bandwidth"}).window, kDefaultWindow);
  EXPECT_EQ(plan_of({"-p", "staging", "--pattern", "bidirectional", "-W", "16"}).window, 16);
}

TEST(OutputOptions, FilesThatCannotBeWrittenAreRefusedBeforeTheRun) {
  const std::string folder = testing::TempDir();
  const auto refusal_of = [](const OutputOptions& options) -> std::string {
    return said_by([&] { require_writable(options); });
  };
  EXPECT_THAT(refusal_of({.json = folder + "/no-such-folder/r"}), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal_of({.csv = folder + "/no-such-folder/r"}), HasSubstr("No such file or directory"));
  EXPECT_THAT(refusal_of({.json = folder}), HasSubstr("it is a folder"));
  EXPECT_NO_THROW(require_writable(OutputOptions{.json = folder + "/r", .csv = "twinlink-in-this-folder"}));
  EXPECT_NO_THROW(require_writable(OutputOptions{.json = "/dev/null"}));
  EXPECT_FALSE(std::filesystem::exists("twinlink-in-this-folder")) << "asking must not write";
}

TEST(RunOptions, HelpNamesUnitsDefaultsAndChoices) {
  CLI::App app;
  RunOptions options;
  add_run_options(app, options);
  const std::string help = app.help();
  for (const Protocol* protocol : all_protocols()) EXPECT_THAT(help, HasSubstr(std::string(protocol->name())));
  // CLI11 2.3 shows a default as "SIZE=64M", 2.4 as "SIZE [64M]".
  EXPECT_THAT(help, AllOf(ContainsRegex("SIZE(=| .)64M"), ContainsRegex("TIME(=| .)30.0 s")));
  EXPECT_THAT(help, AllOf(HasSubstr("bidirectional"), HasSubstr("osu")));
}

TEST(ProbeOptions, ReachThePlan) {
  CLI::App app;
  ProbeOptions options;
  add_probe_options(app, options);
  add_passes_option(app, options.passes);
  parse(app, {"-b", "2", "-e", "8", "-f", "2", "-i", "3", "--no-verify", "--passes", "3"});
  const ProbePlan plan = make_plan(options, measured_repeats());
  EXPECT_EQ(plan.sizes, (std::vector{2_B, 4_B, 8_B}));
  EXPECT_EQ(plan.small.iterations, 3);
  EXPECT_FALSE(plan.verify);
  EXPECT_FALSE(plan.keep_samples);
  options.samples = true;
  EXPECT_TRUE(make_plan(options, measured_repeats()).keep_samples);
  EXPECT_EQ(plan.passes, 3);
}

TEST(ProbeOptions, HaveNoOsuForm) {
  CLI::App app;
  ProbeOptions options;
  add_probe_options(app, options);
  EXPECT_THROW(parse(app, {"--format", "osu"}), CLI::ValidationError);
}

TEST(Deliver, PrintsTheFormatAskedFor) {
  const auto shown = [](Format format) {
    std::ostringstream out;
    deliver(sample_result(), {.format = format}, out);
    return out.str();
  };
  EXPECT_EQ(shown(Format::csv), to_csv(sample_result()));
  EXPECT_EQ(nlohmann::json::parse(shown(Format::json)), to_json(sample_result()));
  EXPECT_THAT(shown(Format::osu), HasSubstr("# Size"));
  EXPECT_THAT(shown(Format::table), HasSubstr("median us"));
}

TEST(Deliver, BytesThatAreNoTextDoNotLoseTheResult) {
  Result result = sample_result();
  result.command = "twinlink-sim --set a=\xff";
  std::ostringstream out;
  deliver(result, {.format = Format::json}, out);
  EXPECT_EQ(nlohmann::json::parse(out.str())["command"], "twinlink-sim --set a=\uFFFD");
}

TEST(Deliver, WritesTheFilesAskedFor) {
  const std::filesystem::path json = std::filesystem::path(testing::TempDir()) / "twinlink-deliver.json";
  const std::filesystem::path csv = std::filesystem::path(testing::TempDir()) / "twinlink-deliver.csv";
  std::ostringstream out;
  deliver(sample_probes(), {.json = json, .csv = csv}, out);
  EXPECT_EQ(to_json(read_probes(json)), to_json(sample_probes()));
  EXPECT_EQ(std::filesystem::file_size(csv), to_csv(sample_probes()).size());
  std::filesystem::remove(json);
  std::filesystem::remove(csv);
}

}  // namespace
}  // namespace twinlink::bench
