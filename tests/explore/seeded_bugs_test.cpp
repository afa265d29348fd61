// Faults that protocols of this kind have had, each planted into a small one. The explorer finds it, and the trace
// shows how it comes about. Beside each stands the same protocol without the fault, in which nothing is found.
#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "tests/explore/bodies.hpp"
#include "tests/explore/expectations.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::IsEmpty;

constexpr RankId kSender{0};
constexpr RankId kReceiver{1};
constexpr Tag kHandle{64};
constexpr Tag kDone{65};
constexpr Tag kData{66};
constexpr Tag kRequest{67};
constexpr Tag kAnswer{68};
constexpr Tag kHeader{69};

void send_control(Rank& rank, RankId peer, Tag tag, const ControlMessage& message = ControlMessage()) {
  finish(rank, rank.send_control(peer, tag, message), kLong);
}

ControlMessage recv_control(Rank& rank, RankId peer, Tag tag) {
  ControlMessage received;
  finish(rank, rank.recv_control(peer, tag, received), kLong);
  return received;
}

void copy(Rank& rank, View to, View from) { finish(rank, rank.copy(to, from, Stream{0}, Engine::dma), kLong); }

// ---- a receiver that fetches the bytes from the sender's memory, and then says so -----------------------------------

enum class Fetch { right, closes_too_early, sends_too_early, sender_frees_too_early };

Scenario fetch(Fetch fault) {
  const Body sender = [=](MeasuredRank& rank, Witness&) {
    const View message(rank.allocate(Memory::device, kSize));
    rank.fill(message, content(0, 0));
    rank.step("send the handle");
    send_control(rank, kReceiver, kHandle, ControlMessage(rank.export_memory(message.buffer)));
    if (fault != Fetch::sender_frees_too_early) {
      rank.step("receive done");
      recv_control(rank, kReceiver, kDone);
    }
    rank.step("free");
    rank.release(message.buffer);
  };
  const Body receiver = [=](MeasuredRank& rank, Witness& witness) {
    const View message(rank.allocate(Memory::device, kSize));
    rank.fill(message, kSentinel);
    rank.step("receive the handle");
    const auto handle = recv_control(rank, kSender, kHandle).as<IpcHandle>();
    rank.step("open");
    const Buffer theirs = rank.open_memory(kSender, handle);
    rank.step("fetch");
    const Op fetching = rank.copy(message, View(theirs), Stream{0}, Engine::dma);
    if (fault == Fetch::sends_too_early) {
      rank.step("send done");
      send_control(rank, kSender, kDone);
    }
    if (fault != Fetch::closes_too_early) finish(rank, fetching, kLong);
    rank.step("close");
    rank.close_memory(theirs);
    if (fault != Fetch::sends_too_early) {
      rank.step("send done");
      send_control(rank, kSender, kDone);
    }
    witness.require(rank.check(message, content(0, 0)).intact(), "the message is not what was sent");
  };
  return {.bodies = {sender, receiver}};
}

TEST(SeededBug, NoneInTheRightFetch) {
  const ExploreResult result = explore(fetch(Fetch::right));
  EXPECT_TRUE(result.clean()) << to_string(result);
}

TEST(SeededBug, ACloseWithACopyInFlight) {
  const Finding found = finding_with(explore(fetch(Fetch::closes_too_early)), "cannot be closed");
  EXPECT_EQ(found.what, "rank 1 threw: buffer 2 (device, 64 B) cannot be closed: an operation uses it");
  EXPECT_EQ(
      found.trace,
      "rank 0 |  | allocate device[0+64]\n"
      "rank 0 | send the handle | export memory device[0+64]\n"
      "rank 0 | send the handle | send_control rank 1 104 B\n"
      "rank 1 |  | allocate device[0+64]\n"
      "rank 1 | receive the handle | recv_control rank 0\n"
      "rank 0 | send the handle | send_control rank 1 104 B | ended\n"
      "rank 0 | receive done | recv_control rank 1\n"
      "rank 1 | receive the handle | recv_control rank 0 | ended\n"
      "rank 1 | open | open memory of rank 0 device[0+64]\n"
      "rank 1 | fetch | copy device[0+64] -> device[0+64] stream 0\n"
      "rank 1 | close | VIOLATION rank 1 threw: buffer 2 (device, 64 B) cannot be closed: an operation uses it\n");
}

TEST(SeededBug, ADoneBeforeItIsDone) {
  // The sender may free its memory while the copy still reads it.
  const Finding found = finding_with(explore(fetch(Fetch::sends_too_early)), "rank 0 threw");
  EXPECT_THAT(found.what, HasSubstr("cannot be released: a peer has it open"));
  EXPECT_THAT(found.trace,
              AllOf(HasSubstr("rank 1 | send done | send_control rank 0 0 B\n"),
                    HasSubstr("rank 0 | receive done | recv_control rank 1 | ended\nrank 0 | free | VIOLATION")));
}

TEST(SeededBug, AFreeBeforeTheDone) {
  const ExploreResult result = explore(fetch(Fetch::sender_frees_too_early));
  // Depending on how far the receiver is: it has not opened the memory yet, or it has.
  EXPECT_THAT(finding_with(result, "it was released").trace, HasSubstr("rank 0 | free | release device[0+64]\n"));
  EXPECT_THAT(finding_with(result, "cannot be released: a peer has it open").trace, HasSubstr("rank 1 | open | open"));
}

// ---- a pipeline through one staging buffer --------------------------------------------------------------------------

Scenario staged(bool waits_for_the_send) {
  const Body sender = [=](MeasuredRank& rank, Witness&) {
    const View staging(rank.allocate(Memory::pinned, kSize));
    std::vector<Op> sends;
    for (int i = 0; i < 2; ++i) {
      const View message(rank.allocate(Memory::device, kSize));
      rank.fill(message, content(0, i));
      rank.step("copy out");
      copy(rank, staging, message);
      rank.step("send");
      sends.push_back(rank.send(kReceiver, kData, staging));
      if (waits_for_the_send) {
        finish(rank, sends.back(), kLong);
        sends.pop_back();
      }
    }
    for (const Op op : sends) finish(rank, op, kLong);
  };
  const Body receiver = [](MeasuredRank& rank, Witness& witness) {
    const View message(rank.allocate(Memory::pinned, kSize));
    for (int i = 0; i < 2; ++i) {
      rank.step("receive");
      finish(rank, rank.receive(kSender, kData, message), kLong);
      witness.require(rank.check(message, content(0, i)).intact(), "the message is not what was sent");
    }
  };
  return {.bodies = {sender, receiver}};
}

TEST(SeededBug, AStagingBufferThatIsUsedAgainTooEarly) {
  EXPECT_TRUE(explore(staged(true)).clean());
  const Finding found = finding_with(explore(staged(false)), "copy writes pinned[0+64] of rank 0");
  EXPECT_THAT(found.what, HasSubstr("while this is in flight: rank 0: send pinned[0+64] of rank 0 -> rank 1"));
  EXPECT_THAT(found.trace, HasSubstr("rank 0 | copy out | VIOLATION"));
}

// ---- a handshake: after the answer, the sender may use what the receiver has enabled --------------------------------

Scenario enabling(bool answers_first) {
  const Body sender = [](Rank& rank, Witness&) {
    rank.step("send request");
    send_control(rank, kReceiver, kRequest);
    rank.step("receive answer");
    recv_control(rank, kReceiver, kAnswer);
    rank.step("send header");
    send_control(rank, kReceiver, kHeader);
  };
  const Body receiver = [=](Rank& rank, Witness& witness) {
    const View table(rank.allocate(Memory::pinned, kSize));
    const View device(rank.allocate(Memory::device, kSize));
    rank.step("receive request");
    recv_control(rank, kSender, kRequest);
    rank.step("enable");
    const Op enabling = rank.copy(device, table, Stream{0}, Engine::dma);
    if (!answers_first) finish(rank, enabling, kLong);
    rank.step("send answer");
    send_control(rank, kSender, kAnswer);
    rank.step("receive header");
    ControlMessage header;
    const Op received = rank.recv_control(kSender, kHeader, header);
    if (answers_first) {
      const std::array ops{enabling, received};
      const bool enabled = rank.wait_any(ops, kLong)->index == 0;
      witness.require(enabled, "a header came before this side had enabled what it asks for");
      finish(rank, enabled ? received : enabling, kLong);
    } else {
      finish(rank, received, kLong);
    }
  };
  return {.bodies = {sender, receiver}};
}

TEST(SeededBug, AnAnswerBeforeEnabling) {
  EXPECT_TRUE(explore(enabling(false)).clean());
  const Finding found = finding_with(explore(enabling(true)), "before this side had enabled");
  EXPECT_THAT(found.trace, AllOf(HasSubstr("rank 1 | enable | copy pinned[0+64] -> device[0+64] stream 0\n"),
                                 HasSubstr("rank 1 | send answer | send_control rank 0 0 B\n"),
                                 HasSubstr("rank 0 | send header | send_control rank 1 0 B\n"),
                                 HasSubstr("rank 1 | receive header | recv_control rank 0 | ended\n"
                                           "rank 1 | receive header | VIOLATION"),
                                 testing::Not(HasSubstr("stream 0 | ended"))));
}

// ---- both first receive ---------------------------------------------------------------------------------------------

TEST(SeededBug, TwoThatBothListenFirst) {
  const Body body = [](Rank& rank, Witness&) {
    const RankId peer{1 - rank.id().value};
    rank.step("receive");
    recv_control(rank, peer, kData);
    rank.step("send");
    send_control(rank, peer, kData);
  };
  const ExploreResult result = explore({.bodies = {body, body}});
  EXPECT_THAT(result.violations, IsEmpty());
  EXPECT_EQ(finding_with(result, "WAITS FOR EVER").trace,
            "rank 0 | receive | recv_control rank 1\n"
            "rank 1 | receive | recv_control rank 0\n"
            "rank 0 | receive | WAITS FOR EVER for recv_control rank 1\n"
            "rank 1 | receive | WAITS FOR EVER for recv_control rank 0\n");
}

}  // namespace
}  // namespace twinlink::explore
