// Rules about send_control() and recv_control(): the control plane.
#include <array>

#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

TEST(Control, MessagesOfOneTagStayInOrder) {
  on_every_pair([](Rank& rank, RankId peer) {
    constexpr int kMessages = 50;
    for (int i = 0; i < kMessages; ++i) {
      if (first(rank, peer)) {
        send_control_now(rank, peer, tag(0), ControlMessage(i));
      } else {
        EXPECT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), i);
      }
    }
  });
}

TEST(Control, ManyMessagesAtOnceStayInOrderBothWays) {
  on_every_pair([](Rank& rank, RankId peer) {
    constexpr std::size_t kMessages = 100;
    std::array<ControlMessage, kMessages> received;
    std::vector<Op> ops;
    for (std::size_t i = 0; i < kMessages; ++i) {
      ops.push_back(rank.send_control(peer, tag(0), ControlMessage(i)));
      ops.push_back(rank.recv_control(peer, tag(0), received[i]));
    }
    finish_all(rank, ops);
    for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(received[i].as<std::size_t>(), i);
  });
}

TEST(Control, MessagesThatNobodyReceivesYetHoldNobodyUp) {
  on_every_pair([](Rank& rank, RankId peer) {
    constexpr int kMessages = 300;
    for (int i = 0; i < kMessages; ++i) send_control_now(rank, peer, tag(0), ControlMessage(i));
    for (int i = 0; i < kMessages; ++i) ASSERT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), i);
  });
}

/// What is abandoned before it could leave ends by itself; whoever waits meanwhile is not taken for it.
TEST(Control, AnAbandonedMessageEndsNoOtherOperation) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    constexpr int kMessages = 1000;  // more than any backend keeps for a peer that does not look
    meet(rank, peer);
    if (first(rank, peer)) {
      std::vector<Op> sent;
      for (int i = 0; i < kMessages; ++i) sent.push_back(rank.send_control(peer, tag(0), ControlMessage(i)));
      for (int i = kMessages / 2; i < kMessages; ++i) rank.abandon(sent[static_cast<std::size_t>(i)]);
      sent.resize(kMessages / 2);
      std::vector<ControlMessage> later(kMessages / 2);
      std::vector<Op> receives;
      for (ControlMessage& each : later) receives.push_back(rank.recv_control(peer, tag(2), each));
      finish_all(rank, sent);
      static_cast<void>(recv_control_now(rank, peer, tag(1)));  // all have left
      EXPECT_FALSE(rank.wait_any(receives, rank.now())) << "nobody has sent any";
      send_control_now(rank, peer, tag(1));
      finish_all(rank, receives);
      for (int i = 0; i < kMessages / 2; ++i) EXPECT_EQ(later[static_cast<std::size_t>(i)].as<int>(), i);
    } else {
      const Scratch work(rank, Memory::pageable, 32_MiB);
      rank.fill(work.view(), Payload{1});  // does not look meanwhile
      for (int i = 0; i < kMessages; ++i) ASSERT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), i);
      send_control_now(rank, peer, tag(1));
      static_cast<void>(recv_control_now(rank, peer, tag(1)));
      for (int i = 0; i < kMessages / 2; ++i) send_control_now(rank, peer, tag(2), ControlMessage(i));
    }
  });
}

TEST(Control, ReceivesThatWaitAreServedInOrderWhileThePeerSends) {
  on_every_pair([](Rank& rank, RankId peer) {
    constexpr std::size_t kMessages = 200;
    if (first(rank, peer)) {
      for (std::size_t i = 0; i < kMessages; ++i)
        send_control_now(rank, peer, tag(i % 2 == 0 ? 0 : 1), ControlMessage(i));
      return;
    }
    std::array<ControlMessage, kMessages> received;
    std::vector<Op> ops;
    for (std::size_t i = 0; i < kMessages; ++i)
      ops.push_back(rank.recv_control(peer, tag(i % 2 == 0 ? 0 : 1), received[i]));
    finish_all(rank, ops);
    for (std::size_t i = 0; i < kMessages; ++i) EXPECT_EQ(received[i].as<std::size_t>(), i);
  });
}

TEST(Control, MessagesOfDifferentTagsDoNotMix) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (first(rank, peer)) {
      finish_all(rank, {rank.send_control(peer, tag(1), ControlMessage(1)),
                        rank.send_control(peer, tag(2), ControlMessage(2))});
    } else {
      EXPECT_EQ(recv_control_now(rank, peer, tag(2)).as<int>(), 2);
      EXPECT_EQ(recv_control_now(rank, peer, tag(1)).as<int>(), 1);
    }
  });
}

TEST(Control, MessagesTravelApartFromTheData) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch scratch(rank, Memory::pinned, Bytes{sizeof(int)});
    if (first(rank, peer)) {
      rank.fill(scratch.view(), Payload{5});
      finish_all(rank, {rank.send(peer, tag(0), scratch.view()), rank.send_control(peer, tag(0), ControlMessage(77))});
    } else {
      // One tag, equal sizes: only the plane tells them apart. Taken in the other order than sent.
      EXPECT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), 77);
      finish(rank, rank.receive(peer, tag(0), scratch.view()));
      EXPECT_TRUE(rank.check(scratch.view(), Payload{5}).intact());
    }
  });
}

TEST(Control, AMessageCarriesItsFullCapacity) {
  on_every_pair([](Rank& rank, RankId peer) {
    using Full = std::array<unsigned char, ControlMessage::kCapacity>;
    Full sent;
    for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<unsigned char>(255 - i);
    EXPECT_EQ(swap_with(rank, peer, sent), sent);
  });
}

TEST(Control, AMessageKeepsItsSize) {
  on_every_pair([](Rank& rank, RankId peer) {
    const Op sent = rank.send_control(peer, tag(0), ControlMessage(std::array<char, 3>{'a', 'b', 'c'}));
    const ControlMessage received = recv_control_now(rank, peer, tag(0));
    finish(rank, sent);
    EXPECT_EQ(received.bytes().size(), 3U);
    EXPECT_THROW(static_cast<void>(received.as<int>()), UsageError);
  });
}

TEST(Control, AMessageMayBeEmpty) {
  on_every_pair([](Rank& rank, RankId peer) {
    ControlMessage received(123);
    const Op receiving = rank.recv_control(peer, tag(0), received);
    send_control_now(rank, peer, tag(0), ControlMessage());
    finish(rank, receiving);
    EXPECT_TRUE(received.bytes().empty());
  });
}

TEST(Control, TheSenderMayForgetItsMessageAtOnce) {
  on_every_pair([](Rank& rank, RankId peer) {
    Op sent;
    {
      ControlMessage message(31);
      sent = rank.send_control(peer, tag(0), message);
      message = ControlMessage(-1);
    }
    EXPECT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), 31);
    finish(rank, sent);
  });
}

TEST(Control, ReceivingMayComeBeforeSending) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (first(rank, peer)) {
      ControlMessage received;
      const Op receiving = rank.recv_control(peer, tag(0), received);
      send_control_now(rank, peer, tag(1));
      finish(rank, receiving);
      EXPECT_EQ(received.as<int>(), 8);
    } else {
      recv_control_now(rank, peer, tag(1));
      send_control_now(rank, peer, tag(0), ControlMessage(8));
    }
  });
}

TEST(Control, ReceivingMayComeAfterSending) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (first(rank, peer)) {
      recv_control_now(rank, peer, tag(1));
      EXPECT_EQ(recv_control_now(rank, peer, tag(0)).as<int>(), 9);
    } else {
      const Op sent = rank.send_control(peer, tag(0), ControlMessage(9));
      send_control_now(rank, peer, tag(1));
      finish(rank, sent);
    }
  });
}

TEST(Control, MessagesOfDifferentPeersDoNotMix) {
  on_every_rank([](Rank& rank) {
    std::vector<ControlMessage> received(static_cast<std::size_t>(rank.ranks()));
    std::vector<Op> ops;
    for (int r = 0; r < rank.ranks(); ++r) {
      if (RankId{r} == rank.id()) continue;
      ops.push_back(rank.send_control(RankId{r}, tag(0), ControlMessage(1000 * rank.id().value + r)));
      ops.push_back(rank.recv_control(RankId{r}, tag(0), received[static_cast<std::size_t>(r)]));
    }
    finish_all(rank, ops);
    for (int r = 0; r < rank.ranks(); ++r) {
      if (RankId{r} == rank.id()) continue;
      EXPECT_EQ(received[static_cast<std::size_t>(r)].as<int>(), 1000 * r + rank.id().value);
    }
  });
}

TEST(Meet, LetsAllGoAtOneMomentOnceTheLastHasCome) {
  on_every_rank([](MeasuredRank& rank) {
    for (int round = 0; round < 3; ++round) {
      const Seconds late = Seconds{1e-5} * static_cast<double>((rank.id().value + round) % rank.ranks());
      if (late > Seconds{}) finish(rank, rank.compute(late, kOnHost));
      const Seconds came = rank.now();
      const std::optional<Op> met = rank.meet();
      if (!met) return;  // messages do it
      finish(rank, *met);
      // Each tells who is one further on when it came and when it went on.
      const int ranks = rank.ranks();
      struct Times {
        double came;
        double went;
      };
      const Times mine{came.value(), rank.now().value()};
      const RankId next{(rank.id().value + 1) % ranks};
      const RankId before{(rank.id().value + ranks - 1) % ranks};
      ControlMessage message;
      const Op sent = rank.send_control(next, tag(0), ControlMessage(mine));
      finish(rank, rank.recv_control(before, tag(0), message));
      finish(rank, sent);
      const auto other = message.as<Times>();
      EXPECT_EQ(other.went, mine.went);
      EXPECT_GE(mine.went, other.came);
    }
  });
}

}  // namespace
}  // namespace twinlink::contract
