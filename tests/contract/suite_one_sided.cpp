// Rules about puts and their signals: what one rank writes into another's memory without the other's help.
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

constexpr Bytes kPutSize = 10'000_B;

/// Runs `origin` on the pair's first rank with the other's buffer of kPutSize, opened, and `target` on the other with
/// that buffer. Skips pairs whose memory put() does not reach; for those there is a rule of its own.
void on_every_target(const std::function<void(MeasuredRank&, RankId peer, Buffer theirs)>& origin,
                     const std::function<void(MeasuredRank&, RankId peer, Buffer mine)>& target) {
  on_every_pair([&](MeasuredRank& rank, RankId peer) {
    if (!rank.path_to(peer).one_sided) return;
    if (first(rank, peer)) {
      const auto handle = recv_control_now(rank, peer, tag(0)).as<IpcHandle>();
      const Buffer theirs = rank.open_memory(peer, handle);
      origin(rank, peer, theirs);
      rank.close_memory(theirs);
      meet(rank, peer);
    } else {
      const Scratch mine(rank, Memory::device, kPutSize);
      if (!rank.path_to(peer).same_node) rank.register_memory(mine.buffer());
      rank.fill(mine.view(), kSentinel);
      send_control_now(rank, peer, tag(0), ControlMessage(rank.export_memory(mine.buffer())));
      target(rank, peer, mine.buffer());
      meet(rank, peer);
    }
  });
}

/// Device memory of this rank that put() may read: between nodes the adapter must know it.
class Source {
 public:
  Source(MeasuredRank& rank, Bytes size) : rank_(rank), scratch_(rank, Memory::device, size) {
    rank_.register_memory(scratch_.buffer());
  }
  [[nodiscard]] View filled(Payload pattern) const {
    rank_.fill(scratch_.view(), pattern);
    return scratch_.view();
  }

 private:
  MeasuredRank& rank_;
  Scratch scratch_;
};

std::uint64_t take_signal(Rank& rank, RankId peer, Tag with) {
  std::uint64_t value = 0;
  finish(rank, rank.await_signal(peer, with, value));
  return value;
}

std::vector<Engine> engines(Rank& rank, RankId peer) {
  if (rank.path_to(peer).peer_access) return {Engine::dma, Engine::kernel, Engine::resident};
  return {Engine::dma};
}

TEST(OneSided, ASignalComesAfterTheDataOfItsPut) {
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        int n = 1;
        for (const Engine engine : engines(rank, peer)) {
          const Source source(rank, kPutSize);
          const Op put = rank.put(View(theirs), source.filled(Payload{70}), Stream{n}, engine, Signal{Tag{n}});
          finish(rank, put);
          recv_control_now(rank, peer, tag(4));
          ++n;
        }
      },
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        int n = 1;
        for ([[maybe_unused]] const Engine engine : engines(rank, peer)) {
          take_signal(rank, peer, Tag{n++});
          const Verdict verdict = rank.check(View(mine), Payload{70});
          EXPECT_TRUE(verdict.intact()) << to_string(verdict);
          rank.fill(View(mine), kSentinel);
          send_control_now(rank, peer, tag(4));
        }
      });
}

TEST(OneSided, SignalsOfOneTagAreTakenOneByOneAndWaitForTheirTaker) {
  constexpr int kPuts = 5;
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        const Source source(rank, 1000_B);
        const View from = source.filled(Payload{71});
        std::vector<Op> puts;
        for (int i = 0; i < kPuts; ++i) {
          puts.push_back(rank.put(View(theirs, from.length * static_cast<std::uint64_t>(i), from.length), from,
                                  Stream{0}, Engine::dma, Signal{Tag{1}}));
        }
        finish_all(rank, puts);
        send_control_now(rank, peer, tag(2));
      },
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(2));  // all were raised before anybody waits
        for (std::uint64_t i = 0; i < kPuts; ++i) {
          take_signal(rank, peer, Tag{1});
          EXPECT_TRUE(rank.check(View(mine, 1000_B * i, 1000_B), Payload{71}).intact());
        }
        std::uint64_t value = 0;
        const Op none = rank.await_signal(peer, Tag{1}, value);
        EXPECT_FALSE(rank.wait_any({&none, 1}, rank.now() + 10.0_us));
        rank.abandon(none);
      });
}

TEST(OneSided, ASignalThatIsGivenUpGoesToTheNextTaker) {
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        const Source source(rank, 8_B);
        recv_control_now(rank, peer, tag(2));
        finish(rank,
               rank.put(View(theirs, 0_B, 8_B), source.filled(Payload{72}), Stream{0}, Engine::dma, Signal{Tag{1}, 5}));
      },
      [](MeasuredRank& rank, RankId peer, Buffer) {
        std::uint64_t forgotten = 1;
        std::uint64_t value = 1;
        rank.abandon(rank.await_signal(peer, Tag{1}, forgotten));
        const Op next = rank.await_signal(peer, Tag{1}, value);
        send_control_now(rank, peer, tag(2));
        finish(rank, next);
        EXPECT_EQ(value, 5U);
        EXPECT_EQ(forgotten, 1U) << "an abandoned await_signal was written";
      });
}

TEST(OneSided, ASignalCarriesItsValueAndMayComeWithoutData) {
  on_every_target(
      [](MeasuredRank& rank, RankId, Buffer theirs) {
        const Source source(rank, 8_B);
        const View from = source.filled(Payload{73}).slice(0_B, 0_B);
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{12345}, kMostSignal}) {
          finish(rank, rank.put(View(theirs, 0_B, 0_B), from, Stream{0}, Engine::dma, Signal{Tag{1}, value}));
        }
      },
      [](MeasuredRank& rank, RankId peer, Buffer) {
        for (const std::uint64_t value : {std::uint64_t{0}, std::uint64_t{12345}, kMostSignal}) {
          EXPECT_EQ(take_signal(rank, peer, Tag{1}), value);
        }
      });
}

TEST(OneSided, APutNeedsNoSignalAndTakesNothingButItsBytes) {
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        const Source source(rank, 1000_B);
        finish(rank, rank.put(View(theirs, 500_B, 1000_B), source.filled(Payload{74}), Stream{0}, Engine::dma, {}));
        send_control_now(rank, peer, tag(1));
      },
      [](MeasuredRank& rank, RankId peer, Buffer mine) {
        recv_control_now(rank, peer, tag(1));
        EXPECT_TRUE(rank.check(View(mine, 0_B, 500_B), kSentinel).intact());
        EXPECT_TRUE(rank.check(View(mine, 500_B, 1000_B), Payload{74}).intact());
      });
}

TEST(OneSided, MemoryOfAnotherNodeTakesPutsAndNothingElse) {
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        if (rank.path_to(peer).same_node) return;
        const Source source(rank, 1000_B);
        const View from = source.filled(Payload{76});
        const View to(theirs, 0_B, 1000_B);
        constexpr Block kBlocks[] = {{.length = 10_B}};
        for (const Engine engine : {Engine::dma, Engine::kernel}) {
          EXPECT_THROW(rank.copy(to, from, Stream{0}, engine), UsageError);
          EXPECT_THROW(rank.copy(from, to, Stream{0}, engine), UsageError);
          EXPECT_THROW(rank.copy_blocks(to, from, kBlocks, Stream{0}, engine), UsageError);
        }
        EXPECT_THROW(rank.put(to, from, Stream{0}, Engine::kernel, {}), UsageError);
        finish(rank, rank.put(to, from, Stream{0}, Engine::dma, {}));
      },
      [](Rank&, RankId, Buffer) {});
}

TEST(OneSided, MemoryOfAnotherNodeIsOpenedOnceItIsRegistered) {
  on_every_pair([](Rank& rank, RankId peer) {
    if (!rank.path_to(peer).one_sided || rank.path_to(peer).same_node) return;
    const Scratch mine(rank, Memory::device, kPutSize);
    const auto theirs = swap_with(rank, peer, rank.export_memory(mine.buffer()));
    EXPECT_THROW(static_cast<void>(rank.open_memory(peer, theirs)), UsageError);
    meet(rank, peer);
    rank.register_memory(mine.buffer());
    meet(rank, peer);
    rank.close_memory(rank.open_memory(peer, theirs));
    meet(rank, peer);
  });
}

TEST(OneSided, WhatMakesNoSenseIsRefused) {
  on_every_target(
      [](MeasuredRank& rank, RankId peer, Buffer theirs) {
        const Source source(rank, 1000_B);
        const View from = source.filled(Payload{75});
        std::uint64_t value = 0;
        EXPECT_THROW(rank.await_signal(rank.id(), Tag{1}, value), UsageError);
        EXPECT_THROW(rank.await_signal(peer, Tag{kSignalTags}, value), UsageError);
        const View to(theirs, 0_B, 1000_B);
        EXPECT_THROW(rank.put(to, from, Stream{0}, Engine::dma, Signal{Tag{-1}}), UsageError);
        EXPECT_THROW(rank.put(to, from, Stream{0}, Engine::dma, Signal{Tag{1}, kMostSignal + 1}), UsageError);
        EXPECT_THROW(rank.put(from, View(theirs, 0_B, 1000_B), Stream{0}, Engine::dma, {}), UsageError);
        EXPECT_THROW(rank.put(View(theirs, 0_B, 999_B), from, Stream{0}, Engine::dma, {}), UsageError);
        EXPECT_THROW(rank.put(View(theirs, kPutSize - 999_B, 1000_B), from, Stream{0}, Engine::dma, {}), UsageError);
        EXPECT_THROW(rank.put(View(theirs, 0_B, 1000_B), from, Stream{kStreams}, Engine::dma, {}), UsageError);
      },
      [](Rank&, RankId, Buffer) {});
}

}  // namespace
}  // namespace twinlink::contract
