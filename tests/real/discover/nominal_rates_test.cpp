#include "platforms/import/nominal_rates.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

using ::testing::HasSubstr;

double GBps(const std::optional<NominalRate>& rate) { return rate ? rate->rate.bytes_per_second() / 1e9 : 0; }

TEST(PcieRate, IsGenerationTimesWidth) {
  EXPECT_NEAR(GBps(pcie_rate(1, 16)), 4.0, 1e-9);
  EXPECT_NEAR(GBps(pcie_rate(2, 16)), 8.0, 1e-9);
  EXPECT_NEAR(GBps(pcie_rate(3, 16)), 15.754, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(4, 8)), 15.754, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(5, 16)), 63.015, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(6, 16)), 118.0, 1e-9);
  EXPECT_EQ(pcie_rate(5, 16)->source, "nominal: PCIe Gen5 x16, 32 GT/s x 16 lanes x 128/130, before packet headers");
}

TEST(PcieRate, IsUnknownWhereTheDriverIsSilent) {
  EXPECT_FALSE(pcie_rate(0, 16));
  EXPECT_FALSE(pcie_rate(5, 0));
  EXPECT_FALSE(pcie_rate(7, 16));
  EXPECT_FALSE(pcie_rate(5, 255));
}

TEST(PcieRate, OfAStatusNamesWhatItMayBe) {
  const auto rate = pcie_rate_of_status(31.507);
  EXPECT_NEAR(GBps(rate), 31.508, 1e-3);
  EXPECT_THAT(rate->source, HasSubstr("nominal: PCIe Gen4 x16 or PCIe Gen5 x8, as the link runs now"));
  EXPECT_THAT(pcie_rate_of_status(7.877)->source, HasSubstr("nominal: PCIe Gen3 x8 or PCIe Gen4 x4, as"));
  EXPECT_NEAR(GBps(pcie_rate_of_status(11.0)), 11.0, 1e-9);
  EXPECT_FALSE(pcie_rate_of_status(0));
}

TEST(NvlinkRate, FollowsFromTheSpeedThatTheDriverReports) {
  const NominalRate h100 = nvlink_rate({.version = 6, .speed_MBps = 26562}, 18, 9);
  EXPECT_NEAR(GBps(h100), 450, 1e-9);
  EXPECT_EQ(h100.source,
            "nominal: NVLink 4, 18 links x 25 GB/s each way; the driver reports 26562 MB/s a link, coding included");
  EXPECT_NEAR(GBps(nvlink_rate({.speed_MBps = 25781}, 12, 8)), 300, 1e-9);
  EXPECT_THAT(nvlink_rate({.speed_MBps = 25781}, 6, 7).source, HasSubstr("NVLink 2, 6 links"));
  EXPECT_NEAR(GBps(nvlink_rate({.speed_MBps = 53125}, 18, 10)), 900, 1e-9);
}

TEST(NvlinkRate, OrFromTheGenerationOfTheGpu) {
  EXPECT_NEAR(GBps(nvlink_rate({}, 4, 6)), 80, 1e-9);
  EXPECT_NEAR(GBps(nvlink_rate({}, 18, 9)), 450, 1e-9);
  EXPECT_NEAR(GBps(nvlink_rate({.version = 7}, 18, 9)), 450, 1e-9);  // a number that drivers give for NVLink 4 too
  EXPECT_THAT(nvlink_rate({}, 1, 9).source, HasSubstr("1 link x 25 GB/s each way; by the compute capability 9.x"));
}

}  // namespace
}  // namespace twinlink::real
