// What another eager limit than the file's makes of the latencies that were measured with that one.
#include <algorithm>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"

namespace twinlink::platforms {
namespace {

const std::filesystem::path kFolder = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms";

/// Neighbours of all powers of two, and of the points of the curve.
std::vector<Bytes> sizes_of(const NetworkCosts& costs) {
  constexpr std::uint64_t kMost = std::uint64_t{1} << 26U;
  std::vector<Bytes> sizes;
  const auto add = [&](Bytes size) {
    for (const std::uint64_t near : {size.count() - 1, size.count(), size.count() + 1}) sizes.emplace_back(near);
  };
  for (Bytes size{1}; size < Bytes{kMost}; size = size * 2) add(size);
  for (const Piecewise::Knot& knot : costs.latency.value.knots()) {
    if (knot.size > Bytes{}) add(knot.size);
  }
  std::ranges::sort(sizes);
  return sizes;
}

Seconds time_of(const NetworkCosts& costs, Bytes size, Rate rate, Seconds asking) {
  return costs.latency_asking(size, asking) + size / rate;
}

/// For every limit, and a round trip as the file has it and three times as long. Returns how many steps it has seen.
std::size_t expect_rising(const std::string& what, const NetworkCosts& file, Rate rate) {
  std::size_t steps = 0;
  const std::vector<Bytes> sizes = sizes_of(file);
  for (Bytes limit{16}; limit <= Bytes{std::uint64_t{1} << 24U}; limit = limit * 2) {
    NetworkCosts changed = file;
    changed.latency_limit = file.eager_limit;
    changed.eager_limit.value = limit;
    for (const double trips : {2.0, 6.0}) {
      const Seconds asking = file.control.value * trips;
      for (std::size_t i = 1; i < sizes.size(); ++i) {
        const auto rise = [&](const NetworkCosts& costs) {
          return time_of(costs, sizes[i], rate, asking) - time_of(costs, sizes[i - 1], rate, asking);
        };
        ++steps;
        EXPECT_GE(rise(changed).value(), std::min(rise(file).value(), 0.0) - 1e-15)
            << what << ", limit " << limit.count() << ", at " << sizes[i].count() << " B";
      }
    }
  }
  return steps;
}

TEST(EagerLimits, TimesRiseOverTheSizeWhereverTheFilesDo) {
  std::size_t steps = 0;
  for (const auto& entry : std::filesystem::directory_iterator(kFolder)) {
    if (entry.path().extension() != ".yaml") continue;
    const Platform platform = read_platform(entry.path());
    const std::string name = entry.path().stem().string();
    if (platform.network) {
      steps += expect_rising(name + ", between nodes", *platform.network, platform.fabric->link.value);
    }
    const auto& own = platform.intra_node.rate;
    steps += expect_rising(name + ", within nodes", platform.intra_node, own ? own->value : Rate{1e10});
  }
  EXPECT_GT(steps, 50'000U);
}

/// What asking takes comes on top up to the next point that was measured with it, and goes off down to the limit.
TEST(EagerLimits, MoveWhatAskingTakes) {
  NetworkCosts costs;
  costs.latency.value = Piecewise({{1_KiB, 1.0_us}, {4_KiB, 2.5_us}, {8_KiB, 5.5_us}, {64_KiB, 2.0_us}});
  const auto expect = [&](Bytes measured_with, Bytes limit, const std::vector<std::pair<Bytes, double>>& times) {
    costs.latency_limit = Sourced<Bytes>{.value = measured_with};
    costs.eager_limit.value = limit;
    for (const auto& [size, time] : times) {
      EXPECT_NEAR(costs.latency_asking(size, 2.0_us).microseconds(), time, 1e-9)
          << measured_with.count() << " " << limit.count() << " " << size.count();
    }
  };
  expect(4_KiB, 4_KiB, {{1_KiB, 1}, {4_KiB, 2.5}, {6_KiB, 4}, {8_KiB, 5.5}, {64_KiB, 2}});
  expect(4_KiB, 64_KiB, {{1_KiB, 1}, {4_KiB, 2.5}, {5_KiB, 2.5}, {8_KiB, 3.5}, {64_KiB, 2}});
  expect(4_KiB, 6_KiB, {{6_KiB, 2.5}, {6_KiB + 1_B, 4.000732421875}, {8_KiB, 5.5}});
  expect(4_KiB, 1_KiB, {{1_KiB, 1}, {2_KiB, 3.5}, {4_KiB, 4.5}, {6_KiB, 5.5}, {8_KiB, 5.5}, {64_KiB, 2}});
  expect(64_KiB, 1_KiB, {{2_KiB, 2}, {8_KiB, 5.5}, {64_KiB, 2}});
  costs.latency_limit.reset();
  EXPECT_EQ(costs.latency_asking(6_KiB, 2.0_us), costs.latency.value.at(6_KiB)) << "measured with the limit itself";
}

TEST(EagerLimits, TheFilesOwnLimitChangesNothing) {
  const Platform plain = read_platform(kFolder / "selene.yaml");
  const Platform same =
      read_platform(kFolder / "selene.yaml", std::vector<std::string>{"mpi.network.eager_limit=8 KiB"});
  for (const Bytes size : sizes_of(*plain.network)) {
    EXPECT_EQ(same.network->latency_asking(size, Seconds{5e-6}), plain.network->latency.value.at(size)) << size.count();
  }
}

}  // namespace
}  // namespace twinlink::platforms
