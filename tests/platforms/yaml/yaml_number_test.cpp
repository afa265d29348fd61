#include "platforms/yaml/yaml_number.hpp"

#include <gtest/gtest.h>

#include "platforms/yaml/yaml_text.hpp"

namespace twinlink::platforms {
namespace {

template <class T>
std::string exact(T value) {
  return yaml_value(value, kExact).text;
}
template <class T>
std::string measured(T value) {
  return yaml_value(value, kMeasured).text;
}

TEST(YamlNumber, UnitsAreTheLargestThatLeaveOne) {
  EXPECT_EQ(exact(Rate{1857.99e9}), "1857.99 GB/s");
  EXPECT_EQ(exact(Rate{999e3}), "999 kB/s");
  EXPECT_EQ(exact(Rate{0.5}), "0.5 B/s");
  EXPECT_EQ(exact(Seconds{1.5e-6}), "1.5 us");
  EXPECT_EQ(exact(Seconds{2.5e-10}), "0.25 ns");
  EXPECT_EQ(exact(6_GiB), "6 GiB");
}

TEST(YamlNumber, MeasurementsAreRoundedAndNeverToAThousandOfAUnit) {
  EXPECT_EQ(measured(Rate{123456.7e6}), "123.46 GB/s");
  EXPECT_EQ(measured(Rate{999.999e6}), "1 GB/s");
  EXPECT_EQ(measured(Seconds{3.45678e-6}), "3.457 us");
  EXPECT_EQ(measured(Seconds{999.96e-9}), "1 us");
  EXPECT_EQ(measured(Seconds{999.94e-9}), "999.9 ns");
}

TEST(YamlNumber, NoTextHasAnExponent) {
  EXPECT_EQ(exact(Seconds{1e-15}), "0.000001000 ns");
  EXPECT_EQ(parse_seconds(measured(Seconds{123456})), Seconds{123456});
  EXPECT_EQ(parse_rate(measured(Rate{123456e9})), Rate{123456e9});
}

TEST(YamlNumber, WhatRoundingLeavesOfAZeroIsZero) {
  EXPECT_EQ(measured(Seconds{1e-13}), "0 us");
  EXPECT_EQ(measured(Seconds{-1e-20}), "0 us");
  EXPECT_EQ(exact(Seconds{}), "0 us");
  EXPECT_EQ(exact(Seconds{1e-19}), "0 us");
}

TEST(YamlNumber, CurvesAreListsUnlessTheyAreConstant) {
  const Piecewise curve({{Bytes{1}, Seconds{2e-6}}, {4_KiB, Seconds{3e-6}}});
  YamlValue document(YamlValue::Kind::map, {});
  document.add("curve", yaml_number(yaml_value(curve, kExact), Quality::measured, "probe"));
  document.add("constant", yaml_number(yaml_value(Piecewise({{Bytes{}, Seconds{1}}}), kExact), Quality::assumed, "x"));
  for_each_source(document, [](std::string& source) { source += "s"; });
  EXPECT_EQ(to_yaml(document, {"two numbers"}),
            "# two numbers\n"
            "curve: {value: [[1 B, 2 us], [4 KiB, 3 us]], measured: probes}\n\n"
            "constant: {value: 1 s, assumed: xs}\n");
}

}  // namespace
}  // namespace twinlink::platforms
