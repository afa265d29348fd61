// A device of which a test says what it does. Its memory is an emulated one's.
#pragma once

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "real/device/host_runtime.hpp"

namespace twinlink::real {

class DeviceMock : public DeviceRuntime {
 public:
  explicit DeviceMock(int number) : memory("here", number, HostPeers::all) {
    ON_CALL(*this, device).WillByDefault(::testing::ReturnRef(memory.device()));
    ON_CALL(*this, devices).WillByDefault(::testing::ReturnRef(memory.devices()));
    ON_CALL(*this, host_addressable).WillByDefault(::testing::Return(true));
    ON_CALL(*this, allocate).WillByDefault([this](Bytes size) { return memory.allocate(size); });
    ON_CALL(*this, free).WillByDefault([this](std::byte* start) { memory.free(start); });
    ON_CALL(*this, copy_now).WillByDefault([this](std::byte* to, const std::byte* from, Bytes size) {
      memory.copy_now(to, from, size);
    });
    ON_CALL(*this, export_memory).WillByDefault([this](std::byte* start) { return memory.export_memory(start); });
    ON_CALL(*this, open_memory).WillByDefault([this](const IpcToken& token, const Uuid& owner) {
      return memory.open_memory(token, owner);
    });
    ON_CALL(*this, close_memory).WillByDefault([this](std::byte* start) { memory.close_memory(start); });
  }

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
  MOCK_METHOD(Answer, runs_programs, (), (const, override));
  MOCK_METHOD(Event, launch, (DeviceProgram, Stream), (override));
  MOCK_METHOD(void, give_up_programs, (Stream), (override));
  MOCK_METHOD(Answer, runs_libraries, (), (const, override));
  MOCK_METHOD(Event, enqueue, (Stream, int, std::string_view, const Enqueue&), (override));
  MOCK_METHOD(void, forget_enqueued, (std::string_view), (override));
  MOCK_METHOD(bool, ended, (Event), (override));
  MOCK_METHOD(void, forget, (Event), (override));
  MOCK_METHOD(void, synchronize, (Stream), (override));
  MOCK_METHOD(void, copy_now, (std::byte*, const std::byte*, Bytes), (override));
  MOCK_METHOD(void, rest, (), (override));
  MOCK_METHOD(void, progress, (), (override));
  MOCK_METHOD(IpcToken, export_memory, (std::byte*), (override));
  MOCK_METHOD(std::byte*, open_memory, (const IpcToken&, const Uuid&), (override));
  MOCK_METHOD(void, close_memory, (std::byte*), (override));
  MOCK_METHOD(std::optional<Answer>, peer_access, (const DeviceInfo&), (const, override));

  HostRuntime memory;
};

}  // namespace twinlink::real
