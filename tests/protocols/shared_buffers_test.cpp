// What two ranks know of each other's memory: a handle goes once.
#include "protocols/shared_buffers.hpp"

#include <gtest/gtest.h>

#include <cstddef>
#include <string>
#include <vector>

#include "protocols/decorated_rank.hpp"
#include "protocols/registry.hpp"
#include "protocols/tags.hpp"
#include "tests/protocols/scripted_rank.hpp"
#include "tests/support/fake_rank.hpp"

namespace twinlink {
namespace {

constexpr RankId kPeer{1};

class SharedBuffersTest : public testing::Test {
 protected:
  ScriptedRank rank;
  SharedBuffers shared{rank, kPeer};
};

TEST_F(SharedBuffersTest, NumbersBuffersAndTellsEachHandleOnce) {
  const Buffer a = rank.allocate(Memory::device, 8_B, Locality::near);
  const Buffer b = rank.allocate(Memory::device, 8_B, Locality::near);
  EXPECT_TRUE(shared.name_of(a).handle);
  EXPECT_TRUE(shared.name_of(b).handle);
  const SharedBuffers::Name again = shared.name_of(a);
  EXPECT_EQ(again.number, 0U);
  EXPECT_FALSE(again.handle);
  EXPECT_EQ(shared.name_of(b).number, 1U);
}

TEST_F(SharedBuffersTest, OpensABufferOnce) {
  shared.learn(3, {.size = 8});
  shared.learn(0, {.size = 4});
  const Buffer open = shared.open(3);
  EXPECT_EQ(open.size, 8_B);
  EXPECT_EQ(shared.open(3), open);
  EXPECT_EQ(shared.open(0).size, 4_B);
}

TEST_F(SharedBuffersTest, AskForAHandleBeforeTheirNumber) { EXPECT_THROW(shared.open(0), UsageError); }

TEST_F(SharedBuffersTest, TakeTheNewestHandleOfANumber) {
  shared.learn(0, {.size = 4});
  const Buffer old = shared.open(0);
  shared.learn(0, {.size = 8});
  EXPECT_NE(shared.open(0), old);
  EXPECT_EQ(shared.open(0).size, 8_B);
}

// ---- in the protocols -----------------------------------------------------------------------------------------------

/// Counts the control messages that have room for a handle.
class CountHandles final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op tell(RankId peer, Tag tag, const Message& message) override {
    if (message.bytes().size() > sizeof(IpcHandle)) ++handles;
    return DecoratedRank::tell(peer, tag, message);
  }
  int handles = 0;
};

/// How many handles both ranks tell for messages out of, and into, the first, first, second, first buffer of theirs.
int handles_of(const std::string& protocol) {
  int handles[2]{};
  run_fake_world({}, [&](Rank& plain) {
    CountHandles rank(plain);
    const bool sends = plain.id().value == 0;
    const Buffer a = rank.allocate(Memory::device, 64_KiB, Locality::near);
    const Buffer b = rank.allocate(Memory::device, 64_KiB, Locality::near);
    const auto& found = find_protocol(protocol);
    const auto channel = found.connect(rank, RankId{sends ? 1 : 0}, found.defaults());
    const auto exchange = [&](Buffer buffer) {
      const View message(buffer);
      const Outcome outcome = sends ? channel->exchange({&message, 1}, {}) : channel->exchange({}, {&message, 1});
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
    };
    exchange(a);  // the first message of cuda-ipc still goes through the host
    rank.handles = 0;
    for (const Buffer buffer : {a, a, b, a}) exchange(buffer);
    handles[sends ? 0 : 1] = rank.handles;
  });
  return handles[0] + handles[1];
}

TEST(HandlesInMessages, GoOnceForEachBufferInGpuDirectV2) { EXPECT_EQ(handles_of("gpudirect-v2"), 1); }

TEST(HandlesInMessages, GoWhereTheMemoryIsNotThatOfTheHeaderBeforeInCudaIpc) { EXPECT_EQ(handles_of("cuda-ipc"), 3); }

}  // namespace
}  // namespace twinlink
