// A fleet judged, and what is said of it.
#include "validate/nodes/fleet.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "tests/validate/golden.hpp"
#include "tests/validate/nodes/made_up_fleet.hpp"
#include "validate/nodes/fleet_report.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using test::curve_of;
using test::file_with;
using test::fleet_of;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;
using State = FleetRow::State;

const std::filesystem::path kWorkstation = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/workstation.yaml";
const char* const kToDevice = "copy pinned-to-device near";

platforms::Platform workstation() { return platforms::read_platform(kWorkstation); }

/// A line of probes that is off by `off` of what the machine takes, from the smallest size on.
NodeCurve off_by(const std::string& name, const std::vector<double>& off, const std::string& to = "",
                 const platforms::Platform& machine = workstation()) {
  const platforms::Topology topology(machine);
  NodeCurve curve = curve_of(name, {}, "0/0", to);
  for (Bytes size = 4_KiB; const double each : off) {
    std::string reason;
    const auto primitive = find_primitive({.name = name, .gpu = "0/0", .peer = to, .size = size}, topology, reason);
    const double us = predict(primitive.value(), size, topology).value().microseconds();
    curve.points.push_back({.size = size, .log_us = std::log(us) + each});
    size = size * 16;
  }
  return curve;
}

NodeFile probes_of(std::vector<NodeCurve> curves) {
  NodeFile file = file_with(std::move(curves));
  file.probes = true;
  return file;
}

/// What a curve alone takes longer by, as a fraction; lines that are faster count as equal.
TEST(Fleet, ANodeWithoutEqualsIsHeldAgainstThePlatform) {
  NodeCurve unstable = off_by(kToDevice, {0.5, 9, -1});
  unstable.points[1].unstable = true;
  NodeCurve noisy = off_by("copy device-to-pinned near", {0.5});
  noisy.points[0].deviation = 0.3;
  // The model's own error of handles is 12 %.
  const std::vector curves{unstable,
                           off_by("peer copy write direct", {0.4}, "0/1"),
                           off_by("copy device-to-device", {-3}),
                           off_by("handle export", {0.11}),
                           noisy,
                           curve_of("something else", {{4_KiB, 9}})};
  NodeFile other = file_with({off_by("copy host-to-host", {2})}, "2026-11-25", "no probes");
  const Fleet fleet = judge_fleet(fleet_of(1,
                                           [&](std::size_t) {
                                             return std::vector{probes_of(curves), other};
                                           }),
                                  {.base = kWorkstation});
  const FleetRow& row = fleet.rows.at(0);
  ASSERT_TRUE(row.platform);
  EXPECT_EQ(std::tuple(row.platform->curves, row.platform->slow, row.platform->alone), std::tuple(5U, 2U, 2U));
  EXPECT_NEAR(row.platform->slowest, std::expm1(0.5), 1e-9);
  EXPECT_EQ(row.platform->what, "copy pinned-to-device near, small sizes");
  EXPECT_EQ(row.state, State::slower);
  EXPECT_NEAR(row.worst, std::expm1(0.5), 1e-9);
  EXPECT_EQ(row.what, "copy pinned-to-device near, small sizes");
  EXPECT_EQ(row.explanation.text, "slower than the platform says");
  EXPECT_THAT(row.explanation.places, ElementsAre("0/0"));
  EXPECT_THAT(fleet.as_a_whole, IsEmpty()) << "one is no middle of many";
  // Each band by itself, of which the model's own error of middle copies is 25 %, and no more of handles than 12 %.
  for (const auto& [curve, slow] : {std::pair(off_by(kToDevice, {0.09, 0.2}), false),
                                    {off_by(kToDevice, {0.1, 0}), true},
                                    {off_by(kToDevice, {0, 0.23}), true},
                                    {off_by("handle export", {0.12}), true}}) {
    const Fleet alone =
        judge_fleet(fleet_of(1, [&](std::size_t) { return std::vector{probes_of({curve})}; }), {.base = kWorkstation});
    EXPECT_EQ(alone.rows[0].state, slow ? State::slower : State::alike);
    EXPECT_EQ(alone.rows[0].explanation.text.empty(), !slow);
  }
}

/// Beside what is slow; a node that is well otherwise is not accused.
TEST(Fleet, TellsWhatTheDriverSaysOfTheGpus) {
  const Fleet fleet =
      judge_fleet(fleet_of(6,
                           [&](std::size_t node) {
                             NodeFile old = file_with({curve_of("write", {{1_MiB, 1}})}, "2026-11-20");
                             old.health = {"GPU 0: 1 PCIe replays"};
                             NodeFile now = file_with({curve_of("write", {{1_MiB, node == 2 ? 2 : 1}})});
                             now.health = {"GPU 3: throttles by temperature"};
                             return node < 2 ? std::vector{old} : std::vector{old, now};
                           }),
                  {});
  for (const FleetRow& row : fleet.rows) {
    EXPECT_EQ(row.state, row.node == 2 ? State::slower : State::alike);
    EXPECT_THAT(fleet.files.nodes[row.node].remarks,
                ElementsAre(row.node < 2 ? "GPU 0: 1 PCIe replays" : "GPU 3: throttles by temperature"));
    const auto told = ::testing::EndsWith("; GPU 3: throttles by temperature");
    EXPECT_THAT(row.explanation.text, row.node == 2 ? ::testing::Matcher<std::string>(told) : IsEmpty());
  }
}

/// Six nodes that are alike: the fleet answers for what the platform says.
TEST(Fleet, AsAWholeItMayBeSlow) {
  const auto whole = [](const std::vector<NodeCurve>& curves) {
    const Fleet fleet =
        judge_fleet(fleet_of(6, [&](std::size_t) { return std::vector{probes_of(curves)}; }), {.base = kWorkstation});
    EXPECT_EQ(fleet.count(State::slower), 0U);
    EXPECT_EQ(fleet.rows[0].platform.value().alone, 0U);
    EXPECT_EQ(fleet.slow_as_a_whole, fleet.as_a_whole.at(0).find("all are slower") != std::string::npos);
    return fleet.as_a_whole.at(0);
  };
  EXPECT_EQ(whole({off_by(kToDevice, {0.05})}),
            "tool 1, 2 x GPU (6 nodes): in the middle as fast as the platform says");
  EXPECT_EQ(whole({off_by("handle export", {0.4}), off_by(kToDevice, {0})}),
            "tool 1, 2 x GPU (6 nodes): all are slower than the platform says: 1 of 2 curves, the worst by 49 % "
            "(handle export)");
  EXPECT_EQ(whole({curve_of("register device", {{4_KiB, 1}}, "0/0", "")}),
            "tool 1, 2 x GPU: nothing that workstation has numbers for");
  platforms::Platform ill = workstation();
  ASSERT_TRUE(platforms::degrade(ill, "pcie0", 0.5, "a test"));
  EXPECT_EQ(whole({off_by(kToDevice, {0, 0, 0, 0}, "", ill), off_by("copy device-to-device", {0, 0, 0, 0}, "", ill)}),
            "tool 1, 2 x GPU (6 nodes): all are slower than the platform says: link 'pcie0' at 50 % of its bandwidth "
            "explains it");
}

/// Ten nodes alike but for the fourth and fifth, one that has no result and one whose program no other has.
TEST(Fleet, TheWorstComesFirst) {
  const auto files = [](std::size_t node) -> std::vector<NodeFile> {
    if (node == 10) return {};
    if (node == 11) return {file_with({curve_of("alone", {{1_MiB, 0}})}, "", "other 1")};
    const double off = node == 3 ? 0.5 : node == 4 ? 0.9 : node == 7 ? 0.02 : 0;
    return {file_with({curve_of("write", {{1_MiB, off}}), curve_of("read", {{1_MiB, off}})})};
  };
  for (const std::size_t explained : {0U, 1U, 2U}) {
    const Fleet fleet = judge_fleet(fleet_of(12, files), {.explained = explained});
    std::vector<std::size_t> order;
    for (const FleetRow& row : fleet.rows) order.push_back(row.node);
    EXPECT_THAT(order, ElementsAre(4, 3, 10, 11, 7, 0, 1, 2, 5, 6, 8, 9));
    EXPECT_EQ(fleet.unexplained, 2 - explained);
    EXPECT_NEAR(fleet.rows[0].worst, std::expm1(0.9), 1e-9);
    EXPECT_EQ(fleet.rows[0].what, "write, large sizes");
    EXPECT_EQ(fleet.rows[1].explanation.text, "peer copies +65 % (large sizes)");
    EXPECT_NEAR(fleet.rows[4].worst, std::expm1(0.02), 1e-9);
    EXPECT_EQ(std::tuple(fleet.count(State::slower), fleet.count(State::unread), fleet.count(State::unjudged),
                         fleet.count(State::alike)),
              std::tuple(2U, 1U, 1U, 8U));
  }
}

/// With a platform, one that is slower than it and like its equals is no slower node; nor is one that lacks something.
TEST(Fleet, WhoLacksWhatItsEqualsHaveIsIncompleteAndNotSlower) {
  const Fleet fleet = judge_fleet(fleet_of(6,
                                           [](std::size_t node) {
                                             std::vector curves{curve_of("write", {{1_MiB, 0}})};
                                             if (node != 2) curves.push_back(curve_of("read", {{1_MiB, 0}}));
                                             return std::vector{file_with(curves)};
                                           }),
                                  {});
  EXPECT_EQ(fleet.rows[0].node, 2U);
  EXPECT_EQ(fleet.rows[0].state, State::incomplete);
  EXPECT_EQ(why(fleet, fleet.rows[0]), "lacks 1 measurements that its equals have");
  EXPECT_EQ(fleet.count(State::slower), 0U);
  EXPECT_THAT(verdict_of(fleet),
              HasSubstr("none of 6 nodes is slower than its equals; 1 without all that their equals"));
}

/// Nobody vouches for a node that has said nothing for long, nor for one that has become slower.
TEST(Fleet, WhoIsSilentOrWasFasterIsNotAlike) {
  const FleetFiles files = fleet_of(6, [](std::size_t node) {
    const char* const date = node == 2 ? "2026-11-01" : node == 3 ? "2026-11-11T08:00:00Z" : "2026-11-25T07:00:00Z";
    return std::vector{file_with({curve_of("write", {{1_MiB, 0}})}, date)};
  });
  const Fleet fleet = judge_fleet(files, {.became = {"", "", "", "", "slower since", ""}});
  ASSERT_EQ(fleet.rows.size(), 6U);
  EXPECT_EQ(std::tuple(fleet.rows[0].node, fleet.rows[0].state), std::tuple(4U, State::was_faster));
  EXPECT_EQ(std::tuple(fleet.rows[1].node, fleet.rows[1].state), std::tuple(2U, State::silent));
  EXPECT_EQ(fleet.rows[1].age, 24);
  EXPECT_EQ(fleet.count(State::alike), 4U) << "14 days are no silence";
  EXPECT_EQ(verdict_of(fleet),
            "Verdict: none of 6 nodes is slower than its equals; 1 slower than before; 1 silent for more than 14 days. "
            "The worst: node0004: slower since.");
  EXPECT_EQ(judge_fleet(files, {.max_age = 30}).count(State::silent), 0U);
}

TEST(Fleet, ProgramsThatMostNodesRanAreMissed) {
  for (const std::size_t with : {2U, 3U}) {
    const Fleet fleet = judge_fleet(fleet_of(5,
                                             [&](std::size_t node) -> std::vector<NodeFile> {
                                               const auto mine = curve_of("write", {{1_MiB, 0}});
                                               if (node == 4) return {};
                                               if (node < with)
                                                 return {file_with({mine}), file_with({mine}, "", "gauge 7")};
                                               return {file_with({mine})};
                                             }),
                                    {});
    EXPECT_THAT(fleet.files.nodes[0].remarks, IsEmpty());
    EXPECT_THAT(fleet.files.nodes[4].remarks, IsEmpty());
    EXPECT_EQ(fleet.files.nodes[3].remarks,
              with < 3 ? std::vector<std::string>{}
                       : std::vector<std::string>{"has no result of gauge, which others have: not looked at"});
  }
}

TEST(Fleet, AnotherMachineThanThePlatformsIsRefused) {
  const auto fleet = [](const NodeFile& file) {
    return fleet_of(3, [&](std::size_t node) { return std::vector{node == 1 ? probes_of({}) : file}; });
  };
  NodeFile other = probes_of({curve_of(kToDevice, {{4_KiB, 1}}, "0/0", "")});
  other.gpus = {{.place = "0/0", .model = "A"}, {.place = "0/1", .model = ""}, {.place = "0/2", .model = "B"}};
  const std::string known = workstation().gpu_types[0].model;
  const std::string said = kWorkstation.string() + ": error: 2 files: a 'A', but the base has a '" + known + "'";
  EXPECT_THAT([&] { judge_fleet(fleet(other), {.base = kWorkstation}); }, ThrowsMessage<InputError>(said));
  EXPECT_THAT(judge_fleet(fleet(other), {.base = kWorkstation, .force = true}).remarks,
              ::testing::Contains("--force: " + said));
  EXPECT_NO_THROW(judge_fleet(fleet(other), {})) << "nobody said what it should be";
  other.probes = false;
  EXPECT_NO_THROW(judge_fleet(fleet(other), {.base = kWorkstation}));
  other.gpus[0].model = known;
  other.probes = true;
  EXPECT_NO_THROW(judge_fleet(fleet(other), {.base = kWorkstation}));
  other.simulated = true;
  other.machine = "dgx";
  EXPECT_THAT([&] { judge_fleet(fleet(other), {.base = kWorkstation}); },
              ThrowsMessage<InputError>(kWorkstation.string() +
                                        ": error: 2 files: probes of platform 'dgx', but the base is 'workstation'"));
  other.machine = "workstation";
  EXPECT_NO_THROW(judge_fleet(fleet(other), {.base = kWorkstation}));
}

// --- Reports ---------------------------------------------------------------------------------------------------------

/// A row of each state, of which "alpha" has all that a node may have.
Fleet sample() {
  Fleet fleet;
  fleet.files.folder = "results";
  fleet.files.nodes = {{.name = "alpha",
                        .gpus = {{.place = "0/0", .bus = "0000:1b:00.0", .uuid = "GPU-0", .model = "H100"},
                                 {.place = "0/1", .bus = "0000:2b:00.0", .model = "H100"}},
                        .files = {{.file = "alpha/p.json", .date = "2026-11-25", .program = "twinlink-real 0.1.0"}},
                        .remarks = {"alpha's only remark"}},
                       {.name = "beta"},
                       {.name = "gamma", .remarks = {"cannot be read", "twice"}},
                       {.name = "delta"},
                       {.name = "epsilon"}};
  fleet.equals.keys = {{.name = "peer copy write direct"}, {.name = "peer copy read direct"}};
  fleet.equals.nodes = {
      {.slower = {{Slower::Of::curve, "peer copies", "peer copy write direct", {"0/0", "0/1"}, Band::large, 0.5, 0.1},
                  {Slower::Of::gpu, "peer copies", "", {"0/1"}, Band::middle, 0.25, 0.03},
                  {Slower::Of::test, "messages within", "", {}, Band::small, 0.125, 0.03}},
       .map = {{"peer copies", 0.75}, {"messages within", -0.25}},
       .missing = {1, 0},
       .unstable = 2,
       .unjudged = 1},
      {.map = {{"peer copies", 0.05}}},
      {},
      {.unstable = 3, .unjudged = 4},
      {}};
  fleet.equals.kinds = {{"twinlink-real 0.1.0, 2 x H100", 4, {}}, {"osu_bw 7", 1, {}}};
  fleet.equals.trials = 77;
  fleet.rows = {{.node = 0,
                 .state = State::slower,
                 .worst = 0.5,
                 .what = "peer copy write direct, large sizes",
                 .platform = AgainstPlatform{.slow = 2, .alone = 1, .curves = 9, .slowest = 0.25, .what = "it"},
                 .explanation = {.text = "link 'nvlink1' at 67 % of its bandwidth",
                                 .part = "nvlink1",
                                 .share = 0.667,
                                 .places = {"0/1"}}},
                {.node = 4, .state = State::slower, .worst = 0.2, .explanation = {.text = "messages within +20 %"}},
                {.node = 2, .state = State::unread},
                {.node = 3, .state = State::unjudged, .platform = AgainstPlatform{}},
                {.node = 1, .worst = 0.05, .platform = AgainstPlatform{.curves = 9}}};
  fleet.remarks = {"of all of them"};
  fleet.as_a_whole = {"one kind: as fast", "another: slower"};
  fleet.slow_as_a_whole = true;
  fleet.unexplained = 1;
  fleet.plan.became = {"", "", "", "", "slower since long"};
  fleet.rows[0].age = 3;
  return fleet;
}

TEST(FleetReport, IsAsItWas) {
  const Fleet fleet = sample();
  const report::Document between{report::Paragraph{"What stands between."}};
  const report::Document all = fleet_report(fleet, {.most_rows = 0, .drawings = 3}, between);
  test::expect_golden("fleet.markdown", to_markdown(all) + "\n" + test::drawn(all));
  test::expect_golden("fleet.txt", to_text(fleet_report(fleet, {.most_rows = 2})));
  test::expect_golden("fleet.json", fleet_json(fleet).dump(1) + "\n");
  test::expect_golden("fleet.xml", fleet_junit(fleet));
  EXPECT_THAT(fleet_junit(fleet), HasSubstr("tests=\"6\" failures=\"4\" errors=\"0\" skipped=\"1\""));
}

struct Gauge {
  std::string name;
  std::map<std::string, std::string> labels;
  double value;

  friend auto operator<=>(const Gauge&, const Gauge&) = default;
};

/// By OpenMetrics' rules for gauges: HELP, TYPE and UNIT of a family come before its samples, each once, the unit ends
/// the name, labels are quoted, no series comes twice, and "# EOF" is the end. Fails where the text breaks one.
std::vector<Gauge> samples_of(const std::string& text) {
  const std::regex line(R"re(([a-z_:][a-z0-9_:]*)\{((?:[a-z_]+="(?:[^"\\]|\\[\\"n])*",?)*)\} (\S+))re");
  const std::regex label(R"re(([a-z_]+)="((?:[^"\\]|\\.)*)")re");
  std::vector<Gauge> samples;
  std::set<std::string> told;
  std::string family;
  std::istringstream stream(text);
  bool ended = false;
  for (std::string each; std::getline(stream, each);) {
    EXPECT_FALSE(ended) << each;
    ended = each == "# EOF";
    std::smatch part;
    if (std::regex_match(each, part, std::regex("# (HELP|TYPE|UNIT) (\\S+) (.+)"))) {
      EXPECT_TRUE(told.insert(part.str(1) + part.str(2)).second) << each;
      if (part.str(1) == "HELP") family = part.str(2);
      EXPECT_EQ(part.str(2), family);
      EXPECT_TRUE(part.str(1) != "TYPE" || part.str(3) == "gauge") << each;
      EXPECT_TRUE(part.str(1) != "UNIT" || family.ends_with("_" + part.str(3))) << each;
    } else if (std::regex_match(each, part, line)) {
      EXPECT_EQ(part.str(1), family);
      Gauge& sample = samples.emplace_back(Gauge{part.str(1), {}, std::stod(part.str(3))});
      const std::string labels = part.str(2);
      for (std::sregex_iterator next(labels.begin(), labels.end(), label), end; next != end; ++next) {
        std::string& value = sample.labels[next->str(1)];
        const std::string quoted = next->str(2);
        for (std::size_t i = 0; i < quoted.size(); ++i) {
          const bool is_escaped = quoted[i] == '\\';
          if (is_escaped) ++i;
          value += is_escaped && quoted[i] == 'n' ? '\n' : quoted[i];
        }
      }
    } else {
      EXPECT_TRUE(ended) << each;
    }
  }
  EXPECT_TRUE(ended && text.ends_with("# EOF\n"));
  std::set<std::pair<std::string, std::map<std::string, std::string>>> series;
  for (const Gauge& each : samples) EXPECT_TRUE(series.emplace(each.name, each.labels).second) << each.name;
  return samples;
}

TEST(FleetReport, MetricsAreWhatACollectorTakes) {
  Fleet fleet = sample();
  const std::string odd = "be\"ta\\1\nof two";
  fleet.files.nodes[1].name = odd;
  const std::vector<Gauge> samples = samples_of(fleet_metrics(fleet));
  const auto holds = [&](const std::string& name, const std::map<std::string, std::string>& labels, double value) {
    return std::ranges::count(samples, Gauge{"twinlink_" + name, labels, value}) == 1;
  };
  EXPECT_TRUE(holds("node_slower", {{"node", "alpha"}, {"part", "nvlink1"}}, 1));
  EXPECT_TRUE(holds("node_slower", {{"node", "epsilon"}, {"part", ""}}, 1));
  EXPECT_TRUE(holds("node_slower", {{"node", odd}, {"part", ""}}, 0));
  EXPECT_TRUE(holds("node_unknown", {{"node", "gamma"}}, 1));
  EXPECT_TRUE(holds("node_unknown", {{"node", odd}}, 0));
  EXPECT_TRUE(holds("node_longer_ratio", {{"node", "alpha"}}, 0.5));
  EXPECT_TRUE(holds("node_part_bandwidth_ratio", {{"node", "alpha"}, {"part", "nvlink1"}}, 0.667));
  EXPECT_TRUE(holds("node_newest_result_timestamp_seconds", {{"node", "alpha"}}, 1795564800))
      << "date -u -d 2026-11-25";
  // Five of them, of two of which nobody knows how fast they are; one has a part, and one a date.
  EXPECT_EQ(samples.size(), 5U + 3U + 3U + 1U + 1U);
}

TEST(FleetReport, TheVerdictCounts) {
  Fleet fleet = sample();
  EXPECT_EQ(verdict_of(fleet),
            "Verdict: 2 of 5 nodes are slower; 1 slower than before; all are slower than the platform says; 1 could "
            "not be judged; 1 without "
            "a result. The worst: alpha GPU 1 (0000:2b:00.0): link 'nvlink1' at 67 % of its bandwidth.");
  fleet.slow_as_a_whole = false;
  fleet.rows.erase(fleet.rows.begin() + 1, fleet.rows.begin() + 4);
  fleet.rows[0].explanation.places.clear();
  EXPECT_EQ(verdict_of(fleet),
            "Verdict: 1 of 2 nodes is slower. The worst: alpha: link 'nvlink1' at 67 % of its bandwidth.");
  fleet.rows.erase(fleet.rows.begin());
  EXPECT_EQ(verdict_of(fleet), "Verdict: none of 1 nodes is slower than its equals.");
}

/// Of many nodes the worst twenty are told of, and of many remarks as many as of nodes.
TEST(FleetReport, OfManyNodesTheWorstAreTold) {
  Fleet fleet = sample();
  fleet.rows.assign(21, fleet.rows[1]);
  fleet.unexplained = 0;
  fleet.remarks.assign(30, "a remark");
  fleet.equals.nodes[4].slower.assign(7, {.test = "a test", .curve = "a curve"});
  const std::string few = to_text(fleet_report(fleet, {}));
  EXPECT_THAT(few, ::testing::AllOf(HasSubstr("And 1 more nodes: --report"),
                                    HasSubstr("And 1 more nodes that are slower."), HasSubstr("* and 15 more\n")));
  std::size_t curves = 0;  // six of each node
  for (std::size_t at = few.find("a curve"); at != std::string::npos; at = few.find("a curve", at + 1)) ++curves;
  EXPECT_EQ(curves, 20 * 6);
  const std::string all = to_text(fleet_report(fleet, {.most_rows = 0}));
  EXPECT_THAT(all, ::testing::Not(HasSubstr("And 1 more nodes: --report")));
  EXPECT_THAT(all, ::testing::Not(HasSubstr(" more\n")));
}

}  // namespace
}  // namespace twinlink::validate
