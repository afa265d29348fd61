// 'twinlink-sim advise' and 'explain --compare' as a user runs them.
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <regex>
#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

/// The median time in microseconds that 'run' gives for one size.
double time_of_run(const std::string& arguments) { return first_point("run " + arguments).at("time_us").get<double>(); }

/// The time that 'run' gives for one size and the settings of a ranking's entry.
double time_with(const std::string& job, const nlohmann::json& choice, const std::string& size) {
  const auto preset = choice.contains("preset") ? " --preset " + choice.at("preset").get<std::string>() : "";
  std::string options;
  const nlohmann::json chosen = choice.value("options", nlohmann::json::object());
  for (const auto& [name, value] : chosen.items()) {
    options += " -o " + name + "=" + value.get<std::string>();
  }
  return time_of_run(job + " --protocol " + choice.at("protocol").get<std::string>() + preset + options + " --chunk " +
                     choice.at("chunk_bytes").dump() + " --depth " + choice.at("depth").dump() + " -b " + size +
                     " -e " + size);
}

TEST(AdviseProgram, AProtocolThatTimesOutIsListedBesideTheOthers) {
  // 64 KiB at 1 kB/s take longer than the default's 30 s, and 64 B do not. Copies between peers have their own rate.
  const std::string slow = kKids + "--from 0/1 --to 0/2 --set gpu_types.m2090.copies.device-to-pinned.rate='1 kB/s' ";
  const std::string compared = said("explain " + slow + "--compare -s 64K");
  EXPECT_THAT(compared, HasSubstr("gpudirect-v2"));
  EXPECT_THAT(compared.substr(compared.find("Not compared")),
              AllOf(HasSubstr("gpudirect-v1"), HasSubstr("not delivered: rank "), HasSubstr("timed out")));
  std::string advised;
  const nlohmann::json points =
      written("advise " + slow + "-p gpudirect-v1,gpudirect-v2 -b 64 -e 64K -f 1024", &advised).at("points");
  EXPECT_EQ(points.at(0).at("ranking").size(), 2U) << "small messages are delivered by both";
  EXPECT_EQ(points.at(1).at("ranking").size(), 1U);
  EXPECT_THAT(advised, HasSubstr("settings are left out: not delivered: rank "));
}

TEST(AdviseProgram, ItsTimesAreThoseOfRun) {
  for (const std::string pattern : {"pingpong", "bidirectional"}) {
    const std::string window = pattern == "pingpong" ? "" : " -W 4";
    const std::string job = kKids + "--from 0/1 --to 0/2 --pattern " + pattern + window;
    const nlohmann::json ranking = first_point("advise " + job + " -b 256K -e 256K").at("ranking");
    EXPECT_GE(ranking.size(), 3U);
    for (const nlohmann::json& choice : ranking) {
      const double time_us = choice.at("time_us").get<double>();
      EXPECT_NEAR(time_with(job, choice, "256K"), time_us, 1e-6 * time_us) << pattern << " " << choice;
      EXPECT_NEAR(choice.at("bandwidth_MBps").get<double>(), (pattern == "bidirectional" ? 2 : 1) * 262144 / time_us,
                  1e-6);
    }
  }
}

TEST(AdviseProgram, NoTuningThatItTriedIsMoreThanTheMarginFaster) {
  const std::string job = kKids + "--from 0/0 --to 1/0 -b 128K -e 128K ";
  const nlohmann::json winner = first_point("advise " + job + "-p gpudirect-v1").at("ranking").at(0);
  EXPECT_EQ(winner.at("protocol"), "gpudirect-v1");
  const double best = winner.at("time_us").get<double>();
  for (const std::string tuning : {"--chunk 0", "--chunk 4K --depth 16", "--chunk 8K --depth 8",
                                   "--chunk 16K --depth 4", "--chunk 32K --depth 4", "--chunk 64K --depth 2"}) {
    EXPECT_GT(time_of_run(job + "--protocol gpudirect-v1 " + tuning), best / 1.01) << tuning;
  }
}

TEST(AdviseProgram, NamesCrossoversWhereTheFallbackOvertakes) {
  // Whole messages between hubs. The driver takes longer to begin than two copies and a small message between them, and
  // spares what a large message takes through shared memory.
  const std::string job = kKids + "--from 0/0 --to 0/1 ";
  std::string ended;
  const nlohmann::json advice =
      written("advise " + job + "-p staging,gpudirect-v2 -b 4 -e 256K -f 4 --chunk 0", &ended);
  EXPECT_THAT(ended, AllOf(HasSubstr("gpudirect-v2 overtakes staging at about"),
                           HasSubstr("gpudirect-v2   falls back: no peer access between gpu0")));
  const nlohmann::json crossovers = advice.at("crossovers");
  ASSERT_EQ(crossovers.size(), 1U) << ended;
  const auto bytes = [&](const char* name) { return crossovers[0].at(name).get<double>(); };
  EXPECT_LT(bytes("after_bytes"), bytes("at_bytes"));
  EXPECT_LT(bytes("at_bytes"), bytes("by_bytes"));
  // Run on both sides of the crossover, the two change places.
  for (const nlohmann::json& point : advice.at("points")) {
    const bool before = point.at("bytes") == crossovers[0].at("after_bytes");
    if (!before && point.at("bytes") != crossovers[0].at("by_bytes")) continue;
    const nlohmann::json& ranking = point.at("ranking");
    EXPECT_EQ(ranking.at(0).at("protocol"), before ? "staging" : "gpudirect-v2");
    EXPECT_LT(time_with(job, ranking.at(0), point.at("bytes").dump()),
              time_with(job, ranking.at(1), point.at("bytes").dump()));
  }
}

TEST(AdviseProgram, TriesTheChunksAndDepthsAskedFor) {
  EXPECT_THAT(said("advise " + kKids +
                   "--from 0/0 --to 1/0 -p gpudirect-v1,staging -b 1M -e 1M --chunk 128K,256K --depth 8 --format csv"),
              AllOf(HasSubstr("\npingpong,1,0/0,1/0,1048576,1,gpudirect-v1,,,131072,8,"),
                    HasSubstr("\npingpong,1,0/0,1/0,1048576,2,staging,")));
}

TEST(AdviseProgram, AnOptionHoldsForAllProtocolsThatAreNamed) {
  const std::string job = "advise " + kKids + "--from 0/1 --to 0/2 -b 1M -e 1M --format csv ";
  const std::string pushed = said(job + "-p gpudirect-v2 -o engine=kernel-push");
  EXPECT_NE(pushed, run(job + "-p gpudirect-v2").text);
  EXPECT_THAT(said(job + "-p gpudirect-v2,staging -o engine=kernel-push", 2), HasSubstr("'engine'"));
  EXPECT_THAT(run(job + "-o engine=kernel-push").text, HasSubstr("--option requires --protocol"));
}

TEST(AdviseProgram, RefusesAWindowInShredsAndOneWithoutEffect) {
  EXPECT_THAT(said("advise " + kKids + "--pattern bandwidth -W 4096 -b 64M -e 64M --chunk 1K", 2),
              HasSubstr("--chunk 1K cuts a window of 4096 messages of 64M"));
  EXPECT_THAT(said("advise " + kKids + "-b 4 -e 4 -W 4", 2), HasSubstr("--window 4 has no effect"));
}

TEST(AdviseProgram, ComparesTheProtocolsAskedFor) {
  EXPECT_THAT(said("advise " + kKids + "--from 0/1 --to 0/2 -b 4 -e 4 -p staging,gpudirect-v2 --format csv"),
              AllOf(HasSubstr(",4,1,gpudirect-v2,"), HasSubstr(",4,2,staging,"), Not(HasSubstr(",4,3,"))));
  EXPECT_THAT(said("advise " + kKids + "--from 0/0 --to 1/0 -b 4 -e 4 -p gpudirect-v2", 77),
              HasSubstr("gpudirect-v2: refused: the GPUs are on different nodes"));
}

TEST(AdviseProgram, SettingsOfALibraryAreReadyToPaste) {
  EXPECT_THAT(said("advise " + kKids + "--from 0/0 --to 1/0 -b 64K -e 4M -f 4 -p gpudirect-v1"),
              AllOf(HasSubstr("The same for gpudirect-v1 mvapich2, in the library's own names (its depth is 8): "),
                    HasSubstr("\n  MV2_CUDA_BLOCK_SIZE=")));
}

TEST(AdviseProgram, ASingleSettingIsSimulatedAtEverySize) {
  // 16 KiB chunks cut 16 MiB into 1,024 pieces, finer than the search goes; the figure must be that of real runs.
  const std::string job = kKids + "--from 0/0 --to 1/0 ";
  const nlohmann::json advice = written("advise " + job + "-b 64K -e 16M -f 16 -p gpudirect-v1");
  const nlohmann::json single = advice.at("single_settings").at(0);
  ASSERT_EQ(single.at("protocol"), "gpudirect-v1");
  EXPECT_LT(single.at("chunk_bytes").get<int>(), 16 << 20U >> 8U) << "finer than the search: else this tests nothing";
  double product = 1;
  for (const auto& point : advice.at("points")) {
    const auto size = std::to_string(point.at("bytes").get<int>());
    product *= time_of_run(job + "--protocol gpudirect-v1 -b " + size + " -e " + size + " --chunk " +
                           std::to_string(single.at("chunk_bytes").get<int>()) + " --depth " +
                           std::to_string(single.at("depth").get<int>())) /
               point.at("ranking").at(0).at("fastest_us").get<double>();
  }
  EXPECT_NEAR(1 + single.at("slower_percent").get<double>() / 100, std::cbrt(product), 1e-6);
}

TEST(AdviseProgram, SaysWhoTakesNoPartAndWhy) {
  EXPECT_THAT(said("advise " + kKids + "--from 0/0 --to 1/0 -b 4 -e 4"),
              AllOf(HasSubstr("Not compared"), HasSubstr("gpudirect-v2   refused: the GPUs are on different"),
                    HasSubstr("host           a reference only: it moves host memory")));
}

TEST(AdviseProgram, IsTheSameWithAnyNumberOfJobs) {
  const std::string job =
      "advise " + kKids + "--from 0/1 --to 0/2 -b 4K -e 256K -f 4 -p gpudirect-v1,gpudirect-v2 --format csv --jobs ";
  const std::string one = said(job + "1");
  EXPECT_EQ(one, run(job + "7").text);
}

TEST(AdviseProgram, WrongUsageSaysWhatIsAllowed) {
  const auto expect_refusal = [](const std::string& arguments, const std::string& message) {
    EXPECT_THAT(said(arguments, 2), HasSubstr(message)) << arguments;
  };
  expect_refusal("advise", "--platform is required");
  expect_refusal("advise --platform nowhere.yaml", "nowhere.yaml");
  expect_refusal("advise " + kKids + "--from 0/1 --to 0/1",
                 "--from and --to are both 0/1: a comparison needs two devices");
  expect_refusal("advise " + kKids + "--to 0/7", "nodes are 0 to 119, GPUs 0 to 2");
  expect_refusal("advise " + kKids + "-e 64K --chunk 1M", "--chunk 1M is larger than the largest message, 64K (-e)");
  expect_refusal("advise " + kKids + "--protocol host,stagin", "-p,--protocol: ");
  expect_refusal("advise " + kKids + "--protocol stagin", "did you mean 'staging'?");
  expect_refusal("advise " + kKids + "--chunk 16", "at least 1K is needed");
  expect_refusal("advise " + kKids + "--chunk 4K,x", "'x'");
  expect_refusal("advise " + kKids + "--depth 0", "--depth");
  expect_refusal("advise " + kKids + "-b 0", "the smallest message size is 1 B");
  expect_refusal("advise " + kKids + "-b 8 -e 4", "the end must not be smaller");
  expect_refusal("advise " + kKids + "--pattern copy", "has no peer");
  expect_refusal("advise " + kKids + "--jobs 0", "--jobs");
  expect_refusal("advise " + kKids + "--format osu", "there are: csv, json, table");
  expect_refusal("advise " + kKids + "--csv /no-such-folder/t", "/no-such-folder/t cannot be written");
  expect_refusal("explain " + kKids + "--compare --from 0/0 --to 0/0", "a comparison needs two devices");
  expect_refusal("explain " + kKids + "--compare --size 0", "1 B");
  expect_refusal("explain " + kKids + "--compare --protocol host", "--protocol excludes --compare");
  expect_refusal("explain " + kKids + "--csv t.csv", "--csv requires --compare");
}

TEST(CompareProgram, ShowsEveryProtocolWithItsTimeAndPath) {
  const std::string ended = said("explain " + kKids + "--from 0/0 --to 1/0 --compare");
  // The times are those of 'run' with the defaults, the host's too.
  EXPECT_THAT(ended, AllOf(HasSubstr("671.416"), HasSubstr("fastest  staged through pinned host memory"),
                           HasSubstr("gpudirect-v1 mvapich2"), HasSubstr("804.663"),
                           HasSubstr("  staged through pageable host memory"), HasSubstr("315.646"),
                           HasSubstr("reference  host memory to host memory"),
                           HasSubstr("gpudirect-v2   refused: the GPUs are on different nodes")));
  EXPECT_NEAR(time_of_run(kKids + "--from 0/0 --to 1/0 -b 1M -e 1M --protocol gpudirect-v1"), 671.416, 0.001);
  EXPECT_NEAR(time_of_run(kKids + "--from 0/0 --to 1/0 -b 1M -e 1M --protocol host"), 315.646, 0.001);
}

TEST(CompareProgram, AFallbackTakesPartAndIsNamed) {
  EXPECT_THAT(said("explain " + kKids + "--from 0/0 --to 0/1 --compare --size 4K"),
              AllOf(HasSubstr("gpudirect-v2   falls back: no peer access between gpu0"),
                    HasSubstr("staged through the host by the driver")));
}

TEST(CompareProgram, JsonHoldsTheReferencesApart) {
  const nlohmann::json json = written("explain " + kKids + "--from 0/1 --to 0/2 --compare");
  EXPECT_EQ(json.at("kind"), "twinlink-advice");
  EXPECT_EQ(json.at("environment").at("platform"), "keeneland-kids");
  const nlohmann::json point = json.at("points").at(0);
  EXPECT_GE(point.at("ranking").size(), 3U);
  for (const nlohmann::json& choice : point.at("ranking")) EXPECT_NE(choice.at("protocol"), "host");
  ASSERT_EQ(point.at("references").size(), 1U);
  EXPECT_EQ(point.at("references").at(0).at("protocol"), "host");
}

/// What advise writes for a library, and how it ends.
struct Emitted {
  std::string printed{};
  std::string text{};
};
Emitted settings_for(const std::string& library, const std::string& job, int code = 0) {
  const std::string file = ::testing::TempDir() + "twinlink-settings";
  std::remove(file.c_str());
  Emitted all{.printed = said("advise " + job + " --emit " + file + " --for " + library, code)};
  std::ifstream stream(file);
  all.text.assign(std::istreambuf_iterator<char>(stream), {});
  return all;
}

/// The file's reason for `line`: "# SIZE: T us, T us without this line: N % less".
struct Gain {
  std::string size{};
  double with = 0;
  double without = 0;
};
Gain gain_of(const std::string& text, const std::string& line) {
  const std::regex reason("# (\\S+): (\\S+) us, (\\S+) us without this line: \\d+ % less\n" + line + "\n");
  std::smatch found;
  EXPECT_TRUE(std::regex_search(text, found, reason)) << text;
  return found.empty() ? Gain{} : Gain{found[1], std::stod(found[2]), std::stod(found[3])};
}

TEST(AdviseProgram, SettingsOfALibraryGainWhatRunSays) {
  const std::string within = kKids + "--from 0/1 --to 0/2 ";
  const Emitted mvapich2 = settings_for("mvapich2", within + "-f 4");
  EXPECT_THAT(mvapich2.printed, HasSubstr(": 1 setting for mvapich2, of 2 that change times from 0/1 to 0/2"));
  std::smatch limit;
  ASSERT_TRUE(std::regex_search(mvapich2.text, limit, std::regex("\nMV2_CUDA_IPC_THRESHOLD=([0-9]+)\n")));
  const Gain ipc = gain_of(mvapich2.text, "MV2_CUDA_IPC_THRESHOLD=" + limit[1].str());
  const std::string run = within + "-p cuda-aware --preset mvapich2 ";
  const std::string at = " -b " + ipc.size + " -e " + ipc.size;
  EXPECT_NEAR(time_of_run(run + at), ipc.without, 0.005);
  EXPECT_NEAR(time_of_run(run + "-o ipc_from=" + limit[1].str() + at), ipc.with, 0.005);
  // The least size that goes another way gains more than the model errs, and the next smaller one would not.
  const auto gain = [&](std::uint64_t size) {
    const std::string sweep = fmt::format(" -b {0} -e {0}", size);
    return 1 - time_of_run(run + "-o ipc_from=1" + sweep) / time_of_run(run + sweep);
  };
  const std::uint64_t least = std::stoull(limit[1]);
  EXPECT_GT(gain(least), 0.12);
  EXPECT_LE(gain(least / 4), 0.12);

  const std::string between = kKids + "--from 0/0 --to 1/0 ";
  const Emitted ucx = settings_for("ucx", between + "-f 4");
  const Gain piece = gain_of(ucx.text, "UCX_RNDV_FRAG_SIZE=host:131072");
  const std::string pieces = between + "-p cuda-aware --preset ucx -b " + piece.size + " -e " + piece.size;
  EXPECT_NEAR(time_of_run(pieces), piece.without, 0.005);
  EXPECT_NEAR(time_of_run(pieces + " --chunk 128K"), piece.with, 0.005);
  EXPECT_GT(1 - piece.with / piece.without, 0.16);
}

TEST(AdviseProgram, ASettingThatHoldsForHostMemoryAsWellIsAComment) {
  const Emitted ucx = settings_for("ucx", kKids + "--from 0/1 --to 0/2 -f 4");
  EXPECT_THAT(ucx.printed, HasSubstr(": 1 setting for ucx, of 1 that change times"));
  EXPECT_THAT(ucx.text, AllOf(HasSubstr(" % less\n# Only for programs without small messages of host memory in a node"),
                              HasSubstr("\n# UCX_RNDV_THRESH=intra:"), Not(HasSubstr("\nUCX_"))));
}

TEST(AdviseProgram, WritesNoSettingThatGainsLessThanTheModelErrs) {
  const Emitted idle = settings_for("ucx", "--platform keeneland-kfs-rdma --from 0/0 --to 1/0 -f 16");
  EXPECT_THAT(idle.printed, HasSubstr("no setting, for none gains more than the model errs"));
  EXPECT_THAT(idle.text, AllOf(HasSubstr("# Tried: UCX_IB_GPU_DIRECT_RDMA\n# Nothing gains so much.\n"),
                               Not(HasSubstr("\nUCX_"))));
}

TEST(AdviseProgram, RefusesSettingsThatItKnowsNothingOf) {
  const Emitted nothing = settings_for("ucx", kKids + "--from 0/0 --to 0/1 -f 16", 77);
  EXPECT_THAT(nothing.printed, HasSubstr("no message between 0/0 and 0/1 depends on any setting that is modelled"));
  EXPECT_EQ(nothing.text, "");
  const std::string job = kKids + "--from 0/1 --to 0/2 -f 16 ";
  EXPECT_THAT(settings_for("ucx", job + "-p staging", 2).printed, HasSubstr("no -p, --chunk and --depth"));
  EXPECT_THAT(settings_for("ucx", job + "--json x.json", 2).printed, HasSubstr("settings alone"));
  EXPECT_THAT(settings_for("openmpi", job, 2).printed, HasSubstr("openmpi not in {ucx,mvapich2}"));
  EXPECT_THAT(said("advise " + job + "--for ucx", 2), HasSubstr("--emit"));
}

}  // namespace
}  // namespace twinlink::model
