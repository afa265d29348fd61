// A thread beside a rank's own, without devices.
#include "real/device/copy_thread.hpp"

#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Binds the calling thread to its first CPU for as long as it lives.
class OnOneCpu {
 public:
  OnOneCpu() {
    EXPECT_EQ(sched_getaffinity(0, sizeof before_, &before_), 0);
    int first = 0;
    while (!CPU_ISSET(first, &before_)) ++first;
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(first, &one);
    EXPECT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
  }
  ~OnOneCpu() { sched_setaffinity(0, sizeof before_, &before_); }
  OnOneCpu(const OnOneCpu&) = delete;
  OnOneCpu& operator=(const OnOneCpu&) = delete;

 private:
  cpu_set_t before_{};
};

class CopyThreadTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (cpus.count() < 2) GTEST_SKIP() << "one CPU only";
  }
  Cpus cpus;
};

TEST_F(CopyThreadTest, CopiesOneAfterTheOther) {
  std::vector<std::size_t> sizes;
  CopyThread thread(cpus, [&](const CopyThread::Copy& copy) { sizes.push_back(copy.size); });
  EXPECT_EQ(thread.give({.size = 3}), 1U);
  EXPECT_EQ(thread.give({.size = 1}), 2U);
  EXPECT_EQ(thread.give({.size = 2}), 3U);
  thread.wait();
  EXPECT_THAT(sizes, ElementsAre(3U, 1U, 2U));
  EXPECT_TRUE(thread.ended(1));
  EXPECT_TRUE(thread.ended(3));
}

TEST_F(CopyThreadTest, ACopyHasEndedWhenItsBytesAreThereAndNotBefore) {
  std::atomic<bool> may_end{false};
  CopyThread thread(cpus, [&](const CopyThread::Copy&) {
    while (!may_end) std::this_thread::yield();
  });
  const std::uint64_t first = thread.give({});
  const std::uint64_t second = thread.give({});
  EXPECT_FALSE(thread.ended(first));
  may_end = true;
  thread.wait();
  EXPECT_TRUE(thread.ended(second));
}

TEST_F(CopyThreadTest, WakesUpForACopyThatComesLate) {
  std::atomic<int> copies{0};
  CopyThread thread(cpus, [&](const CopyThread::Copy&) { ++copies; });
  for (int i = 1; i <= 3; ++i) {
    std::this_thread::sleep_for(std::chrono::milliseconds(5));  // it sleeps by now
    thread.give({});
    thread.wait();
    EXPECT_EQ(copies, i);
  }
}

TEST_F(CopyThreadTest, EndsBehindAllThatItWasGiven) {
  std::atomic<int> copies{0};
  {
    CopyThread thread(cpus, [&](const CopyThread::Copy&) {
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
      ++copies;
    });
    for (int i = 0; i < 5; ++i) thread.give({});
  }
  EXPECT_EQ(copies, 5);
}

TEST_F(CopyThreadTest, WhatACopyThrowsIsThrownToWhoAsksAndNothingIsCopiedBehindIt) {
  std::atomic<int> copies{0};
  CopyThread thread(cpus, [&](const CopyThread::Copy& copy) {
    if (copy.size == 0) throw std::runtime_error("no bytes");
    ++copies;
  });
  thread.give({.size = 1});
  thread.wait();
  const std::uint64_t wrong = thread.give({});
  const std::uint64_t behind = thread.give({.size = 1});
  EXPECT_THROW(thread.wait(), std::runtime_error);
  EXPECT_THROW(static_cast<void>(thread.ended(wrong)), std::runtime_error);
  EXPECT_THROW(static_cast<void>(thread.ended(behind)), std::runtime_error);
  EXPECT_EQ(copies, 1);
}

/// A rank goes from core to core, and what it starts begins where it is.
TEST_F(CopyThreadTest, RunsOnItsOwnCpusWhereverItsCreatorIsBound) {
  const OnOneCpu here;
  std::atomic<std::size_t> count{0};
  CopyThread thread(cpus, [&](const CopyThread::Copy&) { count = Cpus().count(); });
  thread.give({});
  thread.wait();
  EXPECT_EQ(count, cpus.count());
}

TEST(CopyThreads, AreRefusedWhereTheyWouldShareTheRanksCpu) {
  const OnOneCpu here;
  const Cpus one;
  ASSERT_EQ(one.count(), 1U);
  try {
    const CopyThread thread(one, [](const CopyThread::Copy&) {});
    FAIL() << "it was started";
  } catch (const UnavailableError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--bind-to none"));
  }
}

}  // namespace
}  // namespace twinlink::real
