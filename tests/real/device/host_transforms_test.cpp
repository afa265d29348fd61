// Transforms of emulated devices against sums by their definition.
#include "real/device/host_transforms.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cmath>
#include <complex>
#include <cstdint>
#include <numbers>
#include <string>
#include <vector>

namespace twinlink::real {
namespace {

using Complex = std::complex<double>;
using Index = std::array<std::uint64_t, 3>;

class HostTransformsTest : public testing::Test {
 protected:
  void SetUp() override {
    if (const Answer there = HostTransforms::available(); !there) GTEST_SKIP() << there.reason;
  }
};

/// What lies before the numbers of a transform, in complex numbers.
std::vector<std::uint64_t> begins(const Transform& t) {
  std::vector<std::uint64_t> all;
  for (std::uint64_t g = 0; g < t.groups; ++g) {
    for (std::uint64_t b = 0; b < t.batch; ++b) all.push_back(g * t.group_distance + b * t.distance);
  }
  return all;
}

/// Lengths with ones before them, and the last one as it lies in memory if it is that of complex numbers.
Index lengths(const Transform& t, bool half) {
  Index all{1, 1, 1};
  const auto dimensions = static_cast<std::size_t>(t.dimensions);
  for (std::size_t i = 0; i < dimensions; ++i) all[3 - dimensions + i] = t.lengths[i];
  if (half) all[2] = all[2] / 2 + 1;
  return all;
}

template <class Visit>
void each(const Index& lengths, Visit visit) {
  for (std::uint64_t i = 0; i < lengths[0]; ++i) {
    for (std::uint64_t j = 0; j < lengths[1]; ++j) {
      for (std::uint64_t k = 0; k < lengths[2]; ++k) visit(Index{i, j, k});
    }
  }
}

std::uint64_t place(const Index& lengths, const Index& at, std::uint64_t stride) {
  return ((at[0] * lengths[1] + at[1]) * lengths[2] + at[2]) * stride;
}

/// The sum of all numbers of the transform, each turned by its angle.
template <class Number>
Complex sum(const Index& lengths, const Index& of, double sign, Number number) {
  Complex total;
  each(lengths, [&](const Index& at) {
    double turns = 0;
    for (std::size_t d = 0; d < 3; ++d) {
      turns += static_cast<double>(at[d] * of[d]) / static_cast<double>(lengths[d]);
    }
    total += number(at) * std::polar(1.0, sign * 2 * std::numbers::pi * turns);
  });
  return total;
}

/// Numbers without a symmetry.
double made_up(std::uint64_t i) { return std::sin(static_cast<double>(i * i + 1)); }

constexpr double kRounding = 1e-12;  // of some dozens of sums of numbers below 1

void expect_transformed(const Transform& t) {
  SCOPED_TRACE(describe(t));
  std::vector<double> before(2 * t.extent());
  for (std::uint64_t i = 0; i < before.size(); ++i) before[i] = made_up(i);
  std::vector<double> after = before;
  HostTransforms transforms;
  transforms.prepare(t);
  transforms.run(t, static_cast<std::byte*>(static_cast<void*>(after.data())));
  const bool to_half = t.kind == Transform::Kind::to_half;
  const Index whole = lengths(t, false);
  const Index held = lengths(t, to_half);
  const Index rows{whole[0], whole[1], 2 * held[2]};
  const double sign = t.kind == Transform::Kind::backward ? 1 : -1;
  for (const std::uint64_t begin : begins(t)) {
    const auto complex = [&](const std::vector<double>& memory, const Index& at) {
      const std::uint64_t i = 2 * (begin + place(held, at, t.stride));
      return Complex(memory[i], memory[i + 1]);
    };
    const auto number = [&](const Index& at) {
      return to_half ? Complex(before[2 * begin + place(rows, at, t.stride)]) : complex(before, at);
    };
    each(held, [&](const Index& at) {
      EXPECT_NEAR(std::abs(complex(after, at) - sum(whole, at, sign, number)), 0, kRounding);
    });
  }
}

TEST_F(HostTransformsTest, AreTheSumsOfTheirDefinition) {
  for (const auto kind : {Transform::Kind::forward, Transform::Kind::backward, Transform::Kind::to_half}) {
    expect_transformed({.kind = kind, .dimensions = 1, .lengths = {6}});
    expect_transformed({.kind = kind, .dimensions = 1, .lengths = {5}});
    expect_transformed({.kind = kind, .dimensions = 2, .lengths = {3, 4}});
    expect_transformed({.kind = kind, .dimensions = 3, .lengths = {2, 3, 4}});
    expect_transformed({.kind = kind, .dimensions = 1, .lengths = {4}, .batch = 3, .distance = 5});
    expect_transformed({.kind = kind, .lengths = {4}, .batch = 2, .distance = 4, .groups = 2, .group_distance = 11});
    if (kind == Transform::Kind::to_half) continue;
    expect_transformed(
        {.kind = kind, .lengths = {4}, .stride = 6, .batch = 2, .distance = 1, .groups = 2, .group_distance = 30});
  }
}

/// Real numbers are the transform of half of what is its own mirror; of other numbers libraries make what they like.
TEST_F(HostTransformsTest, FromHalfIsTheWayBack) {
  for (const Transform& there :
       std::vector<Transform>{{.kind = Transform::Kind::to_half, .lengths = {6}},
                              {.kind = Transform::Kind::to_half, .lengths = {5}, .batch = 2, .distance = 4},
                              {.kind = Transform::Kind::to_half, .dimensions = 3, .lengths = {2, 3, 4}}}) {
    SCOPED_TRACE(describe(there));
    Transform back = there;
    back.kind = Transform::Kind::from_half;
    std::vector<double> memory(2 * there.extent());
    for (std::uint64_t i = 0; i < memory.size(); ++i) memory[i] = made_up(i);
    const std::vector<double> before = memory;
    HostTransforms transforms;
    for (const Transform& t : {there, back}) {
      transforms.run(t, static_cast<std::byte*>(static_cast<void*>(memory.data())));
    }
    const Index whole = lengths(there, false);
    const Index rows{whole[0], whole[1], 2 * (whole[2] / 2 + 1)};
    for (const std::uint64_t begin : begins(there)) {
      each(whole, [&](const Index& at) {
        const std::uint64_t i = 2 * begin + place(rows, at, there.stride);
        EXPECT_NEAR(memory[i], before[i] * static_cast<double>(there.numbers()), kRounding);
      });
    }
  }
}

}  // namespace
}  // namespace twinlink::real
