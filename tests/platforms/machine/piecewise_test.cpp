// Curves by size: what a platform says between its points and beyond them.
#include <gtest/gtest.h>

#include "platforms/machine/platform.hpp"

namespace twinlink::platforms {
namespace {

TEST(Piecewise, IsLinearBetweenItsPointsAndConstantOutside) {
  const Piecewise curve({{1_KiB, 2.0_us}, {3_KiB, 4.0_us}, {4_KiB, 3.0_us}});
  EXPECT_EQ(curve.at(0_B), 2.0_us);
  EXPECT_EQ(curve.at(1_KiB), 2.0_us);
  EXPECT_DOUBLE_EQ(curve.at(2_KiB).microseconds(), 3);
  EXPECT_DOUBLE_EQ(curve.at(3584_B).microseconds(), 3.5);
  EXPECT_EQ(curve.at(1_GiB), 3.0_us);
  EXPECT_EQ(Piecewise{}.at(1_MiB), Seconds{});
}

}  // namespace
}  // namespace twinlink::platforms
