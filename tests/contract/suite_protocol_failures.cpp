// What a protocol makes of a peer that does not keep to the agreement. Such a peer leaves operations behind under the
// protocols' own tags, so in a real world each of these tests is a job of its own.
#include <array>

#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/contract/helpers.hpp"
#include "tests/support/fault_rank.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::contract {
namespace {

constexpr Seconds kTimeout{0.3};
/// An exchange may end this much later than its timeout: real machines are busy.
constexpr Seconds kSlack{5};

Outcome timed(Rank& rank, const std::function<Outcome()>& exchange) {
  const Seconds before = rank.now();
  Outcome outcome = exchange();
  EXPECT_LT(rank.now(), before + kTimeout + kSlack) << "rank " << rank.id().value << " kept waiting";
  return outcome;
}

/// Ranks 0 and 1 run `body` with the protocol called `name`; the others look on. Where it does not run between the two,
/// the test is skipped.
void on_one_connection(std::string_view name,
                       const std::function<void(MeasuredRank&, RankId peer, const Protocol&)>& body) {
  on_every_rank([&](MeasuredRank& rank) {
    if (rank.id().value > 1) return;
    const RankId peer{1 - rank.id().value};
    const Protocol& protocol = find_protocol(name);
    const Support support = protocol.supports(rank.path_to(peer));
    if (!support.usable()) GTEST_SKIP() << name << " cannot run here: " << support.reason;
    body(rank, peer, protocol);
  });
}

/// One rank sends `sent` bytes to another that expects `expected`, in chunks of `chunk`.
void mismatch(Rank& rank, RankId peer, const Protocol& protocol, Bytes sent, Bytes expected, Bytes chunk) {
  const Scratch message(rank, protocol.message_memory(), first(rank, peer) ? sent : expected);
  {
    const auto channel = protocol.connect(rank, peer, {.chunk = chunk, .depth = 2, .timeout = kTimeout});
    const Outcome outcome = timed(
        rank, [&] { return first(rank, peer) ? channel->send(message.view()) : channel->receive(message.view()); });
    if (first(rank, peer)) {
      // The sender may be through before the receiver sees what it got.
      EXPECT_TRUE(outcome.ok() || outcome.status == Status::wrong_size || outcome.status == Status::timed_out);
    } else {
      EXPECT_TRUE(outcome.status == Status::wrong_size || outcome.status == Status::timed_out)
          << protocol.name() << ": " << to_string(outcome.status);
    }
    EXPECT_EQ(outcome.ok(), outcome.reason.empty()) << "a failure says which step failed";
    meet(rank, peer);
  }
  meet(rank, peer);
}

/// Gives handles that nobody can open.
class ForgingRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  IpcHandle export_memory(Buffer buffer) override {
    IpcHandle handle = DecoratedRank::export_memory(buffer);
    for (std::byte& byte : handle.token) byte ^= std::byte{0x5A};
    return handle;
  }
};

class ProtocolFailures : public testing::TestWithParam<std::string> {};

TEST_P(ProtocolFailures, AShorterMessageIsNoticedByTheReceiver) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    mismatch(rank, peer, protocol, 1000_B, 2000_B, 0_B);
  });
}

TEST_P(ProtocolFailures, ALongerMessageIsNoticedByTheReceiver) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    mismatch(rank, peer, protocol, 2000_B, 1000_B, 0_B);
  });
}

TEST_P(ProtocolFailures, AMissingChunkIsNoticedByTheReceiver) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    mismatch(rank, peer, protocol, 200'000_B, 300'000_B, 100'000_B);
  });
}

TEST_P(ProtocolFailures, AChunkTooManyIsNoticedByTheReceiver) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    mismatch(rank, peer, protocol, 300'000_B, 200'000_B, 100'000_B);
  });
}

TEST_P(ProtocolFailures, AfterAFailureTheChannelIsNotUsedAgain) {
  on_one_connection(GetParam(), [](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    // Of the window the second message has another size at each end; the third one and a fourth would fit.
    const Scratch message(rank, protocol.message_memory(), 4000_B);
    const Bytes second = first(rank, peer) ? 1000_B : 500_B;
    const std::array window{message.slice(0_B, 1000_B), message.slice(1000_B, second), message.slice(2000_B, 1000_B)};
    {
      const auto channel = protocol.connect(rank, peer, {.depth = 2, .timeout = kTimeout});
      const Outcome failed = timed(
          rank, [&] { return first(rank, peer) ? channel->exchange(window, {}) : channel->exchange({}, window); });
      meet(rank, peer);
      rank.fill(message.slice(3000_B, 1000_B), kSentinel);
      const View fourth = message.slice(3000_B, 1000_B);
      const Outcome later = timed(rank, [&] {
        if (!first(rank, peer)) return channel->receive(fourth);
        return failed.ok() ? Outcome{} : channel->send(fourth);  // a sender may be through before it can know
      });
      EXPECT_EQ(later.status, failed.status);
      EXPECT_EQ(later.reason, failed.reason);
      if (!first(rank, peer)) {
        EXPECT_FALSE(failed.ok()) << protocol.name();
        EXPECT_TRUE(rank.check(fourth, kSentinel).intact()) << protocol.name();
      }
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

TEST_P(ProtocolFailures, AForgedHandleIsTheFailureOfThatExchange) {
  if (GetParam() != "gpudirect-v2" && GetParam() != "symmetric-put") {
    GTEST_SKIP() << "opens no memory during an exchange, or has a test of its own";
  }
  on_one_connection(GetParam(), [](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    ForgingRank forging(rank);
    const Scratch message(rank, protocol.message_memory(), 1000_B);
    {
      Rank& self = first(rank, peer) ? rank : static_cast<Rank&>(forging);
      const auto channel = protocol.connect(self, peer, {.timeout = kTimeout});
      const Outcome outcome = timed(
          rank, [&] { return first(rank, peer) ? channel->send(message.view()) : channel->receive(message.view()); });
      if (first(rank, peer)) {
        EXPECT_EQ(outcome.status, Status::peer_failed) << outcome.reason;
      } else {
        EXPECT_FALSE(outcome.ok()) << protocol.name();
      }
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

/// Of one message from the first rank to the second, where no driver opens a peer's memory.
Outcome message_that_no_driver_opens(MeasuredRank& rank, RankId peer, Channel& channel, View message) {
  if (first(rank, peer)) {
    rank.fill(message, Payload{71});
    return timed(rank, [&] { return channel.send(message); });
  }
  rank.fill(message, kSentinel);
  Outcome outcome = timed(rank, [&] { return channel.receive(message); });
  EXPECT_TRUE(!outcome.ok() || rank.check(message, Payload{71}).intact()) << "delivered, and is not there";
  return outcome;
}

TEST_P(ProtocolFailures, ARefusedOpeningIsTheFailureOfThatExchange) {
  on_one_connection(GetParam(), [](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    FaultRank refused(rank, FaultRank::Fault::refused_opening);
    const Scratch message(rank, protocol.message_memory(), 1_MiB);
    {
      const auto channel = protocol.connect(refused, peer, {.timeout = kTimeout});
      // The later ones are for protocols that open memory once they are used to each other.
      Outcome outcome;
      for (int i = 0; i < 3 && outcome.ok(); ++i) {
        outcome = message_that_no_driver_opens(rank, peer, *channel, message.view());
      }
      // Who was refused says so; the other side learns it, or its deadline passes.
      if (refused.refusals() > 0) {
        EXPECT_EQ(outcome.status, Status::peer_failed) << outcome.reason;
      }
      const bool needs_it = protocol.name() == "gpudirect-v2" || protocol.name() == "symmetric-put";
      EXPECT_FALSE(outcome.ok() && needs_it && rank.path_to(peer).device_mapping);
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

TEST_P(ProtocolFailures, APeerThatNeverSendsEndsTheReceiveInTime) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    const Scratch message(rank, protocol.message_memory(), 1000_B);
    {
      const auto channel = protocol.connect(rank, peer, {.timeout = kTimeout});
      if (first(rank, peer)) {
        const Outcome outcome = timed(rank, [&] { return channel->receive(message.view()); });
        EXPECT_EQ(outcome.status, Status::timed_out) << outcome.reason;
        EXPECT_FALSE(outcome.reason.empty());
      }
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

TEST_P(ProtocolFailures, APeerThatNeverReceivesEndsTheSendInTime) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    // Larger than what leaves without a receiver.
    const Scratch message(rank, protocol.message_memory(), 8_MiB);
    {
      const auto channel = protocol.connect(rank, peer, {.timeout = kTimeout});
      if (first(rank, peer)) {
        const Outcome outcome = timed(rank, [&] { return channel->send(message.view()); });
        EXPECT_EQ(outcome.status, Status::timed_out) << outcome.reason;
        EXPECT_FALSE(outcome.reason.empty());
      }
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

/// An exchange to which only one rank comes, and then one to which both come, by a connection of its own: that one
/// takes nothing for its own that the former has left under way.
void leave_and_begin_anew(MeasuredRank& rank, RankId peer, const Protocol& protocol, bool sender_is_alone) {
  const Scratch former(rank, protocol.message_memory(), 8_MiB);
  const Scratch message(rank, protocol.message_memory(), 8_MiB);
  const bool sends = first(rank, peer);
  rank.fill(former.view(), sends ? Payload{1} : kSentinel);
  const auto move = [&](Channel& channel, const View& view) {
    return sends ? channel.send(view) : channel.receive(view);
  };
  {
    const auto channel = protocol.connect(rank, peer, {.timeout = kTimeout});
    if (sends == sender_is_alone) {
      EXPECT_EQ(timed(rank, [&] { return move(*channel, former.view()); }).status, Status::timed_out);
    }
    meet(rank, peer);
  }
  meet(rank, peer);
  {
    const auto channel = protocol.connect(rank, peer, {});
    for (const Payload pattern : {Payload{2}, Payload{3}}) {
      rank.fill(message.view(), sends ? pattern : kSentinel);
      meet(rank, peer);
      const Outcome outcome = move(*channel, message.view());
      EXPECT_TRUE(outcome.ok()) << protocol.name() << ": " << outcome.reason;
      EXPECT_TRUE(rank.check(message.view(), pattern).intact()) << protocol.name();
      EXPECT_TRUE(rank.check(former.view(), sends ? Payload{1} : kSentinel).intact()) << protocol.name();
    }
    meet(rank, peer);
  }
  meet(rank, peer);
}

TEST_P(ProtocolFailures, WhatAReceiverLeavesBehindIsNoOtherConnections) {
  on_one_connection(GetParam(), [](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    leave_and_begin_anew(rank, peer, protocol, false);
  });
}

TEST_P(ProtocolFailures, WhatASenderLeavesBehindIsNoOtherConnections) {
  if (GetParam() != "gpudirect-v2" && GetParam() != "symmetric-put" && GetParam() != "cuda-ipc") {
    GTEST_SKIP() << "leaves bytes in the network, which no later connection tells from its own";
  }
  on_one_connection(GetParam(), [](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    leave_and_begin_anew(rank, peer, protocol, true);
  });
}

TEST_P(ProtocolFailures, AReleasedMessageIsAnErrorAndNoCrash) {
  on_one_connection(GetParam(), [](Rank& rank, RankId peer, const Protocol& protocol) {
    const Buffer gone = rank.allocate(protocol.message_memory(), 1000_B);
    rank.release(gone);
    const Scratch alive(rank, protocol.message_memory(), 1000_B);
    {
      const auto channel = protocol.connect(rank, peer, {.timeout = kTimeout});
      const View outgoing(gone);
      const View incoming = alive.view();
      // The receive is already in flight when the send is refused.
      try {
        EXPECT_FALSE(channel->exchange({&outgoing, 1}, {&incoming, 1}).ok()) << protocol.name();
      } catch (const UsageError&) {
      }
      meet(rank, peer);
    }
    meet(rank, peer);
  });
}

INSTANTIATE_TEST_SUITE_P(Of, ProtocolFailures, testing::ValuesIn(names_of_protocols()),
                         [](const auto& param) { return test_name(param.param); });

}  // namespace
}  // namespace twinlink::contract
