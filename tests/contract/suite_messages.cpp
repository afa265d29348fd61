// Rules about send() and receive().
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Payload kSentContent{41};
/// Below and above what MPI libraries and adapters send without waiting for the receiver.
constexpr Bytes kSizes[] = {1_B, 3_B, 4096_B, 300'000_B, 8_MiB};

void send_filled(MeasuredRank& rank, RankId peer, Tag with, Memory kind, Bytes size, Payload pattern) {
  const Scratch from(rank, kind, size);
  rank.fill(from.view(), pattern);
  finish(rank, rank.send(peer, with, from.view()));
}

void receive_filled(MeasuredRank& rank, RankId peer, Tag with, Memory kind, Bytes size, Payload pattern) {
  const Scratch into(rank, kind, size);
  rank.fill(into.view(), kSentinel);
  finish(rank, rank.receive(peer, with, into.view()));
  const Verdict verdict = rank.check(into.view(), pattern);
  EXPECT_TRUE(verdict.intact()) << to_string(kind) << ", " << size.count() << " B: " << to_string(verdict);
}

TEST(Messages, AreDeliveredFromAndToEveryKindOfHostMemory) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : kSizes) {
      for (const Memory kind : {Memory::pinned, Memory::pageable, Memory::shared_pinned}) {
        if (first(rank, peer)) {
          send_filled(rank, peer, tag(0), kind, size, kSentContent);
          receive_filled(rank, peer, tag(0), kind, size, Payload{42});
        } else {
          receive_filled(rank, peer, tag(0), kind, size, kSentContent);
          send_filled(rank, peer, tag(0), kind, size, Payload{42});
        }
      }
    }
  });
}

TEST(Messages, SentSynchronouslyEndNotBeforeTheirReceiverHasBegun) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : {1_B, 4096_B, 300'000_B}) {
      const Scratch memory(rank, Memory::pinned, size);
      if (first(rank, peer)) {
        rank.fill(memory.view(), kSentContent);
        const Op sending = rank.send_synchronously(peer, tag(0), memory.view());
        EXPECT_FALSE(rank.wait_any({&sending, 1}, rank.now() + 1000.0_us)) << size.count() << " B";
        send_control_now(rank, peer, tag(1));
        finish(rank, sending);
        continue;
      }
      rank.fill(memory.view(), kSentinel);
      recv_control_now(rank, peer, tag(1));
      finish(rank, rank.receive(peer, tag(0), memory.view()));
      EXPECT_TRUE(rank.check(memory.view(), kSentContent).intact());
    }
  });
}

TEST(Messages, FillTheirViewAndNothingBesideIt) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch from(rank, Memory::pinned, 1000_B);
    const Scratch into(rank, Memory::pinned, 1000_B);
    rank.fill(from.view(), Payload{43});
    rank.fill(from.slice(13_B, 500_B), kSentContent);
    const View left = into.slice(0_B, 257_B);
    const View middle = into.slice(257_B, 500_B);
    const View right = into.slice(757_B, 243_B);
    for (const View part : {left, middle, right}) rank.fill(part, kSentinel);
    finish_all(rank, {rank.receive(peer, tag(0), middle), rank.send(peer, tag(0), from.slice(13_B, 500_B))});
    EXPECT_TRUE(rank.check(left, kSentinel).intact());
    EXPECT_TRUE(rank.check(middle, kSentContent).intact());
    EXPECT_TRUE(rank.check(right, kSentinel).intact());
  });
}

TEST(Messages, WithOneTagStayInOrder) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    // Small and large in turn: a small one must not overtake a large one.
    constexpr Bytes kTurn[] = {300'000_B, 8_B, 8_B, 300'000_B, 8_B};
    std::uint64_t seed = 100;
    for (const Bytes size : kTurn) {
      if (first(rank, peer)) {
        send_filled(rank, peer, tag(0), Memory::pinned, size, Payload{seed++});
      } else {
        receive_filled(rank, peer, tag(0), Memory::pinned, size, Payload{seed++});
      }
    }
  });
}

TEST(Messages, ManyAtOnceStayInOrder) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    constexpr std::uint64_t kMessages = 200;
    constexpr Bytes kSize = 1000_B;
    const Scratch all(rank, Memory::pinned, kSize * kMessages);
    std::vector<Op> ops;
    for (std::uint64_t m = 0; m < kMessages; ++m) {
      const View part = all.slice(kSize * m, kSize);
      rank.fill(part, first(rank, peer) ? Payload{m + 1} : kSentinel);
      ops.push_back(first(rank, peer) ? rank.send(peer, tag(0), part) : rank.receive(peer, tag(0), part));
    }
    finish_all(rank, ops);
    for (std::uint64_t m = 0; m < kMessages; ++m) {
      EXPECT_TRUE(rank.check(all.slice(kSize * m, kSize), Payload{m + 1}).intact()) << "message " << m;
    }
  });
}

TEST(Messages, OfDifferentTagsDoNotMix) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : {64_B, 300'000_B}) {
      const Scratch one(rank, Memory::pageable, size);
      const Scratch two(rank, Memory::pageable, size);
      if (first(rank, peer)) {
        rank.fill(one.view(), Payload{1});
        rank.fill(two.view(), Payload{2});
        finish_all(rank, {rank.send(peer, tag(1), one.view()), rank.send(peer, tag(2), two.view())});
      } else {
        // The one that was sent last is taken first.
        finish(rank, rank.receive(peer, tag(2), two.view()));
        finish(rank, rank.receive(peer, tag(1), one.view()));
        EXPECT_TRUE(rank.check(one.view(), Payload{1}).intact());
        EXPECT_TRUE(rank.check(two.view(), Payload{2}).intact());
      }
    }
  });
}

TEST(Messages, AReceiveMayBePostedBeforeTheSend) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : {64_B, 300'000_B}) {
      if (first(rank, peer)) {
        const Scratch into(rank, Memory::pinned, size);
        rank.fill(into.view(), kSentinel);
        const Op receiving = rank.receive(peer, tag(0), into.view());
        send_control_now(rank, peer, tag(1));
        finish(rank, receiving);
        EXPECT_TRUE(rank.check(into.view(), kSentContent).intact());
      } else {
        recv_control_now(rank, peer, tag(1));
        send_filled(rank, peer, tag(0), Memory::pinned, size, kSentContent);
      }
    }
  });
}

TEST(Messages, AReceiveMayBePostedAfterTheSend) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : {64_B, 300'000_B}) {
      if (first(rank, peer)) {
        recv_control_now(rank, peer, tag(1));
        receive_filled(rank, peer, tag(0), Memory::pinned, size, kSentContent);
      } else {
        const Scratch from(rank, Memory::pinned, size);
        rank.fill(from.view(), kSentContent);
        const Op sending = rank.send(peer, tag(0), from.view());
        send_control_now(rank, peer, tag(1));
        finish(rank, sending);
      }
    }
  });
}

TEST(Messages, ASentBufferMayBeWrittenAgainOnceTheSendHasEnded) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : {64_B, 300'000_B}) {
      const Scratch scratch(rank, Memory::pinned, size);
      if (first(rank, peer)) {
        rank.fill(scratch.view(), kSentContent);
        finish(rank, rank.send(peer, tag(0), scratch.view()));
        rank.fill(scratch.view(), Payload{99});
        send_control_now(rank, peer, tag(1));
      } else {
        rank.fill(scratch.view(), kSentinel);
        const Op receiving = rank.receive(peer, tag(0), scratch.view());
        recv_control_now(rank, peer, tag(1));
        finish(rank, receiving);
        EXPECT_TRUE(rank.check(scratch.view(), kSentContent).intact());
      }
    }
  });
}

TEST(Messages, MayBeEmpty) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch scratch(rank, Memory::pinned, 64_B);
    rank.fill(scratch.view(), kSentContent);
    finish_all(rank, {rank.receive(peer, tag(0), scratch.slice(10_B, 0_B)),
                      rank.send(peer, tag(0), scratch.slice(64_B, 0_B))});
    EXPECT_TRUE(rank.check(scratch.view(), kSentContent).intact());
  });
}

TEST(Messages, AnEmptyMessageKeepsItsPlaceInTheOrder) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    constexpr Bytes kTurn[] = {0_B, 100_B, 0_B, 100_B};
    for (const Bytes size : kTurn) {
      if (first(rank, peer)) {
        send_filled(rank, peer, tag(0), Memory::pageable, size, kSentContent);
      } else {
        receive_filled(rank, peer, tag(0), Memory::pageable, size, kSentContent);
      }
    }
  });
}

TEST(Messages, PassInBothDirectionsAtOnce) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    for (const Bytes size : kSizes) {
      const Scratch from(rank, Memory::pinned, size);
      const Scratch into(rank, Memory::pinned, size);
      const auto mine = static_cast<std::uint64_t>(rank.id().value) + 1;
      const auto theirs = static_cast<std::uint64_t>(peer.value) + 1;
      rank.fill(from.view(), Payload{mine});
      rank.fill(into.view(), kSentinel);
      // The send comes first on both sides: starting one must not wait for the peer's receive.
      const Op sending = rank.send(peer, tag(0), from.view());
      finish_all(rank, {sending, rank.receive(peer, tag(0), into.view())});
      EXPECT_TRUE(rank.check(into.view(), Payload{theirs}).intact()) << size.count() << " B";
    }
  });
}

TEST(Messages, PassBetweenAllRanksAtOnce) {
  on_every_rank([](MeasuredRank& rank) {
    constexpr Bytes kSize = 70'000_B;
    const auto ranks = static_cast<std::uint64_t>(rank.ranks());
    const Scratch from(rank, Memory::pinned, kSize);
    const Scratch into(rank, Memory::pinned, kSize * ranks);
    rank.fill(from.view(), Payload{static_cast<std::uint64_t>(rank.id().value) + 1});
    std::vector<Op> ops;
    for (std::uint64_t r = 0; r < ranks; ++r) {
      const RankId peer{static_cast<int>(r)};
      if (peer == rank.id()) continue;
      ops.push_back(rank.receive(peer, tag(0), into.slice(kSize * r, kSize)));
      ops.push_back(rank.send(peer, tag(0), from.view()));
    }
    finish_all(rank, ops);
    for (std::uint64_t r = 0; r < ranks; ++r) {
      if (RankId{static_cast<int>(r)} == rank.id()) continue;
      EXPECT_TRUE(rank.check(into.slice(kSize * r, kSize), Payload{r + 1}).intact()) << "from rank " << r;
    }
  });
}

/// The peer sends `sent` bytes to a receive of `expected` bytes: it ends with wrong_size and writes only its view.
void expect_wrong_size(MeasuredRank& rank, RankId peer, Bytes sent, Bytes expected) {
  if (first(rank, peer)) {
    const Scratch into(rank, Memory::pinned, expected + 64_B);
    const View beside = into.slice(expected, 64_B);
    rank.fill(beside, kSentinel);
    const Op receiving = rank.receive(peer, tag(0), into.slice(0_B, expected));
    EXPECT_EQ(wait(rank, receiving, soon(rank)), Status::wrong_size)
        << sent.count() << " B sent, " << expected.count() << " B expected";
    EXPECT_TRUE(rank.check(beside, kSentinel).intact()) << "written beyond the view";
  } else {
    const Scratch from(rank, Memory::pinned, sent);
    rank.fill(from.view(), kSentContent);
    EXPECT_NE(wait(rank, rank.send(peer, tag(0), from.view()), soon(rank)), Status::timed_out);
  }
  meet(rank, peer);
}

TEST(Messages, AShorterOneThanExpectedEndsWithWrongSize) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    expect_wrong_size(rank, peer, 63_B, 64_B);
    expect_wrong_size(rank, peer, 0_B, 64_B);
    expect_wrong_size(rank, peer, 200'000_B, 300'000_B);
  });
}

TEST(Messages, ALongerOneThanExpectedEndsWithWrongSize) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    expect_wrong_size(rank, peer, 65_B, 64_B);
    expect_wrong_size(rank, peer, 64_B, 0_B);
    expect_wrong_size(rank, peer, 300'000_B, 200'000_B);
  });
}

TEST(Messages, AfterAWrongSizeTheNextOneArrives) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    expect_wrong_size(rank, peer, 100_B, 64_B);
    if (first(rank, peer)) {
      receive_filled(rank, peer, tag(0), Memory::pinned, 64_B, kSentContent);
    } else {
      send_filled(rank, peer, tag(0), Memory::pinned, 64_B, kSentContent);
    }
  });
}

TEST(Messages, FromAndToDeviceMemoryPassWhereThePathAllowsIt) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    const Scratch from(rank, Memory::device, 5000_B);
    const Scratch into(rank, Memory::device, 5000_B);
    rank.fill(from.view(), kSentContent);
    rank.fill(into.view(), kSentinel);
    if (rank.path_to(peer).device_memory_on_network) {
      EXPECT_THROW(rank.send(peer, tag(0), from.view()), UsageError) << "not registered yet";
      EXPECT_THROW(rank.receive(peer, tag(0), into.view()), UsageError) << "not registered yet";
      rank.register_memory(from.buffer());
      rank.register_memory(into.buffer());
      finish_all(rank, {rank.receive(peer, tag(0), into.view()), rank.send(peer, tag(0), from.view())});
      EXPECT_TRUE(rank.check(into.view(), kSentContent).intact());
    } else {
      EXPECT_THROW(rank.send(peer, tag(0), from.view()), UsageError);
      EXPECT_THROW(rank.receive(peer, tag(0), into.view()), UsageError);
    }
  });
}

TEST(Messages, OnlyDeviceMemoryIsRegisteredAndEachRegistrationIsTakenBackOnce) {
  on_every_rank([](Rank& rank) {
    const Scratch host(rank, Memory::pinned, 64_B);
    const Scratch device(rank, Memory::device, 64_B);
    EXPECT_THROW(rank.register_memory(host.buffer()), UsageError);
    EXPECT_THROW(rank.deregister_memory(device.buffer()), UsageError);
    rank.register_memory(device.buffer());
    rank.register_memory(device.buffer());
    rank.deregister_memory(device.buffer());
    rank.deregister_memory(device.buffer());
    EXPECT_THROW(rank.deregister_memory(device.buffer()), UsageError);
    rank.register_memory(device.buffer());  // release() takes it back
  });
}

TEST(Messages, TheLastRegistrationStaysWhileAnOperationNeedsIt) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (!rank.path_to(peer).device_memory_on_network) return;
    const Scratch into(rank, Memory::device, 64_B);
    const Scratch from(rank, Memory::device, 64_B);
    rank.register_memory(from.buffer());
    rank.register_memory(into.buffer());
    rank.register_memory(into.buffer());
    const Op receive = rank.receive(peer, tag(0), into.view());
    rank.deregister_memory(into.buffer());
    EXPECT_THROW(rank.deregister_memory(into.buffer()), UsageError);
    finish_all(rank, {receive, rank.send(peer, tag(0), from.view())});
    rank.deregister_memory(into.buffer());
  });
}

TEST(Messages, ToItselfOrToNobodyAreRefused) {
  on_every_rank([](Rank& rank) {
    const Scratch scratch(rank, Memory::pinned, 64_B);
    ControlMessage message;
    for (const RankId wrong : {rank.id(), RankId{-1}, RankId{rank.ranks()}}) {
      EXPECT_THROW(rank.send(wrong, tag(0), scratch.view()), UsageError);
      EXPECT_THROW(rank.receive(wrong, tag(0), scratch.view()), UsageError);
      EXPECT_THROW(rank.send_control(wrong, tag(0), message), UsageError);
      EXPECT_THROW(rank.recv_control(wrong, tag(0), message), UsageError);
    }
  });
}

}  // namespace
}  // namespace twinlink::contract
