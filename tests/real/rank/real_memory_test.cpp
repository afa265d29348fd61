#include "real/rank/real_memory.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>

#include <cerrno>

#include "real/device/host_runtime.hpp"

namespace twinlink::real {
namespace {

using ::testing::_;
using ::testing::NiceMock;
using ::testing::Throw;

/// A device of which only the calls about host memory matter.
class DeviceMock : public DeviceRuntime {
 public:
  MOCK_METHOD(const std::vector<DeviceInfo>&, devices, (), (const, override));
  MOCK_METHOD(const DeviceInfo&, device, (), (const, override));
  MOCK_METHOD((std::map<std::string, std::string>), versions, (), (const, override));
  MOCK_METHOD(bool, host_addressable, (), (const, override));
  MOCK_METHOD(std::byte*, allocate, (Bytes), (override));
  MOCK_METHOD(std::byte*, allocate_on, (const Uuid&, Bytes), (override));
  MOCK_METHOD(void, free, (std::byte*), (override));
  MOCK_METHOD(void, pin, (std::byte*, Bytes), (override));
  MOCK_METHOD(void, unpin, (std::byte*), (override));
  MOCK_METHOD(void, know_host_memory, (std::byte*, Memory, Locality, const Uuid&), (override));
  MOCK_METHOD(void, forget_host_memory, (std::byte*), (override));
  MOCK_METHOD(Event, copy, (std::byte*, const std::byte*, Bytes, Stream, Engine), (override));
  MOCK_METHOD(Event, copy_blocks, (std::byte*, const std::byte*, std::span<const Block>, Stream, Engine), (override));
  MOCK_METHOD(Event, copy_and_raise, (std::byte*, const std::byte*, Bytes, Flag, Stream, Engine), (override));
  MOCK_METHOD(Event, add, (std::byte*, const std::byte*, Bytes, Stream), (override));
  MOCK_METHOD(Event, compute, (Seconds, Stream), (override));
  MOCK_METHOD(bool, ended, (Event), (override));
  MOCK_METHOD(void, synchronize, (Stream), (override));
  MOCK_METHOD(void, copy_now, (std::byte*, const std::byte*, Bytes), (override));
  MOCK_METHOD(void, progress, (), (override));
  MOCK_METHOD(IpcToken, export_memory, (std::byte*), (override));
  MOCK_METHOD(std::byte*, open_memory, (const IpcToken&, const Uuid&), (override));
  MOCK_METHOD(void, close_memory, (std::byte*), (override));
  MOCK_METHOD(std::optional<Answer>, peer_access, (const DeviceInfo&), (const, override));
};

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
  NiceMock<DeviceMock> device;
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
  const IpcHandle handle = owner.export_memory(owner.allocate(Memory::shared_pinned, 4_KiB, Locality::near));
  EXPECT_CALL(device, know_host_memory(_, Memory::shared_pinned, Locality::near, owner_device.device().uuid));
  EXPECT_THROW(static_cast<void>(guest.open(RankId{0}, owner_device.device().uuid, handle, {.same_node = true})),
               EnvironmentError);
  EXPECT_TRUE(known.empty());
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
