// What advice says to people and to programs, word for word, of findings made by hand.
#include <cmath>
#include <fstream>
#include <regex>
#include <stdexcept>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/study/advice_report.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "model/study/model_error.hpp"
#include "protocols/registry.hpp"
#include "tests/model/study/printed.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;

// ---- advice ---------------------------------------------------------------------------------------------------------

Sample sample(std::optional<Bytes> chunk, std::optional<int> depth, double time_us, const std::string& path) {
  return {{chunk, depth}, time_us, path};
}

/// Two protocols, of which the first wins at 4 KiB and is as good as the second at 1 MiB; and a reference.
AdviceReport advice_report() {
  Contestant pushed{.who = {.protocol = "gpudirect-v2", .options = {{"engine", "kernel-push"}}}};
  pushed.samples[4_KiB] = {sample(0_B, 1, 10, "pushed")};
  pushed.samples[1_MiB] = {sample(64_KiB, 4, 100, "pushed in pieces"), sample(0_B, 2, 100.5, "pushed, whole")};
  Contestant staged{.who = {.protocol = "staging", .preset = "mvapich2"}, .whole = 1_MiB};
  staged.samples[4_KiB] = {sample(0_B, 1, 8, "staged")};
  staged.samples[1_MiB] = {sample({}, {}, 104, "staged")};
  Contestant host{.who = {.protocol = "host"}};
  host.samples[4_KiB] = {sample(0_B, 1, 4, "messages")};
  host.samples[1_MiB] = {sample(0_B, 1, 50.25, "messages")};
  const std::vector<Contestant> contestants{pushed, staged};
  AdviceReport report{.program = "twinlink-sim 1",
                      .command = "twinlink-sim advise",
                      .environment = json{{"platform", "sample"}},
                      .platform = "sample",
                      .pattern = bench::Pattern::bidirectional,
                      .window = 4,
                      .from = {0, 1, "A"},
                      .to = {1, 2, "B"},
                      .survey = {.contestants = contestants,
                                 .references = {host},
                                 .left_out = {{"cuda-ipc", "refused: no peers"}},
                                 .remarks = {{"staging", "falls back"}, {"gpudirect-v2", "1 of 2 settings"}}},
                      .advice = make_advice(contestants)};
  report.singles = {{.who = pushed.who, .tuning = {64_KiB, 4}, .loss = 0.0325},
                    {.who = staged.who, .tuning = {0_B, {}}},
                    {.who = {.protocol = "cuda-ipc"}}};
  report.libraries = {{.tuning = {.who = staged.who, .tuning = {16_KiB, 2}, .loss = 0.5},
                       .fixed_depth = true,
                       .lines = {"BLOCK=16384", "MORE=1"}},
                      {.tuning = {.who = staged.who, .tuning = {16_KiB, 2}}, .lines = {"BLOCK=16384"}}};
  return report;
}

TEST(AdviceReport, SaysAllInWords) {
  EXPECT_EQ(printed([](std::ostream& out) { print_advice(advice_report(), out); }),
            R"(Advice for bidirectional with a window of 4 from 0/1 (A) to 1/2 (B) on sample
Simulated one-way times of warm messages, with the simplest chunk and depth within 1.0 % of the protocol's best
A lead of less than 16.0 % is a tie: messages of GPUs between nodes err by that much (validate/MACHINES.md)

size    fastest                           chunk  depth      time us        MB/s  runner-up                            slower by
4K      staging mvapich2                  whole      1        8.000     1024.00  gpudirect-v2 engine=kernel-push         25.0 %
1M      gpudirect-v2 engine=kernel-push   whole      2      100.500    20867.18  staging mvapich2                     4.0 % tie

Options
  engine=kernel-push who moves the bytes between the two GPUs; resident-push: a kernel that stays on the sender's GPU and occupies a multiprocessor of it moves up to 64 KiB, the copy engine what is larger

Crossovers
  gpudirect-v2 overtakes staging at about 447K, between 4K and 1M

One setting for all sizes, and how much slower it is than its protocol's best of every size (geometric mean)
  gpudirect-v2   -o engine=kernel-push --chunk 64K --depth 4: 3.2 %
  staging        --preset mvapich2 --chunk 1M: 0.0 %
  cuda-ipc       its own: 0.0 %

The same for staging mvapich2, in the library's own names (its depth is 2): 50.0 %
  BLOCK=16384
  MORE=1

The same for staging mvapich2, in the library's own names: 0.0 %
  BLOCK=16384

Remarks
  staging        falls back
  gpudirect-v2   1 of 2 settings

Not compared
  cuda-ipc       refused: no peers
)");
}

TEST(AdviceReport, ComparesAtOneSize) {
  AdviceReport report = advice_report();
  report.pattern = bench::Pattern::pingpong;
  report.survey.remarks.clear();
  report.advice.sizes.erase(report.advice.sizes.begin());
  EXPECT_EQ(printed([&](std::ostream& out) { print_comparison(report, out); }),
            R"(A message of 1M from 0/1 (A) to 1/2 (B) on sample: half of a simulated round trip, warm

protocol                          chunk  depth      time us        MB/s  slower by  path
gpudirect-v2 engine=kernel-push   whole      2      100.500    10433.59    fastest  pushed, whole
staging mvapich2                    own    own      104.000    10082.46      4.0 %  staged
host                              whole      1       50.250    20867.18  reference  messages

Not compared
  cuda-ipc       refused: no peers
)");
}

TEST(AdviceReport, OfOneProtocolHasNoOther) {
  AdviceReport report = advice_report();
  report.pattern = bench::Pattern::pingpong;
  report.survey = {};
  report.singles.clear();
  report.libraries.clear();
  report.advice.takeovers.clear();
  for (SizeAdvice& size : report.advice.sizes) {
    std::erase_if(size.ranking, [](const Choice& choice) { return choice.who.protocol != "staging"; });
  }
  const std::string text = printed([&](std::ostream& out) { print_advice(report, out); });
  EXPECT_THAT(text, ::testing::ContainsRegex("\n4K +staging mvapich2 +whole +1 +8.000 +512.00  none +\n"));
  EXPECT_THAT(text, ::testing::ContainsRegex("\n1M +staging mvapich2 +own +own +104.000 +10082.46  none +\n"));
  EXPECT_EQ(text.substr(text.find("\nCrossovers\n")),
            "\nCrossovers\n  none: staging is the fastest at every size\n\nOne setting for all sizes, and how much "
            "slower it is than its protocol's best of every size (geometric mean)\n");
}

TEST(AdviceReport, IsATable) {
  EXPECT_EQ(
      to_csv(advice_report()),
      R"(pattern,window,from,to,bytes,place,protocol,preset,options,chunk_bytes,depth,time_us,bandwidth_MBps,fastest_us,slower_percent,path
bidirectional,4,0/1,1/2,4096,1,staging,mvapich2,,1048576,1,8,1024,8,0,staged
bidirectional,4,0/1,1/2,4096,2,gpudirect-v2,,engine=kernel-push,0,1,10,819.2,10,25,pushed
bidirectional,4,0/1,1/2,1048576,1,gpudirect-v2,,engine=kernel-push,0,2,100.5,20867.18407960199,100,0,"pushed, whole"
bidirectional,4,0/1,1/2,1048576,2,staging,mvapich2,,,,104,20164.923076923078,104,4.0000000000000036,staged
)");
}

TEST(AdviceReport, IsJson) {
  AdviceReport report = advice_report();
  report.advice.sizes.erase(report.advice.sizes.begin());
  report.advice.takeovers.at(0).at = 457713.5;
  report.libraries.pop_back();
  EXPECT_EQ(to_json(report), json::parse(R"({
  "command": "twinlink-sim advise",
  "crossovers": [
    {
      "after_bytes": 4096, "at_bytes": 457713.5, "by_bytes": 1048576, "from": "staging",
      "to": "gpudirect-v2"
    }
  ],
  "environment": {"platform": "sample"}, "from": "0/1", "kind": "twinlink-advice",
  "libraries": [
    {
      "chunk_bytes": 16384, "depth": 2, "fixed_depth": true, "lines": ["BLOCK=16384", "MORE=1"],
      "preset": "mvapich2", "protocol": "staging", "slower_percent": 50.0
    }
  ],
  "model_error_percent": 16.0, "not_compared": [{"text": "refused: no peers", "who": "cuda-ipc"}],
  "pattern": "bidirectional",
  "points": [
    {
      "bytes": 1048576,
      "ranking": [
        {
          "bandwidth_MBps": 20867.18407960199, "chunk_bytes": 0, "depth": 2, "fastest_us": 100.0,
          "options": {"engine": "kernel-push"}, "path": "pushed, whole", "protocol": "gpudirect-v2",
          "slower_percent": 0.0, "time_us": 100.5
        },
        {
          "bandwidth_MBps": 20164.923076923078, "fastest_us": 104.0, "path": "staged", "preset": "mvapich2",
          "protocol": "staging", "slower_percent": 4.0000000000000036, "tie": true, "time_us": 104.0
        }
      ],
      "references": [
        {
          "bandwidth_MBps": 41734.36815920398, "chunk_bytes": 0, "depth": 1, "fastest_us": 50.25,
          "path": "messages", "protocol": "host", "time_us": 50.25
        }
      ]
    }
  ],
  "program": "twinlink-sim 1",
  "remarks": [{"text": "falls back", "who": "staging"}, {"text": "1 of 2 settings", "who": "gpudirect-v2"}],
  "schema": 1,
  "single_settings": [
    {
      "chunk_bytes": 65536, "depth": 4, "options": {"engine": "kernel-push"}, "protocol": "gpudirect-v2",
      "slower_percent": 3.25
    },
    {"chunk_bytes": 1048576, "preset": "mvapich2", "protocol": "staging", "slower_percent": 0.0},
    {"protocol": "cuda-ipc", "slower_percent": 0.0}
  ],
  "tie_margin_percent": 1.0, "to": "1/2", "window": 4, "world": "simulated"
})"));
}

// ---- advice for a job -----------------------------------------------------------------------------------------------

/// Of three sizes the first two have the same best setting, and the third is the fastest as it is.
struct AdvisedJob {
  Platform platform{.name = "sample"};
  JobSearch search{.platform = &platform,
                   .any_place = true,
                   .any_within = true,
                   .any_between = true,
                   .any_chunk = true,
                   .any_depth = true};
  JobAdvice advice{.workload = "shift",
                   .ranks = 2,
                   .left_out = {{"--chunk 1K", "refused: so"}, {"ring", "refused: too"}},
                   .simulations = 9,
                   .predicted = true};

  AdvisedJob() {
    search.job.place = "spread";
    search.job.workload.workload = "shift";
    search.job.workload.protocol = "host";
    const JobSetting given{.place = "spread", .within = "host"};
    const JobSetting other{.place = "packed",
                           .within = "gpudirect-v2",
                           .between = "gpudirect-v3",
                           .chunk = 64_KiB,
                           .depth = 2,
                           .options = {{"batch", "8"}, {"engine", "kernel-push"}},
                           .options_between = {{"send_limit", "1G"}}};
    JobSetting whole = given;
    whole.chunk = 0_B;
    for (const Bytes size : {1_KiB, 2_KiB}) {
      const JobSample plain{given, "direct", 10};
      const JobSample fast{other, "direct", 5};
      const JobSample ring{given, "ring", 5.2};
      advice.sizes.push_back({.size = size,
                              .given = plain,
                              .ranking = {fast, ring},
                              .samples = {plain, ring, fast, {whole, "direct", 12}}});
    }
    const JobSample plain{given, "direct", 20};
    advice.sizes.push_back(
        {.size = 1_MiB, .given = plain, .ranking = {plain}, .samples = {plain, {whole, "direct", 20}}});
  }
};

TEST(JobAdviceReport, SaysAllInWords) {
  const AdvisedJob job;
  EXPECT_EQ(printed([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); }),
            R"(Advice for shift of 2 ranks on sample
9 simulations; a setting within 1.0 % of the fastest counts as equal, and what differs least from the command comes first
A lead or a gain of less than 30.0 % is a tie: collectives that CPUs drive err by that much (validate/data/h200-x4-workloads.txt)
Of so many ranks those algorithms alone are simulated that are predicted to be nearly the fastest

size    fastest                 time us  runner-up             slower by    as given us           gain
1K      direct                    5.000  ring                  4.0 % tie         10.000         50.0 %
2K      direct                    5.000  ring                  4.0 % tie         10.000         50.0 %
1M      direct                   20.000  none                                    20.000          0.0 %

Added to the command
  1K to 2K         --algorithm direct --place packed -p gpudirect-v2 --between-nodes gpudirect-v3 --chunk 64K --depth 2 -o batch=8 -o engine=kernel-push --between-option send_limit=1G
  1M               nothing

The least us of 1M with each value that was tried, the others as they were then
  chunk      own 20.00, whole 20.00

Left out
  --chunk 1K: refused: so
  ring: refused: too
)");
  JobAdvice quiet = job.advice;
  quiet.sizes.resize(1);
  quiet.left_out.clear();
  quiet.predicted = false;
  const std::string text = printed([&](std::ostream& out) { print_job_advice(quiet, job.search, out); });
  EXPECT_THAT(text, ::testing::HasSubstr("workloads.txt)\n\nsize "));
  EXPECT_EQ(text.substr(text.find("\nThe least us")), R"(
The least us of 1K with each value that was tried, the others as they were then
  algorithm  direct 5.00, ring 5.20
  place      packed 5.00, spread 5.20
  protocols  gpudirect-v2/gpudirect-v3 5.00, host 5.20
  chunk      64K 5.00, own 5.20, whole 12.00
  depth      2 5.00, own 5.20
  options    batch=8 engine=kernel-push send_limit=1G 5.00, own 5.20
)");
}

TEST(JobAdviceReport, CountsAGainOverWhatALibraryDoesByItself) {
  AdvisedJob job;
  job.advice.sizes.resize(1);
  job.advice.sizes.front().own = {{.place = "packed", .within = "nccl"}, "direct", 8};
  EXPECT_THAT(
      printed([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); }),
      ::testing::AllOf(::testing::HasSubstr(" 37.5 %\n"), ::testing::HasSubstr("nccl by itself takes 8.000 us")));
}

TEST(JobAdviceReport, IsATable) {
  const AdvisedJob job;
  EXPECT_EQ(to_csv(job.advice, job.search), R"(bytes,place,algorithm,words,time_us,given_us
1024,1,direct,'--algorithm direct --place packed -p gpudirect-v2 --between-nodes gpudirect-v3 --chunk 64K --depth 2 -o batch=8 -o engine=kernel-push --between-option send_limit=1G,5,10
1024,2,ring,'--algorithm ring,5.2,10
2048,1,direct,'--algorithm direct --place packed -p gpudirect-v2 --between-nodes gpudirect-v3 --chunk 64K --depth 2 -o batch=8 -o engine=kernel-push --between-option send_limit=1G,5,10
2048,2,ring,'--algorithm ring,5.2,10
1048576,1,direct,,20,20
)");
}

// Half as long is a gain, where collectives err by 30 %; a tenth less is none.
TEST(JobAdviceReport, CallsNoGainWhatIsSmallerThanTheError) {
  AdvisedJob job;
  job.advice.sizes = {job.advice.sizes[0]};
  job.advice.sizes[0].given.time_us = 5.5;
  EXPECT_THAT(printed([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); }),
              ::testing::HasSubstr("9.1 % tie\n"));
}

/// Of the half of sources that is held back, the last column of the table of halves.
double percent_in(const std::string& file, const std::string& kind) {
  std::ifstream in(std::string(TWINLINK_SOURCE_DIR "/") + file);
  const std::regex row("\\| " + kind + " \\| [0-9]+ \\|[^|]*\\| [0-9]+ \\| ([0-9.]+) % \\|");
  for (std::string line; std::getline(in, line);) {
    std::smatch found;
    if (std::regex_match(line, found, row)) return std::stod(found[1]);
  }
  throw std::runtime_error("no row of '" + kind + "' in " + file);
}

/// The geometric mean of how much longer the longer one of two times is, by the errors at the ends of lines.
double percent_of_errors(const std::string& file) {
  std::ifstream in(std::string(TWINLINK_SOURCE_DIR "/") + file);
  double sum = 0;
  int count = 0;
  for (std::string line; std::getline(in, line);) {
    std::smatch found;
    if (!std::regex_search(line, found, std::regex("([-+][0-9.]+) %$"))) continue;
    sum += std::abs(std::log1p(std::stod(found[1]) / 100));
    ++count;
  }
  return 100 * std::expm1(sum / count);
}

TEST(ModelError, IsWhatStoredComparisonsSay) {
  const auto told = [](Simulated what) { return 100 * model_error(what).share; };
  constexpr double kWhole = 1;  // percent
  const std::string machines = "validate/MACHINES.md";
  EXPECT_NEAR(told(Simulated::host_messages), percent_in(machines, "host messages"), kWhole);
  EXPECT_NEAR(told(Simulated::within_node), percent_in(machines, "messages of GPUs within a node"), kWhole);
  EXPECT_NEAR(told(Simulated::between_nodes), percent_in(machines, "messages of GPUs between nodes"), kWhole);
  EXPECT_NEAR(told(Simulated::block_collectives), percent_in(machines, "collectives by NCCL"), kWhole);
  EXPECT_NEAR(told(Simulated::driven_collectives), percent_of_errors("validate/data/h200-x4-workloads.txt"), kWhole);
}

TEST(JobAdviceReport, IsJson) {
  AdvisedJob job;
  job.advice.sizes = {job.advice.sizes[1]};
  EXPECT_EQ(to_json(job.advice, job.search), json::parse(R"({
  "kind": "twinlink-workload-advice",
  "left_out": [{"text": "refused: so", "who": "--chunk 1K"}, {"text": "refused: too", "who": "ring"}],
  "model_error_percent": {"collectives that CPUs drive": 30.0},
  "points": [
    {
      "bytes": 2048,
      "given": {
        "algorithm": "direct", "place": "spread", "protocol": "host", "protocol_between": "host",
        "time_us": 10.0
      },
      "ranking": [
        {
          "algorithm": "direct", "chunk_bytes": 65536, "depth": 2,
          "options": {"batch": "8", "engine": "kernel-push"}, "options_between": {"send_limit": "1G"},
          "place": "packed", "protocol": "gpudirect-v2", "protocol_between": "gpudirect-v3", "time_us": 5.0,
          "words": "--algorithm direct --place packed -p gpudirect-v2 --between-nodes gpudirect-v3 --chunk 64K --depth 2 -o batch=8 -o engine=kernel-push --between-option send_limit=1G"
        },
        {
          "algorithm": "ring", "place": "spread", "protocol": "host", "protocol_between": "host",
          "time_us": 5.2, "words": "--algorithm ring"
        }
      ],
      "tried": [
        {
          "algorithm": "direct", "place": "spread", "protocol": "host", "protocol_between": "host",
          "time_us": 10.0
        },
        {
          "algorithm": "ring", "place": "spread", "protocol": "host", "protocol_between": "host",
          "time_us": 5.2
        },
        {
          "algorithm": "direct", "chunk_bytes": 65536, "depth": 2,
          "options": {"batch": "8", "engine": "kernel-push"}, "options_between": {"send_limit": "1G"},
          "place": "packed", "protocol": "gpudirect-v2", "protocol_between": "gpudirect-v3", "time_us": 5.0
        },
        {
          "algorithm": "direct", "chunk_bytes": 0, "place": "spread", "protocol": "host",
          "protocol_between": "host", "time_us": 12.0
        }
      ]
    }
  ],
  "ranks": 2, "schema": 1, "simulations": 9, "tie_margin_percent": 1.0, "workload": "shift", "world": "simulated"
})"));
}

/// Where many were tried: the first ones, and how many there are.
TEST(JobAdviceReport, LeavesOutWhatIsTooMuch) {
  AdvisedJob job;
  JobSizeAdvice& size = job.advice.sizes.back();
  for (int depth = 1; depth <= 9; ++depth) {
    JobSetting setting = size.given.setting;
    setting.depth = depth;
    size.samples.push_back({setting, "direct", 30.0 - depth});
  }
  job.advice.sizes = {size};
  job.advice.left_out.assign(12, {"a", "b"});
  const std::string text = printed([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); });
  EXPECT_THAT(text, ::testing::HasSubstr(
                        "  depth      own 20.00, 9 21.00, 8 22.00, 7 23.00, 6 24.00, 5 25.00, 4 26.00, 3 27.00 and 2 "
                        "more up to 29.00\n\nLeft out\n" +
                        [] {
                          std::string lines;
                          for (int i = 0; i < 10; ++i) lines += "  a: b\n";
                          return lines;
                        }() +
                        "  and 2 more\n"));
}

/// Of nodes that are joined to domains the second protocol is that between these.
TEST(JobAdviceReport, NamesTheProtocolBetweenDomains) {
  AdvisedJob job;
  job.search.job.workload.between_domains = "staging";
  EXPECT_EQ(words_of(job.advice.sizes[0].ranking[0].setting, job.search),
            "--place packed -p gpudirect-v2 --between-domains gpudirect-v3 --chunk 64K --depth 2 -o batch=8 -o "
            "engine=kernel-push --between-domains-option send_limit=1G");
}
}  // namespace
}  // namespace twinlink::model
