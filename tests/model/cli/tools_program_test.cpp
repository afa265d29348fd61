// diff, sensitivity and faults, as a user runs them.
#include <filesystem>
#include <fstream>
#include <string>
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

const std::string kPeers = "--platform platforms/keeneland-kids.yaml -p gpudirect-v2 --from 0/1 --to 0/2 ";

/// The median of the one size that was run.
double time_of(const std::string& arguments) {
  const Ended ended = run("run " + arguments + " --format csv | tail -n 1 | cut -d, -f13");
  return ended.text.empty() ? 0 : std::atof(ended.text.c_str());
}

TEST(ExplainProgram, TellsOfTheMessageThatRunTimes) {
  for (const std::string protocol : {"cuda-ipc", "cuda-aware", "gpudirect-v1", "staging", "host"}) {
    for (const std::string size : {"8", "1M"}) {
      const std::string pair = "--platform h200-nvlink --from 0/0 --to 0/1 -p " + protocol;
      const std::string explained = said("explain " + pair + " --format json --size " + size);
      const double us = time_of(pair + " -b " + size + " -e " + size);
      EXPECT_NEAR(nlohmann::json::parse(explained).at("delivered_us").get<double>(), us, us * 1e-3)
          << protocol << " " << size;
    }
  }
}

/// A target opens its memory only when its own message has gone; two GPUs behind different hubs have other ways back.
TEST(ExplainProgram, SaysWhereHalfARoundTripIsAnotherTime) {
  for (const std::string pair : {"--platform hgx-h100 --from 0/0 --to 1/0 -p symmetric-put",
                                 "--platform keeneland-kids --from 0/0 --to 0/1 -p gpudirect-v2"}) {
    const double us = time_of(pair + " -b 1M -e 1M");
    const Ended json = run("explain " + pair + " -s 1M --format json");
    ASSERT_EQ(json.code, 0) << json.text;
    const std::string only_json = json.text.substr(json.text.find('{'));
    EXPECT_NEAR(nlohmann::json::parse(only_json).at("half_round_trip_us").get<double>(), us, us * 1e-5);
    EXPECT_THAT(run("explain " + pair + " -s 1M").text,
                HasSubstr("Half of a round trip, as 'run' measures it, takes "));
  }
  EXPECT_THAT(run("explain " + kPeers + "-s 1M").text, Not(HasSubstr("Half of a round trip")));
}

TEST(DiffProgram, AFileDoesNotDifferFromItself) {
  EXPECT_THAT(said("diff platforms/keeneland-kids.yaml platforms/keeneland-kids.yaml"),
              AllOf(HasSubstr("No part, word or number differs"), Not(HasSubstr("Only in"))));
}

TEST(DiffProgram, ShowsWhatADifferenceDoesToARun) {
  EXPECT_THAT(said("diff keeneland-kids tests/data/two_adapters.yaml -p gpudirect-v1 --from 0/1 --to 1/1 -b 4M -e 4M"),
              AllOf(HasSubstr("nodes.nics.hca1"), HasSubstr("nodes.links.hca1-pcie"),
                    HasSubstr("\ngpudirect-v1 from 0/1 to 1/1, one-way\n"),
                    ContainsRegex("\n4M +[0-9.]+ +[0-9.]+ +[01]\\.[0-9]{4}\n")));
}

TEST(DiffProgram, WhatOneRefusesIsSaidAndTheOtherIsTimed) {
  EXPECT_THAT(said("diff keeneland-kids h200-nvlink -p gpudirect-v2 --from 0/0 --to 0/1 -b 1M -e 1M"),
              ContainsRegex("\n1M +"));
}

TEST(DiffProgram, WritesJson) {
  const Ended ended = run("diff keeneland-kids keeneland-kfs --json /dev/stdout");
  EXPECT_THAT(ended.text, AllOf(HasSubstr("\"only_a\""), HasSubstr("\"unit\": \"B/s\"")));
  EXPECT_EQ(run("diff keeneland-kids keeneland-kfs --from 0/0").code, 2);
}

/// Times of zero have no ratio.
TEST(DiffProgram, ShowsHowManyTimesANumberIsTheOther) {
  std::vector<std::string> files;
  for (const std::string latency : {"0 us", "2 us", "3 us"}) {
    files.push_back(::testing::TempDir() + "twinlink-diff-" + latency.substr(0, 1) + ".yaml");
    std::ofstream(files.back()) << "schema: 2\nname: x\ndescription: x\ninclude: " TWINLINK_SOURCE_DIR
                                   "/platforms/keeneland-kids.yaml\nnodes: {links: {qpi: {latency: {value: "
                                << latency << ", assumed: a test}}}}\n";
  }
  const auto diff = [&](int a, int b) { return run("diff " + files.at(a) + " " + files.at(b)).text; };
  EXPECT_THAT(diff(1, 2), ContainsRegex("\n  nodes.links.qpi.latency +2.00 us +3.00 us +1\\.5\n"));
  EXPECT_THAT(diff(1, 0), ContainsRegex("\n  nodes.links.qpi.latency +2.00 us +0 s +0\n"));
  EXPECT_THAT(diff(0, 1), ContainsRegex("\n  nodes.links.qpi.latency +0 s +2.00 us *\n"));
  for (const std::string& file : files) std::filesystem::remove(file);
}

TEST(SensitivityProgram, ShowsTheLargestFirstAndCountsTheRest) {
  const std::string ended = said("sensitivity keeneland-kids -p gpudirect-v2 --from 0/1 --to 0/2 -b 64M");
  EXPECT_THAT(ended, ContainsRegex("which is\n +-0\\.98. %  gpu_types.m2090.copies.peer.rate  "));
  EXPECT_THAT(ended, ContainsRegex("\n[0-9]+ numbers have no influence\n$"));
}

TEST(SensitivityProgram, TellsWhatIsAssumedAndStrictRefusesIt) {
  const std::string fermi = "sensitivity keeneland-kids -p gpudirect-v2 --from 0/1 --to 0/2 -b 64M ";
  const std::string guesses =
      "twinlink-sim: error: --strict: this time goes by 3 assumed numbers: gpu_types.m2090.copies.peer.overhead (2 "
      "us), "
      "mpi.intra_node.control (600 ns), mpi.intra_node.send_overhead (200 ns). Probes tell them";
  EXPECT_THAT(said(fermi + "--strict", 1), HasSubstr(guesses));
  EXPECT_THAT(said(fermi), Not(HasSubstr("assumed, and more than 5 %")));
  EXPECT_THAT(
      said(fermi + "-o engine=kernel-push"),
      HasSubstr("\nassumed, and more than 5 % of the time: gpu_types.m2090.copies.kernel-push.rate (5 GB/s)\n"));
  EXPECT_THAT(said("sensitivity h200-nvlink -p gpudirect-v2 -b 64M --strict"), HasSubstr("numbers have no influence"));
}

TEST(SensitivityProgram, SetComesFirst) {
  const Ended ended =
      run("sensitivity keeneland-kids -p gpudirect-v2 --from 0/1 --to 0/2 -b 64M "
          "--set 'nodes.links.gpu1-pcie.bandwidth=1 GB/s' --json /dev/stdout");
  EXPECT_THAT(ended.text, ContainsRegex("which is\n +-0\\.9.. %  nodes.links.gpu1-pcie.bandwidth  +1 GB/s"));
  EXPECT_THAT(ended.text, HasSubstr("\"without_influence\""));
}

/// A library's switch among the settings says how its messages pass within a node: 75.47 us, and else 60.93 us.
TEST(SensitivityProgram, AndDiffAreOfTheTimesThatRunHas) {
  const std::string how = " -p cuda-aware -o MV2_USE_SHARED_MEM=1 --from 0/0 --to 0/1 -b 64K ";
  const double us = first_point("run keeneland-kids -e 64K" + how).at("time_us").get<double>();
  EXPECT_NEAR(written("sensitivity keeneland-kids" + how).at("time_us").get<double>(), us, 1e-3);
  const nlohmann::json both = written("diff keeneland-kids keeneland-kids -e 64K" + how).at("run");
  EXPECT_NEAR(both.at("a").at("time_us").at(0).get<double>(), us, 1e-3);
  EXPECT_NEAR(both.at("b").at("time_us").at(0).get<double>(), us, 1e-3);
}

TEST(FaultsProgram, ANumberIsSetOnce) {
  const std::string twice = "run --platform keeneland-kids -p host -b 4 -e 4 --set nodes.links.qpi.latency=1us ";
  EXPECT_EQ(run(twice).code, 0);
  for (const char* again : {"--set nodes.links.qpi.latency=2us", "--set nodes.links.qpi.latency.value=1us"}) {
    EXPECT_THAT(said(twice + again, 2), HasSubstr("it is set already, by --set nodes.links.qpi.latency=1us"));
  }
  // A study draws a number around what it was set to.
  const std::string folder = ::testing::TempDir() + "twinlink-set-once";
  std::filesystem::create_directories(folder);
  std::ofstream(folder + "/study.yaml")
      << "title: a\noptions: {platform: keeneland-kids, protocol: host, begin: 4, end: 4}\n"
         "axes: {set nodes.links.qpi.latency: [1us, 2us]}\nspread: {nodes.links.qpi.latency: 5%}\nsamples: 2\n";
  EXPECT_EQ(run("study " + folder + "/study.yaml --out " + folder + "/out").code, 0);
  std::filesystem::remove_all(folder);
}

TEST(FaultsProgram, AnotherEagerLimitIsSaidToBeAnEstimate) {
  const std::string plain = "--platform selene -p host -b 1K -e 1K ";
  for (const std::string command : {"run ", "workload shift --ranks 2 --place spread "}) {
    EXPECT_THAT(said(command + plain + "--set 'mpi.network.eager_limit=256 B'"), HasSubstr("which is an estimate"));
    EXPECT_THAT(run(command + plain).text, ::testing::Not(HasSubstr("estimate")));
  }
}

TEST(LoopbackProgram, ThePathSaysThatTheAdapterIsCrossed) {
  const std::string within = "run --platform keeneland-kfs --from 0/0 --to 0/1 -b 4 -e 4 --intra-node loopback -p ";
  for (const char* protocol : {"host", "staging", "gpudirect-v1", "cuda-aware"}) {
    EXPECT_THAT(run(within + protocol).text, ContainsRegex("# path: .*through the adapter in loopback\n")) << protocol;
  }
  EXPECT_THAT(run(within + "gpudirect-v2").text, ::testing::Not(HasSubstr("in loopback")));
}

TEST(FaultsProgram, HalfALinkDoublesTheTimeOfABulkMessage) {
  const std::string bulk = kPeers + "-b 256M -e 256M --set 'nodes.links.gpu1-pcie.bandwidth=4 GB/s' ";
  EXPECT_NEAR(time_of(bulk + "--degrade gpu1-pcie=50%") / time_of(bulk), 2, 0.002);
  EXPECT_EQ(time_of(bulk + "--degrade gpu0-pcie=50%"), time_of(bulk)) << "off the way";
}

/// 256 MiB at 20 GB/s, and at the 7.31 GB/s of PCIe; what starts a copy is less than a thousandth.
TEST(FaultsProgram, WithoutNvlinkPeersGoOverPcie) {
  const std::string bulk =
      "--platform tests/data/nvlink_and_pcie.yaml -p gpudirect-v2 --from 0/1 --to 0/2 -b 256M -e 256M ";
  EXPECT_NEAR(time_of(bulk), 13436.5, 20);
  EXPECT_NEAR(time_of(bulk + "--fail nvlink"), 36737.6, 20);
}

TEST(FaultsProgram, EveryCommandThatTakesAMachineTakesThem) {
  for (const std::string command : {"run -p host", "explain", "advise -p gpudirect-v2 -b 1M -e 1M", "probe"}) {
    EXPECT_THAT(said(command + " --platform keeneland-kids --fail qpi", 2),
                HasSubstr("--fail qpi cuts parts off: no route from "))
        << command;
  }
}

TEST(FaultsProgram, StandInTheResult) {
  const std::string job = "run " + kPeers + "-b 4 -e 4 --json /dev/stdout ";
  EXPECT_THAT(run(job + "--degrade qpi=50%").text,
              AllOf(ContainsRegex("\"degraded\": \\[\n +\"qpi=50%\""), Not(HasSubstr("\"failed\""))));
  EXPECT_THAT(run(job + "--fail hca0").text,
              AllOf(ContainsRegex("\"failed\": \\[\n +\"hca0\""), Not(HasSubstr("\"degraded\""))));
}

TEST(FaultsProgram, OneNodesPartSlowsThatNodeOnly) {
  const std::string bulk = "--platform keeneland-kids -p host -b 64M -e 64M --set 'fabric.link=9 GB/s' ";
  const std::string slow = "--degrade 3/hca0-pcie=50% ";
  const double well = time_of(bulk + "--from 2/0 --to 4/0 ");
  EXPECT_EQ(time_of(bulk + slow + "--from 2/0 --to 4/0 "), well);
  EXPECT_NEAR(time_of(bulk + slow + "--from 2/0 --to 3/0 ") / well, 2, 0.002);
}

TEST(FaultsProgram, WhatMakesNoDifferenceIsSaid) {
  const std::string idle = "--degrade 3/qpi=50% makes no difference: nothing has crossed it";
  const Ended ended =
      run("run --platform keeneland-kids -p host --from 2/0 --to 4/0 -b 4 -e 4 --degrade 3/qpi=50% "
          "--fail hca0@1s --json /dev/stdout");
  EXPECT_EQ(ended.code, 0) << ended.text;
  EXPECT_THAT(ended.text, AllOf(HasSubstr("note: " + idle), HasSubstr("\"" + idle + "\""),
                                HasSubstr("note: --fail hca0@1s makes no difference: all had ended after ")));
}

/// A part that is gone from the start, and that the job would not have used.
TEST(FaultsProgram, WhatIsGoneAndWasNotUsedIsSaid) {
  const std::string within = " --from 0/1 --to 0/2 -p gpudirect-v2 ";
  const std::string idle = "note: --fail hca0 makes no difference: no way of these ranks would cross it";
  for (const std::string command :
       {"run -b 4 -e 4 --platform keeneland-kids", "explain --platform keeneland-kids",
        "advise -b 4 -e 4 --platform keeneland-kids", "sensitivity keeneland-kids --size 4"}) {
    EXPECT_THAT(said(command + within + "--fail hca0"), HasSubstr(idle)) << command;
    EXPECT_THAT(run(command + within + "--degrade gpu0-pcie=50%").text,
                HasSubstr("note: --degrade gpu0-pcie=50% makes no difference: "))
        << command;
  }
  const std::string jobs = "workload shift --platform keeneland-kids -p gpudirect-v1 -b 4 -e 4 --ranks 2 --jobs 2 ";
  EXPECT_THAT(run(jobs + "--degrade 7/qpi=50%").text,
              HasSubstr("note: --degrade 7/qpi=50% makes no difference: no way of these ranks would cross it"));
}

/// The way of its bytes is another one now, or its GPU is not used for a message of host memory.
TEST(FaultsProgram, WhatIsGoneAndWasUsedIsNot) {
  EXPECT_THAT(run("run --platform tests/data/nvlink_and_pcie.yaml -p gpudirect-v2 --from 0/1 --to 0/2 -b 4 -e 4 --fail "
                  "nvlink")
                  .text,
              Not(HasSubstr("makes no difference")));
  const std::string host =
      "run --platform tests/data/nvlink_and_pcie.yaml -p host --from 0/1 --to 0/2 -b 4 -e 4 --fail ";
  EXPECT_THAT(run(host + "nvlink").text, HasSubstr("--fail nvlink makes no difference"));
}

TEST(FaultsProgram, RanksAreNotPlacedOnWhatIsGone) {
  const std::string job =
      "workload shift --platform keeneland-kids -p gpudirect-v1 -b 4 -e 4 --ranks 4 --json /dev/stdout ";
  const auto places = [&](const std::string& fault) {
    const Ended ended = run(job + fault + " 2> /dev/null | sed -n '/^{/,$p'");
    return nlohmann::json::parse(ended.text).at("places").get<std::vector<std::string>>();
  };
  EXPECT_EQ(places(""), (std::vector<std::string>{"0/0", "0/1", "0/2", "1/0"}));
  EXPECT_EQ(places("--fail 0/gpu1"), (std::vector<std::string>{"0/0", "0/2", "1/0", "1/1"}));
  EXPECT_EQ(places("--fail node0"), (std::vector<std::string>{"1/0", "1/1", "1/2", "2/0"}));
  EXPECT_THAT(said("run --platform keeneland-kids --from 0/0 --to 1/0 -p host --fail node1", 2),
              HasSubstr("1/0 is gone: --fail node1"));
  EXPECT_THAT(run("run --platform keeneland-kids --from 0/0 --to 2/0 -p host -b 4 -e 4 --fail node1").text,
              HasSubstr("note: --fail node1: no rank is on what is gone"));
}

/// Whatever a part has less of, it has less of at once.
TEST(SimProgram, APartThatIsSlowAtOnceIsAsSlowAsFromTheStart) {
  int slower = 0;
  for (const std::string pair : {"-p gpudirect-v2 --from 0/0 --to 0/2", "-p staging --from 0/0 --to 0/1"}) {
    const std::string message = "--platform a100-pcie-skylake -b 16M -e 16M " + pair;
    const double whole = time_of(message);
    ASSERT_GT(whole, 0);
    for (const std::string part : {"ring0", "upi", "pcie0", "pcie2", "gpu0", "socket0", "socket1"}) {
      const double from_start = time_of(message + " --degrade " + part + "=50%");
      EXPECT_NEAR(time_of(message + " --degrade " + part + "=50%@0us"), from_start, 1e-6 * from_start) << part << pair;
      slower += from_start > 1.1 * whole ? 1 : 0;
    }
  }
  EXPECT_GE(slower, 6) << "what both messages cross";
}

}  // namespace
}  // namespace twinlink::model
