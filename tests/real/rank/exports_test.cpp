#include "real/rank/exports.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstring>
#include <set>
#include <string>

namespace twinlink::real {
namespace {

constexpr RankId kOwner{0};

IpcHandle handle(std::uint64_t size) { return {.size = size}; }

class ExportsTest : public testing::Test {
 protected:
  ExportsTest() { guest.attach(kOwner, owner.token()); }
  Exports owner;
  Exports guest;
};

TEST_F(ExportsTest, OfferedMemoryIsWithdrawnOnlyWhenAllHaveLeft) {
  const auto offer = owner.publish(handle(1));
  const auto first = guest.enter(kOwner, handle(1));
  const auto second = guest.enter(kOwner, handle(1));
  EXPECT_FALSE(owner.withdraw(offer));
  guest.leave(kOwner, first);
  EXPECT_FALSE(owner.withdraw(offer));
  guest.leave(kOwner, second);
  EXPECT_TRUE(owner.withdraw(offer));
}

TEST_F(ExportsTest, WhatIsNotOfferedCannotBeEntered) {
  EXPECT_THROW(guest.enter(kOwner, handle(1)), UsageError) << "never offered";
  const auto offer = owner.publish(handle(1));
  EXPECT_THROW(guest.enter(kOwner, handle(2)), UsageError) << "forged";
  EXPECT_THROW(guest.enter(RankId{1}, handle(1)), UsageError) << "a stranger";
  ASSERT_TRUE(owner.withdraw(offer));
  EXPECT_THROW(guest.enter(kOwner, handle(1)), UsageError) << "withdrawn";
}

TEST_F(ExportsTest, APlaceIsUsedAgain) {
  const auto old = owner.publish(handle(1));
  ASSERT_TRUE(owner.withdraw(old));
  EXPECT_EQ(owner.publish(handle(2)), old);
  EXPECT_THROW(guest.enter(kOwner, handle(1)), UsageError);
  EXPECT_EQ(guest.enter(kOwner, handle(2)), old);
}

/// Whoever has read the handle of an offer that is withdrawn meanwhile must not enter the next one: what is compared
/// then, the first word of an entry, has never been there before.
TEST_F(ExportsTest, EachOfferAndEachWithdrawalIsANewGeneration) {
  const SharedMemory table = SharedMemory::open(owner.token());
  const auto first_word = [&] {
    std::uint64_t word = 0;
    std::memcpy(&word, table.data(), sizeof word);
    return word;
  };
  std::set<std::uint64_t> seen{first_word()};
  for (int i = 0; i < 3; ++i) {
    const auto offer = owner.publish(handle(1));
    EXPECT_TRUE(seen.insert(first_word()).second);
    ASSERT_TRUE(owner.withdraw(offer));
    EXPECT_TRUE(seen.insert(first_word()).second);
  }
}

TEST_F(ExportsTest, AFullTableSaysHowManyItHolds) {
  std::uint64_t published = 0;
  std::string why;
  try {
    for (; published < 1'000'000; ++published) owner.publish(handle(published));
  } catch (const EnvironmentError& error) {
    why = error.what();
  }
  EXPECT_THAT(why, testing::HasSubstr("more than " + std::to_string(published) + " buffers are exported"));
  const auto last = guest.enter(kOwner, handle(published - 1));
  EXPECT_FALSE(owner.withdraw(last));
  guest.leave(kOwner, last);
  EXPECT_TRUE(owner.withdraw(last));
  EXPECT_EQ(owner.publish(handle(published)), last);
}

}  // namespace
}  // namespace twinlink::real
