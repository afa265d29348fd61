// Which numbers of a platform a part that is slower changes, each by its path: these, and no others.
#include "platforms/machine/degraded.hpp"

#include <algorithm>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

using testing::whole_platform;

/// The paths of what has changed, to a quarter of what it was; those that are new begin with '+'.
std::string changed(const Platform& before, const std::string& part) {
  Platform after = before;
  if (!degrade(after, part, 0.25, "a test")) return "no such part";
  const std::vector<NumberEntry> numbers = all_numbers(before);
  std::vector<std::string> paths;
  for (const NumberEntry& now : all_numbers(after)) {
    const auto was = std::ranges::find(numbers, now.path, &NumberEntry::path);
    if (was != numbers.end() && was->value == now.value && was->source == now.source) continue;
    const double full = was == numbers.end() ? before.fabric->link.value.bytes_per_second() : was->value;
    EXPECT_DOUBLE_EQ(now.value, full / 4) << now.path;
    EXPECT_EQ(now.source, (Source{Quality::assumed, "a test"})) << now.path;
    paths.push_back((was == numbers.end() ? "+" : "") + now.path);
  }
  return fmt::format("{}", fmt::join(paths, " "));
}

std::string rates_of(const std::string& link, const std::vector<std::string>& keys = {"forward", "backward"}) {
  std::vector<std::string> paths;
  for (const std::string& key : keys) paths.push_back(fmt::format("{}.{}", link, key));
  return fmt::format("{}", fmt::join(paths, " "));
}

TEST(Degraded, PartsChangeTheirOwnRatesAndThoseOfLinksThatEndAtThem) {
  const std::string links = "nodes.links.";
  const std::string bus0 = rates_of(links + "bus0", {"forward", "backward", "total", "dma_read", "dma_write",
                                                     "peer_read", "peer_write"});  // not what one transfer gets
  for (const auto& [part, paths] : std::vector<std::pair<std::string, std::string>>{
           {"bus0", bus0},
           {"gpu0", bus0},
           {"gpu1", rates_of(links + "bus1")},
           {"hub0", rates_of("nodes.hubs.hub0", {"reduces", "peer_read", "peer_write", "duplex"}) + " " + bus0 + " " +
                        rates_of(links + "up0") + " " + rates_of(links + "nic0")},
           {"hub1", rates_of(links + "bus1") + " " + rates_of(links + "up1") + " " + rates_of(links + "nic1")},
           {"numa0", "nodes.memories.numa0.copy_rate nodes.memories.numa0.bandwidth"},
           {"numa1", "nodes.memories.numa1.copy_rate"},
           {"hca0", "nodes.nics.hca0.link"},
           {"hca1", "+nodes.nics.hca1.link"},
           {"odd-bus0", rates_of("kinds.odd.nodes.links.bus0")},
           {"odd-gpu0", rates_of("kinds.odd.nodes.links.bus0")},
           {"odd-hca0", "+kinds.odd.nodes.nics.hca0.link"},
           {"odd-bus1", "no such part"},
           {"even-bus0", "no such part"},
           {"slowly", "no such part"}}) {
    EXPECT_EQ(changed(whole_platform(), part), paths) << part;
  }
}

TEST(Degraded, AdaptersWithoutAFabricAreTheirLinks) {
  Platform platform = whole_platform();
  platform.fabric.reset();
  EXPECT_EQ(changed(platform, "hca0"), rates_of("nodes.links.nic0"));
}

TEST(Degraded, OfPartsThatAreOneFaultEachRateShrinksOnce) {
  Platform platform = whole_platform();
  const Rate before = platform.node.links[0].forward.value;
  std::set<const void*> shrunk;
  for (const char* part : {"hub0", "bus0", "gpu0", "hca0", "hca0"}) {
    EXPECT_TRUE(degrade(platform, part, 0.5, "a test", shrunk));
  }
  EXPECT_EQ(platform.node.links[0].forward.value, Rate{before.bytes_per_second() / 2});
  EXPECT_EQ(platform.node.nics[0].port_share, 0.5);
}

TEST(Degraded, SharesOfAPortMultiply) {
  Platform platform = whole_platform();
  for (int i = 0; i < 2; ++i) EXPECT_TRUE(degrade(platform, "hca0", 0.5, "a test"));
  EXPECT_EQ(platform.node.nics[0].port_share, 0.25);
  EXPECT_EQ(platform.node.nics[0].link->value, Rate{2.75e9});
  EXPECT_EQ(platform.node.nics[1].port_share, 1);
}

TEST(Degraded, PartsHaveNamesInTheOrderOfTheFile) {
  EXPECT_EQ(fmt::format("{}", fmt::join(degradable_parts(whole_platform()), " ")),
            "bus0 bus1 up0 up1 nic0 nic1 qpi old-qpi gpu0 gpu1 hca0 hca1 hub0 hub1 numa0 numa1 odd-bus0 odd-nic0 "
            "odd-gpu0 odd-hca0 odd-numa0");
  Node node = whole_platform().node;
  const auto links = [&](const std::string& part) {
    std::vector<std::string> names;
    for (const std::size_t link : links_of(node, part)) names.push_back(node.links[link].name);
    return fmt::format("{}", fmt::join(names, " "));
  };
  EXPECT_EQ(links("hub1"), "bus1 up1 nic1");
  EXPECT_EQ(links("hca0"), "nic0");
  EXPECT_EQ(links("gpu1"), "bus1");
  EXPECT_EQ(links("qpi"), "qpi");
  EXPECT_EQ(links("numa0"), "") << "a memory is no link";
  node.links[7].name = "gpu1";
  EXPECT_EQ(links("gpu1"), "gpu1") << "a link of that name comes first";
}

}  // namespace
}  // namespace twinlink::platforms
