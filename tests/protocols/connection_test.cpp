// How two ends meet: whatever earlier ones have left under way is none of theirs.
#include "protocols/parts/connection.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>

#include "protocols/core/tags.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/alone.hpp"

namespace twinlink {
namespace {

using testing::HasSubstr;

constexpr Tag kControlTags = tags::kReady;
constexpr Tag kOthers = tags::kDelivered;
constexpr Seconds kLong{1000};
constexpr Tag kDone{tags::kFirstFree.value};
constexpr Tag kSignals = tags::kPushFlag;
constexpr Stream kStream{0};

class Side {
 public:
  explicit Side(Rank& rank) : rank_(rank), peer_{1 - rank.id().value} {}

  [[nodiscard]] Outcome connect_ends() const {
    constexpr std::array kTags{kControlTags, kOthers};
    return twinlink::connect_ends(rank_, peer_, kTags, deadline(), numbers_);
  }
  /// Only until the two know each other's numbers.
  [[nodiscard]] Outcome meet() const { return twinlink::connect_ends(rank_, peer_, {}, deadline(), numbers_); }
  [[nodiscard]] bool is(int who) const { return rank_.id().value == who; }
  [[nodiscard]] std::size_t live_buffers() const { return twinlink::live_buffers(rank_); }
  [[nodiscard]] Outcome connect_signals() const {
    return twinlink::connect_signals(rank_, peer_, kSignals, kStream, numbers_, deadline());
  }

  void send_control(Tag tag, std::uint64_t value) const {
    EXPECT_EQ(wait(rank_, rank_.send_control(peer_, tag, ControlMessage(value)), deadline()), Status::delivered);
  }
  [[nodiscard]] std::uint64_t recv_control(Tag tag) const {
    ControlMessage message;
    EXPECT_EQ(wait(rank_, rank_.recv_control(peer_, tag, message), deadline()), Status::delivered);
    return message.as<std::uint64_t>();
  }
  [[nodiscard]] bool receives_nothing(Tag tag) const {
    ControlMessage message;
    return wait(rank_, rank_.recv_control(peer_, tag, message), rank_.now()) == Status::timed_out;
  }
  /// By the peer's memory, whose handle comes with a control message.
  void raise(std::uint64_t value) const {
    ControlMessage handle;
    EXPECT_EQ(wait(rank_, rank_.recv_control(peer_, kDone, handle), deadline()), Status::delivered);
    const Buffer theirs = rank_.open_memory(peer_, handle.as<IpcHandle>());
    const View nothing(rank_.allocate(Memory::device, 8_B), 0_B, 0_B);
    const Op put = rank_.put({theirs, 0_B, 0_B}, nothing, kStream, Engine::kernel, Signal{kSignals, value});
    EXPECT_EQ(wait(rank_, put, deadline()), Status::delivered);
  }
  void let_raise() const {
    const ControlMessage handle(rank_.export_memory(rank_.allocate(Memory::device, 8_B)));
    EXPECT_EQ(wait(rank_, rank_.send_control(peer_, kDone, handle), deadline()), Status::delivered);
  }
  [[nodiscard]] std::uint64_t next_signal() const {
    std::uint64_t value = 0;
    EXPECT_EQ(wait(rank_, rank_.await_signal(peer_, kSignals, value), deadline()), Status::delivered);
    return value;
  }
  /// One rank does it, while the other waits for its end.
  void alone(int who, const std::function<void()>& action) const { twinlink::alone(rank_, who, action); }

 private:
  [[nodiscard]] Seconds deadline() const { return rank_.now() + kLong; }
  Rank& rank_;
  RankId peer_;
  mutable Epoch numbers_;
};

void on_both_sides(const std::function<void(const Side&)>& body) {
  run_fake_world({}, [&](Rank& rank) { body(Side(rank)); });
}

void expect_to_connect(const Side& side) {
  const Outcome outcome = side.connect_ends();
  EXPECT_TRUE(outcome.ok()) << outcome.reason;
  side.send_control(kControlTags, 7);
  EXPECT_EQ(side.recv_control(kControlTags), 7U);
}

TEST(ConnectionHandshake, LeavesNothingBehind) {
  on_both_sides([](const Side& side) {
    expect_to_connect(side);
    for (const Tag tag : {tags::kConnect, kControlTags, kOthers}) EXPECT_TRUE(side.receives_nothing(tag));
  });
}

TEST(ConnectionHandshake, ThrowsAwayWhatWasLeftOver) {
  on_both_sides([](const Side& side) {
    for (int i = 0; i < 3; ++i) {
      side.send_control(kControlTags, 1);
      side.send_control(kOthers, 2);
      side.send_control(kOthers, 3);
      expect_to_connect(side);
    }
  });
}

TEST(ConnectionHandshake, OfOneSideAloneIsAFailure) {
  on_both_sides([](const Side& side) {
    side.alone(0, [&] {
      const Outcome outcome = side.connect_ends();
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("'receive connect request': the peer did not connect"));
    });
  });
}

TEST(ConnectionHandshake, IsNotThatOfAnEndThatHasGivenUp) {
  on_both_sides([](const Side& side) {
    for (const int who : {0, 0, 1, 0}) side.alone(who, [&] { EXPECT_FALSE(side.connect_ends().ok()); });
    expect_to_connect(side);
  });
}

/// Loses the first control message that a rank sends.
class LosesTheFirst final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    return DecoratedRank::send_control(peer, std::exchange(lost_, true) ? tag : Tag{tags::kFirstFree.value + 9},
                                       message);
  }

 private:
  bool lost_ = false;
};

TEST(ConnectionHandshake, NeedsOnlyTheRequestOfOneEnd) {
  run_fake_world({}, [](MeasuredRank& rank) {
    LosesTheFirst losing(rank);
    const Side side(rank.id().value == 1 ? static_cast<Rank&>(losing) : rank);
    expect_to_connect(side);
  });
}

/// Counts control messages.
class CountsControl final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    ++sent;
    return DecoratedRank::send_control(peer, tag, message);
  }
  int sent = 0;
};

TEST(ConnectionHandshake, AnswersRequestsAlone) {
  run_fake_world({}, [](MeasuredRank& rank) {
    CountsControl counting(rank);
    const Side side(counting);
    // A reply, an epoch and a farewell of ends that are gone, for others.
    for (const std::uint64_t kind : {1U, 2U, 3U}) {
      const ControlMessage stale(std::array<std::uint64_t, 5>{kind, 0, 0, 1'000'007, 1'000'009});
      EXPECT_EQ(wait(rank, rank.send_control(RankId{1 - rank.id().value}, tags::kConnect, stale), kLong),
                Status::delivered);
    }
    EXPECT_TRUE(side.connect_ends().ok());
    EXPECT_EQ(counting.sent, 4) << "request, reply and two epochs";
    EXPECT_TRUE(side.receives_nothing(tags::kConnect));
  });
}

/// Rank 1 has given up when the epochs of rank 0 come.
TEST(ConnectionHandshake, IsNotThatWhoseEpochsWereLeftOver) {
  on_both_sides([](const Side& side) {
    for (int i = 0; i < 2; ++i) {
      if (side.is(1)) {
        EXPECT_TRUE(side.meet().ok());
      }
      side.alone(0, [&] {
        const Outcome outcome = side.connect_ends();
        EXPECT_EQ(outcome.status, Status::timed_out);
        EXPECT_THAT(outcome.reason, HasSubstr("'receive epoch': the peer did not connect"));
      });
    }
    expect_to_connect(side);
  });
}

TEST(ConnectionHandshake, ForSignalsLeavesNoMemoryBehind) {
  on_both_sides([](const Side& side) {
    expect_to_connect(side);
    EXPECT_TRUE(side.connect_signals().ok());
    EXPECT_EQ(side.live_buffers(), 0U);
  });
}

/// A mark that nobody has received stays where the next ones meet.
TEST(ConnectionHandshake, IsNotThatOfAnEndThatAwaitsSignals) {
  on_both_sides([](const Side& side) {
    expect_to_connect(side);
    side.alone(1, [&] {
      const Outcome outcome = side.connect_signals();
      EXPECT_EQ(outcome.status, Status::timed_out);
      EXPECT_THAT(outcome.reason, HasSubstr("'receive mark': the peer did not connect"));
    });
    expect_to_connect(side);
    const Outcome outcome = side.connect_signals();
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
  });
}

TEST(ConnectionHandshake, ThrowsAwaySignalsThatWereLeftOver) {
  on_both_sides([](const Side& side) {
    side.let_raise();
    side.raise(5);
    expect_to_connect(side);
    const Outcome outcome = side.connect_signals();
    EXPECT_TRUE(outcome.ok()) << outcome.reason;
    side.let_raise();
    side.raise(6);
    EXPECT_EQ(side.next_signal(), 6U);
  });
}

}  // namespace
}  // namespace twinlink
