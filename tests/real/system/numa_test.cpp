#include "real/system/numa.hpp"

#include <sched.h>

#include <cstdlib>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// hwloc then takes the file for this machine, or for another one, where it binds nothing and says that all went well.
void pretend(const char* file, bool this_system = true) {
  ::setenv("HWLOC_XMLFILE", file, 1);
  ::setenv("HWLOC_THISSYSTEM", this_system ? "1" : "0", 1);
}

bool may_run_on_cpu_0() {
  cpu_set_t cpus;
  CPU_ZERO(&cpus);
  CPU_SET(0, &cpus);
  return ::sched_setaffinity(0, sizeof cpus, &cpus) == 0;
}

TEST(Numa, BindsToTheCpusNextToTheDevice) {
  if (!may_run_on_cpu_0()) GTEST_SKIP() << "this process may not run on CPU 0, which the test's machine has";
  pretend(TWINLINK_TOPOLOGIES "/virtual_machine.xml");
  Numa numa("0000:00:05.0");
  EXPECT_EQ(numa.binding(), "not asked for");
  EXPECT_TRUE(numa.bind_process());
  EXPECT_EQ(numa.binding(), "NUMA domain 0, next to 0000:00:05.0: CPUs 0");
  EXPECT_EQ(numa.cpu_binding(), "0");
}

TEST(Numa, HasNothingToBindAnEmulatedDeviceTo) {
  Numa numa("emulated:00");
  const std::string before = numa.cpu_binding();
  EXPECT_FALSE(numa.bind_process());
  EXPECT_THAT(numa.binding(), StartsWith("nothing to bind to: "));
  EXPECT_EQ(numa.cpu_binding(), before);
}

TEST(Numa, DoesNotGuessWhereADeviceIs) {
  pretend(TWINLINK_TOPOLOGIES "/place_unknown.xml");
  Numa numa("0000:00:05.0");
  EXPECT_FALSE(numa.bind_process());
  EXPECT_THAT(numa.binding(), HasSubstr("does not say to which NUMA domain 0000:00:05.0 belongs"));
}

/// By the firmware's latencies from the device's own domain: to 1 the longest, though from 2 it is longer back.
TEST(Numa, FarIsWhatTakesLongestToReach) {
  pretend(TWINLINK_TOPOLOGIES "/three_domains.xml", false);
  Numa numa("0000:11:00.0");
  EXPECT_EQ(numa.domains(), 3);
  EXPECT_EQ(numa.number(Locality::near), 0);
  EXPECT_EQ(numa.number(Locality::far), 1);
  numa.pretend(5);
  EXPECT_EQ(numa.domains(), 5);
}

TEST(Numa, WithoutLatenciesFarIsTheOtherDomain) {
  pretend(TWINLINK_TOPOLOGIES "/two_sockets.xml", false);
  for (const auto& [device, near] : {std::pair("0000:13:00.0", 0), {"0000:81:00.0", 1}}) {
    const Numa numa(device);
    EXPECT_EQ(numa.domains(), 2);
    EXPECT_EQ(numa.number(Locality::near), near) << device;
    EXPECT_EQ(numa.number(Locality::far), 1 - near) << device;
  }
}

TEST(Numa, WhereMemoryCannotBeBoundThereIsOneDomain) {
  pretend(TWINLINK_TOPOLOGIES "/three_domains.xml");  // which this machine does not have
  const Numa numa("0000:11:00.0");
  if (numa.domains() > 1) GTEST_SKIP() << "this machine has three domains";
  EXPECT_EQ(numa.number(Locality::far), numa.number(Locality::near));
  std::byte memory{};
  EXPECT_NO_THROW(numa.bind(&memory, 1_B, Locality::far));
}

}  // namespace
}  // namespace twinlink::real
