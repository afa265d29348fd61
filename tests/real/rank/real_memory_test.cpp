#include "real/rank/real_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "real/device/host_runtime.hpp"
#include "tests/real/rank/device_mock.hpp"

namespace twinlink::real {
namespace {

using ::testing::_;
using ::testing::NiceMock;
using ::testing::Throw;

class RealMemoryTest : public testing::Test {
 protected:
  RealMemoryTest() {
    ON_CALL(device, device).WillByDefault(::testing::ReturnRef(owner_device.device()));
    ON_CALL(device, know_host_memory).WillByDefault([&](std::byte* memory, auto&&...) { known.push_back(memory); });
    ON_CALL(device, forget_host_memory).WillByDefault([&](std::byte* memory) { std::erase(known, memory); });
    EXPECT_CALL(device, pin(_, _)).WillRepeatedly(Throw(EnvironmentError("pin", "too much is page-locked")));
    EXPECT_CALL(device, unpin(_)).Times(0);
  }

  const Numa numa{"emulated:00"};
  HostRuntime owner_device{"here", 0, HostPeers::all};
  Exports owner_exports;
  RealMemory owner{RankId{0}, owner_device, owner_exports, numa};
  NiceMock<DeviceMock> device{1};
  std::vector<std::byte*> known;
  Exports exports;
  RealMemory guest{RankId{1}, device, exports, numa};
};

TEST_F(RealMemoryTest, HostMemoryThatCannotBePinnedIsForgotten) {
  for (const Memory kind : {Memory::pinned, Memory::shared_pinned}) {
    EXPECT_THROW(static_cast<void>(guest.allocate(kind, 4_KiB, Locality::near)), EnvironmentError);
    EXPECT_TRUE(known.empty()) << to_string(kind);
  }
}

TEST_F(RealMemoryTest, APeersMemoryThatCannotBePinnedIsForgotten) {
  for (const Locality locality : {Locality::near, Locality::far}) {
    const IpcHandle handle = owner.export_memory(owner.allocate(Memory::shared_pinned, 4_KiB, locality));
    EXPECT_CALL(device, know_host_memory(_, Memory::shared_pinned, locality, owner_device.device().uuid));
    EXPECT_THROW(static_cast<void>(guest.open(RankId{0}, owner_device.device().uuid, handle, {.same_node = true})),
                 EnvironmentError);
    EXPECT_TRUE(known.empty());
  }
}

TEST_F(RealMemoryTest, PagesThatCannotBePinnedAreGone) {
  std::byte* refused = nullptr;
  EXPECT_CALL(device, pin(_, _)).WillOnce([&](std::byte* memory, Bytes) {
    refused = memory;
    throw EnvironmentError("pin", "too much is page-locked");
  });
  EXPECT_THROW(static_cast<void>(guest.allocate(Memory::pinned, 4_KiB, Locality::near)), EnvironmentError);
  unsigned char resident = 0;
  EXPECT_EQ(::mincore(refused, 1, &resident), -1);
  EXPECT_EQ(errno, ENOMEM) << "nothing is mapped there";
}

TEST_F(RealMemoryTest, DeviceMemoryThatCannotBeOpenedIsNotInUse) {
  exports.attach(RankId{0}, owner_exports.token());
  const Buffer buffer = owner.allocate(Memory::device, 4_KiB, Locality::near);
  const IpcHandle handle = owner.export_memory(buffer);
  EXPECT_CALL(device, open_memory(_, _)).WillOnce(Throw(EnvironmentError("open", "refused")));
  EXPECT_THROW(static_cast<void>(guest.open(RankId{0}, owner_device.device().uuid, handle,
                                            {.same_node = true, .device_mapping = Answer::granted()})),
               EnvironmentError);
  EXPECT_NO_THROW(owner.release(buffer));
}

}  // namespace
}  // namespace twinlink::real
