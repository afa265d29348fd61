#include "protocols/parts/registration_cache.hpp"

#include <gmock/gmock.h>

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// Writes down what is registered and taken back, and refuses what Rank refuses.
class RegisteringRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  void register_memory(Buffer buffer) override {
    log.push_back("+" + std::to_string(buffer.id));
    ++registrations[buffer.id];
  }
  void deregister_memory(Buffer buffer) override {
    if (registrations[buffer.id] == 0) throw UsageError("not registered");
    log.push_back("-" + std::to_string(buffer.id));
    --registrations[buffer.id];
  }
  std::vector<std::string> log{};
  std::map<std::uint32_t, int> registrations{};
};

class RegistrationCacheTest : public testing::Test {
 protected:
  static Buffer buffer(std::uint32_t id) { return {.id = id, .memory = Memory::device, .size = 1_KiB}; }
  void open(std::size_t capacity) { cache_.emplace(rank, capacity); }
  void use(std::uint32_t id) {
    cache_->hold(buffer(id));
    cache_->let_go(buffer(id));
  }
  [[nodiscard]] std::vector<std::uint64_t> counts() const {
    std::vector<std::uint64_t> values;
    for (const Counter& counter : cache_->counters()) values.push_back(counter.value);
    return values;
  }

  ScriptedRank nobody;
  RegisteringRank rank{nobody};
  std::optional<RegistrationCache> cache_;
};

TEST_F(RegistrationCacheTest, ABufferIsRegisteredOnceAndForgottenAtTheEnd) {
  open(2);
  for (int i = 0; i < 3; ++i) use(1);
  EXPECT_THAT(rank.log, ElementsAre("+1"));
  EXPECT_THAT(counts(), ElementsAre(2, 1, 0)) << "hits, misses, evictions";
  cache_.reset();
  EXPECT_THAT(rank.log, ElementsAre("+1", "-1"));
}

TEST_F(RegistrationCacheTest, WhatWasUsedLongestAgoGoesFirst) {
  open(2);
  for (const std::uint32_t id : {1, 2, 1, 3, 2}) use(id);
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2", "+3", "-2", "+2", "-1"));
  EXPECT_THAT(counts(), ElementsAre(1, 4, 2));
}

TEST_F(RegistrationCacheTest, WhatAMessageHoldsIsNotEvicted) {
  open(1);
  cache_->hold(buffer(1));
  cache_->hold(buffer(2));
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2")) << "beyond its capacity for as long as both are held";
  cache_->let_go(buffer(2));
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2", "-2"));
  cache_->let_go(buffer(1));
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2", "-2"));
}

TEST_F(RegistrationCacheTest, WithoutACacheEveryMessageRegistersForItself) {
  open(0);
  cache_->hold(buffer(1));
  cache_->hold(buffer(1));
  cache_->let_go(buffer(1));
  cache_->let_go(buffer(1));
  EXPECT_THAT(rank.log, ElementsAre("+1", "+1", "-1", "-1"));
  EXPECT_THAT(counts(), ElementsAre(0, 2, 0));
}

TEST_F(RegistrationCacheTest, AfterAFailureNothingIsHeld) {
  open(0);
  cache_->hold(buffer(1));
  cache_->hold(buffer(2));
  cache_->let_all_go();
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2", "-1", "-2"));
}

TEST_F(RegistrationCacheTest, WhatItsOwnerHasReleasedIsForgotten) {
  open(1);
  use(1);
  rank.registrations.clear();  // as release() does
  use(2);
  EXPECT_THAT(rank.log, ElementsAre("+1", "+2"));
  rank.registrations.clear();
  EXPECT_NO_THROW(cache_.reset());
}

}  // namespace
}  // namespace twinlink
