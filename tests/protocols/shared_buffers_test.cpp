// What two ranks know of each other's memory: a handle goes once.
#include "protocols/parts/shared_buffers.hpp"

#include <gtest/gtest.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/cuda_ipc/cuda_ipc_packet.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/finish.hpp"
#include "tests/support/said_by.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink {
namespace {

constexpr RankId kPeer{1};

class SharedBuffersTest : public testing::Test {
 protected:
  ScriptedRank rank;
  SharedBuffers shared{rank, kPeer};
};

TEST_F(SharedBuffersTest, SendEachHandleOnceAndThenTheBuffersOwnNumber) {
  const Buffer a = rank.allocate(Memory::device, 8_B, Locality::near);
  const Buffer b = rank.allocate(Memory::device, 8_B, Locality::near);
  EXPECT_TRUE(shared.name_of(b).handle);
  EXPECT_TRUE(shared.name_of(a).handle);
  const SharedBuffers::Name again = shared.name_of(b);
  EXPECT_EQ(again.number, b.id);
  EXPECT_FALSE(again.handle);
  EXPECT_EQ(SharedBuffers(rank, kPeer).name_of(b).number, b.id) << "in another connection, too";
}

TEST_F(SharedBuffersTest, OpenABufferOnce) {
  const Buffer open = shared.open({.number = 3, .handle = IpcHandle{.size = 8}});
  EXPECT_EQ(open.size, 8_B);
  EXPECT_EQ(shared.open({.number = 3}), open);
  EXPECT_EQ(shared.open({.number = 3, .handle = IpcHandle{.size = 8}}), open) << "a copy may be using it";
}

TEST_F(SharedBuffersTest, AskForAHandleBeforeItsNumberAndForNoSecondOne) {
  EXPECT_THROW(shared.open({.number = 1}), UsageError);
  shared.open({.number = 1, .handle = IpcHandle{.size = 8}});
  EXPECT_THROW(shared.open({.number = 1, .handle = IpcHandle{.size = 9}}), UsageError);
}

// ---- in the protocols -----------------------------------------------------------------------------------------------

/// Counts the control messages that have room for a handle.
class CountHandles final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    if (message.bytes().size() > sizeof(IpcHandle)) ++handles;
    return DecoratedRank::send_control(peer, tag, message);
  }
  int handles = 0;
};

Settings settings_of(const std::string& protocol, const std::map<std::string, std::string>& options) {
  Settings settings = find_protocol(protocol).defaults();
  settings.timeout = Seconds{1};
  for (const auto& [name, value] : options) set_option(find_protocol(protocol), settings, name, value);
  return settings;
}

/// How many handles both ranks send for messages both ways, out of and into the first, first, second, first buffer of
/// theirs. Every message arrives whole, where it belongs.
int handles_of(const std::string& protocol) {
  std::array<int, 2> handles{};
  run_fake_world({}, [&](MeasuredRank& plain) {
    CountHandles rank(plain);
    const auto self = static_cast<std::uint64_t>(plain.id().value);
    const auto channel =
        find_protocol(protocol).connect(rank, RankId{static_cast<int>(1 - self)}, settings_of(protocol, {}));
    std::array<std::array<Buffer, 2>, 2> buffers;  // by direction: to the other, from the other
    for (auto& direction : buffers) {
      for (Buffer& buffer : direction) buffer = rank.allocate(Memory::device, 64_KiB, Locality::near);
    }
    std::uint64_t messages = 0;
    const auto exchange = [&](std::size_t which) {
      const std::uint64_t seed = 2 * ++messages;
      const View out(buffers[0][which]);
      const View in(buffers[1][which]);
      rank.fill(out, Payload{seed + self});
      rank.fill(in, kSentinel);
      const Outcome outcome = channel->exchange({&out, 1}, {&in, 1});
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
      EXPECT_TRUE(rank.check(in, Payload{seed + 1 - self}).intact()) << "message " << messages;
    };
    exchange(0);  // the first messages of cuda-ipc still go through the host
    exchange(0);
    rank.handles = 0;
    for (const std::size_t which : {0, 0, 1, 0}) exchange(which);
    handles[self] = rank.handles;
    std::uint64_t counted = 0;
    for (const Counter& counter : channel->counters()) {
      if (counter.name == "IPC messages" || counter.name == "staged messages") counted += counter.value;
    }
    EXPECT_EQ(counted, protocol == "cuda-ipc" ? 2 * messages : 0) << "out and in";
  });
  return handles[0] + handles[1];
}

TEST(HandlesInMessages, GoOnceForEachBufferInGpuDirectV2) { EXPECT_EQ(handles_of("gpudirect-v2"), 2); }

/// The second buffer, and the first one again.
TEST(HandlesInMessages, GoWhereTheMemoryIsNotThatOfTheHeaderBeforeInCudaIpc) { EXPECT_EQ(handles_of("cuda-ipc"), 4); }

/// Notes what the rank says of the packet that it has last received.
class NotesState final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  void state(std::string_view words) override { last = words; }
  std::string last{};
};

/// What becomes of a message of 8 B whose receiver is sent this packet.
std::string answer_to(const std::function<ControlMessage(Rank&)>& forged) {
  std::string answer;
  run_fake_world({}, [&](MeasuredRank& inner) {
    NotesState rank(inner);
    const bool sends = rank.id().value == 0;
    const auto channel = find_protocol("cuda-ipc").connect(rank, RankId{sends ? 1 : 0}, settings_of("cuda-ipc", {}));
    if (sends) return finish(rank, rank.send_control(RankId{1}, tags::kIpcFifo, forged(rank)), Seconds{1});
    Outcome outcome;
    const std::string refusal = said_by([&] {
      outcome = channel->receive(View(rank.allocate(Memory::device, 8_B, Locality::near)));
      return 0;
    });
    if (refusal != "nothing was refused") outcome.reason = refusal;
    answer = rank.last + ", " + std::string(to_string(outcome.status)) + ": " + outcome.reason;
  });
  return answer;
}
std::string answer_to(const Packet& packet) {
  return answer_to([&](Rank&) { return ControlMessage(packet); });
}

TEST(ForgedPackets, AreThePeersFailure) {
  const std::string failed = ", peer failed: ";
  const std::string unknown = failed + "the peer speaks of message 0, which is not under way";
  EXPECT_EQ(answer_to({.kind = PacketKind::clear_to_send}), "received clear to send" + unknown);
  EXPECT_EQ(answer_to({.kind = PacketKind::fragment, .length = 8}), "received fragment" + unknown);
  EXPECT_EQ(answer_to({.kind = PacketKind::fin}), "received FIN" + unknown);
  const std::string amiss = failed + "the peer sent a packet of the connection handshake in the middle of an exchange";
  EXPECT_EQ(answer_to({.kind = PacketKind::opened}), "received opened" + amiss);
  for (const int kind : {14, 99}) {
    EXPECT_EQ(answer_to({.kind = static_cast<PacketKind>(kind)}), "received an unknown packet" + amiss);
  }
  EXPECT_EQ(answer_to({.kind = PacketKind::failed, .slot = static_cast<std::uint16_t>(Status::unsupported)}),
            "received failure, unsupported: the peer has given the exchange up: step 'receive': incoming message 0 "
            "(8 B) waits for its header");
  const std::string wrong = "received eager message, wrong size: ";
  EXPECT_EQ(answer_to({.kind = PacketKind::eager, .length = 7}),
            wrong + "message 0: the sender had 7 B, and the receiver expected 8 B");
  EXPECT_EQ(answer_to({.kind = PacketKind::eager, .number = 1, .length = 8}),
            wrong + "the peer sends more messages than are expected: 1");
  EXPECT_EQ(answer_to({.kind = PacketKind::eager, .length = 8}), "received eager message, delivered: ");
  EXPECT_EQ(answer_to({.kind = PacketKind::rget, .length = 8}),
            "received RGET header, delivered: a header names the memory of the one before it, and there was none");
}

TEST(ForgedPackets, MayNotReachBeyondTheMemoryThatTheyName) {
  constexpr std::uint64_t kFarAway = ~std::uint64_t{3};
  for (const auto& [offset, memory, fits] :
       std::initializer_list<std::tuple<std::uint64_t, Bytes, bool>>{{0, 8_B, true},
                                                                     {8, 16_B, true},
                                                                     {0, 7_B, false},
                                                                     {1, 8_B, false},
                                                                     {16, 8_B, false},
                                                                     {kFarAway, 8_B, false}}) {
    const std::string answer = answer_to([&](Rank& rank) {
      return ControlMessage(PacketWithHandle{{.kind = PacketKind::rget, .offset = offset, .length = 8},
                                             rank.export_memory(rank.allocate(Memory::device, memory))});
    });
    EXPECT_EQ(answer, std::string("received RGET header, ") +
                          (fits ? "delivered: "
                                : "peer failed: step 'look up' of message 0: it reaches beyond the end of the memory "
                                  "that was opened"))
        << offset;
  }
}

// ---- what one connection leaves to the next -------------------------------------------------------------------------

class AfterAFailedConnection : public testing::TestWithParam<std::string> {};

/// The receiver of the first connection has a batch whose second place nobody receives. The next connection takes it
/// for its own.
TEST_P(AfterAFailedConnection, NothingIsReportedAsDeliveredThatWasNot) {
  std::array<bool, 2> ok{};
  Verdict arrived;
  run_fake_world({}, [&](MeasuredRank& rank) {
    const bool mover = rank.id().value == 0;
    const auto connect = [&] {
      return find_protocol("gpudirect-v2")
          .connect(rank, RankId{mover ? 1 : 0}, settings_of("gpudirect-v2", {{"engine", GetParam()}, {"batch", "2"}}));
    };
    std::array<Buffer, 3> buffers;
    for (Buffer& buffer : buffers) buffer = rank.allocate(Memory::device, 64_B, Locality::near);
    const auto at = [&](std::size_t buffer) { return View(buffers[buffer], 0_B, 8_B); };
    const auto exchange = [&](Channel& channel, const std::vector<View>& messages) {
      return mover ? channel.exchange(messages, {}) : channel.exchange({}, messages);
    };
    const auto first = connect();
    const Outcome failed = exchange(*first, mover ? std::vector{at(0)} : std::vector{at(0), at(1)});
    EXPECT_FALSE(failed.ok());
    const auto second = connect();
    static_cast<void>(exchange(*second, {at(0), at(2)}));
    if (mover) rank.fill(at(2), Payload{7});
    if (!mover) rank.fill(at(2), kSentinel);
    const Outcome last = exchange(*second, {at(2)});
    ok[mover ? 0 : 1] = last.ok();
    if (!mover) arrived = rank.check(at(2), Payload{7});
  });
  EXPECT_TRUE(arrived.intact() || !ok[0] || !ok[1]) << to_string(arrived);
}

INSTANTIATE_TEST_SUITE_P(Of, AfterAFailedConnection, testing::Values("copy-engine", "kernel-push", "resident-push"),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink
