#include "platforms/import/gpu_models.hpp"

#include <string>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::platforms {
namespace {

using ::testing::HasSubstr;

double GBps(const std::optional<Sourced<Rate>>& rate) { return rate ? rate->value.bytes_per_second() / 1e9 : 0; }

TEST(PcieRate, IsGenerationTimesWidth) {
  EXPECT_NEAR(GBps(pcie_rate(1, 16, "")), 4.0, 1e-9);
  EXPECT_NEAR(GBps(pcie_rate(2, 16, "")), 8.0, 1e-9);
  EXPECT_NEAR(GBps(pcie_rate(3, 16, "")), 15.754, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(4, 8, "")), 15.754, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(5, 16, "")), 63.015, 1e-3);
  EXPECT_NEAR(GBps(pcie_rate(6, 16, "")), 118.0, 1e-9);
  EXPECT_EQ(pcie_rate(5, 16, "somebody says so")->source.text,
            "nominal: PCIe Gen5 x16, 32 GT/s x 16 lanes x 128/130, before packet headers; somebody says so");
  EXPECT_EQ(GBps(pcie_rate_of_transfers(16, 16, "")), GBps(pcie_rate(4, 16, "")));
  EXPECT_FALSE(pcie_rate_of_transfers(17, 16, ""));
}

TEST(PcieRate, IsUnknownWhereTheDriverIsSilent) {
  EXPECT_FALSE(pcie_rate(0, 16, ""));
  EXPECT_FALSE(pcie_rate(5, 0, ""));
  EXPECT_FALSE(pcie_rate(7, 16, ""));
  EXPECT_FALSE(pcie_rate(5, 33, ""));
  EXPECT_NEAR(GBps(pcie_rate(1, 32, "")), 8, 1e-9);
  EXPECT_NEAR(GBps(pcie_rate(1, 1, "")), 0.25, 1e-9);
  for (const double transfers : {15.85, 16.15}) EXPECT_TRUE(pcie_rate_of_transfers(transfers, 16, "")) << transfers;
  for (const double transfers : {15.8, 16.2}) EXPECT_FALSE(pcie_rate_of_transfers(transfers, 16, "")) << transfers;
}

TEST(PcieRate, FollowsFromTheGeneration) {
  const auto of = [](int major) { return pcie_generation({major, 0}); };
  EXPECT_EQ(of(6) * 1000 + of(7) * 100 + of(8) * 10 + of(9), 3345);
  EXPECT_EQ(of(10), 5);
}

TEST(PcieRate, OfAStatusNamesWhatItMayBe) {
  const auto rate = pcie_rate_of_status(31.507);
  EXPECT_NEAR(GBps(rate), 31.508, 1e-3);
  EXPECT_THAT(rate->source.text, HasSubstr("nominal: PCIe Gen4 x16 or PCIe Gen5 x8, as the link runs now"));
  EXPECT_THAT(pcie_rate_of_status(7.877)->source.text, HasSubstr("nominal: PCIe Gen3 x8 or PCIe Gen4 x4, as"));
  EXPECT_NEAR(GBps(pcie_rate_of_status(11.0)), 11.0, 1e-9);
  EXPECT_FALSE(pcie_rate_of_status(0));
}

TEST(NvlinkRate, FollowsFromTheSpeedThatTheDriverReports) {
  const Sourced<Rate> h100 = nvlink_rate_of_speed(26562, {9, 0});
  EXPECT_NEAR(GBps(h100), 25, 1e-9);
  EXPECT_EQ(h100.source.text,
            "nominal: NVLink 4, 25 GB/s a link each way; the driver reports 26562 MB/s, coding included");
  EXPECT_THAT(nvlink_rate_of_speed(25781, {8, 0}).source.text, HasSubstr("NVLink 3, 25"));
  EXPECT_THAT(nvlink_rate_of_speed(25781, {7, 0}).source.text, HasSubstr("NVLink 2, 25"));
  EXPECT_NEAR(GBps(nvlink_rate_of_speed(53125, {10, 0})), 50, 1e-9);
  EXPECT_NEAR(GBps(nvlink_rate_of_speed(20000, {6, 0})), 20, 1e-9);
}

TEST(NvlinkRate, GenerationsAreToldApartByTheSpeed) {
  const auto of = [](unsigned reported, int major) {
    const std::string text = nvlink_rate_of_speed(reported, {major, 0}).source.text;
    return text.substr(9, text.find(" a link") - 9);
  };
  EXPECT_EQ(of(21'999, 7), "NVLink 1, 20 GB/s");
  for (const unsigned speed : {22'000U, 25'999U}) {
    EXPECT_EQ(of(speed, 7), "NVLink 2, 25 GB/s");
    EXPECT_EQ(of(speed, 8), "NVLink 3, 25 GB/s");
  }
  for (const unsigned speed : {26'000U, 39'999U}) EXPECT_EQ(of(speed, 9), "NVLink 4, 25 GB/s");
  EXPECT_EQ(of(40'000, 10), "NVLink 5, 50 GB/s");
  const auto xgmi = [](int major, int minor) { return GBps(link_rate(GpuLinks::Kind::xgmi, {major, minor})); };
  EXPECT_NEAR(xgmi(9, 3) * 1000 + xgmi(9, 4), 50'064, 1e-6);
  EXPECT_NEAR(xgmi(9, 5) * 1000 + xgmi(8, 4), 64'050, 1e-6);
}

TEST(NvlinkRate, OrFromTheGenerationOfTheGpu) {
  const auto of = [](int major, int minor) { return GBps(link_rate(GpuLinks::Kind::nvlink, {major, minor})); };
  EXPECT_NEAR(of(6, 0), 20, 1e-9);
  EXPECT_NEAR(of(7, 0), 25, 1e-9);
  EXPECT_NEAR(of(8, 6), 14.0625, 1e-9);
  EXPECT_NEAR(of(9, 0), 25, 1e-9);
  EXPECT_NEAR(of(10, 3), 50, 1e-9);
  const auto source = [](int major, int minor) {
    const std::string text = link_rate(GpuLinks::Kind::nvlink, {major, minor}).source.text;
    EXPECT_THAT(text, HasSubstr(fmt::format("each way; by the compute capability {}.{},", major, minor)));
    return text.substr(9, text.find(" a link") - 9);
  };
  EXPECT_EQ(source(6, 0), "NVLink 1, 20 GB/s");
  EXPECT_EQ(source(7, 5), "NVLink 2, 25 GB/s");
  EXPECT_EQ(source(8, 0), "NVLink 3, 25 GB/s");
  EXPECT_EQ(source(8, 6), "NVLink 3, four lanes, 14.0625 GB/s");
  EXPECT_EQ(source(9, 0), "NVLink 4, 25 GB/s");
  EXPECT_EQ(source(10, 0), "NVLink 5, 50 GB/s");
}

/// NVIDIA says that an H100 has 900 GB/s of NVLink, an A100 600, both ways together; AMD that an MI300X has 128 GB/s
/// to each peer.
TEST(NvlinkRate, OfAllLinksIsThatOfTheDataSheet) {
  const auto all = [](const char* name) {
    const GpuModel& gpu = model_named(name);
    return 2 * gpu.board_links * GBps(link_rate(GpuLinks::Kind::nvlink, {gpu.major, gpu.minor}));
  };
  EXPECT_NEAR(all("H100 80GB HBM3"), 900, 1e-9);
  EXPECT_NEAR(all("A100-SXM4-40GB"), 600, 1e-9);
  EXPECT_NEAR(all("B200"), 1800, 1e-9);
  EXPECT_NEAR(2 * GBps(link_rate(GpuLinks::Kind::xgmi, {9, 4})), 128, 1e-9);
}

TEST(GpuModel, IsFoundByIdAndByWhatTellsItsNameFromOthers) {
  EXPECT_EQ(model_of_device("10de:2335")->name, "NVIDIA H200");
  EXPECT_EQ(model_of_device("1002:2335"), nullptr);
  EXPECT_EQ(model_named("a100-sxm4-80").device_id, "10de:20b2");
  EXPECT_EQ(model_named("nvidia h200").device_id, "10de:2335");
  const auto refusal = [](const char* name) -> std::string {
    return said_by<InputError>([&] { return model_named(name); });
  };
  EXPECT_THAT(refusal("A100"), HasSubstr("more than one GPU is called 'A100' (there are: Tesla P100-SXM2-16GB, "));
  EXPECT_THAT(refusal("Voodoo"), HasSubstr("no GPU is called 'Voodoo'"));
}

TEST(GpuModel, SaysWhatTheSourceDoesNot) {
  GpuFacts gpu{.model = "Tesla V100-SXM2-32GB"};
  complete(gpu);
  EXPECT_EQ(gpu.capability, std::pair(7, 0));
  EXPECT_EQ(gpu.memory->value, Bytes{32'000'000'000});
  GpuFacts told{.device_id = "10de:2330", .memory = {{80_GiB, {}}}, .capability = {{9, 1}}};
  complete(told);
  EXPECT_EQ(told.model, "NVIDIA H100 80GB HBM3");
  EXPECT_EQ(told.memory->value, 80_GiB);
  EXPECT_EQ(told.capability, std::pair(9, 1));
}

TEST(Computes, NeitherConsolesNorGraphicsOfProcessors) {
  EXPECT_TRUE(computes("10de:2330", 0x0302));
  EXPECT_TRUE(computes("10de:2684", 0x0300)) << "a GeForce";
  EXPECT_TRUE(computes("1002:74a1", 0x1200));
  EXPECT_TRUE(computes("1002:740f", 0x0380));
  EXPECT_TRUE(computes("1002:744c", 0x0300)) << "a Radeon";
  EXPECT_FALSE(computes("1002:515e", 0x0300)) << "ES1000";
  EXPECT_FALSE(computes("1002:164e", 0x0300)) << "of a Ryzen";
  EXPECT_FALSE(computes("1a03:2000", 0x0300)) << "ASPEED";
  EXPECT_FALSE(computes("10de:1aef", 0x0403)) << "sound";
}

}  // namespace
}  // namespace twinlink::platforms
