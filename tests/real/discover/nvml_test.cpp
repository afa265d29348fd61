#include "real/discover/nvml.hpp"

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"
#include "tests/real/rank/messages.hpp"

#if __has_include(<nvml.h>)
#include <nvml.h>

#include <cstddef>
#include <type_traits>

// Where the toolkit's header is there, our declarations are held against it.
namespace twinlink::real::nvml {
static_assert(sizeof(PciInfo) == sizeof(nvmlPciInfo_t) && offsetof(PciInfo, bus) == offsetof(nvmlPciInfo_t, bus));
static_assert(sizeof(Memory) == sizeof(nvmlMemory_t) && offsetof(Memory, total) == offsetof(nvmlMemory_t, total));
static_assert(sizeof(FieldValue) == sizeof(nvmlFieldValue_t));
static_assert(offsetof(FieldValue, result) == offsetof(nvmlFieldValue_t, nvmlReturn));
static_assert(offsetof(FieldValue, value) == offsetof(nvmlFieldValue_t, value));
static_assert(kFieldNvlinkSpeed == NVML_FI_DEV_NVLINK_GET_SPEED && kTypeUnsigned == NVML_VALUE_TYPE_UNSIGNED_INT);
static_assert(kRemoteGpu == NVML_NVLINK_DEVICE_TYPE_GPU && kRemoteSwitch == NVML_NVLINK_DEVICE_TYPE_SWITCH);
static_assert(kPeerRead == NVML_P2P_CAPS_INDEX_READ && kPeerWrite == NVML_P2P_CAPS_INDEX_WRITE);
static_assert(NVML_P2P_STATUS_CHIPSET_NOT_SUPPORED == 1 && NVML_P2P_STATUS_NOT_SUPPORTED == 5);
static_assert(sizeof(ViolationTime) == sizeof(nvmlViolationTime_t));
static_assert(offsetof(ViolationTime, violation_ns) == offsetof(nvmlViolationTime_t, violationTime));
static_assert(kPowerPolicy == NVML_PERF_POLICY_POWER && kThermalPolicy == NVML_PERF_POLICY_THERMAL);
static_assert(kCorrected == NVML_MEMORY_ERROR_TYPE_CORRECTED && kUncorrected == NVML_MEMORY_ERROR_TYPE_UNCORRECTED);
static_assert(kVolatile == NVML_VOLATILE_ECC && kClockSm == NVML_CLOCK_SM && kSensorOfGpu == NVML_TEMPERATURE_GPU);
static_assert(kLinkReplay == NVML_NVLINK_ERROR_DL_REPLAY && kLinkRecovery == NVML_NVLINK_ERROR_DL_RECOVERY);
static_assert(kLinkCrcFlit == NVML_NVLINK_ERROR_DL_CRC_FLIT && kLinkCrcData == NVML_NVLINK_ERROR_DL_CRC_DATA);
static_assert(kMostLinks >= NVML_NVLINK_MAX_LINKS);
static_assert(sizeof(nvmlReturn_t) == sizeof(Return) && sizeof(nvmlEnableState_t) == sizeof(int));
}  // namespace twinlink::real::nvml
#endif

namespace twinlink::real {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;
using ::testing::StartsWith;

/// Each test is a process of its own, as CTest runs them.
platforms::NodeDescription inventory_of(const char* machine) {
  ::setenv("TWINLINK_FAKE_NVML", machine, 1);
  platforms::NodeDescription node{.memories = {{.number = 0}}};
  Nvml(TWINLINK_FAKE_NVML_FILE).read(node);
  return node;
}

TEST(Nvml, WithoutADriverSaysSo) {
  const std::string message = message_of<UnavailableError>([] { const Nvml nvml("libnot-there.so.1"); });
  EXPECT_THAT(message, StartsWith("no NVIDIA driver: libnot-there.so.1: cannot open"));
}

TEST(Nvml, ALibraryThatIsNoDriverIsRefused) {
  EXPECT_THAT(message_of<UnavailableError>([] { const Nvml nvml("libc.so.6"); }), HasSubstr("nvmlInit_v2"));
}

TEST(Nvml, ADriverThatDoesNotStartSaysWhy) {
  ::setenv("TWINLINK_FAKE_NVML", "no-driver", 1);
  EXPECT_THAT(message_of<UnavailableError>([] { const Nvml nvml(TWINLINK_FAKE_NVML_FILE); }),
              HasSubstr("does not start: Driver Not Loaded"));
}

TEST(Nvml, AGpuThatDoesNotAnswerIsAnError) {
  EXPECT_THAT(message_of<EnvironmentError>([] { inventory_of("lost"); }), HasSubstr("nvmlDeviceGetUUID: GPU is lost"));
}

TEST(Nvml, TellsWhatTheGpusAre) {
  const platforms::NodeDescription inventory = inventory_of("switch");
  ASSERT_THAT(inventory.gpus, SizeIs(3));
  const platforms::GpuFacts& gpu = inventory.gpus[0];  // by bus id
  EXPECT_EQ(gpu.model, "Fake H100");
  EXPECT_EQ(gpu.uuid, "GPU-13");
  EXPECT_EQ(gpu.bus_id, "0000:13:00.0");
  EXPECT_EQ(gpu.memory->value, 80_GiB);
  EXPECT_EQ(gpu.capability, std::pair(9, 0));
  EXPECT_THAT(gpu.pcie->source.text, StartsWith("nominal: PCIe Gen5 x16"));
  ASSERT_THAT(gpu.links, SizeIs(18));
  EXPECT_EQ(gpu.links[17].remote, platforms::GpuLinks::Remote::nvswitch);
  EXPECT_EQ(gpu.links[17].each->value, 25.0_GBps) << "26562 MB/s with its coding";
  EXPECT_THAT(inventory.peer_access, Each(Each(IsEmpty())));
  EXPECT_EQ(Nvml(TWINLINK_FAKE_NVML_FILE).driver_version(), "999.1");
}

TEST(Nvml, FindsTheGpuAtTheOtherEndByItsBusId) {
  const platforms::NodeDescription inventory = inventory_of("direct");
  EXPECT_THAT(inventory.gpus[2].links, IsEmpty());
  ASSERT_THAT(inventory.gpus[0].links, SizeIs(2));
  EXPECT_EQ(inventory.gpus[0].links[0].remote, platforms::GpuLinks::Remote::gpu);
  EXPECT_EQ(inventory.gpus[0].links[0].remote_bus_id, "0000:14:00.0");
  EXPECT_THAT(inventory.peer_access[2],
              ElementsAre("the chipset does not support it", "the chipset does not support it", ""));
  for (const std::size_t gpu : {0U, 1U}) {
    EXPECT_THAT(inventory.peer_access[gpu], ElementsAre("", "", "the I/O hubs do not support it"))
        << "they do not write it";
  }
}

TEST(Nvml, TellsWhatEachLinkLeadsTo) {
  using Remote = platforms::GpuLinks::Remote;
  ::setenv("TWINLINK_FAKE_NVML", "mixed", 1);
  for (const bool placed : {true, false}) {
    platforms::NodeDescription node{.memories = {{.number = 4}, {.number = 5}}};
    if (placed) node.pci.push_back({.kind = platforms::PciFacts::Kind::gpu, .bus_id = "0000:13:00.0", .numa = 5});
    Nvml(TWINLINK_FAKE_NVML_FILE).read(node);
    ASSERT_THAT(node.gpus, SizeIs(2));
    EXPECT_THAT(node.gpus[1].links, IsEmpty());
    ASSERT_THAT(node.gpus[0].links, SizeIs(4));  // one is down
    const auto expect_link = [&](std::size_t link, Remote remote, const std::string& bus_id) {
      EXPECT_EQ(node.gpus[0].links[link].remote, remote) << link;
      EXPECT_EQ(node.gpus[0].links[link].remote_bus_id, bus_id) << link;
    };
    expect_link(0, Remote::nvswitch, "");
    expect_link(1, Remote::gpu, "0000:14:00.0");
    expect_link(2, Remote::elsewhere, "0000:c3:00.0");
    expect_link(3, Remote::memory, "");
    EXPECT_EQ(node.gpus[0].links[3].remote_numa, placed ? 5 : 4) << "the memory next to it, else the first";
  }
}

TEST(Nvml, WhatTheDriverDoesNotSupportStaysUnknown) {
  const platforms::NodeDescription inventory = inventory_of("silent");
  const platforms::GpuFacts& gpu = inventory.gpus[0];
  EXPECT_FALSE(gpu.memory);
  EXPECT_FALSE(gpu.pcie);
  ASSERT_THAT(gpu.links, SizeIs(18));
  EXPECT_EQ(gpu.links[0].remote, platforms::GpuLinks::Remote::hidden);
  EXPECT_FALSE(gpu.links[0].each);
  EXPECT_THAT(inventory.peer_access,
              ElementsAre(Each(IsEmpty()), Each(IsEmpty()), ElementsAre("another error", "another error", "")));
}

TEST(Nvml, TellsHowWellEachGpuIs) {
  ::setenv("TWINLINK_FAKE_NVML", "ill", 1);
  const Nvml loaded(TWINLINK_FAKE_NVML_FILE);  // its counts go on
  const auto findings = [](const std::string& bus_id) {
    const bench::GpuHealth start = health_of_gpu(bus_id, TWINLINK_FAKE_NVML_FILE);
    return bench::health_findings(start, health_of_gpu(bus_id, TWINLINK_FAKE_NVML_FILE));
  };
  EXPECT_THAT(findings("0000:13:00.0"),
              ElementsAre("25 NVLink CRC errors", "10 NVLink replays", "11 NVLink recoveries"));
  EXPECT_THAT(findings("0000:14:00.0"), ElementsAre("throttles by temperature for 1 s (345 of 1980 MHz, 88 C)"));
  EXPECT_THAT(findings("0000:81:00.0"),
              ElementsAre("PCIe link x8 of x16", "row remapping pending: reset it", "5 corrected ECC errors",
                          "1 rows remapped", "12 PCIe replays, 2 of them meanwhile"));
}

TEST(Nvml, NobodyTellsHowWellAGpuIs) {
  ::setenv("TWINLINK_FAKE_NVML", "silent", 1);
  const bench::GpuHealth silent = health_of_gpu("0000:13:00.0", TWINLINK_FAKE_NVML_FILE);
  EXPECT_THAT(bench::health_findings(silent, silent), IsEmpty());
  EXPECT_THAT(health_of_gpu("0000:99:00.0", TWINLINK_FAKE_NVML_FILE), IsEmpty());
  EXPECT_THAT(health_of_gpu("0000:13:00.0", "libnot-there.so.1"), IsEmpty());
}

}  // namespace
}  // namespace twinlink::real
