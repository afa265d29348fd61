// What studies say to people and to programs, word for word, of findings made by hand.
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/study/advice_report.hpp"
#include "model/study/clustering.hpp"
#include "model/study/jobs/job_advice.hpp"
#include "model/study/watch/round_watch.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;

template <class Print>
std::string text_of(Print print) {
  std::ostringstream out;
  print(out);
  return out.str();
}

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
  EXPECT_EQ(text_of([](std::ostream& out) { print_advice(advice_report(), out); }),
            R"(Advice for bidirectional with a window of 4 from 0/1 (A) to 1/2 (B) on sample
Simulated one-way times of warm messages, with the simplest chunk and depth within 1.0 % of the protocol's best
A lead of less than 5.0 % is a tie: the model errs by that much (validate/ACCURACY.md)

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
  EXPECT_EQ(text_of([&](std::ostream& out) { print_comparison(report, out); }),
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
  const std::string text = text_of([&](std::ostream& out) { print_advice(report, out); });
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
  "model_error_percent": 5.0, "not_compared": [{"text": "refused: no peers", "who": "cuda-ipc"}],
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
  EXPECT_EQ(text_of([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); }),
            R"(Advice for shift of 2 ranks on sample
9 simulations; a setting within 1.0 % of the fastest counts as equal, and what differs least from the command comes first
A lead of less than 5.0 % is a tie: the model errs by that much (validate/ACCURACY.md)
Of so many ranks those algorithms alone are simulated that are predicted to be nearly the fastest

size    fastest                 time us  runner-up             slower by    as given us     gain
1K      direct                    5.000  ring                  4.0 % tie         10.000   50.0 %
2K      direct                    5.000  ring                  4.0 % tie         10.000   50.0 %
1M      direct                   20.000  none                                    20.000    0.0 %

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
  const std::string text = text_of([&](std::ostream& out) { print_job_advice(quiet, job.search, out); });
  EXPECT_THAT(text, ::testing::HasSubstr("(validate/ACCURACY.md)\n\nsize "));
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

TEST(JobAdviceReport, IsJson) {
  AdvisedJob job;
  job.advice.sizes = {job.advice.sizes[1]};
  EXPECT_EQ(to_json(job.advice, job.search), json::parse(R"({
  "kind": "workload advice",
  "left_out": [{"text": "refused: so", "who": "--chunk 1K"}, {"text": "refused: too", "who": "ring"}],
  "model_error_percent": 5.0,
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
  const std::string text = text_of([&](std::ostream& out) { print_job_advice(job.advice, job.search, out); });
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

// ---- several jobs ---------------------------------------------------------------------------------------------------

TEST(ClusterReport, HasAHeadingRowsAndFiles) {
  bench::WorkloadPlan plan{.workload = &workloads::find_workload("shift")};
  plan.ways = {.within = &find_protocol("host"), .between = &find_protocol("staging")};
  Cluster cluster{.jobs = 2, .ranks = 2, .background = &workloads::find_workload("all-to-all")};
  for (const char* place : {"0/0", "1/0", "0/1", "1/1", "2/0", "2/1", "2/2"})
    cluster.places.push_back(parse_place(place));
  const std::vector<ClusterPoint> points{{.size = 64_KiB, .jobs = {{"ring", 10, 15}, {"direct", 8, 8}}}};
  const auto heading = [&](std::ostream& out) { print_heading(plan, cluster, out); };
  const std::string columns = "#      bytes  job algorithm             alone us  together us    times\n";
  EXPECT_EQ(text_of(heading),
            "# shift: simulated over host, staging between nodes, 2 jobs of 2 ranks on 3 nodes\n"
            "# job 1: 0/0 to 1/0\n# job 2: 0/1 to 1/1\n# background: all-to-all of 3 ranks\n" +
                columns);
  EXPECT_EQ(text_of([&](std::ostream& out) { print_point(points.front(), out); }),
            "       65536    1 ring                     10.00        15.00    1.500\n"
            "       65536    2 direct                    8.00         8.00    1.000\n");
  EXPECT_EQ(to_csv(points), "bytes,job,algorithm,alone_us,together_us\n65536,1,ring,10,15\n65536,2,direct,8,8\n");
  plan.ways.between_domains = &find_protocol("gpudirect-v3");
  EXPECT_EQ(to_json(plan, cluster, points),
            json::parse(R"({"kind": "twinlink-jobs", "schema": 1, "workload": "shift", "protocol": "host",
                            "protocol_between_nodes": "staging", "protocol_between_domains": "gpudirect-v3",
                            "jobs": 2, "ranks": 2, "background": "all-to-all",
                            "places": ["0/0", "1/0", "0/1", "1/1", "2/0", "2/1", "2/2"],
                            "points": [{"bytes": 65536, "jobs": [
                              {"algorithm": "ring", "alone_us": 10.0, "together_us": 15.0},
                              {"algorithm": "direct", "alone_us": 8.0, "together_us": 8.0}]}]})"));
  plan.ways.between = plan.ways.within;
  cluster = {.jobs = 1, .ranks = 2, .places = {{0, 0, {}}, {0, 1, {}}}};
  EXPECT_EQ(text_of(heading),
            "# shift: simulated over host, gpudirect-v3 between domains, 1 job of 2 ranks on 1 node\n"
            "# job 1: 0/0 to 0/1\n" +
                columns);
}

// ---- links and the critical path ------------------------------------------------------------------------------------

/// What holds up whom, in bytes per second and seconds.
class Links : public ::testing::Test {
 protected:
  void flow(std::vector<const SharedLink*> links, double bytes, double began, double ended,
            double limit = std::numeric_limits<double>::infinity()) {
    flows_.push_back({.number = flows_.size() + 1,
                      .links = std::move(links),
                      .limit = limit,
                      .bytes = bytes,
                      .began = Seconds{began},
                      .ended = Seconds{ended}});
  }
  [[nodiscard]] const SharedLink* holder(std::size_t number) const {
    const Bottlenecks all = bottlenecks_of(flows_);
    const auto found = all.find(number);
    return found == all.end() ? nullptr : found->second;
  }

  SharedLink narrow_{.rate = 10};
  SharedLink wide_{.rate = 20};
  SharedLink as_wide_{.rate = 20};
  SharedLink open_{.rate = kOpenRate, .open = true};
  std::vector<FlowRecord> flows_;
};

TEST_F(Links, HoldUpWhoeverCrossesTheBusiestOne) {
  flow({&wide_, &narrow_}, 30, 0, 4);
  flow({&narrow_}, 10, 2, 6);
  EXPECT_EQ(holder(1), &narrow_) << "35 of 40 bytes crossed it meanwhile, and 30 of 80 the other one";
  EXPECT_EQ(holder(2), &narrow_) << "25 of 40";
  flow({&wide_}, 15, 8, 10);
  EXPECT_EQ(holder(3), nullptr) << "15 of 40: it was idle most of the time";
  flow({&wide_}, 32, 12, 14, 16);
  EXPECT_EQ(holder(4), nullptr) << "as fast as its own engine";
  flow({&wide_, &as_wide_}, 40, 16, 18);
  EXPECT_EQ(holder(5), &wide_) << "of those alike the first one";
  flow({&open_}, 1e15, 20, 21);
  EXPECT_EQ(holder(6), nullptr);
  flow({&narrow_}, 1, 22, 22);
  EXPECT_EQ(holder(7), nullptr) << "it took no time";
  as_wide_.earlier = {{Seconds{25}, 40}};
  flow({&as_wide_}, 31, 24, 26);
  EXPECT_EQ(holder(8), &as_wide_) << "31 of 60, of which 40 were before it became slow";
}

TEST_F(Links, AreHeldToWhatCrossedThemInATime) {
  flow({&wide_, &narrow_}, 30, 0, 4);
  flow({&narrow_}, 10, 2, 6);
  flow({&wide_}, 40, 8, 10);
  const std::vector<LinkUse> before{{&narrow_, "narrow", Rate{10}, 5}, {&as_wide_, "idle", Rate{20}, 7}};
  const std::vector<LinkUse> after{
      {&narrow_, "narrow", Rate{10}, 45}, {&as_wide_, "idle", Rate{20}, 7}, {&wide_, "wide", Rate{20}, 80}};
  const std::vector<LinkShare> shares =
      link_shares(before, after, flows_, bottlenecks_of(flows_), Seconds{0}, Seconds{10});
  ASSERT_EQ(shares.size(), 2U);
  EXPECT_EQ(shares[0].name, "narrow");
  EXPECT_EQ(shares[0].bytes, 40);
  EXPECT_DOUBLE_EQ(shares[0].utilisation, 0.4);
  EXPECT_EQ(shares[0].bottleneck, Seconds{6}) << "4 s and 4 s, of which 2 s are the same";
  EXPECT_EQ(shares[1].name, "wide");
  EXPECT_DOUBLE_EQ(shares[1].utilisation, 0.4);
  EXPECT_EQ(shares[1].bottleneck, Seconds{2});
}

std::vector<LinkShare> shares_of(int count) {
  std::vector<LinkShare> links;
  for (int i = 0; i < count; ++i) {
    links.push_back({"node " + std::to_string(i) + " nic0 out", 100.0 * (i + 1), 0.5, Seconds{i * 1e-6}});
  }
  return links;
}

TEST(LinksReport, HasTheFirstAndThoseThatAreAlike) {
  EXPECT_EQ(text_of([](std::ostream& out) { print_links({}, out); }), "# links: nothing crossed any\n");
  EXPECT_EQ(text_of([](std::ostream& out) { print_links(shares_of(2), out); }),
            R"(#           bytes  of rate bottleneck us  link
#             100   50.0 %         0.000  node 0 nic0 out
#             200   50.0 %         1.000  node 1 nic0 out
)");
  EXPECT_EQ(text_of([](std::ostream& out) { print_links(shares_of(10), out); }).find("more"), std::string::npos);
  const std::string many = text_of([](std::ostream& out) { print_links(shares_of(12), out); });
  EXPECT_EQ(many.substr(many.find("# and")), R"(# and 2 more
#    bytes of all  of rate  busiest bottleneck us  links  level
#            7800   50.0 %   50.0 %        11.000     12  nic* out
)");
  EXPECT_EQ(to_json(shares_of(2)), json::parse(R"([
    {"link": "node 0 nic0 out", "bytes": 100.0, "utilisation": 0.5, "bottleneck_us": 0.0},
    {"link": "node 1 nic0 out", "bytes": 200.0, "utilisation": 0.5, "bottleneck_us": 1.0}])"));
}

RoundFindings a_path() {
  const auto at = [](double us) { return Seconds{us * 1e-6}; };
  const PathPart cpu{.rank = RankId{0}, .what = "CPU", .began = at(100), .ended = at(101)};
  PathPart copy{.rank = RankId{0},
                .what = "copy out",
                .verb = "copy",
                .size = 64_KiB,
                .engine = "copy engine",
                .phase = PathPart::Phase::before_bytes,
                .began = at(101),
                .ended = at(104)};
  PathPart bytes = copy;
  bytes.phase = PathPart::Phase::bytes;
  bytes.link = "wire";
  bytes.began = at(104);
  bytes.ended = at(106);
  const PathPart told{
      .rank = RankId{1}, .what = "tell", .verb = "send_control", .peer = RankId{0}, .began = at(106), .ended = at(108)};
  copy.began = at(108);
  copy.ended = at(110);
  PathPart first = copy;
  first.began = at(101);
  first.ended = at(104);
  return {.path = {cpu, first, bytes, told, copy}};
}

TEST(PathReport, HasWhatIsAlikeTheLongestFirst) {
  const auto print = [](const RoundFindings& found) {
    return text_of([&](std::ostream& out) { print_path(found, out); });
  };
  EXPECT_EQ(print({.too_many = true}), "# critical path: not known, for the round has more than 2000000 operations\n");
  EXPECT_EQ(print({}), "# critical path: none, for nobody did anything\n");
  EXPECT_EQ(print(a_path()), R"(# critical path: 10.000 us, 5 parts on 2 ranks
#              us   of all    parts  what
#           5.000   50.0 %        2  copy out, 64K, overhead and latency
#           2.000   20.0 %        1  copy out, 64K, by copy engine, held up by wire
#           2.000   20.0 %        1  tell
#           1.000   10.0 %        1  CPU
)");
  RoundFindings one = a_path();
  one.path.resize(1);
  EXPECT_EQ(print(one), R"(# critical path: 1.000 us, 1 parts on 1 rank
#              us   of all    parts  what
#           1.000  100.0 %        1  CPU
)");
  RoundFindings many = a_path();
  for (int i = 0; i < 9; ++i) {
    PathPart part = many.path.front();
    part.what += std::to_string(i);
    many.path.insert(many.path.begin(), part);
  }
  const std::string text = print(many);
  EXPECT_EQ(text.substr(text.find("# and")), "# and 3 more\n") << text;
  EXPECT_EQ(to_json(a_path().path), json::parse(R"([
  {"began_us": 0.0, "rank": 0, "time_us": 1.0000000000000107, "what": "CPU"},
  {
    "began_us": 1.0000000000000107, "bytes": 65536, "engine": "copy engine", "phase": "overhead and latency",
    "rank": 0, "time_us": 2.9999999999999916, "verb": "copy", "what": "copy out"
  },
  {
    "began_us": 4.000000000000003, "bytes": 65536, "engine": "copy engine", "link": "wire", "phase": "bytes",
    "rank": 0, "time_us": 2.000000000000008, "verb": "copy", "what": "copy out"
  },
  {
    "began_us": 6.000000000000011, "bytes": 0, "peer": 0, "rank": 1, "time_us": 1.9999999999999944,
    "verb": "send_control", "what": "tell"
  },
  {
    "began_us": 8.000000000000005, "bytes": 65536, "engine": "copy engine", "phase": "overhead and latency",
    "rank": 0, "time_us": 1.9999999999999944, "verb": "copy", "what": "copy out"
  }
])"));
}

/// Two ranks, two rounds: of the last one all that happened between the first start and the last end.
TEST(RoundWatch, KeepsTheLastRound) {
  RoundWatch watch(2);
  SimulationOptions options;
  watch.watch(options, {.links = true, .path = true});
  const SharedLink link{.rate = 10};
  double carried = 0;
  *options.link_use = [&] { return std::vector<LinkUse>{{&link, "wire", Rate{10}, carried}}; };
  std::uint64_t flows = 0;
  const auto message = [&](double began) {  // takes 2 s
    const FlowRecord flow{.number = ++flows,
                          .links = {&link},
                          .limit = 10,
                          .bytes = 19,
                          .began = Seconds{began},
                          .ended = Seconds{began + 2}};
    OpReport sent{.rank = RankId{0},
                  .step = "send",
                  .verb = "send",
                  .started = Seconds{began},
                  .flow = Seconds{2},
                  .ended = Seconds{began + 2}};
    sent.peer = RankId{1};
    sent.flows = {flow.number};
    OpReport taken{
        .rank = RankId{1}, .step = "take", .verb = "receive", .started = Seconds{began}, .ended = Seconds{began + 2}};
    taken.peer = RankId{0};
    taken.woke = true;
    carried += flow.bytes;
    options.on_flow(flow);
    options.observer(sent);
    options.observer(taken);
  };
  double now = 0;
  message(now);
  for (int round = 0; round < 2; ++round) {
    now += 10;
    watch.round(true, RankId{1}, Seconds{now});
    watch.round(true, RankId{0}, Seconds{now + 0.5});
    message(now + 1);
    watch.round(false, RankId{0}, Seconds{now + 3});
    watch.round(false, RankId{1}, Seconds{now + 4});
    message(now + 6);
  }
  const RoundFindings found = watch.findings();
  EXPECT_FALSE(found.too_many);
  ASSERT_EQ(found.links.size(), 1U);
  EXPECT_EQ(found.links[0].bytes, 19);
  EXPECT_DOUBLE_EQ(found.links[0].utilisation, 19.0 / 40);
  EXPECT_EQ(found.links[0].bottleneck, Seconds{2});
  std::vector<std::string> parts;
  for (const PathPart& part : found.path) {
    std::ostringstream text;
    text << part.rank.value << ' ' << part.what << ' ' << part.began.value() << ' ' << part.ended.value() << part.link;
    parts.push_back(text.str());
  }
  EXPECT_THAT(parts, ::testing::ElementsAre("0 CPU 20 21", "0 send 21 23wire", "1 CPU 23 24"));
}

}  // namespace
}  // namespace twinlink::model
