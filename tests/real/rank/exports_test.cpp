#include "real/rank/exports.hpp"

#include <gtest/gtest.h>

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

TEST_F(ExportsTest, AFullTableSaysSo) {
  const auto fill = [&] {
    for (std::uint64_t size = 1; size < 1'000'000; ++size) owner.publish(handle(size));
  };
  EXPECT_THROW(fill(), EnvironmentError);
}

}  // namespace
}  // namespace twinlink::real
