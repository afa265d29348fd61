// On every machine: a message's time changes with each number on its way in the right direction, and with none off it.
#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/study/sensitivity.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

const std::vector<std::string> kSome{"keeneland-kids", "dgx1-v100", "hgx-h100"};

std::vector<std::string> others() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(TWINLINK_SOURCE_DIR "/platforms")) {
    const std::string name = entry.path().stem().string();
    // Each number is a simulation, and seventy-two GPUs have many hundreds.
    const bool other = std::ranges::find(kSome, name) == kSome.end() && name != "gb200-nvl72";
    if (entry.path().extension() == ".yaml" && other) names.push_back(name);
  }
  std::ranges::sort(names);
  return names;
}

constexpr Bytes kSize = 256_KiB;

/// Names of the links that a message staged through host memory crosses.
std::set<std::string> links_on_the_way(const Platform& platform, const Place& from, const Place& to) {
  const Topology topology(platform);
  const auto gpu = [&](const Place& place) { return Location{Location::Kind::gpu, topology.gpu_of(place)}; };
  const auto memory = [&](const Place& place) {
    return Location{Location::Kind::memory, topology.memory_near(topology.gpu_of(place))};
  };
  std::vector<Route> ways{topology.copy_route(gpu(from), memory(from)), topology.copy_route(memory(to), gpu(to))};
  if (from.node == to.node) {
    ways.push_back(topology.copy_route(memory(from), memory(to)));
  } else {
    for (const Adapters& nics :
         topology.adapters(Location::Kind::memory, topology.gpu_of(from), topology.gpu_of(to), kSize)) {
      ways.push_back(topology.to_nic_route(memory(from), nics.from));
      ways.push_back(topology.from_nic_route(nics.to, memory(to)));
    }
  }
  std::set<std::string> names;
  for (const Route& way : ways) {
    for (const Hop& hop : way) names.insert(platform.node.links[hop.link].name);
  }
  return names;
}

/// "pcie0" of "nodes.links.pcie0.latency"; empty for other numbers.
std::string link_of(const std::string& path) {
  constexpr std::string_view kLinks = "nodes.links.";
  if (!path.starts_with(kLinks)) return {};
  return path.substr(kLinks.size(), path.rfind('.') - kLinks.size());
}

class Elasticity : public ::testing::TestWithParam<std::string> {};

TEST_P(Elasticity, TimesFollowWhatIsOnTheWayAndNothingElse) {
  const Platform platform = read_platform(std::string(TWINLINK_SOURCE_DIR "/platforms/") + GetParam() + ".yaml");
  const Place from{0, 0, {}};
  const Place to = Topology(platform).places().back();
  const Protocol& staging = find_protocol("staging");
  const Sensitivity found = sensitivity_of(
      platform,
      timed({.protocol = &staging, .settings = staging.defaults(), .places = {from, to}, .sizes = {kSize}}, 2));
  // What the simulator's clock and whole bytes round off.
  constexpr double kNothing_percent = 1e-4;
  const std::set<std::string> on_the_way = links_on_the_way(platform, from, to);
  std::set<std::string> with_latency;
  for (const Influence& influence : found.influences) {
    const bool is_rate = influence.path.ends_with("rate") || influence.path.ends_with("bandwidth") ||
                         influence.path.ends_with("forward") || influence.path.ends_with("backward") ||
                         influence.path.ends_with("link") || influence.path.ends_with("dma_read") ||
                         influence.path.ends_with("dma_write") || influence.path.ends_with("speed");
    const bool is_size = influence.path.ends_with("eager_limit") || influence.path.ends_with("cache") ||
                         influence.path.ends_with("striped_from");
    if (is_rate) {
      EXPECT_LE(influence.percent, kNothing_percent) << influence.path;
    } else if (!is_size) {
      EXPECT_GE(influence.percent, -kNothing_percent) << influence.path;
    }
    const std::string link = link_of(influence.path);
    if (link.empty()) continue;
    EXPECT_TRUE(on_the_way.contains(link)) << influence.path << " is off the way";
    if (influence.path.ends_with(".latency")) with_latency.insert(link);
  }
  for (const std::string& name : on_the_way) {
    const Link& link = *std::ranges::find(platform.node.links, name, &Link::name);
    EXPECT_EQ(link.latency && link.latency->value > Seconds{}, with_latency.contains(name)) << name;
  }
}

std::string test_name(const ::testing::TestParamInfo<std::string>& test) {
  std::string name = test.param;
  std::ranges::replace(name, '-', '_');
  return name;
}

INSTANTIATE_TEST_SUITE_P(Some, Elasticity, ::testing::ValuesIn(kSome), test_name);
INSTANTIATE_TEST_SUITE_P(Others, Elasticity, ::testing::ValuesIn(others()), test_name);

}  // namespace
}  // namespace twinlink::model
