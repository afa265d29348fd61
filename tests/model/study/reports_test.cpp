// What studies say to people and to programs, word for word, of findings made by hand.
#include <limits>
#include <sstream>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/study/clustering.hpp"
#include "model/study/watch/round_watch.hpp"
#include "protocols/registry.hpp"
#include "tests/model/study/printed.hpp"

namespace twinlink::model {
namespace {

using nlohmann::json;

// ---- several jobs ---------------------------------------------------------------------------------------------------

TEST(ClusterReport, HasAHeadingRowsAndFiles) {
  bench::WorkloadPlan plan{.work = bench::Scheduled{.workload = &workloads::find_workload("shift")}};
  plan.ways = {.within = &find_protocol("host"), .between = &find_protocol("staging")};
  Cluster cluster{.jobs = 2, .ranks = 2, .background = &workloads::find_workload("all-to-all")};
  for (const char* place : {"0/0", "1/0", "0/1", "1/1", "2/0", "2/1", "2/2"})
    cluster.places.push_back(parse_place(place));
  const std::vector<ClusterPoint> points{{.size = 64_KiB, .jobs = {{"ring", 10, 15}, {"direct", 8, 8}}}};
  const auto heading = [&](std::ostream& out) { print_heading(plan, cluster, out); };
  const std::string columns = "#      bytes  job algorithm             alone us  together us    times\n";
  EXPECT_EQ(printed(heading),
            "# shift: simulated over host, staging between nodes, 2 jobs of 2 ranks on 3 nodes\n"
            "# job 1: 0/0 to 1/0\n# job 2: 0/1 to 1/1\n# background: all-to-all of 3 ranks\n" +
                columns);
  EXPECT_EQ(printed([&](std::ostream& out) { print_point(points.front(), out); }),
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
  EXPECT_EQ(printed(heading),
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
  EXPECT_EQ(printed([](std::ostream& out) { print_links({}, out); }), "# links: nothing crossed any\n");
  EXPECT_EQ(printed([](std::ostream& out) { print_links(shares_of(2), out); }),
            R"(#           bytes  of rate bottleneck us  link
#             100   50.0 %         0.000  node 0 nic0 out
#             200   50.0 %         1.000  node 1 nic0 out
)");
  EXPECT_EQ(printed([](std::ostream& out) { print_links(shares_of(10), out); }).find("more"), std::string::npos);
  const std::string many = printed([](std::ostream& out) { print_links(shares_of(12), out); });
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
    return printed([&](std::ostream& out) { print_path(found, out); });
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
