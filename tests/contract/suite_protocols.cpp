// The contract of Protocol and Channel, for every protocol of the registry.
#include <memory>

#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

/// What the rank `from` sends as message `index` of an exchange.
Payload content(RankId from, std::size_t index) {
  return Payload{1000 + 100 * static_cast<std::uint64_t>(from.value) + index};
}

/// Messages of the given sizes, each in a buffer of its own.
class Messages {
 public:
  Messages(Rank& rank, Memory kind, std::span<const Bytes> sizes) {
    for (const Bytes size : sizes) {
      buffers_.push_back(std::make_unique<Scratch>(rank, kind, size));
      views_.push_back(buffers_.back()->view());
    }
  }
  [[nodiscard]] std::span<const View> views() const { return views_; }

 private:
  std::vector<std::unique_ptr<Scratch>> buffers_;
  std::vector<View> views_;
};

/// One exchange whose sizes both ends know, checked byte for byte. `out` and `in` are this rank's.
void exchange_and_check(MeasuredRank& rank, RankId peer, const Protocol& protocol, Channel& channel,
                        const Messages& outgoing, const Messages& incoming) {
  for (std::size_t i = 0; i < outgoing.views().size(); ++i) rank.fill(outgoing.views()[i], content(rank.id(), i));
  for (const View& view : incoming.views()) rank.fill(view, kSentinel);
  const Outcome outcome = channel.exchange(outgoing.views(), incoming.views());
  EXPECT_TRUE(outcome.ok()) << protocol.name() << ", rank " << rank.id().value << ": " << to_string(outcome.status)
                            << ": " << outcome.reason;
  for (std::size_t i = 0; i < incoming.views().size(); ++i) {
    const Verdict verdict = rank.check(incoming.views()[i], content(peer, i));
    EXPECT_TRUE(verdict.intact()) << protocol.name() << ", message " << i << " of "
                                  << incoming.views()[i].length.count() << " B: " << to_string(verdict);
  }
  for (std::size_t i = 0; i < outgoing.views().size(); ++i) {
    EXPECT_TRUE(rank.check(outgoing.views()[i], content(rank.id(), i)).intact())
        << protocol.name() << " changed the message that it sent";
  }
}

/// Connects, exchanges once with the given sizes and closes. `forth` is what the first rank of the pair sends.
void one_exchange(MeasuredRank& rank, RankId peer, const Protocol& protocol, const Settings& settings,
                  std::span<const Bytes> forth, std::span<const Bytes> back) {
  const Messages outgoing(rank, protocol.message_memory(), first(rank, peer) ? forth : back);
  const Messages incoming(rank, protocol.message_memory(), first(rank, peer) ? back : forth);
  {
    const auto channel = protocol.connect(rank, peer, settings);
    exchange_and_check(rank, peer, protocol, *channel, outgoing, incoming);
  }
  meet(rank, peer);  // The peer's end may have had our buffers open until now.
}

TEST(Protocols, AnswerTheSameAtBothEndsAndEveryTime) {
  on_every_pair([](Rank& rank, RankId peer) {
    for (const Protocol* protocol : all_protocols()) {
      const Support mine = protocol->supports(rank.path_to(peer));
      EXPECT_EQ(swap_with(rank, peer, mine.kind), mine.kind) << protocol->name();
      const Support again = protocol->supports(rank.path_to(peer));
      EXPECT_EQ(again.kind, mine.kind);
      EXPECT_EQ(again.reason, mine.reason);
      EXPECT_EQ(mine.reason.empty(), mine.kind == Support::Kind::yes) << protocol->name();
    }
  });
}

TEST(Protocols, RefuseToConnectOverAPathThatTheyDoNotSupportAndSayWhy) {
  on_every_pair([](Rank& rank, RankId peer) {
    for (const Protocol* protocol : all_protocols()) {
      const Support support = protocol->supports(rank.path_to(peer));
      if (support.usable()) continue;
      try {
        static_cast<void>(protocol->connect(rank, peer, protocol->defaults()));
        ADD_FAILURE() << protocol->name() << " connected";
      } catch (const UnavailableError& refusal) {
        EXPECT_NE(std::string(refusal.what()).find(support.reason), std::string::npos) << refusal.what();
      }
    }
  });
}

TEST(Protocols, RefuseSettingsThatMakeNoSense) {
  on_every_connection([](Rank& rank, RankId peer, const Protocol& protocol) {
    for (const Settings& bad : {Settings{.depth = 0}, Settings{.depth = -1}, Settings{.depth = kMaxDepth + 1},
                                Settings{.timeout = Seconds{0}}, Settings{.timeout = Seconds{-1}}}) {
      EXPECT_THROW(static_cast<void>(protocol.connect(rank, peer, bad)), UsageError) << protocol.name();
    }
  });
}

TEST(Protocols, ConnectWithTheirDefaultsAndNameThePath) {
  on_every_connection([](Rank& rank, RankId peer, const Protocol& protocol) {
    const auto channel = protocol.connect(rank, peer, protocol.defaults());
    EXPECT_FALSE(channel->path_taken().empty());
    meet(rank, peer);
  });
}

TEST(Protocols, DeliverEverySize) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kChunk = 64_KiB;
    for (const Bytes size : {0_B, 1_B, 3_B, kChunk - 1_B, kChunk, kChunk + 1_B, 1_MiB + 1_B}) {
      one_exchange(rank, peer, protocol, protocol.defaults(), {&size, 1}, {});
      one_exchange(rank, peer, protocol, {.chunk = kChunk, .depth = 2}, {&size, 1}, {});
      one_exchange(rank, peer, protocol, {.chunk = kChunk, .depth = 2}, {}, {&size, 1});
    }
  });
}

TEST(Protocols, DeliverWithEveryChunkAndDepth) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {100'001_B};
    for (const Bytes chunk : {0_B, 10'000_B, 100'000_B, 100'001_B, 1_MiB}) {
      for (const int depth : {1, 2, 3, 64}) {
        one_exchange(rank, peer, protocol, {.chunk = chunk, .depth = depth}, kMessages, kMessages);
      }
    }
  });
}

TEST(Protocols, DeliverInPiecesOfOneByte) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {17_B};
    const Bytes header = protocol.name() == "cuda-ipc" ? 32_B : 0_B;  // its chunks are fragments, headers included
    one_exchange(rank, peer, protocol, {.chunk = header + 1_B, .depth = 4}, kMessages, kMessages);
  });
}

TEST(Protocols, DeliverWindowsInOrder) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kWindow[] = {5000_B, 5000_B, 5000_B, 5000_B, 5000_B};
    constexpr Bytes kMixed[] = {300'000_B, 0_B, 1_B, 70'000_B, 4096_B};
    for (const int depth : {1, 2, 8}) {
      one_exchange(rank, peer, protocol, {.chunk = 64_KiB, .depth = depth}, kWindow, {});
      one_exchange(rank, peer, protocol, {.chunk = 64_KiB, .depth = depth}, kMixed, {});
    }
  });
}

TEST(Protocols, DeliverBothWaysAtOnce) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kWindow[] = {1_MiB, 100_B, 1_MiB, 100_B, 1_MiB};
    one_exchange(rank, peer, protocol, protocol.defaults(), kWindow, kWindow);
    one_exchange(rank, peer, protocol, {.chunk = 100'000_B, .depth = 3}, kWindow, kWindow);
  });
}

TEST(Protocols, DeliverWindowsOfUnequalLength) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kLong[] = {70'000_B, 70'000_B, 70'000_B, 70'000_B, 70'000_B, 70'000_B, 70'000_B};
    constexpr Bytes kShort[] = {300'000_B, 3_B};
    for (const int depth : {1, 4}) {
      one_exchange(rank, peer, protocol, {.chunk = 50'000_B, .depth = depth}, kLong, kShort);
      one_exchange(rank, peer, protocol, {.chunk = 50'000_B, .depth = depth}, kShort, kLong);
    }
  });
}

TEST(Protocols, DeliverIntoThePartOfABufferAndNothingBesideIt) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    const Scratch from(rank, protocol.message_memory(), 10'000_B);
    const Scratch into(rank, protocol.message_memory(), 10'000_B);
    const View outgoing = from.slice(1000_B, 5000_B);
    const View incoming = into.slice(3000_B, 5000_B);
    rank.fill(outgoing, content(rank.id(), 0));
    for (const View part : {into.slice(0_B, 3000_B), incoming, into.slice(8000_B, 2000_B)}) rank.fill(part, kSentinel);
    {
      const auto channel = protocol.connect(rank, peer, {.chunk = 2048_B, .depth = 2});
      const Outcome outcome = channel->exchange({&outgoing, 1}, {&incoming, 1});
      EXPECT_TRUE(outcome.ok()) << protocol.name() << ": " << outcome.reason;
    }
    EXPECT_TRUE(rank.check(into.slice(0_B, 3000_B), kSentinel).intact()) << protocol.name();
    EXPECT_TRUE(rank.check(incoming, content(peer, 0)).intact()) << protocol.name();
    EXPECT_TRUE(rank.check(into.slice(8000_B, 2000_B), kSentinel).intact()) << protocol.name();
    meet(rank, peer);
  });
}

TEST(Protocols, AChannelCarriesOneExchangeAfterTheOther) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    constexpr Bytes kMessages[] = {1_B, 100'000_B, 20'000_B};
    const Messages outgoing(rank, protocol.message_memory(), kMessages);
    const Messages incoming(rank, protocol.message_memory(), kMessages);
    {
      const auto channel = protocol.connect(rank, peer, {.chunk = 30'000_B, .depth = 2});
      for (int i = 0; i < 5; ++i) exchange_and_check(rank, peer, protocol, *channel, outgoing, incoming);
    }
    meet(rank, peer);
  });
}

TEST(Protocols, PingPong) {
  on_every_connection([](MeasuredRank& rank, RankId peer, const Protocol& protocol) {
    const Scratch ball(rank, protocol.message_memory(), 50'000_B);
    {
      const auto channel = protocol.connect(rank, peer, protocol.defaults());
      if (first(rank, peer)) rank.fill(ball.view(), Payload{9});
      for (int i = 0; i < 3; ++i) {
        const Outcome there = first(rank, peer) ? channel->send(ball.view()) : channel->receive(ball.view());
        EXPECT_TRUE(there.ok()) << protocol.name() << ": " << there.reason;
        const Outcome back = first(rank, peer) ? channel->receive(ball.view()) : channel->send(ball.view());
        EXPECT_TRUE(back.ok()) << protocol.name() << ": " << back.reason;
      }
      EXPECT_TRUE(rank.check(ball.view(), Payload{9}).intact()) << protocol.name();
    }
    meet(rank, peer);
  });
}

TEST(Protocols, AnExchangeOfNothingEndsAtOnce) {
  on_every_connection([](Rank& rank, RankId peer, const Protocol& protocol) {
    const auto channel = protocol.connect(rank, peer, protocol.defaults());
    EXPECT_TRUE(channel->exchange({}, {}).ok()) << protocol.name();
    meet(rank, peer);
  });
}

}  // namespace
}  // namespace twinlink::contract
