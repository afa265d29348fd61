// What three ranks find out about each other: two on one host, the third on another, whose device has the UUID of the
// first one's.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <set>
#include <string>
#include <vector>

#include "real/rank/neighbours.hpp"
#include "tests/real/rank/device_mock.hpp"
#include "tests/real/system/mpi_session.hpp"

namespace twinlink::real {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::NiceMock;
using ::testing::Return;
using ::testing::ReturnRef;

constexpr int kRanks = 3;
constexpr const char* kElsewhere = "the GPUs are on different nodes";
const std::array<std::string, kRanks> kHosts{"a", "a", "b"};

/// The device of a rank: each of its facts differs from those of the others but for the UUID.
DeviceInfo device_of(int rank) {
  static constexpr std::array kBuses{"0000:20:00.0", "0000:30:00.0", "0000:10:00.0"};
  DeviceInfo device{.name = "device of " + std::to_string(rank),
                    .pci_bus_id = kBuses.at(static_cast<std::size_t>(rank)),
                    .capability_major = 5 + rank,
                    .capability_minor = 2 + rank,
                    .unified_addressing = true,
                    .memory = Bytes{100 + static_cast<std::uint64_t>(rank)}};
  for (std::size_t i = 0; i < device.uuid.size(); ++i) device.uuid[i] = std::byte(200 + i);
  if (rank == 1) device.uuid.back() = std::byte{1};
  return device;
}

class Meeting : public testing::Test {
 protected:
  Meeting() {
    devices = {device_of(self)};
    if (self == 1) devices.push_back({.name = "another", .pci_bus_id = "0000:10:00.0"});
    ON_CALL(runtime, devices).WillByDefault(ReturnRef(devices));
    ON_CALL(runtime, device).WillByDefault([this]() -> const DeviceInfo& { return devices.front(); });
    ON_CALL(runtime, runs_programs).WillByDefault(Return(Answer::granted()));
    ON_CALL(runtime, peer_access).WillByDefault(Return(Answer::granted()));
  }
  Neighbours meet() {
    EXPECT_EQ(mpi->size(), kRanks);
    return meet_neighbours(*mpi, runtime, kHosts.at(static_cast<std::size_t>(self)),
                           {exports, signals, messages, life});
  }
  /// The ways from this rank are these, by the other rank; of the third one it is always kElsewhere.
  void expect_ways(const Neighbours& all, const std::string& access, const std::string& mapping) {
    for (int peer = 0; peer < kRanks; ++peer) {
      if (peer == self) continue;
      const Path& path = all.ranks[static_cast<std::size_t>(peer)].path;
      const bool near = self < 2 && peer < 2;
      EXPECT_EQ(path.same_node, near);
      EXPECT_FALSE(path.same_device);
      for (const auto& [answer, reason] : {std::pair(&path.peer_access, near ? access : kElsewhere),
                                           {&path.device_mapping, near ? mapping : kElsewhere},
                                           {&path.one_sided, near ? mapping : kElsewhere},
                                           {&path.gpu_programs, near ? mapping : ""}}) {
        EXPECT_EQ(answer->yes, reason.empty()) << answer->reason;
        EXPECT_THAT(answer->reason, HasSubstr(reason));
      }
      EXPECT_TRUE(path.device_memory_on_network);
      EXPECT_TRUE(path.cpu_reaches_device);
    }
    const auto far = HasSubstr(kElsewhere);
    EXPECT_THAT(all.peer_access, ElementsAre(ElementsAre("", HasSubstr(access), far),
                                             ElementsAre(HasSubstr(access), "", far), ElementsAre(far, far, "")));
    EXPECT_EQ(all.peer_access[0][1].empty(), access.empty());
  }

  const int self = mpi->rank();
  std::vector<DeviceInfo> devices;
  NiceMock<DeviceMock> runtime{self};
  Exports exports;
  Signals signals{RankId{self}, kRanks, runtime};
  ControlMessages messages{RankId{self}, kRanks};
  LifeSigns life;
};

TEST_F(Meeting, EachLearnsWhereAllAreAndWhatTheyHave) {
  const Neighbours all = meet();
  EXPECT_THAT(all.places, ElementsAre(Place{0, 1}, Place{0, 2}, Place{1, 0}));
  for (int rank = 0; rank < kRanks; ++rank) {
    const Neighbour& known = all.ranks[static_cast<std::size_t>(rank)];
    const DeviceInfo device = device_of(rank);
    EXPECT_EQ(known.host, kHosts.at(static_cast<std::size_t>(rank)));
    EXPECT_EQ(known.device.name, device.name);
    EXPECT_EQ(known.device.uuid, device.uuid);
    EXPECT_EQ(known.device.pci_bus_id, device.pci_bus_id);
    EXPECT_EQ(known.device.capability_major, device.capability_major);
    EXPECT_EQ(known.device.capability_minor, device.capability_minor);
    EXPECT_EQ(known.device.unified_addressing, device.unified_addressing);
    EXPECT_EQ(known.device.memory, device.memory);
    EXPECT_EQ(all.places[static_cast<std::size_t>(rank)].device, device.name);
  }
  expect_ways(all, "", "");
}

TEST_F(Meeting, PeerAccessIsGrantedBothWaysOrTheFirstWhoRefusesSaysWhy) {
  for (const bool both : {false, true}) {
    if (self == 1) ON_CALL(runtime, peer_access).WillByDefault(Return(Answer::refused("one refuses")));
    if (self == 0 && both) ON_CALL(runtime, peer_access).WillByDefault(Return(Answer::refused("zero refuses")));
    expect_ways(meet(), both ? "zero refuses" : "one refuses", "");
  }
}

TEST_F(Meeting, ADeviceOfTooFewCapabilitiesIsNoPeerWhateverTheDriverSays) {
  if (self == 0) ON_CALL(runtime, peer_access).WillByDefault(Return(Answer::refused("zero refuses")));
  const std::string uuid = "device of 1 (GPU-c8c9cacb-cccd-cecf-d0d1-d2d3d4d5d601)";
  if (self == 1) devices.front().unified_addressing = false;
  expect_ways(meet(), uuid + " has no unified addressing", "");
  if (self == 1) devices.front().unified_addressing = true;
  if (self == 1) devices.front().capability_major = 1;
  expect_ways(meet(), uuid + " has compute capability 1.3, peer access needs 2.0", "");
}

TEST_F(Meeting, WhoCannotOpenTheOthersMemorySaysSoAtBothEnds) {
  for (const int refused : {0, 1}) {
    for (const bool driver_knows : {true, false}) {
      if (self == refused) {
        ON_CALL(runtime, open_memory).WillByDefault(testing::Throw(EnvironmentError("open", "nothing is opened")));
      } else {
        ON_CALL(runtime, open_memory).WillByDefault([this](const IpcToken& token, const Uuid& owner) {
          return runtime.memory.open_memory(token, owner);
        });
      }
      ON_CALL(runtime, peer_access)
          .WillByDefault(Return(driver_knows ? std::optional(Answer::granted()) : std::nullopt));
      expect_ways(meet(), driver_knows ? "" : "open: nothing is opened", "open: nothing is opened");
    }
  }
}

TEST_F(Meeting, WhereNothingRunsProgramsAndTheCpuHasNothingMappedThatIsSaid) {
  ON_CALL(runtime, runs_programs).WillByDefault(Return(Answer::refused("no programs")));
  ON_CALL(runtime, host_addressable).WillByDefault(Return(false));
  const Neighbours all = meet();
  for (int peer = 0; peer < kRanks; ++peer) {
    if (peer == self) continue;
    const Path& path = all.ranks[static_cast<std::size_t>(peer)].path;
    EXPECT_EQ(path.gpu_programs.reason, "no programs");
    EXPECT_FALSE(path.cpu_reaches_device);
    EXPECT_EQ(path.device_memory_on_network.yes, mpi_reads_cuda_memory().yes);
  }
}

/// What a node's ranks share leads to the one that it is of; the sample of device memory is gone.
TEST_F(Meeting, EachOpensWhatTheOtherShares) {
  std::set<std::byte*> taken;
  ON_CALL(runtime, allocate).WillByDefault([&](Bytes size) {
    return *taken.insert(runtime.memory.allocate(size)).first;
  });
  ON_CALL(runtime, free).WillByDefault([&](std::byte* memory) { taken.erase(memory); });
  EXPECT_CALL(runtime, open_memory).Times(self < 2 ? 1 : 0);
  EXPECT_CALL(runtime, close_memory).Times(self < 2 ? 1 : 0);
  exports.publish({.size = 10 + static_cast<std::uint64_t>(self)});
  static_cast<void>(meet());
  EXPECT_TRUE(taken.empty());
  const RankId peer{1 - self};
  if (self < 2) {
    EXPECT_NO_THROW(exports.enter(peer, {.size = 10 + static_cast<std::uint64_t>(peer.value)}));
    EXPECT_NO_THROW(static_cast<void>(signals.next(peer, {Tag{1}, 1})));
    EXPECT_TRUE(messages.post(peer, Tag{1}, ControlMessage(self)));
    static_cast<void>(life.silence_of(peer));
  }
  EXPECT_THROW(static_cast<void>(signals.next(RankId{self == 2 ? 0 : 2}, {Tag{1}, 1})), UsageError);
  mpi->barrier();
  ControlMessage message;
  if (self < 2) {
    ASSERT_TRUE(messages.take(peer, Tag{1}, message));
    EXPECT_EQ(message.as<int>(), peer.value);
  }
}

}  // namespace
}  // namespace twinlink::real
