// Timers and alarms, with an engine and actors of their own.
#include "model/engine/clock.hpp"

#include <array>
#include <functional>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "model/engine/flow.hpp"

namespace twinlink::model {
namespace {

using ::testing::ElementsAre;

/// Runs actors to their end.
void run(const std::vector<std::function<void()>>& actors) {
#if defined(__SANITIZE_ADDRESS__)
  simgrid::s4u::Engine::set_config("contexts/factory:thread");
#endif
  std::string program = "clock_test";
  std::array<char*, 2> arguments{program.data(), nullptr};
  int count = 1;
  simgrid::s4u::Engine engine(&count, arguments.data());
  FlowNetwork network(engine);
  for (const auto& actor : actors) network.add_actor("actor", actor);
  engine.run();
}

TEST(Clock, TimersActInTheOrderOfTheirTimesAndThenOfTheirSetting) {
  std::vector<std::string> acted;
  Clock clock;
  Timer first(clock, [&] { acted.emplace_back("first"); });
  Timer second(clock, [&] { acted.emplace_back("second"); });
  Timer early(clock, [&] { acted.emplace_back("early"); });
  run({[&] {
    first.set(Seconds{2});
    second.set(Seconds{2});
    early.set(Seconds{1});
    Alarm(clock).sleep_until(Seconds{3});
  }});
  EXPECT_THAT(acted, ElementsAre("early", "first", "second"));
}

TEST(Clock, ATimerActsOnceAtTheTimeThatWasSetLast) {
  std::vector<double> times;
  Clock clock;
  Timer timer(clock, [&] { times.push_back(clock.now().value()); });
  Timer cleared(clock, [&] { times.push_back(-1); });
  run({[&] {
    Alarm alarm(clock);
    timer.set(Seconds{1});
    timer.set(Seconds{3});  // later: its entry is put right when it is found too early
    cleared.set(Seconds{2});
    cleared.clear();
    EXPECT_EQ(timer.when(), Seconds{3});
    alarm.sleep_until(Seconds{4});
    EXPECT_EQ(timer.when(), kNever);
    timer.set(Seconds{9});
    timer.set(Seconds{5});  // earlier
    alarm.sleep_until(Seconds{10});
  }});
  EXPECT_THAT(times, ElementsAre(3, 5));
}

TEST(Clock, AnActionMaySetItsTimerAgain) {
  int acted = 0;
  Clock clock;
  Timer* self = nullptr;
  Timer timer(clock, [&] {
    if (++acted < 3) self->set(clock.now() + Seconds{1});
  });
  self = &timer;
  run({[&] {
    timer.set(Seconds{1});
    Alarm(clock).sleep_until(Seconds{9});
  }});
  EXPECT_EQ(acted, 3);
}

TEST(Alarm, ARingEndsAWaitButNotASleep) {
  Clock clock;
  Alarm* alarm = nullptr;
  Timer ringer(clock, [&] { alarm->ring(); });
  run({[&] {
    Alarm own(clock);
    alarm = &own;
    ringer.set(Seconds{1});
    own.sleep_until(Seconds{2});
    EXPECT_EQ(clock.now(), Seconds{2}) << "asleep";
    ringer.set(Seconds{3});
    own.wait_until(Seconds{9});
    EXPECT_EQ(clock.now(), Seconds{3}) << "waiting";
    own.wait_until(Seconds{5});
    EXPECT_EQ(clock.now(), Seconds{5}) << "the deadline of the wait before is forgotten";
    own.wait_until(Seconds{9});
    EXPECT_EQ(clock.now(), Seconds{9});
  }});
}

}  // namespace
}  // namespace twinlink::model
