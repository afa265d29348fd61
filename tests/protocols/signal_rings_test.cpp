// Signals that nobody takes: an origin raises no more than the ring has room for, whatever its peer has given up.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/parts/connection.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/alone.hpp"

namespace twinlink {
namespace {

constexpr Bytes kEach = 8_B;

/// Counts the signals that a rank raises, and those that it asks for.
class CountingSignals final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op put(View to, View from, Stream stream, Engine engine, std::optional<Signal> signal) override {
    if (signal) ++raised;
    return DecoratedRank::put(to, from, stream, engine, signal);
  }
  Op send_control(RankId peer, Tag tag, const ControlMessage& message) override {
    if (tag == tags::kReady && message.bytes().size() != kConnectMessageSize) ++asked_for;
    return DecoratedRank::send_control(peer, tag, message);
  }

  std::size_t raised = 0;
  std::size_t asked_for = 0;
};

std::unique_ptr<Channel> connect_with(Rank& rank, const std::string& name, std::pair<const char*, const char*> option) {
  const Protocol& protocol = find_protocol(name);
  Settings settings{.depth = kMaxDepth, .timeout = Seconds{1000}};
  set_option(protocol, settings, option.first, option.second);
  return protocol.connect(rank, RankId{1 - rank.id().value}, settings);
}

std::vector<View> window_of(Rank& rank, std::size_t messages) {
  const Buffer buffer = rank.allocate(Memory::device, kEach * messages);
  std::vector<View> window;
  for (std::size_t i = 0; i < messages; ++i) window.emplace_back(buffer, kEach * i, kEach);
  return window;
}

TEST(SignalRings, HaveRoomForTwoRoundsOfAnEarlierHeapAndTheNextOnesBeginningAndRound) {
  run_fake_world({}, [](MeasuredRank& plain) {
    CountingSignals rank(plain);
    const auto channel = connect_with(rank, "symmetric-put", {"order", "user"});
    const std::vector<View> window = window_of(rank, kMostSignals);
    const auto exchange = [&](std::size_t messages) {
      const std::span some(window.data(), messages);
      return plain.id().value == 0 ? channel->exchange(some, {}) : channel->exchange({}, some);
    };
    ASSERT_TRUE(exchange(1).ok());
    rank.raised = 0;
    alone(rank, 0, [&] {
      EXPECT_EQ(exchange(kMostSignals).status, Status::timed_out) << "the second round has to be opened";
      EXPECT_GT(rank.raised, 0U);
      EXPECT_LE(3 * rank.raised + 1, kMostSignals);
    });
  });
}

TEST(SignalRings, HaveRoomForABeginningBehindAllFlagsThatAReceiverAsksFor) {
  run_fake_world({}, [](MeasuredRank& plain) {
    CountingSignals rank(plain);
    const auto channel = connect_with(rank, "gpudirect-v2", {"engine", "kernel-push"});
    const std::vector<View> window = window_of(rank, 2 * kMostSignals);
    alone(rank, 0, [&] {
      EXPECT_EQ(channel->exchange({}, window).status, Status::timed_out);
      EXPECT_GT(rank.asked_for, 0U);
      EXPECT_LE(rank.asked_for + 1, kMostSignals);
    });
  });
}

TEST(SymmetricPut, TellsBothEndsThatTheyHaveMessagesOfOtherSizes) {
  run_fake_world({}, [](Rank& rank) {
    const bool sends = rank.id().value == 0;
    const View message(rank.allocate(Memory::device, sends ? kEach : kEach * 2));
    const auto channel = connect_with(rank, "symmetric-put", {"order", "exchange"});
    const Outcome outcome = sends ? channel->send(message) : channel->receive(message);
    EXPECT_EQ(outcome.status, Status::wrong_size) << outcome.reason;
  });
}

}  // namespace
}  // namespace twinlink
