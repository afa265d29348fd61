#include "real/system/numa.hpp"

#include <sched.h>

#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::real {
namespace {

using ::testing::HasSubstr;
using ::testing::StartsWith;

/// hwloc then takes the file for this machine.
void pretend(const char* file) {
  ::setenv("HWLOC_XMLFILE", file, 1);
  ::setenv("HWLOC_THISSYSTEM", "1", 1);
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

}  // namespace
}  // namespace twinlink::real
