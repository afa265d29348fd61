#include "real/rank/neighbours.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

DeviceInfo device(std::string name, int major, bool unified) {
  DeviceInfo info{.name = std::move(name), .capability_major = major, .unified_addressing = unified};
  for (std::size_t i = 0; i < info.uuid.size(); ++i) info.uuid[i] = static_cast<std::byte>(i * 17);
  return info;
}

TEST(Capabilities, OfTwoFitDevicesAreEnough) {
  EXPECT_TRUE(check_capabilities(device("a", 2, true), device("b", 9, true)));
}

TEST(Capabilities, ARefusalNamesTheDeviceAndTheCheck) {
  const auto reason = [](const DeviceInfo& one, const DeviceInfo& other) {
    return check_capabilities(one, other).reason;
  };
  EXPECT_THAT(reason(device("new", 9, true), device("old", 1, true)),
              testing::AllOf(testing::HasSubstr("old"), testing::HasSubstr("compute capability 1.0")));
  EXPECT_THAT(reason(device("flat", 9, false), device("new", 9, true)),
              testing::AllOf(testing::HasSubstr("flat"), testing::HasSubstr("no unified addressing")));
}

TEST(Uuid, IsPrintedAsNvidiaSmiDoes) {
  EXPECT_EQ(to_string(device("a", 2, true).uuid), "GPU-00112233-4455-6677-8899-aabbccddeeff");
}

}  // namespace
}  // namespace twinlink::real
