#include "real/device/device_selection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"
#include "tests/real/rank/messages.hpp"

namespace twinlink::real {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

Uuid uuid(unsigned first, unsigned second) {
  Uuid result{};
  result[0] = std::byte(first);
  result[1] = std::byte(second);
  return result;
}

/// GPU-8f6d..., GPU-8f11..., GPU-0a00...
const std::vector<Uuid> kVisible{uuid(0x8f, 0x6d), uuid(0x8f, 0x11), uuid(0x0a, 0x00)};

std::size_t select(std::string_view list, int local_rank, const std::vector<Uuid>& visible = kVisible) {
  return select_device(parse_gpus(list), local_rank, visible);
}

TEST(DeviceSelection, RanksTakeTheListInOrder) {
  EXPECT_EQ(select("2,0", 0), 2U);
  EXPECT_EQ(select("2,0", 1), 0U);
  EXPECT_EQ(select("1,2,0", 1), 2U);
  EXPECT_EQ(select("1,1", 1), 1U);  // two ranks may share a device
}

TEST(DeviceSelection, UuidsMayBeWholeOrBegin) {
  EXPECT_EQ(to_string(kVisible[0]), "GPU-8f6d0000-0000-0000-0000-000000000000");
  EXPECT_EQ(select("GPU-8f6d", 0), 0U);
  EXPECT_EQ(select("gpu-8F1", 0), 1U);
  EXPECT_EQ(select(to_string(kVisible[2]), 0), 2U);
  EXPECT_EQ(select("1,GPU-0", 1), 2U);
}

TEST(DeviceSelection, OneVisibleGpuPerRankIsFoundByItsUuid) {
  EXPECT_EQ(select("GPU-8f6d,GPU-8f11", 0, {kVisible[0]}), 0U);
  EXPECT_EQ(select("GPU-8f6d,GPU-8f11", 1, {kVisible[1]}), 0U);
}

TEST(DeviceSelection, SaysWhichDevicesThereAre) {
  EXPECT_THAT(message_of<UsageError>([] { select("3", 0); }),
              AllOf(HasSubstr("--gpus: '3' is none of the devices that this process can see: 0 = GPU-8f6d"),
                    HasSubstr("2 = GPU-0a00"), HasSubstr("CUDA_VISIBLE_DEVICES")));
  EXPECT_THAT(message_of<UsageError>([] { select("GPU-77", 0); }),
              HasSubstr("'GPU-77' is the UUID of none of the devices"));
  EXPECT_THAT(message_of<UsageError>([] { select("GPU-8f", 0); }),
              HasSubstr("'GPU-8f' begins the UUIDs of several devices"));
  EXPECT_THAT(message_of<UsageError>([] { select("0", 1); }),
              HasSubstr("--gpus names 1 device, and none for rank 1 of this node"));
}

TEST(DeviceSelection, WhatIsNeitherNumberNorUuidIsRefused) {
  for (const char* text : {"", ",", "0,", "a", "-1", "1x", "GPU-", "GPU-xyz", "MIG-8f6d", "0 1", "99999999999"}) {
    EXPECT_THROW(parse_gpus(text), UsageError) << "'" << text << "'";
  }
}

}  // namespace
}  // namespace twinlink::real
