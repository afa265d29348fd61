// What differs between two platforms is found, and nothing else.
#include <algorithm>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/difference.hpp"

namespace twinlink::model {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

Platform kids(const std::vector<std::string>& overrides = {}) {
  return read_platform("platforms/keeneland-kids.yaml", overrides);
}

std::vector<std::string> paths(const std::vector<NumberDifference>& numbers) {
  std::vector<std::string> all;
  for (const NumberDifference& number : numbers) all.push_back(number.path);
  return all;
}

TEST(Difference, OfAPlatformWithItselfIsNone) {
  for (const std::string name : {"keeneland-kids", "keeneland-kfs", "keeneland-kfs-rdma", "h200-nvlink"}) {
    const Platform platform = read_platform("platforms/" + name + ".yaml");
    EXPECT_TRUE(difference_of(platform, platform).none()) << name;
  }
}

TEST(Difference, OfOneNumberIsThatNumber) {
  const PlatformDifference found = difference_of(kids(), kids({"nodes.links.qpi.forward=22.8 GB/s"}));
  ASSERT_THAT(paths(found.numbers), ElementsAre("nodes.links.qpi.forward"));
  EXPECT_FALSE(found.none());
  EXPECT_DOUBLE_EQ(found.numbers[0].a->value, 11.4e9);
  EXPECT_DOUBLE_EQ(found.numbers[0].b->value, 22.8e9);
  EXPECT_THAT(found.only_a, IsEmpty());
  EXPECT_THAT(found.words, IsEmpty());
}

TEST(Difference, APartIsNamedOnceWithoutItsNumbers) {
  Platform without = kids();
  std::erase_if(without.node.links, [](const Link& link) { return link.name == "qpi"; });
  const PlatformDifference found = difference_of(kids(), without);
  EXPECT_THAT(found.only_a, ElementsAre("nodes.links.qpi"));
  EXPECT_THAT(found.only_b, IsEmpty());
  EXPECT_THAT(found.numbers, IsEmpty());
  const PlatformDifference turned = difference_of(without, kids());
  EXPECT_THAT(turned.only_a, IsEmpty());
  EXPECT_THAT(turned.only_b, ElementsAre("nodes.links.qpi"));
  EXPECT_THAT(turned.numbers, IsEmpty());
}

TEST(Difference, WiringAndCountsAreWords) {
  Platform other = kids({"nodes.count=4"});
  std::ranges::find(other.node.links, "hca0-pcie", &Link::name)->to = "ioh1";
  const PlatformDifference found = difference_of(kids(), other);
  EXPECT_THAT(found.numbers, IsEmpty());
  ASSERT_EQ(found.words.size(), 2U);
  EXPECT_EQ(found.words[0].path, "nodes.count");
  EXPECT_EQ(found.words[0].a, "120");
  EXPECT_EQ(found.words[0].b, "4");
  EXPECT_EQ(found.words[1].path, "nodes.links.hca0-pcie.to");
}

TEST(Difference, ANumberThatOneLacksHasOneSide) {
  const PlatformDifference found = difference_of(kids(), kids({"driver.runtime.completion=1 us"}));
  ASSERT_THAT(paths(found.numbers), ElementsAre("driver.runtime.completion"));
  EXPECT_FALSE(found.numbers[0].a.has_value());
  EXPECT_DOUBLE_EQ(found.numbers[0].b->value, 1e-6);
}

TEST(Difference, NamesAndSourcesMakeNone) {
  Platform other = kids();
  other.name = "other";
  other.node.links.front().forward.source = {Quality::assumed, "another source"};
  EXPECT_TRUE(difference_of(kids(), other).none());
}

TEST(Difference, EachPointOfACurveCounts) {
  const PlatformDifference found = difference_of(kids(), kids({"mpi.network.latency=1 us"}));
  EXPECT_THAT(paths(found.numbers), Contains("mpi.network.latency[16K]"));
}

}  // namespace
}  // namespace twinlink::model
