// What transforms take on a simulated GPU: passes over its memory, or its operations.
#include "platforms/costs/kernel_costs.hpp"

#include <gtest/gtest.h>

#include <cmath>

namespace twinlink::platforms {
namespace {

const TransformCosts kCosts{.memory = {Rate{1e12}, {}}, .compute = {Flops{1e13}, {}}};

TEST(TransformTime, IsThatOfItsPassesOverMemory) {
  const Transform planes{.dimensions = 2, .lengths = {512, 512}, .batch = 16, .distance = 512 * 512};
  const double bytes = 512.0 * 512 * 16 * 16;
  EXPECT_DOUBLE_EQ(transform_time(kCosts, planes).value(), 2 * 2 * bytes / 1e12);
}

TEST(TransformTime, IsThatOfItsOperationsWhereTheseTakeLonger) {
  const Transform lines{.lengths = {4096}, .batch = 1000, .distance = 4096};
  TransformCosts slow = kCosts;
  slow.compute.value.per_second = 1e11;
  EXPECT_DOUBLE_EQ(transform_time(slow, lines).value(), 5 * 4096.0 * std::log2(4096.0) * 1000 / 1e11);
}

TEST(TransformTime, LongLengthsAreSeveralPasses) {
  EXPECT_EQ(passes_of(2), 1);
  EXPECT_EQ(passes_of(4096), 1);
  EXPECT_EQ(passes_of(4097), 2);
  EXPECT_EQ(passes_of(std::uint64_t{1} << 24U), 2);
  EXPECT_EQ(passes_of((std::uint64_t{1} << 24U) + 1), 3);
}

TEST(TransformTime, HalfASpectrumIsHalfTheBytes) {
  const Transform real{.kind = Transform::Kind::to_half, .lengths = {1024}, .batch = 8, .distance = 513};
  EXPECT_DOUBLE_EQ(transform_time(kCosts, real).value(), 2 * 513.0 * 8 * 16 / 1e12);
}

}  // namespace
}  // namespace twinlink::platforms
