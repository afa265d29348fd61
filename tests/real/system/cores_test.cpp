#include "real/system/cores.hpp"

#include <sched.h>

#include <set>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
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
  void TearDown() override { allow(before_); }

  const std::vector<int> before_ = allowed_cpus();
};

std::vector<unsigned> shares_of(const std::string& cpus, int share, int shares) {
  // Four cores; the second thread of CPU n is CPU n + 4.
  const HwlocTopology topology = HwlocTopology::of_xml(TWINLINK_TOPOLOGIES "/two_threads_per_core.xml");
  const Bitmap set;
  EXPECT_EQ(hwloc_bitmap_list_sscanf(set.get(), cpus.c_str()), 0);
  return share_of_cores(topology, set.get(), share, shares);
}

TEST(ShareOfCores, HasWholeCoresAndOneThreadOfEach) {
  EXPECT_THAT(shares_of("0-7", 0, 1), ElementsAre(0, 1, 2, 3));
  EXPECT_THAT(shares_of("0-7", 0, 2), ElementsAre(0, 1));
  EXPECT_THAT(shares_of("0-7", 1, 2), ElementsAre(2, 3)) << "and not 4 and 5, the other threads of 0 and 1";
}

TEST(ShareOfCores, HasWhatTheProcessMayUse) {
  EXPECT_THAT(shares_of("1,4,5", 0, 1), ElementsAre(4, 1));
  EXPECT_THAT(shares_of("1,5", 0, 1), ElementsAre(1));
}

TEST(ShareOfCores, IsSmallerOrEmptyWhereThereAreFew) {
  EXPECT_THAT(shares_of("0-7", 0, 3), ElementsAre(0));
  EXPECT_THAT(shares_of("0-7", 1, 3), ElementsAre(1));
  EXPECT_THAT(shares_of("0-7", 2, 3), ElementsAre(2, 3));
  EXPECT_THAT(shares_of("0", 0, 2), IsEmpty());
}

TEST_F(CoresOfThisMachine, GoesRoundThoseThatItMayUse) {
  Cores cores(0, 1);
  if (cores.count() < 2) GTEST_SKIP() << "this process may use one CPU of this NUMA domain";
  std::set<int> seen;
  for (std::size_t i = 0; i < cores.count(); ++i) {
    EXPECT_TRUE(cores.change());
    const std::vector<int> now = allowed_cpus();
    ASSERT_THAT(now, SizeIs(1));
    EXPECT_EQ(::sched_getcpu(), now.front());
    EXPECT_TRUE(seen.insert(now.front()).second) << "CPU " << now.front() << " twice in a round";
  }
  cores.change();
  EXPECT_EQ(seen.count(allowed_cpus().front()), 1U);
}

TEST_F(CoresOfThisMachine, StaysWhereThereIsNoOther) {
  allow({before_.front()});
  Cores cores(0, 1);
  EXPECT_EQ(cores.count(), 1U);
  EXPECT_FALSE(cores.change());
  EXPECT_EQ(allowed_cpus(), std::vector<int>{before_.front()});
}

}  // namespace
}  // namespace twinlink::real
