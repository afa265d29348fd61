#include "protocols/core/lane.hpp"

#include <gmock/gmock.h>

#include <array>
#include <string>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

constexpr Seconds kNoDeadline{1000};

View message(Bytes size) { return View(Buffer{.id = 1, .memory = Memory::device, .size = size}); }

/// Messages of one byte each, told apart by their offset.
std::vector<View> pieces(std::size_t count) {
  std::vector<View> result;
  const View all = message(Bytes{count});
  for (std::size_t i = 0; i < count; ++i) result.push_back(all.slice(Bytes{i}, 1_B));
  return result;
}

/// Writes down what started, as "step piece/slot", and lets every step take the time that the test gives.
class LaneTest : public testing::Test {
 protected:
  /// A step that takes `duration`, or never ends without one.
  Step step(std::string_view words, std::optional<Seconds> duration, Status status = Status::delivered) {
    return {words, [this, words, duration, status](const Piece& piece) -> Started {
              note(words, piece);
              return rank.begin(duration, status);
            }};
  }
  /// A step with nothing to wait for.
  Step at_once(std::string_view words, Outcome outcome = {}) {
    return {words, [this, words, outcome](const Piece& piece) -> Started {
              note(words, piece);
              return outcome;
            }};
  }
  Outcome run(const Lane& lane, Seconds deadline = kNoDeadline) { return move(rank, {&lane, 1}, deadline); }

  ScriptedRank rank;
  std::vector<std::string> log;

 private:
  void note(std::string_view words, const Piece& piece) {
    log.push_back(std::string(words) + " " + std::to_string(piece.bytes.offset.count()) + "/" +
                  std::to_string(piece.slot));
  }
};

TEST_F(LaneTest, APieceTakesItsStepsInOrder) {
  EXPECT_TRUE(run({pieces(1), 1, {step("a", 1.0_us), step("b", 1.0_us), step("c", 1.0_us)}}).ok());
  EXPECT_THAT(log, ElementsAre("a 0/0", "b 0/0", "c 0/0"));
  EXPECT_NEAR(rank.now().microseconds(), 3, 1e-9);
}

TEST_F(LaneTest, WithDepthOneNothingOverlaps) {
  EXPECT_TRUE(run({pieces(3), 1, {step("a", 1.0_us), step("b", 1.0_us)}}).ok());
  EXPECT_THAT(log, ElementsAre("a 0/0", "b 0/0", "a 1/0", "b 1/0", "a 2/0", "b 2/0"));
  EXPECT_NEAR(rank.now().microseconds(), 6, 1e-9);
}

TEST_F(LaneTest, WithDepthTwoTheStepsOfTwoPiecesOverlap) {
  EXPECT_TRUE(run({pieces(3), 2, {step("a", 1.0_us), step("b", 3.0_us)}}).ok());
  EXPECT_THAT(log, ElementsAre("a 0/0", "a 1/1", "b 0/0", "b 1/1", "a 2/0", "b 2/0"));
  // Pieces 0 and 1 need 1 + 3 us side by side; piece 2 waits for a slot and then needs as much again.
  EXPECT_NEAR(rank.now().microseconds(), 8, 1e-9);
}

TEST_F(LaneTest, NoMoreThanDepthPiecesAreUnderWay) {
  std::size_t most = 0;
  const Step watched{"a", [&](const Piece&) -> Started {
                       most = std::max(most, rank.in_flight() + 1);
                       return rank.begin(1.0_us);
                     }};
  EXPECT_TRUE(run({pieces(20), 3, {watched}}).ok());
  EXPECT_EQ(most, 3U);
}

TEST_F(LaneTest, ASlotIsReusedOnlyAfterThePiecesLastStep) {
  std::array<int, 2> under_way{};
  const Step enter{"enter", [&](const Piece& piece) -> Started {
                     EXPECT_EQ(++under_way[piece.slot], 1) << "slot " << piece.slot << " is taken";
                     return rank.begin(1.0_us);
                   }};
  const Step leave{"leave", [&](const Piece& piece) -> Started {
                     --under_way[piece.slot];
                     return Outcome{};
                   }};
  EXPECT_TRUE(run({pieces(9), 2, {enter, step("work", 5.0_us), leave}}).ok());
  EXPECT_EQ(under_way[0] + under_way[1], 0);
}

TEST_F(LaneTest, EveryStepIsStartedForThePiecesInOrderEvenIfALaterPieceIsReadyFirst) {
  // Piece 0 is slow in its first step; piece 1 must not be sent before it.
  const Step uneven{
      "a", [&](const Piece& piece) -> Started { return rank.begin(piece.bytes.offset == 0_B ? 9.0_us : 1.0_us); }};
  EXPECT_TRUE(run({pieces(3), 3, {uneven, step("b", 1.0_us)}}).ok());
  EXPECT_THAT(log, ElementsAre("b 0/0", "b 1/1", "b 2/2"));
}

TEST_F(LaneTest, StepsWithNothingToWaitForAreTakenAtOnce) {
  EXPECT_TRUE(run({pieces(2), 1, {at_once("a"), at_once("b")}}).ok());
  EXPECT_THAT(log, ElementsAre("a 0/0", "b 0/0", "a 1/0", "b 1/0"));
  EXPECT_EQ(rank.now(), Seconds{0});
}

TEST_F(LaneTest, TheWordsOfEveryStepAreGivenToTheRank) {
  EXPECT_TRUE(run({pieces(2), 1, {step("copy out", 1.0_us), step("send", 1.0_us)}}).ok());
  EXPECT_THAT(rank.steps(), ElementsAre("copy out", "send", "copy out", "send"));
}

TEST_F(LaneTest, AllLanesAdvanceTogether) {
  const std::array lanes{Lane{pieces(4), 1, {step("in", 2.0_us)}}, Lane{pieces(4), 1, {step("out", 2.0_us)}}};
  EXPECT_TRUE(move(rank, lanes, kNoDeadline).ok());
  EXPECT_NEAR(rank.now().microseconds(), 8, 1e-9) << "one lane waited for the other";
  EXPECT_EQ(log.size(), 8U);
}

TEST_F(LaneTest, LanesOfUnequalLengthBothEnd) {
  const std::array lanes{Lane{pieces(1), 1, {step("in", 1.0_us)}}, Lane{pieces(5), 2, {step("out", 1.0_us)}},
                         Lane{{}, 1, {step("none", 1.0_us)}}};
  EXPECT_TRUE(move(rank, lanes, kNoDeadline).ok());
  EXPECT_EQ(log.size(), 6U);
}

TEST_F(LaneTest, NoLanesAndNoPiecesAreDeliveredAtOnce) {
  EXPECT_TRUE(move(rank, {}, Seconds{0}).ok());
  EXPECT_TRUE(run({{}, 3, {step("a", 1.0_us)}}, Seconds{0}).ok());
  EXPECT_EQ(rank.now(), Seconds{0});
}

TEST_F(LaneTest, AFailedOperationEndsEverythingAndNamesTheStepAndThePiece) {
  const Step second_fails{"send", [&](const Piece& piece) -> Started {
                            const bool fails = piece.bytes.offset == 1_B;
                            return rank.begin(1.0_us, fails ? Status::peer_failed : Status::delivered);
                          }};
  const std::array lanes{Lane{pieces(3), 2, {second_fails}}, Lane{pieces(1), 1, {step("receive", std::nullopt)}}};
  const Outcome outcome = move(rank, lanes, kNoDeadline);
  EXPECT_EQ(outcome.status, Status::peer_failed);
  EXPECT_THAT(outcome.reason, HasSubstr("'send'"));
  EXPECT_THAT(outcome.reason, HasSubstr("piece 1"));
  EXPECT_THAT(outcome.reason, HasSubstr("peer failed"));
  EXPECT_EQ(rank.in_flight(), 0U) << "operations were left in flight";
  EXPECT_GE(rank.abandoned(), 1U);
}

TEST_F(LaneTest, AnOutcomeThatIsNotDeliveredEndsEverythingAndKeepsItsReason) {
  const Outcome refusal{Status::wrong_size, "4 B instead of 5 B"};
  const std::array lanes{Lane{pieces(1), 1, {step("receive", std::nullopt)}},
                         Lane{pieces(2), 1, {step("ask", 1.0_us), at_once("check", refusal)}}};
  const Outcome outcome = move(rank, lanes, kNoDeadline);
  EXPECT_EQ(outcome.status, Status::wrong_size);
  EXPECT_THAT(outcome.reason, HasSubstr("'check'"));
  EXPECT_THAT(outcome.reason, HasSubstr("4 B instead of 5 B"));
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_THAT(log, ElementsAre("receive 0/0", "ask 0/0", "check 0/0"));
}

TEST_F(LaneTest, TheDeadlineEndsEverythingAndNamesAStepThatHangs) {
  const Outcome outcome = run({pieces(3), 2, {step("copy", 1.0_us), step("send", std::nullopt)}}, 50.0_us);
  EXPECT_EQ(outcome.status, Status::timed_out);
  EXPECT_THAT(outcome.reason, HasSubstr("'send'"));
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 2U);
  EXPECT_NEAR(rank.now().microseconds(), 50, 1e-9);
}

TEST_F(LaneTest, AnExceptionOfAStepLeavesNothingInFlight) {
  // Otherwise the staging buffers could not be released while the exception is on its way out.
  const Step broken{"send", [](const Piece&) -> Started { throw UsageError("no such buffer"); }};
  const std::array lanes{Lane{pieces(1), 1, {step("receive", std::nullopt)}},
                         Lane{pieces(1), 1, {step("copy", 1.0_us), broken}}};
  EXPECT_THROW(static_cast<void>(move(rank, lanes, kNoDeadline)), UsageError);
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 1U);
}

// A single piece goes a shorter way, and nobody shall notice.

TEST_F(LaneTest, ASinglePieceThatFailsNamesItsStep) {
  const Outcome outcome = run({pieces(1), 1, {step("copy", 1.0_us), step("send", 1.0_us, Status::peer_failed)}});
  EXPECT_EQ(outcome.status, Status::peer_failed);
  EXPECT_EQ(outcome.reason, "step 'send' of piece 0 (1): peer failed");
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 0U) << "what has ended is used up";
}

TEST_F(LaneTest, ASinglePieceKeepsTheReasonOfAnOutcomeAndTakesNoFurtherStep) {
  const Outcome refusal{Status::wrong_size, "4 B instead of 5 B"};
  const Outcome outcome = run({pieces(1), 1, {step("ask", 1.0_us), at_once("check", refusal), step("copy", 1.0_us)}});
  EXPECT_EQ(outcome.status, Status::wrong_size);
  EXPECT_EQ(outcome.reason, "step 'check' of piece 0 (1): 4 B instead of 5 B");
  EXPECT_THAT(log, ElementsAre("ask 0/0", "check 0/0"));
}

TEST_F(LaneTest, ASinglePieceThatHangsIsAbandonedAtTheDeadline) {
  const Outcome outcome = run({pieces(1), 3, {step("copy", 1.0_us), step("send", std::nullopt)}}, 50.0_us);
  EXPECT_EQ(outcome.status, Status::timed_out);
  EXPECT_EQ(outcome.reason, "step 'send' of piece 0 (1): the deadline passed");
  EXPECT_EQ(rank.in_flight(), 0U);
  EXPECT_EQ(rank.abandoned(), 1U);
  EXPECT_NEAR(rank.now().microseconds(), 50, 1e-9);
}

TEST_F(LaneTest, AWaitThatThrowsLeavesNothingInFlight) {
  class BrokenWait final : public DecoratedRank {
   public:
    using DecoratedRank::DecoratedRank;
    std::optional<Completion> wait_any(std::span<const Op>, Seconds) override { throw UsageError("no such operation"); }
  };
  BrokenWait broken(rank);
  for (const std::size_t count : {1U, 2U}) {
    const Lane lane{pieces(count), 2, {step("copy", 1.0_us)}};
    EXPECT_THROW(static_cast<void>(move(broken, {&lane, 1}, kNoDeadline)), UsageError);
    EXPECT_EQ(rank.in_flight(), 0U) << count;
  }
  EXPECT_THROW(static_cast<void>(wait(broken, rank.begin(1.0_us, Status::delivered), kNoDeadline)), UsageError);
  EXPECT_EQ(rank.in_flight(), 0U);
}

TEST_F(LaneTest, AMessageOfASecondLaneIsMovedBesideTheFirst) {
  const std::array lanes{Lane{pieces(1), 1, {step("receive", 5.0_us)}}, Lane{{}, 1, {step("none", 1.0_us)}},
                         Lane{pieces(1), 1, {step("send", 5.0_us)}}};
  EXPECT_TRUE(move(rank, lanes, kNoDeadline).ok());
  EXPECT_NEAR(rank.now().microseconds(), 5, 1e-9);
}

TEST(Cut, TheLastPieceTakesTheRest) {
  const auto lengths = [](Bytes size, Bytes chunk) {
    const View whole = message(size);
    std::vector<Bytes> all;
    for (const View& piece : cut({&whole, 1}, chunk)) all.push_back(piece.length);
    return all;
  };
  EXPECT_THAT(lengths(100_B, 0_B), ElementsAre(100_B)) << "zero cuts nothing";
  EXPECT_THAT(lengths(10_B, 4_B), ElementsAre(4_B, 4_B, 2_B));
  EXPECT_THAT(lengths(8_B, 4_B), ElementsAre(4_B, 4_B));
  EXPECT_THAT(lengths(3_B, 4_B), ElementsAre(3_B));
  EXPECT_THAT(lengths(4_B, 4_B), ElementsAre(4_B));
  EXPECT_THAT(lengths(5_B, 4_B), ElementsAre(4_B, 1_B));
  for (const Bytes chunk : {0_B, 4_B}) EXPECT_THAT(lengths(0_B, chunk), ElementsAre(0_B)) << "one empty piece";
  EXPECT_TRUE(cut({}, 4_B).empty());
}

TEST(Cut, PiecesLieInTheirMessagesAndFollowEachOther) {
  const View whole = message(100_B);
  const std::array messages{whole.slice(10_B, 5_B), whole.slice(50_B, 3_B)};
  const std::vector<View> parts = cut(messages, 4_B);
  ASSERT_EQ(parts.size(), 3U);
  EXPECT_EQ(parts[0].offset, 10_B);
  EXPECT_EQ(parts[1].offset, 14_B);
  EXPECT_EQ(parts[1].length, 1_B);
  EXPECT_EQ(parts[2].offset, 50_B);
  EXPECT_EQ(parts[2].buffer, whole.buffer);
}

TEST(Cut, EveryPieceKnowsItsMessage) {
  const std::array messages{message(2500_B), message(0_B), message(1000_B)};
  EXPECT_EQ(cut(messages, 1000_B).size(), 5U);
  std::vector<Bytes> wholes;
  whole_lengths(messages, 1000_B, wholes);
  EXPECT_THAT(wholes, ElementsAre(2500_B, 2500_B, 2500_B, 0_B, 1000_B));
  whole_lengths(messages, 0_B, wholes);
  EXPECT_THAT(wholes, ElementsAre(2500_B, 0_B, 1000_B));
}

/// Of one piece its own size is enough. Libraries have no larger tags, so that very many pieces begin anew.
TEST(DataTag, SaysHowManyPiecesAMessageHas) {
  for (const Bytes whole : {0_B, 1_B, 1000_B}) EXPECT_EQ(data_tag(whole, 1000_B), tags::kData);
  for (const Bytes whole : {0_B, 1000_B, 1_TiB}) EXPECT_EQ(data_tag(whole, 0_B), tags::kData);
  for (const std::size_t pieces : {std::size_t{2}, std::size_t{3}, std::size_t{1000}, tags::kMostPieces - 1,
                                   tags::kMostPieces, tags::kMostPieces + 5, 2 * tags::kMostPieces + 1}) {
    const Tag expected{tags::kPieces.value + static_cast<int>(pieces % tags::kMostPieces)};
    EXPECT_EQ(data_tag(1000_B * pieces, 1000_B), expected) << pieces;
    EXPECT_EQ(data_tag(1000_B * (pieces - 1) + 1_B, 1000_B), expected) << pieces;
  }
}

}  // namespace
}  // namespace twinlink
