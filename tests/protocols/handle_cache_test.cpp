#include "protocols/parts/handle_cache.hpp"

#include <gmock/gmock.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "protocols/trace/decorated_rank.hpp"
#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

constexpr RankId kOwner{1};

/// Writes down what is opened and closed, by the first byte of the handle.
class NotingRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;

  Buffer open_memory(RankId owner, const IpcHandle& handle) override {
    const char name = static_cast<char>(handle.token[0]);
    if (name == 'X') throw UsageError("a handle that nobody opens");
    const Buffer opened = inner().open_memory(owner, handle);
    names_.emplace_back(opened, name);
    log.push_back(std::string("open ") + name);
    return opened;
  }
  void close_memory(Buffer buffer) override {
    for (const auto& [known, name] : names_) {
      if (known == buffer) log.push_back(std::string("close ") + name);
    }
  }

  std::vector<std::string> log;

 private:
  std::vector<std::pair<Buffer, char>> names_;
};

/// A handle of that name; without an address of its own it has that of its name.
IpcHandle handle(char name, std::uint64_t address = 0) {
  IpcHandle handle{.size = 4096, .address = address != 0 ? address : static_cast<std::uint64_t>(name)};
  handle.token[0] = static_cast<std::byte>(name);
  return handle;
}

class HandleCacheTest : public testing::Test {
 protected:
  /// Opens and releases at once.
  static void use(HandleCache& cache, char name) { cache.release(cache.acquire(handle(name))); }

  std::vector<std::string> take_log() { return std::exchange(rank_.log, {}); }

  ScriptedRank scripted_;
  NotingRank rank_{scripted_};
};

TEST_F(HandleCacheTest, OpensOnceAndClosesAtItsEnd) {
  {
    HandleCache cache(rank_, kOwner, 0, Eviction::lru);
    const Buffer first = cache.acquire(handle('A'));
    const Buffer second = cache.acquire(handle('A'));
    EXPECT_EQ(first, second);
    cache.release(first);
    cache.release(second);
    use(cache, 'A');
    EXPECT_THAT(take_log(), ElementsAre("open A"));
    EXPECT_EQ(cache.counts().hits, 2U);
    EXPECT_EQ(cache.counts().misses, 1U);
  }
  EXPECT_THAT(take_log(), ElementsAre("close A"));
}

TEST_F(HandleCacheTest, WithoutALimitNothingIsEvicted) {
  HandleCache cache(rank_, kOwner, 0, Eviction::lru);
  for (int i = 0; i < 1000; ++i) cache.release(cache.acquire(handle('A', 1 + static_cast<std::uint64_t>(i))));
  EXPECT_EQ(cache.size(), 1000U);
  EXPECT_EQ(cache.counts().evicted, 0U);
}

TEST_F(HandleCacheTest, ARangeUnderAnotherHandleIsClosedAndOpenedAnew) {
  HandleCache cache(rank_, kOwner, 0, Eviction::lru);
  cache.release(cache.acquire(handle('A', 100)));
  cache.release(cache.acquire(handle('B', 100)));
  EXPECT_THAT(take_log(), ElementsAre("open A", "close A", "open B"));
  EXPECT_EQ(cache.counts().invalid, 1U);
  EXPECT_EQ(cache.counts().misses, 1U);
  cache.release(cache.acquire(handle('B', 100)));
  EXPECT_EQ(cache.counts().hits, 1U);
}

TEST_F(HandleCacheTest, AnotherSizeAtTheSameAddressIsAnotherRange) {
  HandleCache cache(rank_, kOwner, 0, Eviction::lru);
  IpcHandle small = handle('A', 100);
  small.size = 10;
  cache.release(cache.acquire(small));
  cache.release(cache.acquire(handle('B', 100)));
  EXPECT_EQ(cache.counts().misses, 2U);
  EXPECT_EQ(cache.counts().invalid, 0U);
}

TEST_F(HandleCacheTest, WhatWasReplacedWhileInUseIsClosedAtItsRelease) {
  HandleCache cache(rank_, kOwner, 0, Eviction::lru);
  const Buffer old = cache.acquire(handle('A', 100));
  EXPECT_EQ(cache.acquire(handle('A', 100)), old);
  const Buffer fresh = cache.acquire(handle('B', 100));
  EXPECT_THAT(take_log(), ElementsAre("open A", "open B"));
  EXPECT_EQ(cache.size(), 2U);
  cache.release(old);
  EXPECT_THAT(take_log(), IsEmpty()) << "two had it";
  cache.release(old);
  EXPECT_THAT(take_log(), ElementsAre("close A"));
  EXPECT_EQ(cache.size(), 1U);
  cache.release(fresh);
  EXPECT_THAT(take_log(), IsEmpty());
}

TEST_F(HandleCacheTest, WhatWasReplacedWhileInUseIsClosedAtTheEndAtTheLatest) {
  {
    HandleCache cache(rank_, kOwner, 0, Eviction::lru);
    static_cast<void>(cache.acquire(handle('A', 100)));
    static_cast<void>(cache.acquire(handle('B', 100)));
    take_log();
  }
  EXPECT_THAT(take_log(), testing::UnorderedElementsAre("close A", "close B"));
}

TEST_F(HandleCacheTest, LruClosesWhatHasBeenUnusedForLongest) {
  HandleCache cache(rank_, kOwner, 2, Eviction::lru);
  for (const char name : {'A', 'B', 'A', 'C'}) use(cache, name);
  EXPECT_THAT(take_log(), ElementsAre("open A", "open B", "close B", "open C"));
  EXPECT_EQ(cache.counts().evicted, 1U);
}

TEST_F(HandleCacheTest, OpenMpiClosesWhatWasReleasedLast) {
  HandleCache cache(rank_, kOwner, 2, Eviction::openmpi);
  for (const char name : {'A', 'B', 'A', 'C'}) use(cache, name);
  EXPECT_THAT(take_log(), ElementsAre("open A", "open B", "close A", "open C"));
}

/// In whatever order they were acquired.
TEST_F(HandleCacheTest, OfManyTheFirstOrTheLastThatWasReleasedGoes) {
  std::string released = "ABCD";
  do {
    for (const auto& [eviction, closed] :
         {std::pair{Eviction::lru, released.front()}, {Eviction::openmpi, released.back()}}) {
      HandleCache cache(rank_, kOwner, 4, eviction);
      std::map<char, Buffer> held;
      for (const char name : {'A', 'B', 'C', 'D'}) held[name] = cache.acquire(handle(name));
      for (const char name : released) cache.release(held.at(name));
      take_log();
      use(cache, 'E');
      EXPECT_THAT(take_log(), ElementsAre(std::string("close ") + closed, "open E")) << released;
    }
  } while (std::ranges::next_permutation(released).found);
}

/// Three buffers in turn with room for two.
TEST_F(HandleCacheTest, InALoopOpenMpisOrderIsTheBetterOne) {
  for (const Eviction eviction : {Eviction::lru, Eviction::openmpi}) {
    HandleCache cache(rank_, kOwner, 2, eviction);
    for (int round = 0; round < 10; ++round) {
      for (const char name : {'A', 'B', 'C'}) use(cache, name);
    }
    // After the first three openings every second access finds its buffer.
    EXPECT_EQ(cache.counts().hits, eviction == Eviction::lru ? 0U : 14U);
    EXPECT_EQ(cache.counts().hits + cache.counts().misses, 30U);
  }
}

TEST_F(HandleCacheTest, WhatIsInUseIsNeverEvicted) {
  HandleCache cache(rank_, kOwner, 1, Eviction::lru);
  const Buffer a = cache.acquire(handle('A'));
  const Buffer b = cache.acquire(handle('B'));
  EXPECT_THAT(take_log(), ElementsAre("open A", "open B")) << "more than the limit, rather than closing A";
  EXPECT_EQ(cache.size(), 2U);
  cache.release(a);
  EXPECT_THAT(take_log(), ElementsAre("close A"));
  cache.release(b);
  EXPECT_EQ(cache.size(), 1U);
}

TEST_F(HandleCacheTest, ARefusedHandleLeavesNothingBehind) {
  HandleCache cache(rank_, kOwner, 0, Eviction::lru);
  EXPECT_THROW(static_cast<void>(cache.acquire(handle('X'))), UsageError);
  EXPECT_EQ(cache.size(), 0U);
  use(cache, 'A');
  EXPECT_EQ(cache.size(), 1U);
}

}  // namespace
}  // namespace twinlink
