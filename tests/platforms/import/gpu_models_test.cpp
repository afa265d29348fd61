#include "platforms/import/gpu_models.hpp"

#include <set>
#include <string>
#include <utility>
#include <vector>

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

TEST(PcieRate, FollowsFromTheCapability) {
  const auto of = [](int major, int minor) { return model_of_capability({major, minor}).pcie; };
  EXPECT_EQ(of(6, 0), 3);
  EXPECT_EQ(of(7, 5), 3);
  EXPECT_EQ(of(8, 9), 4);
  EXPECT_EQ(of(9, 0), 5);
  EXPECT_EQ(of(12, 0), 5);
  EXPECT_EQ(of(3, 5), 3) << "older than all: the oldest";
  EXPECT_EQ(of(13, 0), 5) << "newer than all: the newest";
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
}

TEST(NvlinkRate, OrFromTheCapability) {
  const auto of = [](int major, int minor) {
    return link_rate(model_of_capability({major, minor}), GpuLinks::Kind::nvlink);
  };
  EXPECT_NEAR(GBps(of(6, 0)), 20, 1e-9);
  EXPECT_NEAR(GBps(of(7, 0)), 25, 1e-9);
  EXPECT_NEAR(GBps(of(8, 6)), 14.0625, 1e-9);
  EXPECT_NEAR(GBps(of(9, 0)), 25, 1e-9);
  EXPECT_NEAR(GBps(of(10, 3)), 50, 1e-9);
  EXPECT_EQ(of(9, 0).source.text, "nominal: 25 GB/s a link each way; as all GPUs of compute capability 9.0 have it");
  const Sourced<Rate> none = of(8, 9);
  EXPECT_EQ(none.source.quality, Quality::assumed) << "no GPU of that capability has links";
  EXPECT_THAT(link_rate({}, GpuLinks::Kind::xgmi).source.text, HasSubstr("as AMD Instinct MI100"));
}

/// Both ways together, by the data sheets, in GB/s: all NVLinks, and all Infinity Fabric links.
TEST(NvlinkRate, OfAllLinksIsThatOfTheDataSheet) {
  const auto all = [](const char* name) {
    const GpuModel& gpu = model_named(name);
    return 2 * gpu.links.value_or(0) * GBps(link_rate(gpu, GpuLinks::Kind::nvlink));
  };
  const std::vector<std::pair<const char*, double>> published{{"Tesla P100-SXM2-16GB", 160},
                                                              {"Tesla V100-SXM2-32GB", 300},
                                                              {"TITAN RTX", 100},
                                                              {"Quadro RTX 8000", 100},
                                                              {"Quadro RTX 5000", 50},
                                                              {"RTX 2080", 50},
                                                              {"RTX 3090", 112.5},
                                                              {"A40", 112.5},
                                                              {"A100-SXM4-40GB", 600},
                                                              {"A100 80GB PCIe", 600},
                                                              {"A800-SXM4-80GB", 400},
                                                              {"A30", 200},
                                                              {"H100 80GB HBM3", 900},
                                                              {"H100 NVL", 600},
                                                              {"H800", 400},
                                                              {"H20", 900},
                                                              {"H200 NVL", 900},
                                                              {"GH200 480GB", 900},
                                                              {"B200", 1800},
                                                              {"GB200", 1800},
                                                              {"B300 SXM6 AC", 1800},
                                                              {"MI100", 276},
                                                              {"MI300X", 896},
                                                              {"MI350X", 1075.2}};
  for (const auto& [name, rate] : published) EXPECT_NEAR(all(name), rate, 1e-9) << name;
}

TEST(GpuModel, IsFoundByIdAndByWhatTellsItsNameFromOthers) {
  EXPECT_EQ(model_of_device("10de:2335")->name, "NVIDIA H200");
  EXPECT_EQ(model_of_device("1002:2335"), nullptr);
  EXPECT_EQ(model_of_device("10de:1e30"), nullptr) << "a Quadro RTX 6000 or 8000";
  EXPECT_EQ(model_named("a100-sxm4-80").devices.front(), "10de:20b2");
  EXPECT_EQ(model_named("nvidia h200").devices.front(), "10de:2335");
  EXPECT_EQ(model_named("B200").name, "NVIDIA B200") << "and no GB200";
  const auto refusal = [](const char* name) -> std::string {
    return said_by<InputError>([&] { return model_named(name); });
  };
  EXPECT_THAT(refusal("A100"), HasSubstr("more than one GPU is called 'A100' (there are: Tesla P100-SXM2-16GB, "));
  EXPECT_THAT(refusal("Voodoo"), HasSubstr("no GPU is called 'Voodoo'"));
}

/// Of what `some` says, `whole` says the same.
bool agrees(const GpuModel& some, const GpuModel& whole) {
  GpuModel both = common_of({&whole, &some});
  GpuModel said = some;
  for (GpuModel* each : {&both, &said}) {
    each->name.clear();
    each->source.clear();
    each->also.clear();
    each->devices.clear();
    each->gcn.clear();
  }
  return both == said;
}

/// What a model is called, its PCI device, its gfx and its capability lead to the same numbers; where several models
/// have one of them, to what these have in common.
TEST(GpuModel, WhateverTellsItLeadsToTheSame) {
  int cases = 0;
  std::set<std::string> names;
  const auto whole = [&](const GpuFacts& facts, const GpuModel& model) {
    ++cases;
    EXPECT_EQ(model_of(facts), model) << model.name << " by " << facts.model << facts.device_id;
  };
  const auto part = [&](const GpuFacts& facts, const GpuModel& model) {
    ++cases;
    const GpuModel found = model_of(facts);
    EXPECT_TRUE(agrees(found, model)) << model.name << " by " << facts.model << facts.device_id << facts.gcn;
    EXPECT_EQ(found.pcie, model.pcie) << model.name;
  };
  for (const GpuModel& model : gpu_table()) {
    EXPECT_TRUE(names.insert(model.name).second) << model.name;
    whole({.model = model.name}, model);
    whole({.model = model.name + " (UUID: GPU-1)", .device_id = model.devices.front()}, model);
    for (const std::string& other : model.also) part({.model = other}, model);
    for (const std::string& id : model.devices) {
      if (model_of_device(id) != nullptr) whole({.device_id = id}, model);
      part({.device_id = id}, model);
      whole({.model = model.name, .device_id = id}, model);
    }
    GpuFacts set;
    set_model(set, model);
    whole(set, model);
    if (model.gcn.empty()) part({.capability = model.capability}, model);
    if (!model.gcn.empty()) part({.by_amd = true, .gcn = model.gcn}, model);
  }
  EXPECT_GT(names.size(), 75U);
  EXPECT_GT(cases, 500);
}

TEST(GpuModel, AMoreSpecificNameWins) {
  const auto of = [](const char* name) { return model_of({.model = name}); };
  EXPECT_EQ(of("NVIDIA H200").memory_rate, Rate{4800e9});
  EXPECT_EQ(of("NVIDIA H20").memory, Bytes{96'000'000'000});
  EXPECT_EQ(of("NVIDIA H20-3e").memory, Bytes{141'000'000'000});
  EXPECT_EQ(of("NVIDIA GeForce RTX 3090 Ti").memory_rate, Rate{1008e9});
  EXPECT_EQ(of("NVIDIA GB200").c2c, Rate{225e9});
  EXPECT_EQ(of("NVIDIA B200").c2c, std::nullopt);
}

TEST(GpuModel, OfANameThatIsNotWholeTellsWhatIsSure) {
  const auto of = [](const char* name) { return model_of({.model = name}); };
  const GpuModel some = of("NVIDIA H100");
  EXPECT_EQ(some.capability, std::pair(9, 0));
  EXPECT_EQ(some.pcie, 5);
  EXPECT_EQ(some.link, Rate{25e9});
  EXPECT_EQ(some.memory, std::nullopt) << "80 GB or 94";
  const GpuModel laptop = of("NVIDIA GeForce RTX 4090 Laptop GPU");
  EXPECT_EQ(laptop.capability, std::pair(8, 9));
  EXPECT_EQ(laptop.pcie_peers, false);
  EXPECT_EQ(laptop.memory, std::nullopt) << "it has another one";
  EXPECT_EQ(of("NVIDIA H100 96GB HBM3").capability, std::pair(9, 0)) << "as any H100";
  EXPECT_EQ(of("NVIDIA Voodoo 5"), GpuModel{});
  EXPECT_EQ(of("NVIDIA"), GpuModel{});
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
  GpuFacts amd{.by_amd = true, .gcn = "gfx942"};
  complete(amd);
  EXPECT_EQ(amd.model, "AMD gfx942");
  EXPECT_EQ(amd.capability, std::pair(9, 4));
  EXPECT_FALSE(amd.memory) << "128, 192 or 256 GB";
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
