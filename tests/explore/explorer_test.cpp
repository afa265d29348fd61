// The explorer itself: what it must find in jobs whose interleavings one can count by hand, and that its reduction
// leaves out nothing that a rank can tell.
#include "tests/explore/scenario.hpp"

#include <gmock/gmock.h>

#include <array>
#include <functional>
#include <set>
#include <string>
#include <vector>

#include "tests/explore/bodies.hpp"
#include "tests/explore/hash.hpp"

namespace twinlink::explore {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Key;
using testing::SizeIs;

constexpr Seconds kLong{1000};
constexpr Tag kA{64};
constexpr Tag kB{65};

void tell(Rank& rank, int peer, Tag tag, int value = 0) {
  wait(rank, rank.tell(RankId{peer}, tag, Message(value)), kLong);
}

int hear(Rank& rank, int peer, Tag tag) {
  Message heard;
  wait(rank, rank.hear(RankId{peer}, tag, heard), kLong);
  return heard.as<int>();
}

void nothing(Rank&, Witness&) {}

/// Waits for one of the two, says which came, then waits for the other.
void say_first(Rank& rank, Witness& witness, Op a, Op b) {
  std::vector<Op> ops{a, b};
  const auto first = rank.wait_any(ops, kLong);
  witness.ending(first->index == 0 ? "first" : "second");
  ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(first->index));
  rank.wait_any(ops, kLong);
}

// ---- jobs whose endings one can list --------------------------------------------------------------------------------

Scenario messages_of_two_tags() {
  return {.bodies = {[](Rank& rank, Witness&) {
                       tell(rank, 1, kA);
                       tell(rank, 1, kB);
                     },
                     [](Rank& rank, Witness& witness) {
                       std::array<Message, 2> heard;
                       const Op a = rank.hear(RankId{0}, kA, heard[0]);
                       say_first(rank, witness, a, rank.hear(RankId{0}, kB, heard[1]));
                     }}};
}

Scenario messages_of_one_tag() {
  return {.bodies = {[](Rank& rank, Witness&) {
                       tell(rank, 1, kA);
                       tell(rank, 1, kA);
                     },
                     [](Rank& rank, Witness& witness) {
                       std::array<Message, 2> heard;
                       const Op a = rank.hear(RankId{0}, kA, heard[0]);
                       say_first(rank, witness, a, rank.hear(RankId{0}, kA, heard[1]));
                     }}};
}

Scenario two_copies(Stream first, Stream second, bool reversed) {
  return {.bodies = {[=](Rank& rank, Witness& witness) {
            const View from(rank.allocate(Memory::pinned, 8_B));
            const View one(rank.allocate(Memory::device, 8_B));
            const View two(rank.allocate(Memory::device, 8_B));
            const Op a = rank.copy(one, from, first, Engine::dma);
            const Op b = rank.copy(two, from, second, Engine::dma);
            say_first(rank, witness, reversed ? b : a, reversed ? a : b);
          }}};
}

/// Three ranks; the last hears the other two, and says in which order.
Scenario two_tellers() {
  return {.bodies = {[](Rank& rank, Witness&) { tell(rank, 2, kA); }, [](Rank& rank, Witness&) { tell(rank, 2, kA); },
                     [](Rank& rank, Witness& witness) {
                       std::array<Message, 2> heard;
                       const Op a = rank.hear(RankId{0}, kA, heard[0]);
                       say_first(rank, witness, a, rank.hear(RankId{1}, kA, heard[1]));
                     }}};
}

Scenario both_send_first(Bytes size, Bytes eager_limit) {
  const Body body = [=](Rank& rank, Witness& witness) {
    const RankId peer{1 - rank.id().value};
    const View out(rank.allocate(Memory::pinned, size));
    const View in(rank.allocate(Memory::pinned, size));
    rank.step("send");
    wait(rank, rank.send(peer, kA, out), kLong);
    rank.step("receive");
    wait(rank, rank.receive(peer, kA, in), kLong);
    witness.ending("through");
  };
  return {.bodies = {body, body}, .eager_limit = eager_limit};
}

/// Rank 1 overwrites its memory either after or while rank 0 reads it, as `waits` says.
Scenario overwrites_what_a_peer_reads(bool waits) {
  return {.bodies = {[](Rank& rank, Witness& witness) {
                       Message handle;
                       wait(rank, rank.hear(RankId{1}, kA, handle), kLong);
                       const Buffer theirs = rank.open_memory(RankId{1}, handle.as<IpcHandle>());
                       const View mine(rank.allocate(Memory::device, 8_B));
                       wait(rank, rank.copy(mine, View(theirs), Stream{0}, Engine::dma), kLong);
                       witness.ending(rank.check(mine, Pattern{1}).intact() ? "old" : "new");
                       rank.close_memory(theirs);
                       tell(rank, 1, kB);
                     },
                     [=](Rank& rank, Witness&) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       rank.fill(mine, Pattern{1});
                       wait(rank, rank.tell(RankId{0}, kA, Message(rank.export_memory(mine.buffer))), kLong);
                       if (waits) hear(rank, 0, kB);
                       rank.fill(mine, Pattern{2});
                     }}};
}

enum class Reuse { after_the_put, after_the_answer, at_once };

/// Rank 1 puts into rank 0's memory and raises a signal; rank 0 answers what it has got. Then rank 1 says whether a
/// look shows the put as ended, and overwrites what it put from.
Scenario put_and_answer(Reuse reuse) {
  return {.bodies = {[](Rank& rank, Witness& witness) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       rank.fill(mine, kSentinel);
                       wait(rank, rank.tell(RankId{1}, kA, Message(rank.export_memory(mine.buffer))), kLong);
                       wait(rank, rank.await_signal(RankId{1}, kB), kLong);
                       witness.ending(rank.check(mine, Pattern{1}).intact() ? "new" : "old");
                       tell(rank, 1, kA);
                     },
                     [=](Rank& rank, Witness& witness) {
                       Message handle;
                       wait(rank, rank.hear(RankId{0}, kA, handle), kLong);
                       const Buffer theirs = rank.open_memory(RankId{0}, handle.as<IpcHandle>());
                       const View source(rank.allocate(Memory::device, 8_B));
                       rank.fill(source, Pattern{1});
                       const Op put = rank.put(View(theirs), source, Stream{0}, Engine::dma, Signal{kB});
                       if (reuse == Reuse::after_the_put) wait(rank, put, kLong);
                       if (reuse == Reuse::at_once) rank.fill(source, Pattern{2});
                       hear(rank, 0, kA);
                       if (reuse == Reuse::after_the_answer) rank.fill(source, Pattern{2});
                       if (reuse != Reuse::after_the_put) {
                         witness.ending(rank.wait_any({&put, 1}, Seconds{0}) ? "ended" : "in flight");
                       }
                       rank.close_memory(theirs);
                     }}};
}

/// Rank 1 copies and puts on one stream, and waits for both and for a message of rank 0; rank 0 waits for the signal
/// and another message.
Scenario put_behind_a_copy(bool put_first) {
  return {.bodies = {[](Rank& rank, Witness& witness) {
                       const View mine(rank.allocate(Memory::device, 8_B));
                       wait(rank, rank.tell(RankId{1}, kA, Message(rank.export_memory(mine.buffer))), kLong);
                       Message heard;
                       const Op hearing = rank.hear(RankId{1}, kB, heard);
                       say_first(rank, witness, hearing, rank.await_signal(RankId{1}, kB));
                       tell(rank, 1, kB);
                     },
                     [=](Rank& rank, Witness& witness) {
                       Message heard;
                       wait(rank, rank.hear(RankId{0}, kA, heard), kLong);
                       const Buffer theirs = rank.open_memory(RankId{0}, heard.as<IpcHandle>());
                       const View one(rank.allocate(Memory::pinned, 8_B));
                       const View two(rank.allocate(Memory::device, 8_B));
                       const Op copy = rank.copy(two, one, Stream{0}, Engine::dma);
                       const Op put = rank.put(View(theirs), two, Stream{0}, Engine::dma, Signal{kB});
                       std::vector<Op> ops{rank.hear(RankId{0}, kB, heard), put_first ? put : copy,
                                           put_first ? copy : put, rank.tell(RankId{0}, kB, Message())};
                       std::string order;
                       const std::function<std::uint64_t()> digest = [&] {
                         Hash hash;
                         hash.add(std::as_bytes(std::span<const char>(order)));
                         return hash.key().low;
                       };
                       witness.watch(digest);
                       while (!ops.empty()) {
                         const auto done = rank.wait_any(ops, kLong);
                         const Op ended = ops[done->index];
                         order += ended == put ? 'p' : ended == copy ? 'c' : ended == ops.back() ? 't' : 'h';
                         ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(done->index));
                       }
                       witness.ending(order);
                       rank.close_memory(theirs);
                     }}};
}

std::set<std::string> endings_of(const ExploreResult& result) {
  std::set<std::string> endings;
  for (const auto& [ending, count] : result.endings) endings.insert(ending);
  return endings;
}

std::set<std::string> findings_of(const ExploreResult& result) {
  std::set<std::string> findings;
  for (const Finding& finding : result.violations) findings.insert(finding.what);
  for (const Finding& finding : result.deadlocks) findings.insert(finding.what);
  return findings;
}

TEST(Explorer, FindsBothOrdersOfMessagesWithTwoTags) {
  const ExploreResult result = explore(messages_of_two_tags());
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_THAT(endings_of(result), ElementsAre("- | first", "- | second"));
}

TEST(Explorer, KeepsMessagesOfOneTagInOrder) {
  EXPECT_THAT(endings_of(explore(messages_of_one_tag())), ElementsAre("- | first"));
}

TEST(Explorer, FindsBothOrdersOfTwoSenders) {
  EXPECT_THAT(endings_of(explore(two_tellers())), ElementsAre("- | - | first", "- | - | second"));
}

TEST(Explorer, EndsCopiesOfOneStreamInOrderAndOfTwoInAny) {
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{0}, false))), ElementsAre("first"));
  // The second may have ended, too, when the rank looks; then it comes first in the span.
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{0}, true))), ElementsAre("first", "second"));
  EXPECT_THAT(endings_of(explore(two_copies(Stream{0}, Stream{1}, false))), ElementsAre("first", "second"));
}

TEST(Explorer, CountsEveryStateWithoutReduction) {
  // Rank 0 waits for its tell and ends; nothing else happens: started, ended, taken.
  const Scenario one_tell{.bodies = {[](Rank& rank, Witness&) { tell(rank, 1, kA); }, nothing}};
  const ExploreResult every = explore(one_tell, {.reduction = Reduction::none});
  EXPECT_EQ(every.states, 3U);
  EXPECT_EQ(every.steps, 2U);
  // Two such ranks: three states each, in all combinations.
  const Body to_peer = [](Rank& rank, Witness&) { tell(rank, 1 - rank.id().value, kA); };
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
                                                     Message heard;
                                                     const Op op = rank.hear(RankId{1}, kA, heard);
                                                     witness.ending(to_string(wait(rank, op, Seconds{1})));
                                                   },
                                                   nothing}});
  EXPECT_THAT(endings_of(result), ElementsAre("waits for ever | -"));
  EXPECT_THAT(result.deadlocks, SizeIs(1));
}

TEST(Explorer, ARankThatOnlyLooksSeesTheMessageOrNot) {
  const ExploreResult result =
      explore({.bodies = {[](Rank& rank, Witness& witness) {
                            Message heard;
                            const Op op = rank.hear(RankId{1}, kA, heard);
                            witness.ending(rank.wait_any({&op, 1}, Seconds{0}) ? "heard" : "not yet");
                          },
                          [](Rank& rank, Witness&) { tell(rank, 0, kA); }}});
  EXPECT_THAT(endings_of(result), ElementsAre("heard | -", "not yet | -"));
}

TEST(Explorer, ALoopThatOnlyLooksComesToAnEnd) {
  const ExploreResult result = explore({.bodies = {[](Rank& rank, Witness& witness) {
                                                     Message heard;
                                                     const Op op = rank.hear(RankId{1}, kA, heard);
                                                     while (!rank.wait_any({&op, 1}, Seconds{0})) continue;
                                                     witness.ending("heard");
                                                   },
                                                   [](Rank& rank, Witness&) { tell(rank, 0, kA); }}});
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_THAT(endings_of(result), ElementsAre("heard | -"));
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
  EXPECT_FALSE(explore(two_tellers(), {.states = 2}).complete);
  const Scenario endless{.bodies = {[](Rank& rank, Witness&) {
                                      for (;;) tell(rank, 1, kA);
                                    },
                                    nothing}};
  const ExploreResult result = explore(endless, {.steps = 50});
  EXPECT_FALSE(result.complete);
  EXPECT_THAT(result.violations, SizeIs(1));
}

/// Counts, on its stack alone, how often it heard the first of two peers before the second.
Scenario hidden_memory(bool watched) {
  const Body teller = [](Rank& rank, Witness&) { tell(rank, 2, kA); };
  return {.bodies = {teller, teller, [=](Rank& rank, Witness& witness) {
                       std::array<Message, 2> heard;
                       std::vector<Op> ops{rank.hear(RankId{0}, kA, heard[0]), rank.hear(RankId{1}, kA, heard[1])};
                       std::uint64_t first = 0;
                       const std::function<std::uint64_t()> digest = [&] { return first; };
                       if (watched) witness.watch(digest);
                       first = rank.wait_any(ops, kLong)->index;
                       ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(first));
                       rank.wait_any(ops, kLong);
                       const View scratch(rank.allocate(Memory::pinned, 8_B));
                       wait(rank, rank.copy(scratch, scratch, Stream{0}, Engine::dma), kLong);
                       witness.ending(first == 0 ? "first" : "second");
                     }}};
}

TEST(Explorer, SeesWhereLooksDeceive) {
  EXPECT_THAT(endings_of(explore(hidden_memory(false))), SizeIs(2)) << "every byte is compared";
  EXPECT_GT(explore(hidden_memory(false), {.compare_looks = true}).ambiguous, 0U);
  EXPECT_EQ(explore(hidden_memory(true), {.compare_looks = true}).ambiguous, 0U);
  EXPECT_THAT(endings_of(explore(hidden_memory(true), {.likeness = Likeness::looks})), SizeIs(2));
}

// ---- the reduction --------------------------------------------------------------------------------------------------

Scenario chunks(std::string_view protocol, Bytes eager_limit) {
  Scenario scenario =
      exchange_of({.protocol = protocol, .forth = 1, .back = 1, .size = 60_B, .settings = {.chunk = 30_B, .depth = 2}});
  scenario.eager_limit = eager_limit;
  return scenario;
}

struct Small {
  std::string name;
  Scenario scenario;
  bool tiny = false;  ///< can be explored without merging states
};

std::vector<Small> small_scenarios() {
  return {{"messages_of_two_tags", messages_of_two_tags(), true},
          {"messages_of_one_tag", messages_of_one_tag(), true},
          {"two_tellers", two_tellers(), true},
          {"copies_of_one_stream", two_copies(Stream{0}, Stream{0}, true), true},
          {"copies_of_two_streams", two_copies(Stream{0}, Stream{1}, false), true},
          {"eager", both_send_first(8_B, 8_B), true},
          {"stuck", both_send_first(9_B, 8_B), true},
          {"read_before_write", overwrites_what_a_peer_reads(true), true},
          {"torn_read", overwrites_what_a_peer_reads(false), true},
          {"put", put_and_answer(Reuse::after_the_put), true},
          {"put_until_the_answer", put_and_answer(Reuse::after_the_answer), true},
          {"put_from_what_changes", put_and_answer(Reuse::at_once), true},
          {"copy_then_put", put_behind_a_copy(false)},
          {"put_before_copy_in_span", put_behind_a_copy(true)},
          {"host", chunks("host", 1_KiB)},
          {"host_posted", chunks("host", 0_B)},
          {"staging", chunks("staging", 1_KiB)},
          {"staging_posted", chunks("staging", 0_B)},
          {"gpudirect_v2", exchange_of({.protocol = "gpudirect-v2", .settings = {.depth = 1}})}};
}

class ReductionOf : public testing::TestWithParam<Small> {};

TEST_P(ReductionOf, LosesNoEndingAndNoFinding) {
  const ExploreResult reduced = explore(GetParam().scenario, {.likeness = Likeness::looks});
  std::vector<Limits> others{{.reduction = Reduction::none, .likeness = Likeness::looks},
                             {.likeness = Likeness::bytes, .compare_looks = true}};
  if (GetParam().tiny) {
    others.push_back({.reduction = Reduction::none, .merge = false});
    others.push_back({.merge = false});
  }
  for (const Limits& limits : others) {
    const ExploreResult other = explore(GetParam().scenario, limits);
    EXPECT_TRUE(other.complete);
    EXPECT_EQ(endings_of(reduced), endings_of(other));
    EXPECT_EQ(findings_of(reduced), findings_of(other));
    EXPECT_LE(reduced.states, other.states);
    EXPECT_EQ(other.ambiguous, 0U);
  }
}

INSTANTIATE_TEST_SUITE_P(Small, ReductionOf, testing::ValuesIn(small_scenarios()),
                         [](const auto& param) { return param.param.name; });

}  // namespace
}  // namespace twinlink::explore
