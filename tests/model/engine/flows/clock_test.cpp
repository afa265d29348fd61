// Timers, alarms and event queues, and who waits for them.
#include "model/engine/flows/event_loop.hpp"
#include "model/engine/rank/event_queue.hpp"

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace twinlink::model {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;
using ::testing::ThrowsMessage;

/// A clock and a scheduler, as a simulation has them.
class Loop {
 public:
  [[nodiscard]] Clock& clock() { return loop_.clock(); }
  [[nodiscard]] Scheduler& scheduler() { return loop_.scheduler(); }
  /// To the end of all.
  void run(const std::vector<std::function<void()>>& bodies) {
    for (const auto& body : bodies) scheduler().add(body);
    loop_.run();
  }

 private:
  EventLoop loop_{nullptr};
};

TEST(Clock, TimersActInTheOrderOfTheirTimesAndThenOfTheirSetting) {
  std::vector<std::string> acted;
  Loop loop;
  Clock& clock = loop.clock();
  Timer first(clock, [&] { acted.emplace_back("first"); });
  Timer second(clock, [&] { acted.emplace_back("second"); });
  Timer early(clock, [&] { acted.emplace_back("early"); });
  loop.run({[&] {
    first.set(Seconds{2});
    second.set(Seconds{2});
    early.set(Seconds{1});
    Alarm(clock, loop.scheduler()).sleep_until(Seconds{3});
  }});
  EXPECT_THAT(acted, ElementsAre("early", "first", "second"));
}

TEST(Clock, ATimerActsOnceAtTheTimeThatWasSetLast) {
  std::vector<double> times;
  Loop loop;
  Clock& clock = loop.clock();
  Timer timer(clock, [&] { times.push_back(clock.now().value()); });
  Timer cleared(clock, [&] { times.push_back(-1); });
  loop.run({[&] {
    Alarm alarm(clock, loop.scheduler());
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

TEST(Clock, ATimerThatIsMovedAgainAndAgainActsOnceAtTheLastTime) {
  std::vector<double> times;
  Loop loop;
  Clock& clock = loop.clock();
  Timer timer(clock, [&] { times.push_back(clock.now().value()); });
  loop.run({[&] {
    Alarm alarm(clock, loop.scheduler());
    for (const double when : {16.0, 15.0, 14.5, 8.0, 15.5, 12.0}) timer.move(Seconds{when});
    alarm.sleep_until(Seconds{11.5});
    timer.move(Seconds{12.5});
    alarm.sleep_until(Seconds{12.25});
    EXPECT_EQ(timer.when(), Seconds{12.5});
    timer.move(Seconds{12.375});
    alarm.sleep_until(Seconds{20});
    timer.move(Seconds{3});  // past: soon
    alarm.sleep_until(Seconds{21});
  }});
  EXPECT_THAT(times, ElementsAre(12.375, 20));
}

TEST(Clock, AnActionMaySetItsTimerAgain) {
  int acted = 0;
  Loop loop;
  Clock& clock = loop.clock();
  Timer* self = nullptr;
  Timer timer(clock, [&] {
    if (++acted < 3) self->set(clock.now() + Seconds{1});
  });
  self = &timer;
  loop.run({[&] {
    timer.set(Seconds{1});
    Alarm(clock, loop.scheduler()).sleep_until(Seconds{9});
  }});
  EXPECT_EQ(acted, 3);
}

TEST(Alarm, ARingEndsAWaitButNotASleep) {
  Loop loop;
  Clock& clock = loop.clock();
  Alarm* alarm = nullptr;
  Timer ringer(clock, [&] { alarm->ring(); });
  loop.run({[&] {
    Alarm own(clock, loop.scheduler());
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
    ringer.set(Seconds{10});
    own.wait_until(Seconds{12});
    own.sleep_until(Seconds{14});
    EXPECT_EQ(clock.now(), Seconds{14}) << "nor does it end a sleep";
  }});
}

TEST(Scheduler, WhoFailsEndsAll) {
  Loop loop;
  bool destroyed = false;
  struct Flag {
    bool& flag;
    ~Flag() { flag = true; }
  };
  const auto waits = [&] {
    const Flag flag{destroyed};
    Alarm(loop.clock(), loop.scheduler()).wait_until(kNever);
    ADD_FAILURE() << "nobody rings";
  };
  const auto fails = [&](const char* how) {
    return [&, how] {
      Alarm(loop.clock(), loop.scheduler()).sleep_until(Seconds{1});
      throw UsageError(how);
    };
  };
  EXPECT_THAT([&] { loop.run({waits, fails("first"), fails("second")}); }, ThrowsMessage<UsageError>("first"));
  EXPECT_TRUE(destroyed) << "what was on its stack";
}

TEST(Scheduler, WaitingForEachOtherForEverIsAnError) {
  Loop loop;
  const auto waits = [&] { Alarm(loop.clock(), loop.scheduler()).wait_until(kNever); };
  EXPECT_THROW(loop.run({waits, waits}), Error);
}

/// A stack has 256 KiB, of which a page or two are for where it begins and for who calls the rank's code.
TEST(Scheduler, AStackHasRoomForALargeFrame) {
  Loop loop;
  std::size_t touched = 0;
  loop.run({[&] {
    std::array<volatile char, std::size_t{250} << 10U> frame;
    for (std::size_t at = 0; at < frame.size(); at += 64, ++touched) frame[at] = 1;
  }});
  EXPECT_EQ(touched, (std::size_t{250} << 10U) / 64);
}

TEST(Scheduler, MoreRanksThanLinuxHasMappings) {
  Loop loop;
  int ended = 0;
  const auto body = [&] {
    Alarm(loop.clock(), loop.scheduler()).sleep_until(Seconds{1});
    ++ended;
  };
  loop.run(std::vector<std::function<void()>>(40'000, body));
  EXPECT_EQ(ended, 40'000);
}

// ---- event queue ----------------------------------------------------------------------------------------------------

/// What an event queue holds in these tests.
class Call final : public QueuedEvent {
 public:
  explicit Call(std::function<void()> action) : action_(std::move(action)) {}
  void happen() override { action_(); }

 private:
  std::function<void()> action_;
};

class EventQueueTest : public ::testing::Test {
 protected:
  void add(Seconds when, int number, const std::function<void()>& more = {}) {
    event_queue_.add(when, std::make_shared<Call>([this, number, more] {
                       happened_.push_back(number);
                       if (more) more();
                     }));
  }
  /// The timers act as the event loop lets them.
  void pass(Seconds until) {
    until = on_grain(until);
    while (clock_.next() <= until) {
      clock_.advance(clock_.next());
      clock_.act();
    }
    clock_.advance(until);
  }

  Clock clock_;
  EventQueue event_queue_{clock_};
  std::vector<int> happened_;
};

TEST_F(EventQueueTest, TimesComeInOrder) {
  add(Seconds{3e-6}, 3);
  add(Seconds{1e-6}, 1);
  add(Seconds{2e-6}, 2);
  pass(Seconds{2e-6});
  EXPECT_THAT(happened_, ElementsAre(1, 2));
  pass(Seconds{3e-6});
  EXPECT_THAT(happened_, ElementsAre(1, 2, 3));
}

TEST_F(EventQueueTest, OfOneTimeTheFirstAddedComesFirst) {
  for (int number = 0; number < 5; ++number) add(Seconds{1e-6}, number);
  pass(Seconds{1e-6});
  EXPECT_THAT(happened_, ElementsAre(0, 1, 2, 3, 4));
}

TEST_F(EventQueueTest, WhatIsAddedForNowHappensInTheSameRun) {
  add(Seconds{}, 1, [this] { add(Seconds{}, 2); });
  event_queue_.run();
  EXPECT_THAT(happened_, ElementsAre(1, 2));
}

TEST_F(EventQueueTest, NothingHappensOnceItIsClosed) {
  add(Seconds{1e-6}, 1);
  event_queue_.close();
  pass(Seconds{2e-6});
  EXPECT_THAT(happened_, IsEmpty());
}

}  // namespace
}  // namespace twinlink::model
