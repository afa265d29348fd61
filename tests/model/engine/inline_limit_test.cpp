// Eager messages above the inline limit are over for their sender when the receiver's CPU has taken them in.
#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kInline = 256_B;
constexpr Pattern kSent{7};

Platform limited() {
  Platform platform = sample_platform();
  platform.intra_node.inline_limit = with_source(kInline);
  return platform;
}

/// The rank's CPU copies, and looks at nothing.
void be_away(Rank& rank) {
  const Buffer memory = rank.allocate(Memory::pageable, 2_MiB);
  rank.copy({memory, 1_MiB, 1_MiB}, {memory, {}, 1_MiB}, Stream{}, Engine::dma);
}

struct Times {
  Seconds sent{};  ///< when the sender knows that its message is over
  Seconds back{};  ///< when the receiver looks at its messages again
};

/// Rank 1 awaits a message and is away when it comes.
Times send_to_one_who_is_away(const Platform& platform, Bytes size) {
  Times times;
  simulate(platform, kPeers, [&](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, size));
    if (rank.id() == RankId{0}) {
      EXPECT_EQ(wait(rank, rank.send(RankId{1}, tags::kData, view), kLong), Status::delivered);
      times.sent = rank.now();
      return;
    }
    const Op receive = rank.receive(RankId{0}, tags::kData, view);
    be_away(rank);
    times.back = rank.now();
    EXPECT_EQ(wait(rank, receive, kLong), Status::delivered);
  });
  return times;
}

TEST(InlineLimit, AMessageAboveItIsOverWhenItsReceiverHasTakenItIn) {
  const Times times = send_to_one_who_is_away(limited(), kInline + 1_B);
  expect_near(times.sent, times.back + kControl);
}

TEST(InlineLimit, AMessageUpToItIsOverWhenItHasArrived) {
  const Times times = send_to_one_who_is_away(limited(), kInline);
  EXPECT_LT(times.sent, times.back);
}

TEST(InlineLimit, AMessageAboveTheEagerLimitDoesNotKnowIt) {
  const Times times = send_to_one_who_is_away(limited(), kEager + 1_B);
  EXPECT_LT(times.sent, times.back);
}

/// As MPI does it, which keeps the message until somebody asks for it.
TEST(InlineLimit, WhoWaitsForSomethingElseTakesMessagesIn) {
  simulate(limited(), kPeers, [](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    if (rank.id() == RankId{0}) {
      EXPECT_EQ(wait(rank, rank.send(RankId{1}, tags::kData, view), kLong), Status::delivered);
      EXPECT_EQ(wait(rank, rank.tell(RankId{1}, tags::kReady, Message()), kLong), Status::delivered);
      return;
    }
    Message heard;
    EXPECT_EQ(wait(rank, rank.hear(RankId{0}, tags::kReady, heard), kLong), Status::delivered);
    EXPECT_EQ(wait(rank, rank.receive(RankId{0}, tags::kData, view), kLong), Status::delivered);
  });
}

/// The receive comes when the message is there and its sender does not know it.
TEST(InlineLimit, AMessageThatCameUnexpectedIsDeliveredToALateReceive) {
  Times times;
  simulate(limited(), kPeers, [&](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    if (rank.id() == RankId{0}) {
      rank.fill(view, kSent);
      EXPECT_EQ(wait(rank, rank.send(RankId{1}, tags::kData, view), kLong), Status::delivered);
      times.sent = rank.now();
      return;
    }
    be_away(rank);
    const Op receive = rank.receive(RankId{0}, tags::kData, view);
    times.back = rank.now();
    EXPECT_EQ(wait(rank, receive, kLong), Status::delivered);
    EXPECT_TRUE(rank.check(view, kSent).intact());
  });
  expect_near(times.sent, times.back + kControl);
}

TEST(InlineLimit, OneThatIsAbandonedComesAllTheSame) {
  simulate(limited(), kPeers, [](Rank& rank) {
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    if (rank.id() == RankId{0}) return rank.abandon(rank.send(RankId{1}, tags::kData, view));
    be_away(rank);
    EXPECT_EQ(wait(rank, rank.receive(RankId{0}, tags::kData, view), kLong), Status::delivered);
  });
}

TEST(InlineLimit, WhoHasReturnedTakesMessagesIn) {
  simulate(limited(), kPeers, [](Rank& rank) {
    if (rank.id() == RankId{1}) return;
    const View view(rank.allocate(Memory::pinned, 1_KiB));
    EXPECT_EQ(wait(rank, rank.send(RankId{1}, tags::kData, view), kLong), Status::delivered);
  });
}

}  // namespace
}  // namespace twinlink::model
