// Every number of a platform may change alone: by a hundredth, and no other one with it.
#include "platforms/tools/variation.hpp"

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/machine/platform_numbers.hpp"
#include "tests/platforms/whole_platform.hpp"

namespace twinlink::platforms {
namespace {

using testing::whole_platform;

std::vector<std::string> paths_of(const Platform& a, const Platform& b) {
  const std::vector<NumberEntry> before = all_numbers(a);
  const std::vector<NumberEntry> after = all_numbers(b);
  EXPECT_EQ(before.size(), after.size());
  std::vector<std::string> paths;
  for (std::size_t i = 0; i < std::min(before.size(), after.size()); ++i) {
    if (std::abs(after[i].value - before[i].value) > 1e-9 * before[i].value) paths.push_back(after[i].path);
  }
  return paths;
}

TEST(Variations, ChangeOneNumberEach) {
  const Platform platform = whole_platform();
  const Variations variations(platform);
  EXPECT_EQ(paths_of(platform, variations.unchanged()), std::vector<std::string>{});
  EXPECT_EQ(variations.numbers().size(), 121U + 7) << "as many as the file has, and points of curves";
  for (std::size_t i = 0; i < variations.numbers().size(); ++i) {
    const auto& [path, text] = variations.numbers()[i];
    const double factor = i % 2 == 0 ? 1.01 : 0.5;
    if (text == "0 us") continue;
    std::vector<std::string> expected{path};
    if (path.ends_with(".bandwidth") && path.find(".links.") != std::string::npos) {
      const std::string link = path.substr(0, path.rfind('.'));
      expected = {link + ".forward", link + ".backward"};
    }
    const Platform changed = variations.with(i, factor);
    EXPECT_EQ(paths_of(platform, changed), expected) << path;
    EXPECT_NEAR(variations.growth(i, factor), factor - 1, 3e-4) << path;
    const std::vector<NumberEntry> before = all_numbers(platform);
    const std::vector<NumberEntry> after = all_numbers(changed);
    const auto number = std::ranges::find(before, expected.front(), &NumberEntry::path);
    ASSERT_NE(number, before.end()) << path;
    EXPECT_NEAR(after[static_cast<std::size_t>(number - before.begin())].value / number->value, factor, 1e-3) << path;
  }
}

TEST(Variations, OfASizeAreWholeBytesAndAnotherNumberOfThem) {
  Platform platform = whole_platform();
  const auto grown = [&](Bytes size, double factor) {
    platform.network->eager_limit.value = size;
    const Variations variations(platform);
    const auto found = std::ranges::find(variations.numbers(), "mpi.network.eager_limit", &VariableNumber::path);
    const auto index = static_cast<std::size_t>(found - variations.numbers().begin());
    const double before = static_cast<double>(size.count());
    const double after = static_cast<double>(variations.with(index, factor).network->eager_limit.value.count());
    EXPECT_NEAR(variations.growth(index, factor), before > 0 ? after / before - 1 : 0, 1e-12);
    return after;
  };
  EXPECT_EQ(grown(10_B, 1.01), 11);
  EXPECT_EQ(grown(10_B, 0.99), 9);
  EXPECT_EQ(grown(1000_B, 1.01), 1010);
  EXPECT_EQ(grown(1050_B, 1.01), 1061) << "rounded";
  EXPECT_EQ(grown(0_B, 1.01), 0);
  EXPECT_EQ(grown(0_B, 0.99), 0);
}

/// What the file does not say stays as it was.
TEST(Variations, KeepWhatUsersHaveSaid) {
  Platform platform = whole_platform();
  platform.within_node.copy_size = std::nullopt;
  platform.within_node.smcuda = true;
  platform.later_faults = {{.at = 1.0_us, .part = "qpi", .share = 0.5, .text = "later"}};
  platform.slowed_parts = {{"bus0", "slow"}};
  platform.fabric->faults = {{CableFault::Cable::leaf, 1, 0, 0.5}};
  const Platform now = Variations(platform).with(0, 1.01);
  EXPECT_TRUE(now.within_node.smcuda);
  ASSERT_EQ(now.later_faults.size(), 1U);
  EXPECT_EQ(now.later_faults[0].part, "qpi");
  ASSERT_EQ(now.slowed_parts.size(), 1U);
  EXPECT_EQ(now.slowed_parts[0].part, "bus0");
  EXPECT_EQ(now.fabric->faults, platform.fabric->faults);
  EXPECT_EQ(now.file, platform.file);
}

}  // namespace
}  // namespace twinlink::platforms
