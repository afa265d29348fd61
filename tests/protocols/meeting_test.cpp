// How two ends meet: whatever earlier ones have left under way is none of theirs.
#include "protocols/parts/meeting.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>

#include "protocols/core/tags.hpp"
#include "tests/support/fake_rank.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;

constexpr Tag kLetters = tags::kReady;
constexpr Tag kOthers = tags::kDelivered;
constexpr Seconds kLong{1000};
constexpr Tag kDone{tags::kFirstFree.value};
constexpr Tag kNudge{tags::kFirstFree.value + 1};
constexpr Tag kSignals = tags::kPushFlag;
constexpr Stream kStream{0};

class Side {
 public:
  explicit Side(Rank& rank) : rank_(rank), peer_{1 - rank.id().value} {}

  [[nodiscard]] Outcome meet() const {
    constexpr std::array kTags{kLetters, kOthers};
    return twinlink::meet(rank_, peer_, kTags, deadline(), numbers_);
  }
  [[nodiscard]] Outcome meet_signals() const {
    return twinlink::meet_signals(rank_, peer_, kSignals, kStream, numbers_, deadline());
  }

  void tell(Tag tag, std::uint64_t value) const {
    EXPECT_EQ(wait(rank_, rank_.tell(peer_, tag, Message(value)), deadline()), Status::delivered);
  }
  [[nodiscard]] std::uint64_t hear(Tag tag) const {
    Message message;
    EXPECT_EQ(wait(rank_, rank_.hear(peer_, tag, message), deadline()), Status::delivered);
    return message.as<std::uint64_t>();
  }
  [[nodiscard]] bool hears_nothing(Tag tag) const {
    Message message;
    return wait(rank_, rank_.hear(peer_, tag, message), rank_.now()) == Status::timed_out;
  }
  /// By the peer's memory, whose handle comes with a letter.
  void raise(std::uint64_t value) const {
    Message handle;
    EXPECT_EQ(wait(rank_, rank_.hear(peer_, kDone, handle), deadline()), Status::delivered);
    const Buffer theirs = rank_.open_memory(peer_, handle.as<IpcHandle>());
    const View nothing(rank_.allocate(Memory::device, 8_B), 0_B, 0_B);
    const Op put = rank_.put({theirs, 0_B, 0_B}, nothing, kStream, Engine::kernel, Signal{kSignals, value});
    EXPECT_EQ(wait(rank_, put, deadline()), Status::delivered);
  }
  void let_raise() const {
    const Message handle(rank_.export_memory(rank_.allocate(Memory::device, 8_B)));
    EXPECT_EQ(wait(rank_, rank_.tell(peer_, kDone, handle), deadline()), Status::delivered);
  }
  [[nodiscard]] std::uint64_t next_signal() const {
    std::uint64_t value = 0;
    EXPECT_EQ(wait(rank_, rank_.await_signal(peer_, kSignals, value), deadline()), Status::delivered);
    return value;
  }
  /// One rank does it, while the other waits for its end.
  void alone(int who, const std::function<void()>& action) const {
    Message nothing;
    if (rank_.id().value == who) {
      action();
      tell(kDone, 0);
      static_cast<void>(hear(kDone));
      return;
    }
    // Of two ranks that nobody else can help, the one that waits last gives up. That shall be the other.
    while (wait(rank_, rank_.hear(peer_, kDone, nothing), deadline()) != Status::delivered) tell(kNudge, 0);
    tell(kDone, 0);  // for the clocks
  }

 private:
  [[nodiscard]] Seconds deadline() const { return rank_.now() + kLong; }
  Rank& rank_;
  RankId peer_;
  mutable MeetingNumbers numbers_;
};

void on_both_sides(const std::function<void(const Side&)>& body) {
  run_fake_world({}, [&](Rank& rank) { body(Side(rank)); });
}

void expect_to_meet(const Side& side) {
  const Outcome outcome = side.meet();
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  side.tell(kLetters, 7);
  EXPECT_EQ(side.hear(kLetters), 7U);
}

TEST(Meeting, LeavesNothingBehind) {
  on_both_sides([](const Side& side) {
    expect_to_meet(side);
    for (const Tag tag : {tags::kMeeting, kLetters, kOthers}) EXPECT_TRUE(side.hears_nothing(tag));
  });
}

TEST(Meeting, ThrowsAwayWhatWasLeftOver) {
  on_both_sides([](const Side& side) {
    for (int i = 0; i < 3; ++i) {
      side.tell(kLetters, 1);
      side.tell(kOthers, 2);
      side.tell(kOthers, 3);
      expect_to_meet(side);
    }
  });
}

TEST(Meeting, OfOneSideAloneIsAFailure) {
  on_both_sides([](const Side& side) {
    side.alone(0, [&] {
      const Outcome outcome = side.meet();
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("'hear hello': the peer did not connect"));
    });
  });
}

TEST(Meeting, IsNotThatOfAnEndThatHasGivenUp) {
  on_both_sides([](const Side& side) {
    for (const int who : {0, 0, 1, 0}) side.alone(who, [&] { EXPECT_FALSE(side.meet().ok()); });
    expect_to_meet(side);
  });
}

/// A mark that nobody has heard stays where the next ones meet.
TEST(Meeting, IsNotThatOfAnEndThatAwaitsSignals) {
  on_both_sides([](const Side& side) {
    expect_to_meet(side);
    side.alone(1, [&] {
      const Outcome outcome = side.meet_signals();
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("'hear mark': the peer did not connect"));
    });
    expect_to_meet(side);
    const Outcome outcome = side.meet_signals();
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
  });
}

TEST(Meeting, ThrowsAwaySignalsThatWereLeftOver) {
  on_both_sides([](const Side& side) {
    side.let_raise();
    side.raise(5);
    expect_to_meet(side);
    const Outcome outcome = side.meet_signals();
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    side.let_raise();
    side.raise(6);
    EXPECT_EQ(side.next_signal(), 6U);
  });
}

}  // namespace
}  // namespace twinlink
