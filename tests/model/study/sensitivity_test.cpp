// How much a message's time depends on each number: closed forms of bulk messages.
#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/study/sensitivity.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/variation.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using ::testing::Contains;
using ::testing::Not;

Platform kids() { return read_platform("platforms/keeneland-kids.yaml"); }

Sensitivity of(const Platform& platform, const std::string& protocol, const std::vector<Place>& places, Bytes size) {
  const Protocol& which = find_protocol(protocol);
  return sensitivity_of(
      platform, timed({.protocol = &which, .settings = which.defaults(), .places = places, .sizes = {size}}, 2));
}

double percent(const Sensitivity& found, const std::string& path) {
  const auto influence = std::ranges::find(found.influences, path, &Influence::path);
  return influence == found.influences.end() ? 0 : influence->percent;
}

/// A peer copy of 64 MiB takes 13.7 us and size / 5296 MB/s, which is 12.7 ms.
TEST(Sensitivity, ABulkCopyGoesByTheRateThatLimitsIt) {
  const Sensitivity found = of(kids(), "gpudirect-v2", {{0, 1, {}}, {0, 2, {}}}, 64_MiB);
  ASSERT_FALSE(found.influences.empty());
  EXPECT_EQ(found.influences.front().path, "gpu_types.m2090.copies.peer.rate");
  EXPECT_NEAR(found.influences.front().percent, -1, 0.02);
  EXPECT_NEAR(percent(found, "gpu_types.m2090.copies.peer.latency"), 13.7 / found.time_us, 1e-4);
}

TEST(Sensitivity, ABulkMessageGoesByItsNarrowestLink) {
  Platform platform = kids();
  Link& link = *std::ranges::find(platform.node.links, "gpu1-pcie", &Link::name);
  link.forward.value = link.backward.value = Rate{1e9};
  const Sensitivity found = of(platform, "gpudirect-v2", {{0, 1, {}}, {0, 2, {}}}, 64_MiB);
  EXPECT_EQ(found.influences.front().path, "nodes.links.gpu1-pcie.bandwidth");
  EXPECT_NEAR(found.influences.front().percent, -1, 0.02);
  EXPECT_EQ(percent(found, "gpu_types.m2090.copies.peer.rate"), 0) << "wider than the link";
}

TEST(Sensitivity, WhatIsOffTheWayHasNone) {
  const Sensitivity found = of(kids(), "gpudirect-v2", {{0, 1, {}}, {0, 2, {}}}, 1_MiB);
  for (const std::string path : {"nodes.links.gpu0-pcie.bandwidth", "nodes.links.qpi.latency", "fabric.link",
                                 "mpi.network.control", "gpu_types.m2090.memory"}) {
    EXPECT_THAT(found.without, Contains(path));
    EXPECT_EQ(percent(found, path), 0) << path;
  }
}

TEST(Sensitivity, EveryNumberIsCountedOnce) {
  const Sensitivity found = of(kids(), "gpudirect-v1", {{0, 0, {}}, {1, 0, {}}}, 64_KiB);
  EXPECT_EQ(found.influences.size() + found.without.size() + found.refused.size(), Variations(kids()).numbers().size());
  EXPECT_TRUE(std::ranges::is_sorted(found.influences, std::ranges::greater{},
                                     [](const Influence& i) { return std::abs(i.percent); }));
}

/// The time of a message of 64 B is made of the costs of its steps, each of which counts with its share of it.
TEST(Sensitivity, OfASmallMessageTheSharesAddUpToItsTime) {
  const Sensitivity found = of(kids(), "host", {{0, 0, {}}, {1, 0, {}}}, 64_B);
  double sum = 0;
  for (const Influence& influence : found.influences) sum += std::abs(influence.percent);
  EXPECT_NEAR(sum, 1, 0.01);
}

TEST(Variations, APointOfACurveIsANumberOfItsOwn) {
  const Variations variations(kids());
  std::vector<std::string> paths;
  for (const VariableNumber& number : variations.numbers()) paths.push_back(number.path);
  EXPECT_THAT(paths, Contains("mpi.network.latency[16K]"));
  EXPECT_THAT(paths, Not(Contains("mpi.network.latency")));
  const auto index = static_cast<std::size_t>(std::ranges::find(paths, "mpi.network.latency[16K]") - paths.begin());
  const Platform changed = variations.with(index, 1.01);
  EXPECT_NEAR(changed.network.value().latency.value.at(16_KiB).value(), 5.13e-6 * 1.01, 1e-15);
  EXPECT_EQ(changed.network.value().latency.value.at(8_KiB).value(), 5.42e-6);
}

TEST(Variations, ASizeStaysAWholeNumberOfBytesAndChanges) {
  Platform platform = kids();
  platform.intra_node.eager_limit.value = 10_B;
  const Variations variations(platform);
  const auto found = std::ranges::find(variations.numbers(), "mpi.intra_node.eager_limit", &VariableNumber::path);
  const auto index = static_cast<std::size_t>(found - variations.numbers().begin());
  EXPECT_EQ(variations.with(index, 1.01).intra_node.eager_limit.value, 11_B);
  EXPECT_NEAR(variations.growth(index, 1.01), 0.1, 1e-12);
}

}  // namespace
}  // namespace twinlink::model
