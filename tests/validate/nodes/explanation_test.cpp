// What explains that a node is slow: by its tests alone, and by the parts of a platform.
#include "validate/nodes/explanation.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "tests/validate/nodes/made_up_fleet.hpp"
#include "tests/validate/scratch_folder.hpp"
#include "validate/primitives/primitive.hpp"

namespace twinlink::validate {
namespace {

using test::curve_of;
using test::file_with;
using test::fleet_of;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;
using Of = Slower::Of;

Slower slow(Of of, const std::string& what, double slower, Band band = Band::large,
            const std::vector<std::string>& places = {}) {
  return {.of = of,
          .test = what,
          .curve = of == Of::curve ? "curve of " + what : "",
          .places = places,
          .band = band,
          .slower = slower};
}

using Said = std::pair<std::string, std::vector<std::string>>;

Said said_of(const std::vector<Slower>& slower, const std::vector<std::string>& missing = {},
             const std::vector<std::string>& extra = {}) {
  Equals equals;
  HeldNode node{.slower = slower};
  const auto add = [&](const std::vector<std::string>& names, std::vector<std::size_t>& keys) {
    for (const std::string& name : names) {
      keys.push_back(equals.keys.size());
      equals.keys.push_back({.name = name, .from = fmt::format("0/{}", 9 - equals.keys.size()), .to = "0/9"});
    }
  };
  add(missing, node.missing);
  add(extra, node.extra);
  const Explanation explanation = explain_by_tests(equals, node);
  EXPECT_THAT(explanation.part, IsEmpty());
  return {explanation.text, explanation.places};
}

TEST(Explanation, OfWhatIsMissing) {
  const std::string write = "peer copy write direct";
  const std::string read = "peer copy read direct";
  const std::string staged = "peer copy write staged";
  EXPECT_EQ(said_of({}), Said("", {}));
  EXPECT_EQ(said_of({}, {write, read}), Said("lacks 2 measurements that its equals have", {}));
  EXPECT_EQ(said_of({slow(Of::test, "signals", 1)}, {write, read}, {staged}),
            Said("GPUs do not reach each other's memory: copies go through the host", {"0/8", "0/9"}));
  EXPECT_EQ(said_of({}, {"copy pinned-to-device near", staged}, {staged}),
            Said("lacks 2 measurements that its equals have", {}))
      << "none of them is a direct copy of peers";
  EXPECT_EQ(said_of({}, {write}, {read}), Said("lacks 1 measurements that its equals have", {}));
}

TEST(Explanation, ByTests) {
  const std::string host = "the host, its CPU or what runs beside: ";
  const std::string cpu = "calls of the CPU";
  // The way to the adapter: device messages between nodes alone.
  const Slower rdma = slow(Of::curve, "gpudirect-v3", 0.5, Band::large, {"0/2", "1/0"});
  EXPECT_EQ(said_of({slow(Of::test, "peer copies", 0.6), rdma}),
            Said("the way between a GPU and its adapter, which is a far one or is read across sockets: gpudirect-v3 "
                 "+50 % (large sizes)",
                 {"0/2"}));
  EXPECT_EQ(said_of({rdma, slow(Of::test, "messages between nodes", 0.2)}).first,
            "an adapter, its cable or its slot, for messages out of host memory are slow as well: gpudirect-v3 +50 % "
            "(large sizes)");
  EXPECT_EQ(said_of({rdma, slow(Of::curve, "host", 0.9, Band::large, {"0/2", "1/0"})}).first,
            said_of({rdma, slow(Of::test, "messages between nodes", 0.2)}).first);
  EXPECT_EQ(said_of({slow(Of::test, "gpudirect-v3", 0.5)}).second, std::vector<std::string>{});
  // The host: its CPU's tests alone, or its calls first, and no bytes.
  EXPECT_EQ(
      said_of({slow(Of::test, "messages within", 0.3, Band::small), slow(Of::test, "signals", 0.2, Band::middle)}),
      Said(host + "messages within +30 % (small sizes), signals +20 % (middle sizes)", {}));
  EXPECT_EQ(said_of({slow(Of::test, cpu, 0.4, Band::small), slow(Of::test, "peer copies", 0.3, Band::small)}).first,
            host + "calls of the CPU +40 % (small sizes), peer copies +30 % (small sizes)");
  for (const auto& slower :
       {std::vector{slow(Of::test, cpu, 0.4, Band::small), slow(Of::test, "peer copies", 0.3)},
        {slow(Of::test, "peer copies", 0.5, Band::small), slow(Of::test, cpu, 0.4, Band::small)}}) {
    EXPECT_THAT(said_of(slower).first, ::testing::Not(StartsWith(host)));
  }
  EXPECT_EQ(said_of({slow(Of::curve, cpu, 0.4, Band::small, {"0/1"})}),
            Said("curve of calls of the CPU +40 % (small sizes)", {"0/1"}))
      << "a single curve is not the host";
}

TEST(Explanation, ByWhatAGpuAloneHas) {
  const auto gpu = [](const std::string& place, double slower, const std::string& what = "peer copies") {
    return slow(Of::gpu, what, slower, Band::large, {place});
  };
  const Said of_five("what GPU 5 alone has: peer copies +50 % (large sizes), copies to the host +20 % (large sizes)",
                     {"0/5"});
  EXPECT_EQ(said_of({gpu("0/5", 0.5), gpu("0/4", 0.25), gpu("0/5", 0.2, "copies to the host")}), of_five)
      << "a peer may be slower by half of it";
  EXPECT_EQ(said_of({gpu("0/5", 0.5), gpu("0/4", 0.4, "another"), gpu("0/5", 0.2, "copies to the host")}), of_five)
      << "in another test it may be by more";
  EXPECT_EQ(said_of({gpu("0/5", 0.5), gpu("0/4", 0.26), slow(Of::test, "peer copies", 0.1)}),
            Said("peer copies +10 % (large sizes)", {}));
  EXPECT_EQ(said_of({gpu("0/5", 0.5), gpu("0/4", 0.26)}), Said("peer copies +50 % (large sizes)", {"0/5"}));
}

/// The mean of a test stands for its curves; one of a single curve is that. Of more than three their number.
TEST(Explanation, NamesThreeTestsAndHowManyMoreThereAre) {
  const std::vector<Slower> slower{slow(Of::test, "a", 0.4),
                                   slow(Of::curve, "a", 0.9),
                                   slow(Of::curve, "b", 0.3),
                                   slow(Of::test, "a", 0.25),
                                   slow(Of::test, "c", 0.2),
                                   slow(Of::test, "d", 0.1),
                                   slow(Of::gpu, "e", 0.1, Band::large, {"0/1"}),
                                   slow(Of::curve, "f", 0.1)};
  std::vector<Slower> without_gpus = slower;
  std::erase_if(without_gpus, [](const Slower& each) { return each.of == Of::gpu; });
  EXPECT_EQ(said_of(without_gpus),
            Said("a +40 % (large sizes), b +30 % (large sizes), c +20 % (large sizes), 2 more", {}));
  EXPECT_EQ(said_of({slow(Of::curve, "a", 0.9, Band::small, {"0/1", "0/2"}), slow(Of::curve, "b", 0.3)}),
            Said("curve of a +90 % (small sizes), curve of b +30 % (large sizes)", {"0/1", "0/2"}));
}

TEST(Explanation, TheMiddleOfAllIsAMachinesProbes) {
  FleetFiles files = fleet_of(5, [](std::size_t node) {
    const auto value = static_cast<double>(node);
    return std::vector{file_with({curve_of("peer copy write direct", {{1_KiB, value}, {1_MiB, 2 * value}}),
                                  curve_of("osu_bw", {{1_KiB, value}})}),
                       file_with({curve_of("copy device-to-device", {{1_KiB, value}}, "0/0", "")}, "", "other 1")};
  });
  const ProbeSet middle = middle_probes(hold_among_equals(files, {}), "tool 1, 2 x GPU");
  ASSERT_EQ(middle.probes.size(), 2U);
  for (const std::size_t i : {0U, 1U}) {
    const bench::ProbeLine& line = middle.probes[i].line;
    EXPECT_EQ(std::tuple(line.name, line.gpu, line.peer, line.size),
              std::tuple("peer copy write direct", "0/0", "0/1", i == 0 ? 1_KiB : 1_MiB));
    const bench::Statistics& time = line.time_us;
    for (const double figure : {time.median, time.min, time.max, time.p5, time.p95}) {
      EXPECT_THAT(figure, DoubleEq(std::exp(i == 0 ? 2 : 4)));
    }
  }
}

// --- By the parts of a platform --------------------------------------------------------------------------------------

std::filesystem::path platform_file(const std::string& name) {
  return std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms" / (name + ".yaml");
}

/// Six nodes whose probes take `times` as long as the platform says, and the third those of another machine.
Explanation explained(const std::filesystem::path& file, const platforms::Platform& ill,
                      const std::vector<NodeCurve>& lines, double times) {
  const platforms::Platform base = platforms::read_platform(file);
  const platforms::Topology healthy(base);
  const platforms::Topology sick(ill);
  FleetFiles files = fleet_of(6, [&](std::size_t node) {
    std::vector<NodeCurve> curves;
    for (NodeCurve curve : lines) {
      for (Bytes size = 4_KiB; size <= 64_MiB; size = size * 16) {
        std::string reason;
        const bench::ProbeLine line{.name = curve.name, .gpu = curve.from, .peer = curve.to, .size = size};
        const platforms::Topology& machine = node == 2 ? sick : healthy;
        const Seconds time = predict(find_primitive(line, machine, reason).value(), size, machine).value();
        curve.points.push_back({.size = size, .log_us = std::log(times * time.microseconds())});
      }
      curves.push_back(std::move(curve));
    }
    std::vector all{file_with(curves)};
    all[0].probes = true;
    return all;
  });
  const Equals equals = hold_among_equals(files, {});
  EXPECT_FALSE(equals.nodes[2].slower.empty());
  return explain(equals, equals.nodes[2], file, 0.03);
}

/// The platform need not be right: what counts is how much longer than its equals the node takes.
TEST(Explanation, ALinkIsFoundAtItsGpu) {
  platforms::Platform ill = platforms::read_platform(platform_file("workstation"));
  ASSERT_TRUE(platforms::degrade(ill, "pcie1", 0.5, "a test"));
  const std::vector lines{curve_of("copy pinned-to-device near", {}, "0/0", ""),
                          curve_of("copy pinned-to-device near", {}, "0/1", ""),
                          curve_of("peer copy write direct", {}, "0/0", "0/1")};
  const Explanation found = explained(platform_file("workstation"), ill, lines, 1.3);
  EXPECT_THAT(found.text, StartsWith("link 'pcie1' at 50 % of its bandwidth"));
  EXPECT_EQ(found.part, "pcie1");
  EXPECT_NEAR(found.share, 0.5, 1e-3);
  EXPECT_THAT(found.places, ElementsAre("0/1"));
  ASSERT_EQ(found.way.size(), 1U);
  EXPECT_EQ(found.way[0].from.name, "gpu1");
  EXPECT_EQ(found.way[0].to.name, "socket0");
}

TEST(Explanation, ALinkBetweenTwoGpusIsFoundAtBoth) {
  platforms::Platform ill = platforms::read_platform(platform_file("summit-node"));
  const auto between = std::ranges::find_if(
      ill.node.links, [](const platforms::Link& link) { return link.from == "gpu0" && link.to == "gpu1"; });
  ASSERT_NE(between, ill.node.links.end());
  const std::string name = between->name;
  ASSERT_TRUE(platforms::degrade(ill, name, 0.5, "a test"));
  const std::vector lines{curve_of("peer copy write direct", {}, "0/0", "0/1"),
                          curve_of("peer copy write direct", {}, "0/1", "0/0"),
                          curve_of("peer copy write direct", {}, "0/1", "0/2")};
  const Explanation found = explained(platform_file("summit-node"), ill, lines, 1);
  EXPECT_EQ(found.part, name);
  EXPECT_THAT(found.places, ElementsAre("0/0", "0/1"));
}

/// Messages that start late are not those of a link that lacks bandwidth.
TEST(Explanation, AFarAdapterIsFoundByItsMessages) {
  platforms::Platform base = platforms::read_platform(platform_file("dgx-a100"));
  const auto between = std::ranges::find(base.node.links, "xgmi", &platforms::Link::name);
  ASSERT_NE(between, base.node.links.end());
  between->latency = {.value = Seconds{10e-6}, .source = {platforms::Quality::assumed, "a test"}};
  const test::ScratchFolder folder;
  const std::filesystem::path file = folder.write("base.yaml", platform_text(base));
  platforms::Platform ill = base;
  ill.node.gpus[0].nic = ill.node.gpus[7].nic;
  const std::vector lines{curve_of("message pinned other-node", {}, "0/0", "1/0", "messages between nodes"),
                          curve_of("message pinned other-node", {}, "0/1", "1/1", "messages between nodes")};
  const Explanation found = explained(file, ill, lines, 1);
  EXPECT_THAT(found.text, HasSubstr("messages of GPU 0 take the way of the far adapter 'hca"));
  EXPECT_THAT(found.text, HasSubstr("and not of its own '" + base.node.gpus[0].nic + "'"));
  EXPECT_THAT(found.text, StartsWith("host buffers of GPU 0 lie in ")) << "no copy of host memory tells the two apart";
  EXPECT_THAT(found.part, IsEmpty()) << "no part lacks anything";
  EXPECT_THAT(found.places, ElementsAre("0/0"));
}

/// Of calls of the CPU no part is looked for.
TEST(Explanation, WhereNoPartCountsTheTestsDo) {
  FleetFiles files = fleet_of(6, [](std::size_t node) {
    return std::vector{file_with(
        {curve_of("start copy pinned-to-device near", {{4_KiB, node == 2 ? 1 : 0}}, "0/0", "", "calls of the CPU")})};
  });
  const Equals equals = hold_among_equals(files, {});
  EXPECT_EQ(explain(equals, equals.nodes[2], platform_file("workstation"), 0.03).text,
            "start copy pinned-to-device near +172 % (small sizes)");
}

}  // namespace
}  // namespace twinlink::validate
