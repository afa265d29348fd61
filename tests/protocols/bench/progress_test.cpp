#include "protocols/bench/cli/progress.hpp"

#include <gmock/gmock.h>

namespace twinlink::bench {
namespace {

/// Somebody who looks on, with a clock of the test's.
struct Watcher {
  Seconds now{};
  std::string seen{};

  ProgressView view(bool terminal) {
    return {.terminal = terminal,
            .write = [this](const std::string& text) { seen += text; },
            .now = [this] { return now; }};
  }
};

TEST(Progress, ATerminalHasOneLineThatIsGoneAtTheEnd) {
  Watcher watcher;
  {
    Progress progress("simulations", watcher.view(true));
    watcher.now = Seconds{2};
    progress.show(1, 4);
    EXPECT_EQ(watcher.seen, "\r\x1b[K1 of 4 simulations (25 %), about 6 s to go");
    watcher.now = Seconds{2.1};
    progress.show(2, 4);  // sooner than anybody reads
    EXPECT_THAT(watcher.seen, testing::Not(testing::HasSubstr("2 of 4")));
  }
  EXPECT_THAT(watcher.seen, testing::EndsWith("\r\x1b[K"));
}

TEST(Progress, ALogHasALineAMinute) {
  Watcher watcher;
  {
    Progress progress("curves", watcher.view(false));
    const OnProgress listener = progress.listener();
    for (std::size_t done = 1; done <= 13; ++done) {
      watcher.now += Seconds{10};
      listener(done, 120);
    }
  }
  EXPECT_EQ(watcher.seen, "6 of 120 curves (5 %), about 19 min to go\n12 of 120 curves (10 %), about 18 min to go\n");
}

}  // namespace
}  // namespace twinlink::bench
