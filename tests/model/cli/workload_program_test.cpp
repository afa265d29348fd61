// `twinlink-sim workload` as a user runs it.
#include <algorithm>
#include <fstream>
#include <regex>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/model/cli/sim_program.hpp"

namespace twinlink::model {
namespace {

using ::testing::AllOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;

std::string trace_file(const std::string& name, const std::string& text) {
  std::string file = ::testing::TempDir() + name;
  std::ofstream(file) << text;
  return file;
}

const std::string kOn = "workload --platform h200-nvlink ";

void expect_refused(const std::string& arguments, const std::string& why) {
  EXPECT_THAT(said(arguments, 2), ContainsRegex(why)) << arguments;
}

/// Links that join eight GPUs two by two are all busy at once: 48.6 GB/s each, and what is added up is read and written
/// by kernels of 1690 GB/s. A ring has one link of the seven, as whoever copies to one peer after the other.
TEST(WorkloadProgram, AnAllReduceTakesAllLinksOfAMesh) {
  const std::string job = "workload all-reduce --platform mi300x-eight -p symmetric-put --ranks 8 -i 1 ";
  const double part = (1U << 30U) / 8.0;
  const double bytes_us = 2 * part / 48.6e3;
  const double adding_us = 7 * 1.5 * part / 1690e3;
  const double direct = first_point(job + "-b 1G -e 1G --algorithm direct").at("time_us");
  EXPECT_GE(direct, bytes_us);
  EXPECT_NEAR(direct, bytes_us + adding_us, 0.02 * bytes_us);
  EXPECT_GE(first_point(job + "-b 1G -e 1G --algorithm ring").at("time_us").get<double>(), 14 * part / 48.6e3);
  const auto small = [&](const std::string& algorithm) {
    return first_point(job + "-b 8K -e 8K --algorithm " + algorithm).at("time_us").get<double>();
  };
  EXPECT_LT(small("one-shot"), small("direct"));
  EXPECT_LT(small("direct"), small("ring"));
}

/// Of 64 ranks those of one node stand for all. What looks at each rank has each.
TEST(WorkloadProgram, SaysHowManyRanksStandForAll) {
  const std::string job =
      "workload all-gather --platform hgx-h100-64 --ranks 64 -b 64K -e 64K --algorithm ring "
      "-p gpudirect-v2 --between-nodes gpudirect-v3 ";
  EXPECT_THAT(said(job), HasSubstr("64 ranks on 8 nodes; 8 ranks are simulated and stand for all"));
  const std::string file = ::testing::TempDir() + "each_rank.json";
  EXPECT_THAT(said(job + "--links --json '" + file + "'"), Not(HasSubstr("stand for all")));
  std::ifstream in(file);
  const auto environment = nlohmann::json::parse(in).at("environment");
  EXPECT_EQ(environment.at("simulated_ranks"), 64);
  EXPECT_THAT(environment.at("each_rank_simulated").get<std::string>(), HasSubstr("--links"));
}

TEST(WorkloadProgram, TakesWhatTheMpiLibraryTakes) {
  EXPECT_THAT(said(kOn + "all-reduce -p cuda-aware --algorithm tuned -b 64K -e 64K"),
              AllOf(HasSubstr("segmented_ring"),
                    HasSubstr("# openmpi, by the rules of 4.1; added up on the host, with copies there and back")));
  EXPECT_THAT(said(kOn + "all-to-all -p cuda-aware --algorithm tuned -b 512K -e 512K"), HasSubstr("two_proc"));
  EXPECT_THAT(said(kOn + "reduce-scatter -p host --algorithm tuned -b 64K -e 64K --set software.mpi=openmpi-4.1.6"),
              AllOf(HasSubstr("butterfly"), HasSubstr("# openmpi 4.1")));
}

TEST(WorkloadProgram, ABarrierOfAnMpiLibraryHasNoBufferOfAGpu) {
  const std::string barrier = kOn + "barrier --algorithm tuned -p ";
  std::string printed;
  const double aware = first_point(barrier + "cuda-aware", &printed).at("time_us");
  EXPECT_THAT(printed, AllOf(HasSubstr("over host"), HasSubstr("without a buffer: messages of the host")));
  EXPECT_DOUBLE_EQ(aware, first_point(barrier + "host").at("time_us").get<double>());
}

TEST(WorkloadProgram, SaysAsWhichCallsAnMpiLibraryTakesRecordedOnes) {
  const std::string both = "all_gather 4096b in 0\nreduce_scatter 4096b in 0\n}\n";
  const std::string job =
      kOn + trace_file("calls.goal", "num_ranks 2\ngroup 0 { 0-1 }\nrank 0 {\n" + both + "rank 1 {\n" + both) +
      " -p host --algorithm ";
  EXPECT_THAT(said(job + "tuned"), HasSubstr("# tuned: openmpi, by the rules of 4.1: recorded calls count as blocking "
                                             "ones, reduce-scatters as MPI_Reduce_scatter, all-gathers as "
                                             "MPI_Allgather; the library may choose otherwise"));
  EXPECT_THAT(said(job + "all-gather=tuned"), Not(HasSubstr("MPI_Reduce_scatter")));
  EXPECT_THAT(said(job + "all-gather=ring"), Not(HasSubstr("tuned:")));
}

/// Two ranks: what each GPU has is copied to the host twice and back once, one after the other, and the rest is what
/// buffers on the host take.
TEST(WorkloadProgram, AnMpiLibraryAddsUpGpusBuffersOnTheHost) {
  const std::string job = "all-reduce --algorithm tuned -b 16M -e 16M -p ";
  const double on_gpus = first_point(kOn + job + "cuda-aware").at("time_us");
  const double on_host = first_point(kOn + job + "host").at("time_us");
  const auto copy = [](const std::string& ends) {
    const std::string name = "copy " + ends + " near";
    const std::string text = said("probe --platform h200-nvlink -b 16M -e 16M --format csv --only '" + name + "'");
    std::smatch found;
    EXPECT_TRUE(std::regex_search(text, found, std::regex(name + ",0/0,,16777216,[0-9]+,([0-9.]+)"))) << text;
    return std::stod(found[1]);
  };
  const double copies = 2 * copy("device-to-pageable") + copy("pageable-to-device");
  EXPECT_NEAR(on_gpus - on_host, copies, 0.02 * copies);
}

/// Of eight on one node MPICH has no messages; of four that have a node each it has.
TEST(WorkloadProgram, AsksWhetherRanksShareNodesWhereTheMpiLibraryDoes) {
  const std::string with = " -p host --algorithm tuned --set software.mpi=mpich-4.2 ";
  const std::string job = "workload all-reduce --platform hgx-h100-64 -b 64K -e 64K" + with;
  expect_refused(job + "--ranks 8", "mpich 4.2: all-reduce of this size goes by release_gather");
  EXPECT_THAT(said(job + "--place '" + trace_file("apart.txt", "0/0\n1/0\n2/0\n3/0\n") + "'"),
              ContainsRegex("reduce_scatter_allgather .*mpich 4.2"));
  const std::string rank = "all_reduce 4096b in 0\n}\n";
  expect_refused(
      kOn + trace_file("sum.goal", "num_ranks 2\ngroup 0 { 0-1 }\nrank 0 {\n" + rank + "rank 1 {\n" + rank) + with,
      "which a recorded job does not say");
}

TEST(WorkloadProgram, RefusesWhatNoRuleOfTheMpiLibraryIsKnownFor) {
  expect_refused("workload all-reduce --platform perlmutter -p cuda-aware --algorithm tuned",
                 "by which rules cray-mpich chooses algorithms is not known here");
  expect_refused("workload all-reduce --platform hgx-h100 -p host --algorithm tuned --set software.mpi=openmpi-5.0",
                 "between nodes, whose rules are not here");
  const std::string scattered = "workload reduce-scatter --platform hgx-h100 --ranks 16 -p host --algorithm tuned ";
  EXPECT_THAT(said(scattered + "-b 4K -e 4K --set software.mpi=openmpi-5.0"), HasSubstr("recursive_halving"));
  expect_refused(
      "workload reduce-scatter --platform hgx-h100-64 --ranks 32 -p host --algorithm tuned -b 32 -e 32 "
      "--set software.mpi=openmpi-5.0",
      "reduce: from 5.0 on it goes by coll/han");
  expect_refused(kOn + "all-reduce -p gpudirect-v2 --algorithm tuned", "needs messages of MPI alone");
  expect_refused(kOn + "reduce-scatter -p cuda-aware --algorithm tuned", "no copy to the host is known");
  expect_refused(kOn + "sum --on gpu -p host --algorithm tuned", "sum --on gpu adds up on the GPUs, and openmpi");
  expect_refused(kOn + "barrier -p cuda-aware --algorithm tuned -o send=standard", "has its messages on the host");
  const std::string beside = " --set software.mpi=openmpi-4.1 --algorithm tuned --ranks 2 --background shift";
  for (const std::string what : {"all-reduce", "barrier"}) {
    expect_refused("workload " + what + " --platform hgx-h100 -p cuda-aware" + beside, "would go by cuda-aware");
  }
  expect_refused(kOn + "shift -p host --algorithm tuned", "openmpi has no rule for shift");
}

TEST(WorkloadProgram, DirectAlgorithmsStayWithinANode) {
  expect_refused("workload all-reduce --platform mi300x-eight -p symmetric-put --ranks 16 --algorithm one-shot",
                 "it is for GPUs of one node, which exchange with all others at once");
}

TEST(WorkloadProgram, PlaysATrace) {
  std::string printed;
  const nlohmann::json point = first_point(kOn + "tests/data/two_ranks.goal -p gpudirect-v2", &printed);
  EXPECT_THAT(printed, AllOf(HasSubstr("# tests/data/two_ranks.goal: simulated over gpudirect-v2, 2 ranks on 1 node"),
                             HasSubstr("rank     ended us    waited us    tasks      sent bytes")));
  EXPECT_EQ(point.at("bytes"), 1048576 + 65537);
  EXPECT_TRUE(point.at("verified"));
  EXPECT_EQ(point.at("ranks").size(), 2U);
  EXPECT_EQ(point.at("ranks").at(0).at("ended_us"), point.at("time_us")) << "the first gets the answer last";
  EXPECT_EQ(point.at("ranks").at(0).at("tasks"), 3);
}

TEST(WorkloadProgram, PlaysProfilesOfPyTorch) {
  const std::string job = ::testing::TempDir() + "twinlink-profile.goal";
  const std::string convert = "convert tests/data/kineto/rank0.json tests/data/kineto/rank1.json --out " + job;
  EXPECT_THAT(said(convert),
              HasSubstr("2 ranks, 6 collectives and messages, 6 kernels and copies beside them; calcs of the "
                        "longest chain 210 us"));
  const nlohmann::json point = first_point(kOn + job + " -p gpudirect-v2");
  EXPECT_TRUE(point.at("verified"));
  // All of the sum of 1 MiB, half of the 256 KiB that are reduced and scattered, and 2000 B from the first.
  EXPECT_EQ(point.at("ranks").at(0).at("sent_bytes"), 1048576 + 131072 + 2000);
  EXPECT_EQ(point.at("ranks").at(1).at("sent_bytes"), 1048576 + 131072);
  EXPECT_GT(point.at("time_us"), 210);
  const auto sent = [&](const std::string& algorithm) {
    return first_point(kOn + job + " -p gpudirect-v2 --algorithm " + algorithm).at("ranks").at(1).at("sent_bytes");
  };
  EXPECT_EQ(sent("all-reduce=tree,reduce-scatter=ring"), 1048576 + 131072);
  // By NCCL's own kernels the wire has as much.
  EXPECT_EQ(first_point(kOn + job + " -p nccl").at("ranks").at(1).at("sent_bytes"), 1048576 + 131072);
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {" --algorithm all-reduce", "COLLECTIVE=NAME"},
           {" --algorithm halo-2d=direct", "COLLECTIVE=NAME"},
           {" --algorithm all-reduce=kernel", "it has no messages"},
           {" --algorithm all-reduce=hierarchical", "groups may lie in any way"},
           {" --algorithm all-reduce=no", "there is no algorithm of all-reduce 'no'"}}) {
    expect_refused(kOn + job + " -p gpudirect-v2" + arguments, why);
  }
  expect_refused(convert + "x", "ends in .goal");
}

TEST(WorkloadProgram, PlaysWhatNcclHasRecorded) {
  const std::string job = ::testing::TempDir() + "twinlink-recorded.goal";
  EXPECT_THAT(said("convert tests/data/nccl_records --out " + job),
              HasSubstr("2 ranks, 6 collectives and messages of 1 communicators; calcs of the longest chain 210 us"));
  std::string printed;
  const nlohmann::json point = first_point(kOn + job + " -p nccl", &printed);
  EXPECT_TRUE(point.at("verified"));
  // Twice 40 us. Nothing is computed while a collective is under way that all is waiting for.
  EXPECT_THAT(printed, ContainsRegex("# all-reduce among ranks 0-1: 2 a rank, ([0-9.]+) us under way: [0-9.]+ us "
                                     "exposed, 0.00 us hidden; recorded 80.00 us"));
  EXPECT_THAT(printed, HasSubstr("# messages: 1 a rank"));
}

TEST(WorkloadProgram, PlaysTracesOfChakra) {
  const std::string job = ::testing::TempDir() + "twinlink-chakra.goal";
  EXPECT_THAT(said("convert tests/data/chakra --out " + job),
              AllOf(HasSubstr("2 ranks, 2 collectives and messages, 6 nodes that compute beside them; calcs of the "
                              "longest chain 160 us"),
                    HasSubstr("up to 3 us of a rank's computing are cut off")));
  std::string printed;
  const double by_nccl = first_point(kOn + job + " -p nccl", &printed).at("time_us").get<double>();
  EXPECT_THAT(printed, HasSubstr("recorded 60.00 us"));
  // 10 us of the host and 100 us of the GPU before the sum, 50 us behind it. Here it is 1 us before, in which what
  // comes is asked for as well.
  const std::string sum = "  c: calc 1000\n  a: all_reduce 1048576b in 0\n  a requires c\n}\n";
  const std::string alone = kOn + trace_file("twinlink-sum-alone.goal",
                                             "num_ranks 2\ngroup 0 { 0-1 }\nrank 0 {\n" + sum + "rank 1 {\n" + sum);
  const auto time_of = [](const std::string& arguments) { return first_point(arguments).at("time_us").get<double>(); };
  EXPECT_NEAR(by_nccl, 159 + time_of(alone + " -p nccl"), 1e-5);
  EXPECT_NEAR(time_of(kOn + job + " -p gpudirect-v2"), 159 + time_of(alone + " -p gpudirect-v2"), 1e-5);
}

TEST(WorkloadProgram, WithoutAProtocolTheShortestWaysAreTaken) {
  struct Choice {
    std::string where;
    std::string said;
    std::string named;
  };
  const std::vector<Choice> choices{
      {"--platform h200-nvlink", "gpudirect-v2", "-p gpudirect-v2"},
      {"--platform selene --ranks 16", "gpudirect-v2 within nodes and gpudirect-v3 between them",
       "-p gpudirect-v2 --between-nodes gpudirect-v3"},
      {"--platform selene --ranks 4 --place spread", "gpudirect-v3", "-p gpudirect-v3"},
      {"--platform selene --ranks 16 --between-nodes staging", "gpudirect-v2 within nodes and staging between them",
       "-p gpudirect-v2"},
      {"--platform keeneland-kids --ranks 3", "gpudirect-v1", "-p gpudirect-v1"}};  // 0/0 is no peer of 0/2
  for (const auto& [where, ways, named] : choices) {
    const std::string free = said("workload all-reduce -b 64K -e 64K " + where);
    const std::string note = "twinlink-sim: note: " + ways + ", as 'explain' chooses; -p names another protocol\n";
    EXPECT_EQ(free, note + run("workload all-reduce -b 64K -e 64K " + where + " " + named).text);
  }
}

/// The one point of a job on GB200s, whose nodes 0 to 17 are one domain and 18 to 35 the other.
nlohmann::json point_of(const std::string& arguments, const std::string& size = "64K") {
  return first_point("workload " + arguments + " --platform gb200-nvl72 -b " + size + " -e " + size);
}

TEST(Domains, PairsOfOneTakeTheWayOfANodeAndOthersThatBetweenDomains) {
  const auto time = [](const std::string& other_end, const std::string& protocols) {
    const std::string places = trace_file("twinlink-domains.txt", "0/0\n" + other_end + "\n");
    return point_of("shift --place " + places + " -p " + protocols).at("time_us").get<double>();
  };
  const std::string both = "gpudirect-v2 --between-domains gpudirect-v3";
  EXPECT_EQ(time("17/3", both), time("17/3", "gpudirect-v2"));
  EXPECT_EQ(time("18/0", both), time("18/0", "gpudirect-v3"));
  EXPECT_EQ(time("17/3", both + " --between-nodes gpudirect-v1"), time("17/3", "gpudirect-v1"));
  EXPECT_EQ(time("18/0", both + " --between-nodes gpudirect-v1"), time("18/0", "gpudirect-v3"));
}

/// Of n ranks in each of m groups: 2 (n - 1) steps within them, of 4 only 2 log2(4), and 2 (m - 1) between.
TEST(Domains, AreTheGroupsOfHierarchicalAlgorithms) {
  const std::string all = "all-reduce --algorithm hierarchical --no-verify -p gpudirect-v2 ";
  EXPECT_EQ(point_of(all + "--between-domains gpudirect-v3").at("steps"), 2 * 71 + 2 * 1);
  EXPECT_EQ(point_of(all + "--between-nodes gpudirect-v3").at("steps"), 2 * 2 + 2 * 35);
}

TEST(Domains, ProtocolsAreChosenByThem) {
  const std::string job = "workload shift --platform gb200-nvl72 -b 64K -e 64K ";
  EXPECT_THAT(run(job + "--ranks 72").text, HasSubstr("simulated over gpudirect-v2, 72 ranks on 18 nodes"));
  const Ended two = run(job);
  EXPECT_THAT(two.text, AllOf(HasSubstr("note: gpudirect-v2 within domains and gpudirect-v3 between them"),
                              HasSubstr("over gpudirect-v2, gpudirect-v3 between domains, 144 ranks on 36 nodes")));
  EXPECT_THAT(run(job + "--ranks 8 -p gpudirect-v2 --between-nodes gpudirect-v3").text,
              HasSubstr("--between-nodes is for nodes of one NVLink domain too; --between-domains leaves them out"));
  EXPECT_THAT(run(job + "-p gpudirect-v2").text, HasSubstr("; --between-domains names another protocol"));
  EXPECT_THAT(run("workload shift --platform selene --ranks 16 -b 64K -e 64K -p gpudirect-v2").text,
              HasSubstr("; --between-nodes names another protocol"));
}

TEST(WorkloadProgram, PlaysAJobThatTakesLongerThanAnybodyWouldWait) {
  const std::string trace =
      trace_file("long.goal",
                 "num_ranks 2\nrank 0 {\na: calc 40000000000\nb: send 8b to 1 tag 7030012001\nb requires a\n}\n"
                 "rank 1 {\nrecv 8b from -1 tag -1\n}\n");
  std::string printed;
  EXPECT_NEAR(first_point(kOn + trace + " -p host", &printed).at("time_us"), 40e6, 100);
  EXPECT_THAT(printed, HasSubstr("# 1 receives take any message"));
}

/// The simulated library takes the adapter of a message's number.
TEST(WorkloadProgram, OfATraceTheNumbersOfNicsCount) {
  const std::string trace = trace_file(
      "adapters.goal", "num_ranks 2\nrank 0 {\nsend 8b to 1 tag 1 nic 1\n}\nrank 1 {\nrecv 8b from 0 tag 1 nic 1\n}\n");
  EXPECT_THAT(said("workload " + trace + " --platform selene -p host --place spread"),
              ::testing::Not(HasSubstr("nics")));
}

TEST(WorkloadProgram, RefusesWhatATraceSaysItself) {
  const std::string trace = kOn + "tests/data/two_ranks.goal -p host ";
  expect_refused(trace + "--algorithm ring", "--algorithm ring: a recorded job takes COLLECTIVE=NAME");
  expect_refused(trace + "-b 4", "--begin: only of collectives and patterns, and not of tests/data/two_ranks.goal");
  expect_refused(trace + "--ranks 3", "two_ranks.goal:2: error: --ranks 3 is another number");
  expect_refused(kOn + "nowhere.goal -p host", "nowhere.goal: error: cannot be read");
}

TEST(WorkloadProgram, RefusesATraceThatDoesNotFitBeforeAnythingRuns) {
  const std::string many = trace_file("many.goal", "// many\nnum_ranks 600\n");
  expect_refused(kOn + many + " -p host", "many.goal:2: error: --place packed has places for [0-9]+");
  const std::string large = trace_file(
      "large.goal", "num_ranks 2\nrank 0 {\nsend 900000000000b to 1\n}\nrank 1 {\nrecv 900000000000b from 0\n}\n");
  expect_refused(kOn + large + " -p gpudirect-v2", "large.goal:[36]: error: with this message: rank [01] needs");
  const std::string lost = trace_file("lost.goal", "num_ranks 2\nrank 0 {\nsend 9b to 1\n}\n");
  expect_refused(kOn + lost + " -p host", "lost.goal:3: error: nobody receives it");
}

TEST(WorkloadProgram, AWorkloadTakesItsOwnOptionsAlone) {
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"all-reduce --layers 4", "--layers: only of training-step, and not of all-reduce"},
           {"shift --block 4K", "--block: only of kv-cache, and not of shift"},
           {"reduce --on cpu", "--on: only of sum, and not of reduce"},
           {"fft --global 8x8x8 --from slab-x", "--from: only of reshape, and not of fft"},
           {"fft --global 8x8x8 --in-place", "--in-place: only of reshape, and not of fft"},
           {"reshape --global 8x8x8 --kind r2c", "--kind: only of fft, and not of reshape"},
           {"fft --global 8x8x8 -e 4M", "--end: only of collectives and patterns, and not of fft"},
           {"training-step --global 8x8x8", "--global: only of reshape, fft, and not of training-step"},
           {"al-reduce", "there is no workload 'al-reduce'"}}) {
    expect_refused(kOn + arguments, why);
  }
  expect_refused("advise workload --platform h200-nvlink shift --block 4K", "--block: only of kv-cache");
}

/// Half a screen of names, and then what one of them takes.
TEST(WorkloadProgram, HelpIsOfOneWorkload) {
  for (const std::string command : {"workload", "advise workload", "sensitivity workload", "diff workload"}) {
    const std::string names = said(command + " --help");
    EXPECT_LE(std::ranges::count(names, '\n'), 52) << names;
    EXPECT_THAT(names, AllOf(HasSubstr("\n  all-reduce      the sum of all ranks' buffers, on every rank\n"),
                             HasSubstr("\n  FILE.goal "), Not(HasSubstr("\nMachine:"))));
    EXPECT_THAT(said(command + " all-reduce --help"),
                AllOf(HasSubstr("all-reduce: the sum of all ranks' buffers"), HasSubstr("\nMachine:"),
                      HasSubstr("ring, tree"), Not(HasSubstr("--layers")), Not(HasSubstr("--global"))));
    EXPECT_THAT(said(command + " fft --help"), AllOf(HasSubstr("--decomposition"), Not(HasSubstr("--algorithm"))));
  }
}

TEST(WorkloadProgram, ExpertsAreSharedOutAndSkewed) {
  const auto time = [](const std::string& arguments) {
    const auto point = first_point(kOn + "dispatch --ranks 2 -p gpudirect-v2 -b 1G -e 1G " + arguments);
    return point.at("time_us").get<double>();
  };
  // All tokens of both ranks go to the experts of one: what the other one sends is its whole buffer and not half.
  const std::string top = "--experts 2 --top 1 ";
  EXPECT_NEAR(time(top + "--skew 10") / time(top), 2, 0.02);
  EXPECT_EQ(time("--experts 2 --top 2 --skew 10"), time(top)) << "every token goes to both";
  expect_refused(kOn + "dispatch --experts 1 -p gpudirect-v2", "dispatch: 1 experts are fewer than the 2 ranks");
  expect_refused(kOn + "dispatch --skew -1 -p gpudirect-v2", "'-1' is no number from 0 to 10");
  expect_refused(kOn + "all-reduce --top 4 -p gpudirect-v2",
                 "--top: only of dispatch, combine, training-step, and not of all-reduce");
}

TEST(WorkloadProgram, TakesATrainingStepApart) {
  std::string printed;
  const nlohmann::json point =
      first_point(kOn + "training-step -p gpudirect-v2 --layers 4 --layer-time 2ms -b 100M -e 100M", &printed);
  EXPECT_THAT(printed, HasSubstr("kernels alone 24"));
  EXPECT_EQ(point.at("buckets"), 4);
  const auto us = [&](const char* name) { return point.at(name).get<double>(); };
  EXPECT_NEAR(us("exposed_us") + us("compute_us"), us("time_us"), 1e-6);
  EXPECT_NEAR(us("exposed_us") + us("hidden_us"), us("communication_us"), 1e-6);
  EXPECT_GT(us("hidden_us"), 0);
  // Nothing is shared between kernels and messages: the rule for the whole holds, with messages that are predicted.
  EXPECT_NEAR(us("predicted_us"), us("time_us"), us("time_us") * 1e-2);
}

/// What is predicted stands beside a named algorithm of a small job, and not of a large one: 63 and 127 steps a rank.
TEST(WorkloadProgram, PredictsNothingOfALargeJobWhoseAlgorithmIsNamed) {
  const std::string sum =
      "workload all-reduce --platform selene -p gpudirect-v2 --between-nodes gpudirect-v3 -b 1M -e 1M ";
  EXPECT_TRUE(first_point(sum + "--algorithm ring --ranks 64").contains("predicted_us"));
  EXPECT_FALSE(first_point(sum + "--algorithm ring --ranks 128").contains("predicted_us"));
}

/// Tokens of a pipeline are shorter than all that the step sends, and `nccl` opens other FIFOs for them.
TEST(WorkloadProgram, WhatAPartOfAStepOpensIsNoTimeOfIt) {
  const std::string step =
      "workload training-step --platform hgx-h100 -p nccl --ranks 2 --pipeline-parallel 2 --layers 2 --layer-time 1ms "
      "--micro-batches 1 --activations 1M -b 1M -e 1M";
  // The other stage's layer forward and backward, and a hop each way.
  EXPECT_NEAR(first_point(step).at("bubble_us"), 3000, 100);
}

TEST(WorkloadProgram, AStepThatFailsBesideOthersSaysWhy) {
  EXPECT_THAT(
      said("workload training-step --platform hgx-h100 -p gpudirect-v2 --ranks 8 --tensor-parallel 2 --layers 2 "
           "--activations 64M -b 16M -e 16M --timeout 10us",
           1),
      HasSubstr("timed out: step "));
}

TEST(WorkloadProgram, TakesAStepOfFourDimensionsApart) {
  const std::string step =
      "workload training-step --platform hgx-h100 -p gpudirect-v2 --between-nodes gpudirect-v3 --ranks 16 --layers 4 "
      "--layer-time 2ms -b 1G -e 1G ";
  const std::string four =
      "--tensor-parallel 2 --pipeline-parallel 2 --expert-parallel 2 --experts 8 --top 2 --skew 0.5";
  std::string printed;
  const nlohmann::json point = first_point(step + four, &printed);
  EXPECT_TRUE(point.at("verified"));
  // Two layers of a stage, eight micro-batches, three times the layer; the other stage's are waited for once.
  EXPECT_NEAR(point.at("compute_us"), 2 * 8 * 3 * 2000, 20);
  EXPECT_NEAR(point.at("bubble_us"), 2 * 3 * 2000, 200);
  std::vector<std::string> names;
  for (const nlohmann::json& each : point.at("dimensions")) {
    names.push_back(each.at("name"));
    EXPECT_EQ(each.at("ranks"), 2);
    EXPECT_GT(each.at("alone_us"), 0);
    EXPECT_GT(each.at("exposed_us"), 0);
  }
  EXPECT_THAT(names, ::testing::ElementsAre("tensor", "expert", "pipeline", "data"));
  EXPECT_THAT(printed, AllOf(HasSubstr("bubble of the pipeline"), HasSubstr("data         2 ranks, 6 buckets")));
  for (const auto& [arguments, why] : std::vector<std::pair<std::string, std::string>>{
           {"--tensor-parallel 3", "do not divide 16 ranks"},
           {"--tensor-parallel 4 --data-parallel 8", "take 32 ranks, and there are 16"},
           {"--tensor-parallel 2 --micro-batches 65536", "262144 steps of a rank"},
           {"--pipeline-parallel 8", "4 layers do not divide among 8 stages"},
           {"--expert-parallel 8 --experts 12", "12 experts do not divide among 8 ranks"},
           {"--experts 12", "--expert-parallel"},
           {"--activations 1M", "none are sent"},
           {"--gradients sharded --algorithm tree", "not by tree"}}) {
    expect_refused(step + arguments, why);
  }
}

TEST(WorkloadProgram, RunsSeveralJobsAtOnce) {
  const std::string jobs =
      "workload all-reduce --platform selene -p gpudirect-v2 --between-nodes gpudirect-v3 -b 16M -e 16M ";
  std::string printed;
  const nlohmann::json told =
      written(jobs + "--jobs 2 --ranks 4 --place spread --background shift --algorithm ring", &printed);
  EXPECT_THAT(printed, AllOf(HasSubstr("2 jobs of 4 ranks on 2 nodes"), HasSubstr("# job 1: 0/0 to 1/1"),
                             HasSubstr("# background: shift of 4 ranks")));
  EXPECT_EQ(told.at("kind"), "twinlink-jobs");
  EXPECT_EQ(told.at("places").size(), 12U);
  for (const nlohmann::json& job : told.at("points").at(0).at("jobs")) {
    EXPECT_GE(job.at("together_us"), job.at("alone_us"));
  }
  expect_refused(jobs + "--jobs 2 --algorithm all", "of several jobs each has one algorithm");
  expect_refused(jobs + "--jobs 4000 --ranks 8", "--place packed has places for");
  expect_refused(jobs + "--jobs 1 --ranks 4479 --background shift", "fewer than two places are left");
  expect_refused(jobs + "--jobs 2 --ranks 4 --background shfit", "there is no workload 'shfit'");
  const std::string four = trace_file("twinlink-four.txt", "0/0\n0/1\n1/0\n1/1\n");
  EXPECT_THAT(said("workload shift --platform selene -p host -b 4 -e 4 --ranks 2 --background shift --place " + four),
              HasSubstr("# background: shift of 2 ranks"));
}

/// What comes before the first timed iteration takes as long as it takes: with a fault before that iteration ends, and
/// one that would come long before it begins if it counted from the start.
TEST(WorkloadProgram, FaultsCountFromTheFirstTimedIteration) {
  const std::string job =
      "workload shift --platform keeneland-kids -p host --set 'fabric.link=2 GB/s' --place spread --ranks 2 -b 64M -e "
      "64M --json /dev/stdout ";
  const auto time = [&](const std::string& fault) {
    const Ended ended = run(job + fault + " | sed -n '/^{/,/^}/p'");
    return nlohmann::json::parse(ended.text).at("points").at(0).at("time_us").get<double>();
  };
  const double well = time("");
  const double half = time("--degrade hca0=50%");
  EXPECT_NEAR(half / well, 2, 0.01) << "its port is what limits the message";
  const double later = time("--degrade hca0=50%@1ms");
  // 1 ms at the full rate is 2 ms at half of it, but for the message's latency of 6.5 us, in which nothing flows.
  EXPECT_NEAR(later, half - 1000 + 6.5, 1);
  EXPECT_THAT(said("workload shift --platform dgx-a100 -p gpudirect-v3 --place spread --ranks 2 -b 64M -e 64M "
                   "--fail hca0@1ms",
                   1),
              HasSubstr("note: --fail hca0@1ms had come"));
}

TEST(WorkloadProgram, RefusesBuffersBeyondAGpusMemory) {
  expect_refused(kOn + "all-reduce -p gpudirect-v2 -b 256G -e 256G",
                 "all-reduce: rank [0-9]+ needs .* of its GPU's memory, and has");
}

/// Some of all messages, and then more of them. The last node has fewer ranks, so that each rank is simulated.
TEST(WorkloadProgram, ShowsOnATerminalHowFarALongRowIs) {
  const Ended ended = run_shell(
      "script -qec \"$0 workload all-to-all --platform selene --ranks 156 --algorithm pairwise --no-verify -b 1M -e "
      "1M\" "
      "/dev/null");
  EXPECT_EQ(ended.code, 0) << ended.text;
  const std::regex shown("([0-9]+) of ([0-9]+) messages of the row");
  std::vector<double> parts;
  for (std::sregex_iterator each(ended.text.begin(), ended.text.end(), shown), end; each != end; ++each) {
    parts.push_back(std::stod((*each)[1]) / std::stod((*each)[2]));
  }
  ASSERT_FALSE(parts.empty()) << ended.text;
  EXPECT_LT(parts.front(), 1);
  EXPECT_TRUE(std::ranges::is_sorted(parts));
  EXPECT_LE(parts.back(), 1);
}

/// One of two jobs alone takes what a single one does, though thread blocks go by the GPU's model.
TEST(SeveralJobs, OfThreadBlocksTakeAloneWhatASingleOneDoes) {
  const std::string job = "workload all-reduce --platform hgx-h100 -p nccl --ranks 4 -b 16M -e 16M";
  const double single = first_point(job).at("time_us").get<double>();
  const nlohmann::json together = first_point(job + " --jobs 2");
  for (const nlohmann::json& each : together.at("jobs")) {
    EXPECT_NEAR(each.at("alone_us").get<double>(), single, 1);  // ranks of one of several jobs begin a message apart
  }
}

/// Protocols that do collectives by themselves do them alone.
TEST(TwoProtocols, DoCollectivesByMessages) {
  said("workload all-reduce --platform hgx-h100 -p nccl --between-nodes gpudirect-v3 --ranks 16 -b 1M -e 1M");
}

/// Of five ranks and 8 B none has a byte for another: no time, and no rate.
TEST(AJobWithoutAMessage, HasNoRateAndAFileThatIsRead) {
  std::string printed;
  const std::string job = "workload gather --platform hgx-h100 -p nccl --ranks 5 -b 8 -e 8";
  EXPECT_EQ(first_point(job, &printed).at("algorithm_MBps"), 0);
  EXPECT_THAT(printed, Not(HasSubstr("inf")));
}

/// What earlier rounds have left in the slots of a symmetric heap comes round again: the time is the same whatever they
/// were.
TEST(Workload, OnASymmetricHeapTakesAsLongWhateverWasBefore) {
  const std::string job = "workload all-to-all --platform selene -p symmetric-put --ranks 5 -b 1K ";
  const auto time_us = [&](const std::string& how) { return first_point(job + how).at("time_us").get<double>(); };
  const double alone = time_us("-e 1K --algorithm direct");
  for (const char* how : {"-e 1K --algorithm direct --no-verify", "-e 1K --algorithm direct --warmup 2",
                          "-e 1K --algorithm direct --warmup 3", "-e 64K -f 64 --algorithm direct", "-e 1K"}) {
    EXPECT_NEAR(time_us(how), alone, alone * 2e-3) << how;
  }
}

}  // namespace
}  // namespace twinlink::model
