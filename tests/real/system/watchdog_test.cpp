#include "real/system/watchdog.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cstdlib>
#include <thread>

namespace twinlink::real {
namespace {

TEST(Watchdog, EndsTheProcessOfACallThatDoesNotReturn) {
  EXPECT_EXIT(
      {
        const Watchdog watchdog(Seconds{0.01}, "the call hangs");
        std::this_thread::sleep_for(std::chrono::hours(1));
      },
      testing::ExitedWithCode(1), "^twinlink-real: the call hangs\n$");
}

/// And nobody waits for its end.
TEST(Watchdog, LeavesAProcessAloneWhoseCallHasReturned) {
  { const Watchdog watchdog(Seconds{1e6}, "the call hangs"); }
  EXPECT_EXIT(
      {
        { const Watchdog watchdog(Seconds{0.01}, "the call hangs"); }
        std::this_thread::sleep_for(std::chrono::milliseconds(30));
        std::_Exit(7);
      },
      testing::ExitedWithCode(7), "^$");
}

}  // namespace
}  // namespace twinlink::real
