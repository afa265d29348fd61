// The explorer itself: what it must find in jobs whose interleavings one can count by hand.
#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <string>
#include <vector>

#include "tests/explore/small_jobs.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::explore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::SizeIs;

void nothing(Rank&, Witness&) {}

TEST(Explorer, FindsBothOrdersOfMessagesWithTwoTags) {
  const ExploreResult result = explore(messages_of_two_tags());
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_THAT(endings_of(result), ElementsAre("- | first", "- | second"));
}

TEST(Explorer, KeepsMessagesOfOneTagInOrder) {
  EXPECT_THAT(endings_of(explore(messages_of_one_tag())), ElementsAre("- | first"));
}

TEST(Explorer, FindsBothOrdersOfTwoSenders) {
  EXPECT_THAT(endings_of(explore(two_senders())), ElementsAre("- | - | first", "- | - | second"));
}

TEST(Explorer, EndsCopiesOfOneStreamInOrderAndOfTwoInAny) {
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{0}, false))), ElementsAre("first"));
  // The second may have ended, too, when the rank looks; then it comes first in the span.
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{0}, true))), ElementsAre("first", "second"));
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{1}, false))), ElementsAre("first", "second"));
}

TEST(Explorer, CountsEveryStateWithoutReduction) {
  // Rank 0 waits for its send_control and ends; nothing else happens: started, ended, taken.
  const Scenario one_send{.bodies = {[](Rank& rank, Witness&) { send_control(rank, 1, kA); }, nothing}};
  const ExploreResult every = explore(one_send, {.reduction = Reduction::none});
  EXPECT_EQ(every.states, 3U);
  EXPECT_EQ(every.steps, 2U);
  // Two such ranks: three states each, in all combinations.
  const Body to_peer = [](Rank& rank, Witness&) { send_control(rank, 1 - rank.id().value, kA); };
  EXPECT_EQ(explore({.bodies = {to_peer, to_peer}}, {.reduction = Reduction::none}).states, 9U);
  // With reduction one order is enough: started, one through, both through.
  EXPECT_EQ(explore({.bodies = {to_peer, to_peer}}).states, 3U);
}

TEST(Explorer, AnEagerSendNeedsNoReceiveAndALargeOneDoes) {
  const ExploreResult eager = explore(both_send_first(64_B, 64_B));
  EXPECT_TRUE(eager.clean()) << to_string(eager);
  const ExploreResult stuck = explore(both_send_first(65_B, 64_B));
  EXPECT_THAT(stuck.violations, IsEmpty());
  ASSERT_THAT(stuck.deadlocks, SizeIs(1));
  EXPECT_EQ(stuck.deadlocks[0].trace,
            "rank 0 |  | allocate pinned[0+65]\n"
            "rank 0 |  | allocate pinned[0+65]\n"
            "rank 0 | send | send pinned[0+65] -> rank 1\n"
            "rank 1 |  | allocate pinned[0+65]\n"
            "rank 1 |  | allocate pinned[0+65]\n"
            "rank 1 | send | send pinned[0+65] -> rank 0\n"
            "rank 0 | send | WAITS FOR EVER for send pinned[0+65] of rank 0 -> rank 1\n"
            "rank 1 | send | WAITS FOR EVER for send pinned[0+65] of rank 1 -> rank 0\n");
}

TEST(Explorer, ADeadlineIsAWaitForEver) {
  const ExploreResult result = explore({.bodies = {[](Rank& rank, Witness& witness) {
                                                     ControlMessage received;
                                                     const Op op = rank.recv_control(RankId{1}, kA, received);
                                                     witness.ending(to_string(wait(rank, op, Seconds{1})));
                                                   },
                                                   nothing}});
  EXPECT_THAT(endings_of(result), ElementsAre("waits for ever | -"));
  EXPECT_THAT(result.deadlocks, SizeIs(1));
}

TEST(Explorer, ARankThatOnlyLooksSeesTheMessageOrNot) {
  const ExploreResult result =
      explore({.bodies = {[](Rank& rank, Witness& witness) {
                            ControlMessage received;
                            const Op op = rank.recv_control(RankId{1}, kA, received);
                            witness.ending(rank.wait_any({&op, 1}, Seconds{0}) ? "received" : "not yet");
                          },
                          [](Rank& rank, Witness&) { send_control(rank, 0, kA); }}});
  EXPECT_THAT(endings_of(result), ElementsAre("not yet | -", "received | -"));
}

TEST(Explorer, ALoopThatOnlyLooksComesToAnEnd) {
  const ExploreResult result = explore({.bodies = {[](Rank& rank, Witness& witness) {
                                                     ControlMessage received;
                                                     const Op op = rank.recv_control(RankId{1}, kA, received);
                                                     while (!rank.wait_any({&op, 1}, Seconds{0})) continue;
                                                     witness.ending("received");
                                                   },
                                                   [](Rank& rank, Witness&) { send_control(rank, 0, kA); }}});
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_THAT(endings_of(result), ElementsAre("received | -"));
}

TEST(Explorer, FindsMemoryThatIsWrittenWhileItIsRead) {
  EXPECT_TRUE(explore(overwrites_what_a_peer_reads(true)).clean());
  const ExploreResult torn = explore(overwrites_what_a_peer_reads(false));
  EXPECT_THAT(findings_of(torn), testing::Contains("rank 1: fill writes device[0+8] of rank 1 while this is in flight: "
                                                   "rank 0: copy device[0+8] of rank 1 -> device[0+8] of rank 0"));
  EXPECT_THAT(endings_of(torn), ElementsAre("new | -", "old | -"));
}

TEST(Explorer, ASignalComesAfterTheBytesOfItsPut) {
  const ExploreResult after_the_put = explore(put_and_answer(Reuse::after_the_put));
  EXPECT_TRUE(after_the_put.clean()) << to_string(after_the_put);
  EXPECT_THAT(endings_of(after_the_put), ElementsAre("new | -"));
  // Who has the answer to the signal knows that the put has ended: no look misses it.
  const ExploreResult after_the_answer = explore(put_and_answer(Reuse::after_the_answer));
  EXPECT_TRUE(after_the_answer.clean()) << to_string(after_the_answer);
  EXPECT_THAT(endings_of(after_the_answer), ElementsAre("new | ended"));
  EXPECT_THAT(findings_of(explore(put_and_answer(Reuse::at_once))),
              ElementsAre("rank 1: fill writes device[0+8] of rank 1 while this is in flight: rank 1: put device[0+8] "
                          "of rank 1 -> device[0+8] of rank 0"));
}

TEST(Explorer, AnExceptionEndsItsRankAndNoOther) {
  const ExploreResult result = explore({.bodies = {[](Rank& rank, Witness&) { rank.release(Buffer{}); },
                                                   [](Rank&, Witness& witness) { witness.ending("through"); }}});
  ASSERT_THAT(result.violations, SizeIs(1));
  EXPECT_THAT(result.violations[0].what, HasSubstr("rank 0 threw: "));
  EXPECT_THAT(result.violations[0].trace, HasSubstr("rank 0 | VIOLATION rank 0 threw: "));
  EXPECT_THAT(result.deadlocks, IsEmpty());
}

TEST(Explorer, GivesUpBeyondItsLimits) {
  EXPECT_FALSE(explore(two_senders(), {.states = 2}).complete);
  const Scenario endless{.bodies = {[](Rank& rank, Witness&) {
                                      for (;;) send_control(rank, 1, kA);
                                    },
                                    nothing}};
  const ExploreResult result = explore(endless, {.steps = 50});
  EXPECT_FALSE(result.complete);
  EXPECT_THAT(result.violations, SizeIs(1));
}

/// Counts, on its stack alone, how often it received the first of two peers before the second.
Scenario hidden_memory(bool watched) {
  const Body sender = [](Rank& rank, Witness&) { send_control(rank, 2, kA); };
  return {.bodies = {sender, sender, [=](Rank& rank, Witness& witness) {
                       std::array<ControlMessage, 2> received;
                       std::vector<Op> ops{rank.recv_control(RankId{0}, kA, received[0]),
                                           rank.recv_control(RankId{1}, kA, received[1])};
                       std::uint64_t first = 0;
                       const std::function<std::uint64_t()> digest = [&] { return first; };
                       if (watched) witness.watch(digest);
                       first = rank.wait_any(ops, kLong)->index;
                       ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(first));
                       rank.wait_any(ops, kLong);
                       const View scratch(rank.allocate(Memory::pinned, 8_B));
                       finish(rank, rank.copy(scratch, scratch, Stream{0}, Engine::dma), kLong);
                       witness.ending(first == 0 ? "first" : "second");
                     }}};
}

TEST(Explorer, SeesWhereLooksDeceive) {
  EXPECT_THAT(endings_of(explore(hidden_memory(false))), SizeIs(2)) << "every byte is compared";
  EXPECT_GT(explore(hidden_memory(false), {.compare_looks = true}).ambiguous, 0U);
  EXPECT_EQ(explore(hidden_memory(true), {.compare_looks = true}).ambiguous, 0U);
  EXPECT_THAT(endings_of(explore(hidden_memory(true), {.likeness = Likeness::looks})), SizeIs(2));
}

}  // namespace
}  // namespace twinlink::explore
