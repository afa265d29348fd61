#include "real/cores.hpp"

#include <sched.h>

#include <set>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

using ::testing::SizeIs;

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  EXPECT_EQ(::sched_getaffinity(0, sizeof set, &set), 0);
  std::vector<int> cpus;
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
  return cpus;
}

void allow(const std::vector<int>& cpus) {
  cpu_set_t set;
  CPU_ZERO(&set);
  for (const int cpu : cpus) CPU_SET(cpu, &set);
  EXPECT_EQ(::sched_setaffinity(0, sizeof set, &set), 0);
}

class CoresOfThisMachine : public ::testing::Test {
 protected:
  ~CoresOfThisMachine() override { allow(before_); }

  const std::vector<int> before_ = allowed_cpus();
};

TEST_F(CoresOfThisMachine, GoesRoundThoseThatItMayUse) {
  Cores cores(0, 1);
  if (cores.count() < 2) GTEST_SKIP() << "this process may use one CPU of this NUMA domain";
  std::set<int> seen;
  for (std::size_t i = 0; i < cores.count(); ++i) {
    cores.change();
    const std::vector<int> now = allowed_cpus();
    ASSERT_THAT(now, SizeIs(1));
    EXPECT_EQ(::sched_getcpu(), now.front());
    EXPECT_TRUE(seen.insert(now.front()).second) << "CPU " << now.front() << " twice in a round";
  }
  cores.change();
  EXPECT_EQ(seen.count(allowed_cpus().front()), 1U);
}

TEST_F(CoresOfThisMachine, RanksOfANodeShareThemOut) {
  const std::size_t all = Cores(0, 1).count();
  constexpr int kShares = 3;
  std::size_t together = 0;
  std::set<int> seen;
  for (int share = 0; share < kShares; ++share) {
    allow(before_);
    Cores cores(share, kShares);
    EXPECT_LE(cores.count(), all / kShares + 1);
    together += cores.count();
    if (cores.count() < 2) continue;  // stays where it is
    for (std::size_t i = 0; i < cores.count(); ++i) {
      cores.change();
      EXPECT_TRUE(seen.insert(allowed_cpus().front()).second) << "two ranks on one CPU";
    }
  }
  EXPECT_EQ(together, all);
}

TEST_F(CoresOfThisMachine, StaysWhereThereIsNoOther) {
  allow({before_.front()});
  Cores cores(0, 1);
  EXPECT_EQ(cores.count(), 1U);
  cores.change();
  EXPECT_EQ(allowed_cpus(), std::vector<int>{before_.front()});
}

}  // namespace
}  // namespace twinlink::real
