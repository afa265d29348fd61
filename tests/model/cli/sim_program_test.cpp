// twinlink-sim as a user runs it: what it prints and how it ends.
#include <filesystem>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

TEST(SimProgram, RunsAProtocol) {
  EXPECT_THAT(said("run " + kKids + "--protocol gpudirect-v2 --from 0/1 --to 0/2 -b 1M -e 1M"),
              AllOf(HasSubstr("path: peer copy by the copy engine"), HasSubstr("214.794")));
}

TEST(SimProgram, FindsAPlatformByNameFromAnyFolder) {
  const Ended ended = run("run --platform keeneland-kids -p host -b 4 -e 4", "/");
  if (!std::filesystem::exists(std::filesystem::path(TWINLINK_SIM_PROGRAM).parent_path() / "../../platforms")) {
    GTEST_SKIP() << "built elsewhere: no platforms beside the program";
  }
  EXPECT_EQ(ended.code, 0) << ended.text;
}

TEST(SimProgram, AMachinesOwnLibraryGivesTheDefaults) {
  const std::string job = "run --platform hgx-h100 -p gpudirect-v3 --from 0/0 --to 1/0 -b 4M -e 4M";
  const std::string own = said(job);
  EXPECT_THAT(own, AllOf(HasSubstr("preset ucx"), HasSubstr("sender direct")));
  EXPECT_EQ(own, run(job + " --preset ucx").text);
  EXPECT_THAT(run(job + " --preset mvapich2").text, HasSubstr("sender staged"));
  EXPECT_THAT(run(job + " --set mpi.library=mvapich2-gdr").text, HasSubstr("preset mvapich2-gdr"));
  EXPECT_THAT(run(job + " -o send_limit=8K").text, HasSubstr("sender staged")) << "what is named wins";
  EXPECT_THAT(run(job + " --set mpi.library=mpi").text, HasSubstr("'mpi' is not one of mvapich2, mvapich2-gdr"));
}

TEST(SimProgram, PeersAndRdmaCanBeSwitchedOff) {
  const std::string peers = "run --platform hgx-h100 -p gpudirect-v2 --from 0/0 --to 0/1 -b 4M -e 4M";
  EXPECT_THAT(run(peers).text, HasSubstr("path: peer copy by the copy engine"));
  EXPECT_THAT(run(peers + " --without p2p").text, HasSubstr("peer-to-peer access is switched off"));
  const std::string rdma = "run --platform hgx-h100 -p gpudirect-v3 --from 0/0 --to 1/0 -b 4M -e 4M --without ";
  EXPECT_EQ(run(rdma + "p2p").code, 0);
  const Ended refused = run(rdma + "rdma");
  EXPECT_NE(refused.code, 0);
  EXPECT_THAT(refused.text, HasSubstr("GPUDirect RDMA is switched off"));
  EXPECT_EQ(run(rdma + "nvlink").code, 2);
}

TEST(SimProgram, SetChangesANumber) {
  EXPECT_THAT(said("run " + kKids +
                   "--protocol gpudirect-v2 --from 0/1 --to 0/2 -b 1M -e 1M "
                   "--set 'gpu_types.m2090.copies.peer.rate=2 GB/s'"),
              HasSubstr("541.088"))
      << "16.8 us and 1 MiB / 2 GB/s";
}

/// No cost of its own stands before it.
TEST(SimProgram, SettingAMemorysCopyRateChangesCopiesBetweenHostBuffers) {
  const auto probe = [](const std::string& rate) {
    return run(
        "probe --platform tests/validate/h200/by-hand.yaml -b 64M -e 64M -x 0 -i 1 --no-verify --format csv "
        "--set 'nodes.memories.numa0.copy_rate=" +
        rate + "' | grep host-to-host | head -n 1");
  };
  // 64 MiB / 10 GB/s, 64 MiB / 5 GB/s, and 6.91 us of latency each
  EXPECT_THAT(probe("10 GB/s").text, HasSubstr(",6717.796"));
  EXPECT_THAT(probe("5 GB/s").text, HasSubstr(",13428.682"));
}

TEST(SimProgram, PlacesRanks) {
  const std::string pairs = "run " + kKids + "-p host -b 1M -e 1M --pairs 0-1 --place ";
  EXPECT_THAT(run(pairs + "spread").text, HasSubstr("0/0 to 1/0"));
  EXPECT_THAT(run(pairs + "packed").text, HasSubstr("0/0 to 0/1"));
  const std::string file = ::testing::TempDir() + "twinlink-places";
  std::ofstream(file) << "7/2\n3/1\n";
  EXPECT_THAT(run(pairs + file).text, HasSubstr("7/2 to 3/1"));
  EXPECT_EQ(run("run " + kKids + "-p host --place packed").code, 2) << "of one pair --from and --to";
  const std::string all = "run " + kKids + "-p host -b 4 -e 4 --format csv --all-pairs --place spread --ranks ";
  EXPECT_THAT(run(all + "2").text, AllOf(HasSubstr(",0/0,1/0,"), HasSubstr(",1/0,0/0,"), Not(HasSubstr("2/0"))));
  EXPECT_THAT(run("run " + kKids + "-p host --pairs 0-360 --place packed").text, HasSubstr("ranks 0 to 359"));
}

TEST(SimProgram, ALinkThatBreaksMidwayFailsTheRun) {
  EXPECT_THAT(said("run " + kKids + "-p staging -b 16M -e 16M --fail hca0-pcie@5ms", 1), HasSubstr("peer failed"));
}

TEST(SimProgram, RunsPairsAtOnceAndWritesAFileForEach) {
  const std::string file = ::testing::TempDir() + "twinlink-pairs-at-once";
  EXPECT_THAT(said("run " + kKids + "-p host --pairs 0/1-1/1,0/2-1/2:staging:depth=4 -b 4M -e 4M --json " + file +
                   ".json && cat " + file + ".json " + file + "-2.json | grep -A 1 '\"from\"'"),
              AllOf(HasSubstr("# 2 pairs at once: simulated pingpong\n"
                              "# pair 1: 0/1 to 1/1, host\n"
                              "# pair 2: 0/2 to 1/2, staging"),
                    HasSubstr("# size           1: us        MB/s       2: us        MB/s    sum MB/s\n"
                              "4M ")));
  EXPECT_EQ(nlohmann::json::parse(std::ifstream(file + ".json")).at("points").at(0).at("n"), 20) << "rounds vary";
  std::filesystem::remove(file + ".json");
  std::filesystem::remove(file + "-2.json");
}

/// The pair of --pairs alone is the pair of --from and --to.
TEST(SimProgram, OnePairIsAnOrdinaryRun) {
  const std::string job = "-p gpudirect-v2 -b 1M -e 1M";
  const std::string alone = run("run " + kKids + "--from 0/1 --to 0/2 " + job).text;
  EXPECT_THAT(alone, StartsWith(run("run " + kKids + "--pairs 0/1-0/2 " + job).text)) << "how sure it is comes behind";
  EXPECT_THAT(alone, HasSubstr("not measured: 12 % off in the mean (messages of GPUs within a node"));
  EXPECT_EQ(first_point("run " + kKids + "--from 0/1 --to 0/2 " + job).at("n"), 2);
}

TEST(SimProgram, EitherEngineSaysTheSame) {
  const std::string job = "run " + kKids + "-p gpudirect-v1 -b 64K -e 1M --engine ";
  EXPECT_EQ(said(job + "exact"), said(job + "auto"));
  EXPECT_THAT(said(job + "exat", 2), HasSubstr("--engine"));
}

/// A simulated clock repeats what it says.
TEST(SimProgram, OffersNoOptionsOfRealClocks) {
  for (const std::string& command : {"run " + kKids + "-p host -e 8 --passes 3",
                                     "run " + kKids + "-p host -e 8 --samples", "probe " + kKids + "-e 8 --passes 3"}) {
    EXPECT_THAT(said(command, 2), HasSubstr("not expected")) << command;
  }
}

TEST(SimProgram, PairsThatMakeNoSenseAreRefused) {
  const auto refusal = [](const std::string& options) {
    const std::string ended = said("run " + kKids + "-p host -e 8 " + options, 2);
    return ended;
  };
  EXPECT_THAT(refusal("--pairs 0/0-0/1,0/1-0/2"), HasSubstr("0/1 is in two pairs"));
  EXPECT_THAT(refusal("--pairs 0/0-0/1,0/2-00/1"), HasSubstr("00/1 is in two pairs"));
  EXPECT_THAT(refusal("--pairs 0/0-0/0"), HasSubstr("'0/0-0/0' is a pair with itself"));
  EXPECT_THAT(refusal("--pairs 0/0-0/7"), HasSubstr("0/7"));
  EXPECT_THAT(refusal("--pairs 0-1"), HasSubstr("NODE/GPU"));
  EXPECT_THAT(refusal("--pairs 0/0-0/1 --from 0/0"), HasSubstr("--from and --to have no meaning beside it"));
  EXPECT_THAT(refusal("--pairs 0/0-0/1,1/0-1/1 --format osu"), HasSubstr("several pairs have no OSU form"));
  EXPECT_THAT(refusal("--pairs 0/0-0/1,1/0-1/1 --all-pairs"), HasSubstr("excludes"));
  EXPECT_THAT(refusal("--pairs 0/0-0/1,1/0-1/1 --json /dev/stdout"), HasSubstr("several pairs have a file each"));
  for (const char* end : {"--from 0/0", "--to 0/1", "--from 0/0 --to 0/1"}) {
    EXPECT_THAT(refusal(std::string("--all-pairs ") + end), HasSubstr("--from and --to have no meaning beside it"));
  }
}

TEST(SimProgram, AWrongSetSaysWhatIsThere) {
  EXPECT_THAT(said("run " + kKids + "--protocol host --set 'gpu_types.m2090.copies.per.rate=2 GB/s'", 2),
              HasSubstr("did you mean 'peer'?"));
}

TEST(SimProgram, WritesATraceWithoutTimesOrWithThem) {
  const std::string job = "run " + kKids + "--protocol gpudirect-v2 --from 0/1 --to 0/2 -b 4 -e 4 --trace /dev/stdout";
  EXPECT_THAT(said(job), AllOf(HasSubstr("# gpudirect-v2, messages of 4, chunk whole message, depth 16\n"),
                               HasSubstr("# rank 0, warm message to rank 1\n"
                                         "receive ready     recv_control rank 1\n"
                                         "peer copy         copy device[0+4] -> device[0+4] stream 0\n"
                                         "send delivered    send_control rank 1 16 B\n")));
  EXPECT_THAT(said(job + " --trace-times"),
              ContainsRegex("\n +[0-9]+\\.[0-9]{3} +[0-9]+\\.[0-9]{3}  peer copy         copy device"));
}

TEST(SimProgram, AnOddByteOnTheCommandLineDoesNotLoseTheResult) {
  EXPECT_THAT(said("run " + kKids + "--protocol host -b 4 -e 4 --format json --set \"name=$(printf '\\377')\""),
              HasSubstr("\"name=\uFFFD\""));
}

TEST(SimProgram, AFallbackIsNamedWithItsReason) {
  EXPECT_THAT(said("run " + kKids + "--protocol gpudirect-v2 --from 0/0 --to 0/1 -b 4 -e 4"),
              AllOf(HasSubstr("note: no peer access between gpu0 and gpu1"),
                    HasSubstr("path: staged through the host by the driver")));
}

TEST(SimProgram, WhatCannotRunHereEndsWith77) {
  EXPECT_THAT(said("run " + kKids + "--protocol gpudirect-v2 --from 0/0 --to 1/0", 77),
              HasSubstr("'gpudirect-v2' cannot run here: the GPUs are on different nodes"));
}

const std::string kKfsRdma = "--platform platforms/keeneland-kfs-rdma.yaml ";

TEST(SimProgram, TheRealKeenelandRefusesRdmaAndSaysWhy) {
  for (const std::string platform : {"kids", "kfs"}) {
    EXPECT_THAT(said("run --platform platforms/keeneland-" + platform + ".yaml --protocol gpudirect-v3", 77),
                HasSubstr("'gpudirect-v3' cannot run here: Fermi has no GPUDirect RDMA: gpu0"));
  }
}

TEST(SimProgram, TheHypotheticalKeenelandRunsRdmaAndSaysThatItIsHypothetical) {
  EXPECT_THAT(said("run " + kKfsRdma + "--protocol gpudirect-v3 -b 4 -e 1M -f 64"),
              AllOf(HasSubstr("path: sender direct: the adapter reads device memory, receiver direct"),
                    HasSubstr("path: sender staged through pinned host memory, receiver direct"),
                    HasSubstr("path: sender staged through pinned host memory, receiver staged"),
                    HasSubstr("; hypothetical: Fermi has no GPUDirect RDMA"), HasSubstr("registration cache hits: ")));
}

TEST(SimProgram, RdmaTakesThePresetsAndLimitsOfLibraries) {
  // 29,999 B are direct at the near read limit; a byte more is copied out and in.
  const std::string openib = "run " + kKfsRdma + "--protocol gpudirect-v3 --preset openmpi-openib ";
  EXPECT_THAT(run(openib + "-b 29999 -e 29999").text, HasSubstr("sender direct"));
  EXPECT_THAT(run(openib + "-b 30000 -e 30000").text, HasSubstr("sender staged"));
  EXPECT_THAT(run(openib + "-o MV2_GPUDIRECT_LIMIT=32K -b 30000 -e 30000").text,
              AllOf(HasSubstr("sender direct"), HasSubstr("receiver staged")));
  EXPECT_THAT(said(openib + "-o registration_cache_size=0", 2),
              HasSubstr("registration_cache_size is 0, but must be 1 or more"));
}

TEST(SimProgram, MessagesWithinANodeMayPassInLoopback) {
  const std::string within = kKids + "--protocol host --from 0/1 --to 0/2 -b 1M -e 1M --format json ";
  const Ended shared = run("run " + within);
  EXPECT_THAT(shared.text, HasSubstr("\"intra_node\": \"shared-memory\""));
  const Ended loopback = run("run " + within + "--intra-node loopback");
  EXPECT_EQ(loopback.code, 0);
  EXPECT_THAT(loopback.text, HasSubstr("\"intra_node\": \"loopback\""));
  const Ended pieces = run("run " + within + "--smp-copy-size 64K");
  EXPECT_THAT(pieces.text, HasSubstr("\"smp_copy_size_bytes\": 65536"));
  EXPECT_NE(shared.text, pieces.text);
  const Ended explained = run("explain " + kKids + "--from 0/1 --to 0/2 --protocol host --intra-node loopback");
  EXPECT_THAT(explained.text, AllOf(HasSubstr("messages within the node   in loopback through the adapter"),
                                    HasSubstr("=> hca0 -> ioh0")));
  EXPECT_EQ(run("figure --intra-node loopback --help").code, 0);
}

TEST(SimProgram, WrongUsageEndsWithTwoAndSaysWhatIsAllowed) {
  const auto expect_refusal = [](const std::string& arguments, const std::string& message) {
    EXPECT_THAT(said(arguments, 2), HasSubstr(message)) << arguments;
  };
  expect_refusal("run " + kKids + "--protocol host --from 0/7", "nodes are 0 to 119, GPUs 0 to 2");
  expect_refusal("run " + kKids + "--protocol host --from 07", "'07' is no device; expected NODE/GPU");
  expect_refusal("run " + kKids + "--protocol gpudirect-v4", "did you mean 'gpudirect-v2'?");
  expect_refusal("run " + kKids + "--protocol host -b 5x", "unknown unit 'x'; allowed: none, K, M, G");
  expect_refusal("run " + kKids + "--protocol host --depth 0", "--depth");
  expect_refusal("run --protocol host", "--platform is required");
  expect_refusal("run --platform nowhere.yaml --protocol host", "nowhere.yaml");
  expect_refusal("run " + kKids + "--protocol host --trace /no-such-folder/t", "/no-such-folder/t cannot be written");
  expect_refusal("run " + kKids + "--protocol host --trace-times", "--trace-times requires --trace");
  expect_refusal("run " + kKids + "--protocol host --set schema=7", "unknown schema '7'");
  expect_refusal("run " + kKids + "--protocol host --intra-node shm",
                 "unknown choice 'shm' (there are: shared-memory, smcuda, loopback)");
  expect_refusal("run " + kKids + "--protocol host --smp-copy-size 0", "a piece has a byte at least");
  expect_refusal("run " + kKids + "--protocol host --smp-copy-size 8x", "--smp-copy-size: ");
  expect_refusal("run " + kKids + "--protocol host --smp-copy-size 1K --intra-node loopback", "is for shared memory");
  expect_refusal("run " + kKids + "--protocol host --smp-copy-size 1K --set mpi.intra_node.copied_by=both " +
                     "--set 'mpi.intra_node.fragment=32 KiB' --set 'mpi.intra_node.rate=4 GB/s'",
                 "has a 'fragment'");
  expect_refusal("run --platform platforms/h200-nvlink.yaml --protocol host --intra-node loopback",
                 "needs a network adapter, and platform 'h200-nvlink' has none");
  expect_refusal("figure --report a.txt", "--report a.txt: a name that ends in .html is expected");
  expect_refusal("", "a command is required (--help");
  expect_refusal("list", "a command is required");
}

TEST(SimProgram, ExplainShowsTheWayTheCostsAndTheChoice) {
  const std::string ended = said("explain " + kKids + "--from 0/0 --to 1/0");
  EXPECT_THAT(
      ended,
      AllOf(HasSubstr("gpudirect-v1   chosen"), HasSubstr("gpudirect-v2   refused: the GPUs are on different nodes"),
            HasSubstr("by gpu0 -> ioh0 -> numa0"), HasSubstr("by numa0 -> ioh0 -> hca0 => hca0 -> ioh0 -> numa0"),
            HasSubstr("device-to-pinned"), HasSubstr("Delivered after 671 us"), HasSubstr("Held up by node 0 ")));
  EXPECT_THAT(run("explain " + kKids + "--from 0/1 --to 0/0").text, HasSubstr("no peer access between gpu1 and gpu0"));
}

TEST(SimProgram, ExplainTakesTheSettingsOfRun) {
  const std::string message = "explain " + kKids + "--from 0/0 --to 1/0 -p gpudirect-v1 -s 1M --chunk 256K --depth 4";
  EXPECT_THAT(said(message + " --json /dev/stdout"),
              AllOf(HasSubstr("Steps of gpudirect-v1 (staged through pinned host memory), chunk 256K, depth 4"),
                    HasSubstr("\"cost_entry\": \"device-to-pinned\""), HasSubstr("\"delivered_us\": ")));
  EXPECT_THAT(said(message + " --format json"), ::testing::StartsWith("{\n"));
  EXPECT_EQ(run("explain " + kKids + "-p host -o engine=dma").code, 2);
}

/// "Why is my NCCL number low?"
TEST(SimProgram, ExplainNamesTheWayOfAKernelsMessageAndWhatHoldsItUp) {
  const std::string message = "explain --platform hgx-h100 -p nccl -s 64M --from 0/0 ";
  EXPECT_THAT(said(message + "--to 0/3 --degrade nvlink3=10%"),
              AllOf(HasSubstr("Steps of nccl (P2P, simple, 16 channels: a kernel at each end"),
                    ContainsRegex("Held up by node 0 nvlink3 backward for 1\\.7[0-9] ms, which was at 9")));
  const Ended between = run(message + "--to 1/0");
  EXPECT_THAT(between.text,
              AllOf(HasSubstr("Steps of nccl (NET, simple, "), HasSubstr("Held up by node 0 hca0 out for 1.")));
  EXPECT_THAT(run("explain --platform hgx-h100 -p nccl -s 8 --from 0/0 --to 0/3 -o p2p_disable=1").text,
              AllOf(HasSubstr("Steps of nccl (SHM, ll, 1 channel: "), HasSubstr("Held up by no link: ")));
}

TEST(SimProgram, ExplainShowsWhatTheCpuNeedsToLearnOfAnEnd) {
  const std::string message = "explain " + kKids + "--from 0/1 --to 0/2 --protocol gpudirect-v2 --size 1M";
  EXPECT_THAT(said(message + " --set 'driver.runtime.completion=2.5 us'"),
              AllOf(HasSubstr("+ completion  size"), ContainsRegex("peer copy .* 2\\.500  1M  *peer\n")));
}

TEST(SimProgram, CheckShowsEveryErrorOfEveryFile) {
  EXPECT_THAT(said("check platforms/*.yaml"), Not(HasSubstr("warning")));
  EXPECT_THAT(
      said("check platforms/keeneland-kids.yaml tests/bad_platforms/empty.yaml tests/bad_platforms/negative.yaml "
           "/nonexistent.yaml /proc/self/mem",
           2),
      AllOf(HasSubstr("keeneland-kids.yaml: ok"), HasSubstr("empty.yaml"), HasSubstr("negative.yaml"),
            HasSubstr("/nonexistent.yaml: error: the file "), HasSubstr("/proc/self/mem: error: the file ")));
}

TEST(SimProgram, CheckWarnsOfWhatIsMostLikelyAMistake) {
  const std::string unused = "no way of a copy, message or peer crosses to-spare";
  EXPECT_THAT(said("check tests/data/two_qpis.yaml"),
              AllOf(HasSubstr("two_qpis.yaml: ok"), HasSubstr("two_qpis.yaml: warning: " + unused),
                    HasSubstr("two_qpis.yaml: warning: no way takes qpi2, beside 'qpi'")));
  const Ended quiet = run("check tests/data/two_qpis.yaml 2>/dev/null | cat");
  EXPECT_THAT(quiet.text, Not(HasSubstr("warning"))) << "standard error has them";
  EXPECT_THAT(run("check tests/data/two_qpis.yaml --json /dev/stdout 2>/dev/null | cat").text,
              HasSubstr('"' + unused + '"'));
}

TEST(SimProgram, ProbesASingleNodeOfSeveral) {
  said("probe " + kKids + "-b 4 -e 4 --only 'copy pinned-to-device near' --set nodes.count=1");
}

TEST(SimProgram, ProbesBothHubsAndTheNetwork) {
  EXPECT_THAT(said("probe " + kKids + "-b 1M -e 1M"),
              AllOf(HasSubstr("copy pinned-to-device near"), HasSubstr("copy pinned-to-device far"),
                    HasSubstr("peer copy write direct"), HasSubstr("peer copy write staged"),
                    HasSubstr("message pageable other-node")));
}

TEST(SimProgram, HelpOfEveryCommandHasOneForm) {
  for (const std::string command :
       {"run", "probe", "figure", "explain", "advise", "handshake", "list", "list protocols", "list platforms",
        "list calls", "check", "draw", "diff", "sensitivity"}) {
    const std::string help = said(command + " --help");
    EXPECT_THAT(help, AllOf(HasSubstr("\nExamples:\n  twinlink-sim "), HasSubstr("\nExit codes: 0 "))) << command;
    std::istringstream lines(help);
    for (std::string line; std::getline(lines, line);) EXPECT_LE(line.size(), 100U) << command << ": " << line;
  }
  EXPECT_THAT(run("--help").text, ContainsRegex("\n  run  .*\n  explain  .*\n  advise  .*\n  figure  "));
}

TEST(SimProgram, AWrongCommandIsToldFromARightOne) {
  EXPECT_THAT(said("rnu --platform platforms/keeneland-kids.yaml", 2),
              HasSubstr("there is no command 'rnu'; did you mean 'run'?"));
  EXPECT_THAT(run("list protocol").text, HasSubstr("did you mean 'protocols'?"));
  EXPECT_THAT(run("run " + kKids + "--protcol host").text, HasSubstr("did you mean '--protocol'?"));
}

TEST(SimProgram, EveryCommandWritesJson) {
  const std::map<std::string, std::string> members{{"list protocols", "\"name\": \"gpudirect-v1\""},
                                                   {"list platforms", "\"gpus_per_node\": 3"},
                                                   {"handshake", "\"event\": \"REQ\""},
                                                   {"check platforms/h200-nvlink.yaml", "\"name\": \"h200-nvlink\""}};
  for (const auto& [command, member] : members) {
    EXPECT_THAT(said(command + " --json /dev/stdout"), HasSubstr(member)) << command;
    EXPECT_EQ(run(command + " --json /no-such-folder/f").code, 2) << command;
  }
}

/// What is printed behind the note of what was chosen; nothing if there is no such note.
std::string behind_note(const Ended& ended, const std::string& chosen) {
  const std::string note = "twinlink-sim: note: " + chosen + ", as 'explain' chooses; -p names another protocol\n";
  return ended.code == 0 && ended.text.starts_with(note) ? ended.text.substr(note.size()) : "";
}

TEST(SimProgram, WithoutAProtocolTheShortestWayIsTaken) {
  const std::string one = " -b 64K -e 64K";
  const std::vector<std::pair<std::string, std::string>> chosen{
      {"--platform keeneland-kids --from 0/1 --to 0/2", "gpudirect-v2"},
      {"--platform keeneland-kids --from 0/0 --to 1/0", "gpudirect-v1"},
      {"--platform selene --from 0/0 --to 1/0", "gpudirect-v3"},
      {"--platform keeneland-kids --all-pairs", "gpudirect-v1"},  // not all GPUs of the node are peers
      {"--platform h200-nvlink --all-pairs", "gpudirect-v2"},
      {"--platform keeneland-kids --pairs 0/1-0/2", "gpudirect-v2"},
      {"--platform keeneland-kids --pairs 0/1-0/2:staging,0/0-1/0", "gpudirect-v1"}};
  for (const auto& [where, protocol] : chosen) {
    const Ended free = run("run " + where + one);
    EXPECT_EQ(behind_note(free, protocol), run("run " + where + one + " -p " + protocol).text) << free.text;
  }
}

TEST(SimProgram, WithoutAProtocolRunTakesWhatExplainNames) {
  for (const auto& each : std::filesystem::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    if (each.path().extension() != ".yaml") continue;
    const std::string platform = " --platform " + each.path().stem().string();
    const nlohmann::json explained = nlohmann::json::parse(run("explain" + platform + " --format json").text);
    const std::string protocol = explained.at("protocol");
    EXPECT_NE(behind_note(run("run" + platform + " -e 4"), protocol), "") << platform;
  }
}

TEST(SimProgram, ResultsSayHowTheProgramWasBuilt) {
  for (const std::string& command : {"run " + kKids + "-p host -e 4", "workload barrier " + kKids + "-p gpudirect-v1",
                                     "probe " + kKids + "-e 1 --only host-to-host"}) {
    EXPECT_THAT(run(command + " --json /dev/stdout").text,
                ContainsRegex("\"build\": \\{\n *\"flags\": \".*\",\n *\"type\": \".+\""))
        << command;
  }
}

TEST(SimProgram, AFilteredProbeIsPrintedInFull) {
  EXPECT_THAT(said("probe " + kKids + "-b 1M -e 4M --only 'peer copy write'"),
              AllOf(HasSubstr("# peer copy write direct, 0/1 to 0/2\n"), Not(HasSubstr("# copy pinned"))));
}

TEST(SimProgram, AFilterThatMatchesNothingIsRefused) {
  EXPECT_THAT(said("probe " + kKids + "-b 1M -e 1M --only nosuch", 2),
              HasSubstr("no primitive has 'nosuch' in its name"));
}

TEST(SimProgram, WhatIsReadIsNotOverwritten) {
  const std::string file = ::testing::TempDir() + "twinlink-read-" + std::to_string(::getpid()) + ".yaml";
  std::filesystem::copy_file(std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/bad_platforms/parts/good.yaml", file,
                             std::filesystem::copy_options::overwrite_existing);
  const auto size = std::filesystem::file_size(file);
  for (const std::string& command :
       {"check " + file + " --json ", "run --platform " + file + " -p host -b 4 -e 4 --json ",
        "run --platform " + file + " -p host -b 4 -e 4 --trace ", "probe --platform " + file + " --csv ",
        "explain --platform " + file + " --json ", "advise --platform " + file + " --csv "}) {
    EXPECT_THAT(said(command + file, 2), HasSubstr(file + " would overwrite ")) << command;
    EXPECT_EQ(std::filesystem::file_size(file), size) << command;
  }
  std::filesystem::remove(file);
}

TEST(SimProgram, ANewPlatformCanBeMoved) {
  const std::filesystem::path folder = ::testing::TempDir() + "twinlink-new-" + std::to_string(::getpid());
  std::filesystem::create_directories(folder / "below");
  const std::string here = (folder / "mine.yaml").string();
  const std::string there = (folder / "below/mine.yaml").string();
  said("new --gpu h100 --out " + here);
  std::filesystem::rename(here, there);
  EXPECT_THAT(said("check " + there), HasSubstr(there + ": ok: mine"));
  std::filesystem::remove_all(folder);
}

TEST(SimProgram, PrintsTheHandshakeAsATableAndAsAGraph) {
  EXPECT_THAT(said("handshake --fidelity openmpi-4.1"),
              AllOf(HasSubstr("state   event"), HasSubstr("the higher rank answers")));
  EXPECT_THAT(said("handshake --dot"), AllOf(HasSubstr("digraph \"design\""), HasSubstr("SENT -> OK")));
  EXPECT_THAT(said("handshake --fidelity 4.1", 2), HasSubstr("there are: design openmpi-4.1 openmpi-5 repaired"));
}

TEST(SimProgram, ExplainsWhatPackingCosts) {
  const std::string message = "explain " + kKids + "--protocol host --size 4K --layout vector:64,128 --pack ";
  EXPECT_THAT(said(message + "copies"),
              AllOf(HasSubstr("vector:64,128, 8128 of memory"), HasSubstr("device-to-pinned, 64 times"),
                    HasSubstr("packed by a copy for each block into pinned memory")));
  const Ended kernel = run(message + "kernel");
  EXPECT_EQ(kernel.code, 0);
  EXPECT_THAT(kernel.text, AllOf(HasSubstr("pack "), HasSubstr("kernel-to-pinned"), HasSubstr("unpack "),
                                 HasSubstr("kernel-from-pinned")));
}

TEST(SimProgram, OfOneGpuTwoRanksShareItUnlessPlacesAreNamed) {
  EXPECT_THAT(said("run --platform tests/bad_platforms/parts/good.yaml --set nodes.count=1 -p host -e 4"),
              HasSubstr("0/0 to 0/0"));
}

TEST(SimProgram, RefusesALayoutThatCannotBePacked) {
  EXPECT_THAT(said("run " + kKids + "--protocol host --layout indexed:0+8,10+4 --pack 2d", 2),
              HasSubstr("is no 2-D copy"));
}

/// Messages that end in one moment, but for the last digits of their sums: both ranks learn of both ends, and do the
/// same.
TEST(SimProgram, EnginesAgreeOnWhatHappensInOneMoment) {
  for (const char* window : {"6", "16", "64"}) {
    const std::string both =
        "run " + kKids + "-p gpudirect-v1 --from 0/1 --to 0/1 --pattern bidirectional -b 16K -e 16K";
    const auto time_us = [&](const std::string& engine) {
      return first_point(both + " --window " + window + engine).at("time_us").get<double>();
    };
    EXPECT_NEAR(time_us(""), time_us(" --engine exact"), 1e-6) << window;
  }
}

}  // namespace
}  // namespace twinlink::model
