#include "tests/explore/explorer/fiber.hpp"

#include <gtest/gtest.h>

#include <memory>
#include <stdexcept>
#include <string>
#include <vector>

namespace twinlink::explore {
namespace {

Key hash_of(const Fiber& fiber) {
  Hash hash;
  fiber.hash(hash);
  return hash.key();
}

TEST(Fiber, RunsFromSuspendToSuspend) {
  std::vector<int> log;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(
      [&] {
        for (int i = 1; i <= 3; ++i) {
          log.push_back(i);
          fiber->suspend();
        }
      },
      false);
  for (int i = 10; i <= 40; i += 10) {
    log.push_back(i);
    EXPECT_FALSE(fiber->ended());
    fiber->resume();
  }
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(log, (std::vector<int>{10, 1, 20, 2, 30, 3, 40}));
}

TEST(Fiber, KeepsItsExceptionsToItself) {
  std::string caught;
  std::unique_ptr<Fiber> fiber;
  fiber = std::make_unique<Fiber>(
      [&] {
        try {
          throw std::runtime_error("inner");
        } catch (const std::exception&) {
          fiber->suspend();
          try {
            throw;
          } catch (const std::exception& again) {
            caught = again.what();
          }
        }
      },
      false);
  try {
    throw std::runtime_error("outer");
  } catch (const std::exception&) {
    fiber->resume();
    EXPECT_EQ(std::uncaught_exceptions(), 0);
  }
  fiber->resume();
  EXPECT_TRUE(fiber->ended());
  EXPECT_EQ(caught, "inner");
}

/// Counts to three, with its counter on the stack and on the heap; the answer is where the caller can see it.
struct Counter {
  int seen = 0;
  std::unique_ptr<Fiber> fiber = std::make_unique<Fiber>(
      [this] {
        std::vector<int> on_heap;
        for (int i = 1; i <= 3; ++i) {
          on_heap.push_back(i);
          seen = i * 100 + static_cast<int>(on_heap.size());
          fiber->suspend();
        }
      },
      true);
};

TEST(Fiber, GoesOnFromWhereItWasSaved) {
  if (!kFibersCanGoBack) GTEST_SKIP() << "not under the address sanitizer";
  Counter counter;
  counter.fiber->resume();
  FiberImage after_one;
  counter.fiber->save(after_one);
  for (int round = 0; round < 3; ++round) {
    counter.fiber->resume();
    EXPECT_EQ(counter.seen, 202);
    counter.fiber->resume();
    EXPECT_EQ(counter.seen, 303);
    counter.fiber->resume();
    EXPECT_TRUE(counter.fiber->ended());
    counter.fiber->restore(after_one);
  }
}

TEST(Fiber, HasOneHashForOneState) {
  Counter counter;
  std::vector<Key> keys;
  for (int i = 0; i < 3; ++i) {
    counter.fiber->resume();
    keys.push_back(hash_of(*counter.fiber));
  }
  EXPECT_NE(keys[0], keys[1]);
  EXPECT_NE(keys[1], keys[2]);
  counter.fiber->restart();
  counter.fiber->resume();
  EXPECT_EQ(hash_of(*counter.fiber), keys[0]);
  counter.fiber->resume();
  EXPECT_EQ(hash_of(*counter.fiber), keys[1]);
}

TEST(Arena, ForgetsTheOrderInWhichMemoryWasFreed) {
  const auto bytes_after = [](bool second_first) {
    Arena arena;
    void* blocks[4];
    for (void*& block : blocks) {
      block = arena.allocate(40);
      std::memset(block, 0x5A, 40);
    }
    arena.free(blocks[second_first ? 1 : 0]);
    arena.free(blocks[second_first ? 0 : 1]);
    const auto used = arena.used();
    return std::vector<std::byte>(used.begin(), used.end());
  };
  EXPECT_EQ(bytes_after(true), bytes_after(false));
}

TEST(Arena, IsEmptyWhenAllIsFreed) {
  Arena arena;
  void* a = arena.allocate(100);
  void* b = arena.allocate(0);
  void* c = arena.allocate(5000);
  EXPECT_NE(a, b);
  arena.free(b);
  arena.free(c);
  arena.free(a);
  EXPECT_TRUE(arena.used().empty());
  EXPECT_EQ(arena.allocate(8), a) << "the lowest place that fits";
}

TEST(Arena, TakesWhatNewAllocatesWhileItIsActive) {
  Arena arena;
  std::unique_ptr<std::string> text;
  {
    const ActiveArena active(&arena);
    text = std::make_unique<std::string>(100, 'x');
  }
  EXPECT_GT(arena.used().size(), 100U);
  const auto ordinary = std::make_unique<std::string>(100, 'y');
  text.reset();
  EXPECT_TRUE(arena.used().empty());
}

}  // namespace
}  // namespace twinlink::explore
