// Ways that a platform forces.
#include "platforms/topology/ways.hpp"

#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/topology/topology.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::platforms {
namespace {

/// The sample machine with a second, narrower way from gpu0 to its memory, by a hub of its own, and a second link
/// between the sockets.
Platform with_detour() {
  Platform platform = testing::sample_platform();
  Node& node = platform.node;
  const auto add = [&](const std::string& name, const std::string& from, const std::string& to) {
    node.links.push_back(
        {.name = name, .from = from, .to = to, .forward = {.value = Rate{1e9}}, .backward = {.value = Rate{1e9}}});
  };
  node.hubs.push_back({.name = "detour"});
  add("there", "gpu0", "detour");
  add("on", "detour", "memory0");
  add("slow", "memory0", "memory1");
  return platform;
}

std::string way(const Platform& platform, const std::string& from, const std::string& to,
                Traffic traffic = Traffic::host) {
  const Topology topology(platform);
  return topology.describe(from, topology.route(from, to, traffic));
}

TEST(ForcedWays, AreTakenInBothDirections) {
  Platform platform = with_detour();
  EXPECT_EQ(way(platform, "gpu0", "memory0"), "gpu0 -> hub0 -> memory0");
  platform.node.ways = {{.name = "slowly", .from = "gpu0", .to = "memory0", .via = {"detour"}}};
  EXPECT_EQ(way(platform, "gpu0", "memory0"), "gpu0 -> detour -> memory0");
  EXPECT_EQ(way(platform, "memory0", "gpu0"), "memory0 -> detour -> gpu0");
  EXPECT_EQ(way(platform, "gpu0", "memory1"), "gpu0 -> hub0 -> memory0 -> memory1") << "no other one";
}

TEST(ForcedWays, TheOtherDirectionMayHaveItsOwn) {
  Platform platform = with_detour();
  platform.node.ways = {{.name = "slowly", .from = "gpu0", .to = "memory0", .via = {"detour"}},
                        {.name = "back", .from = "memory0", .to = "gpu0", .via = {"hub0"}}};
  EXPECT_EQ(way(platform, "gpu0", "memory0"), "gpu0 -> detour -> memory0");
  EXPECT_EQ(way(platform, "memory0", "gpu0"), "memory0 -> hub0 -> gpu0");
}

TEST(ForcedWays, NameTheLinkWhereThereAreSeveral) {
  Platform platform = with_detour();
  const auto width = [&] { return Ways(platform.node).find("gpu0", "memory1", Traffic::host)->width; };
  EXPECT_EQ(width(), Rate{8e9});
  platform.node.ways = {{.name = "slowly", .from = "gpu0", .to = "memory1", .via = {"hub0", "memory0", "slow"}}};
  EXPECT_EQ(width(), Rate{1e9});
  platform.node.ways.front().via = {"hub0", "memory0"};
  EXPECT_EQ(width(), Rate{8e9}) << "the widest of them";
}

TEST(ForcedWays, OfPeersForwardWhatTheyPass) {
  Platform platform = testing::sample_platform();
  platform.node.ways = {{.name = "up", .from = "gpu1", .to = "gpu0", .via = {"hub1", "memory1", "memory0", "hub0"}}};
  const Ways ways(platform.node);
  EXPECT_NE(ways.find("gpu1", "gpu0", Traffic::host), nullptr);
  EXPECT_EQ(ways.find("gpu1", "gpu0", Traffic::peers), nullptr) << "memories forward nothing";
  for (HostMemory& memory : platform.node.memories) memory.passing.forwards = Forwards::all;
  EXPECT_EQ(way(platform, "gpu0", "gpu1", Traffic::peers), "gpu0 -> hub0 -> memory0 -> memory1 -> hub1 -> gpu1");
}

/// What ACS makes of peers below one switch.
TEST(ForcedWays, MayGoUpAndDownAgain) {
  Platform platform = testing::sample_platform();
  EXPECT_EQ(way(platform, "gpu1", "gpu2", Traffic::peers), "gpu1 -> hub1 -> gpu2");
  platform.node.ways = {{.name = "acs", .from = "gpu1", .to = "gpu2", .via = {"hub1", "memory1", "hub1"}}};
  platform.node.memories[1].passing.forwards = Forwards::all;
  EXPECT_EQ(way(platform, "gpu1", "gpu2", Traffic::peers), "gpu1 -> hub1 -> memory1 -> hub1 -> gpu2");
  EXPECT_EQ(way(platform, "gpu2", "gpu1", Traffic::peers), "gpu2 -> hub1 -> memory1 -> hub1 -> gpu1");
}

TEST(ForcedWays, SayWhatIsWrongWithThem) {
  const Node node = with_detour().node;
  const auto wrong = [&](const std::string& to, const std::vector<std::string>& via) {
    return follow(node, {.name = "way", .from = "gpu0", .to = to, .via = via}).wrong;
  };
  EXPECT_EQ(wrong("memory0", {"detour"}), "");
  EXPECT_EQ(wrong("memory0", {"bus0", "hub0"}), "");
  EXPECT_EQ(wrong("memory0", {}), "no link joins 'gpu0' and 'memory0'");
  EXPECT_EQ(wrong("memory0", {"hub1"}), "no link joins 'gpu0' and 'hub1'");
  EXPECT_EQ(wrong("memory0", {"bus1"}), "link 'bus1' does not end at 'gpu0'");
  EXPECT_EQ(wrong("memory0", {"detuor"}), "there is no hub, memory or link 'detuor'; did you mean 'detour'?");
  EXPECT_EQ(wrong("memory0", {"hub0", "detour"}), "no link joins 'hub0' and 'detour'");
  EXPECT_EQ(wrong("memory1", {"hub0", "memory0", "detour", "memory0", "detour"}),
            "it crosses 'on' twice in one direction");
  EXPECT_EQ(wrong("memory1", {"hub0", "nic"}), "'nic0' is neither a hub nor a memory, so nothing passes it");
  EXPECT_EQ(wrong("memory0", {"hub0", "memory0", "detour"}), "'memory0' is its end");
}

/// A GPU and a memory, and links of 1 GB/s between these and hubs.
Node made(const std::vector<std::string>& hubs, const std::vector<std::pair<std::string, std::string>>& links) {
  Node node;
  node.memories = {{.name = "memory"}};
  node.gpus = {{.name = "gpu"}};
  for (const std::string& hub : hubs) node.hubs.push_back({.name = hub});
  for (const auto& [from, to] : links) {
    node.links.push_back({.name = from + "-" + to,
                          .from = from,
                          .to = to,
                          .forward = {.value = 1.0_GBps},
                          .backward = {.value = 1.0_GBps}});
  }
  return node;
}

/// "gpu a memory", or with the other way behind a '|'.
std::string both(const Node& node, const std::string& from, const std::string& to) {
  const Ways ways(node);
  const Way* const way = ways.find(from, to, Traffic::host);
  if (way == nullptr) return "none";
  const auto text = [&](const Route& route) {
    std::string names = from;
    std::string here = from;
    for (const Hop& hop : route) {
      const Link& link = node.links[hop.link];
      EXPECT_EQ(here, hop.forward ? link.from : link.to) << "where the last one has ended";
      here = hop.forward ? link.to : link.from;
      names += " " + here;
    }
    return names;
  };
  return text(way->route) + (way->other ? " | " + text(*way->other) : "");
}

TEST(OtherWays, GoOnBehindTheForkLinkByLink) {
  const Node node =
      made({"a", "left", "right", "b", "c"},
           {{"gpu", "a"}, {"a", "left"}, {"right", "a"}, {"left", "b"}, {"right", "b"}, {"c", "b"}, {"c", "memory"}});
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu a left b c memory | gpu a right b c memory");
  EXPECT_EQ(both(node, "memory", "gpu"), "memory c b left a gpu | memory c b right a gpu");
}

TEST(OtherWays, AreAsShortAndAsWide) {
  Node node = made({"one", "two", "three", "far", "off"}, {{"gpu", "one"},
                                                           {"gpu", "two"},
                                                           {"gpu", "three"},
                                                           {"one", "memory"},
                                                           {"two", "memory"},
                                                           {"three", "memory"},
                                                           {"gpu", "far"},
                                                           {"far", "off"},
                                                           {"off", "memory"}});
  const auto widen = [&](std::size_t link, Rate rate) { node.links[link].forward.value = rate; };
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu one memory | gpu two memory") << "the first of two others";
  for (const std::size_t link : {1U, 4U}) widen(link, 2.0_GBps);
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu two memory") << "none is as wide";
  EXPECT_EQ(both(node, "memory", "gpu"), "memory one gpu | memory two gpu") << "the other direction is as it was";
  for (const std::size_t link : {2U, 5U}) widen(link, 2.0_GBps);
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu two memory | gpu three memory");
  node.links[4].total = Sourced<Rate>{.value = 1.5_GBps};
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu three memory") << "both ways together it has less";
  for (const std::size_t link : {6U, 7U, 8U}) widen(link, 9.0_GBps);
  EXPECT_EQ(both(node, "gpu", "memory"), "gpu three memory") << "fewer hops come first";
  EXPECT_EQ(both(node, "gpu", "far"), "none") << "hubs are no ends";
  EXPECT_EQ(both(node, "gpu", "elsewhere"), "none");
}

TEST(Hops, AreCountedToMemoriesGpusAndAdapters) {
  const Platform platform = testing::sample_platform();
  using Hops = std::map<std::string_view, std::size_t>;
  EXPECT_EQ(Ways(platform.node).hops_from("gpu0"),
            (Hops{{"gpu0", 0}, {"memory0", 2}, {"nic0", 2}, {"memory1", 3}, {"gpu1", 5}, {"gpu2", 5}}));
  EXPECT_EQ(Ways(platform.node).hops_from("hub1"),
            (Hops{{"gpu1", 1}, {"gpu2", 1}, {"memory1", 1}, {"memory0", 2}, {"gpu0", 4}, {"nic0", 4}}));
  EXPECT_EQ(Ways(platform.node).hops_from("nowhere"), Hops{});
}

}  // namespace
}  // namespace twinlink::platforms
