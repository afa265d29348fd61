#include "protocols/parts/credits.hpp"

#include <gtest/gtest.h>

namespace twinlink {
namespace {

/// Plays a transfer with a receiver that frees its buffers as late as it can, and checks that it ends, that the
/// receiver never has more pieces than buffers, and that no grant is left over.
void play(std::size_t pieces, std::size_t buffers, std::size_t batch) {
  const Credits credits(pieces, buffers, batch);
  std::size_t sent = 0;
  std::size_t freed = 0;
  std::size_t grants = 0;
  while (freed < pieces) {
    while (sent < pieces && (!credits.sender_awaits_grant_before(sent) || grants > 0)) {
      if (credits.sender_awaits_grant_before(sent)) --grants;
      ++sent;
    }
    ASSERT_LE(sent - freed, buffers) << pieces << " pieces, " << buffers << " buffers, batches of " << batch;
    ASSERT_GT(sent, freed) << "the sender waits for ever: " << pieces << " pieces, " << buffers
                           << " buffers, batches of " << batch;
    if (credits.receiver_grants_after(freed++)) ++grants;
  }
  EXPECT_EQ(grants, 0U) << pieces << " pieces, " << buffers << " buffers, batches of " << batch;
}

TEST(Credits, NeverOverrunNeverStallAndLeaveNoneOver) {
  for (std::size_t buffers = 1; buffers <= 9; ++buffers) {
    for (std::size_t batch = 1; batch <= buffers; ++batch) {
      for (std::size_t pieces = 1; pieces <= 40; ++pieces) play(pieces, buffers, batch);
    }
  }
}

TEST(Credits, ComeInBatches) {
  const Credits credits(20, 8, 4);
  EXPECT_FALSE(credits.sender_awaits_grant_before(7));
  EXPECT_TRUE(credits.sender_awaits_grant_before(8));
  EXPECT_FALSE(credits.sender_awaits_grant_before(9)) << "the grant before it counts for four";
  EXPECT_TRUE(credits.sender_awaits_grant_before(12));
  EXPECT_FALSE(credits.receiver_grants_after(2));
  EXPECT_TRUE(credits.receiver_grants_after(3));
}

}  // namespace
}  // namespace twinlink
