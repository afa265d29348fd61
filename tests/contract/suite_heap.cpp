// Rules about a symmetric heap and the channels on it.
#include <optional>
#include <set>
#include <string>
#include <vector>

#include "protocols/core/tags.hpp"
#include "protocols/heap/heap_channel.hpp"
#include "protocols/heap/symmetric_heap.hpp"
#include "protocols/registry.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/contract/helpers.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::contract {
namespace {

constexpr Bytes kHeap = 256_KiB;
constexpr HeapSlots kSlots{.peers = 8, .each = 2, .size = 4_KiB};
constexpr Seconds kPatience{20};

/// Does every pair of ranks allow puts? Else there is no heap of all.
bool all_one_sided(Rank& rank) {
  for (int r = 0; r < rank.ranks(); ++r) {
    if (r != rank.id().value && !rank.path_to(RankId{r}).one_sided) return false;
  }
  return true;
}

/// Runs `body` on every rank with a heap, of worlds where all ranks may put.
void on_every_heap(const std::function<void(MeasuredRank&, SymmetricHeap&)>& body) {
  on_every_rank([&](MeasuredRank& rank) {
    if (!all_one_sided(rank)) return;
    SymmetricHeap heap(rank, kHeap, kSlots, kPatience);
    body(rank, heap);
    heap.close();
  });
}

bool says(const std::string& text, const std::string& words) { return text.find(words) != std::string::npos; }

RankId next(const Rank& rank) { return RankId{(rank.id().value + 1) % rank.ranks()}; }
RankId before(const Rank& rank) { return RankId{(rank.id().value + rank.ranks() - 1) % rank.ranks()}; }
/// One after the other, so that a ring of openings does not wait for itself.
void open_neighbours(SymmetricHeap& heap) {
  Rank& rank = heap.rank();
  for (int a = 0; a < rank.ranks(); ++a) {
    const int b = (a + 1) % rank.ranks();
    if (rank.id().value == a) heap.open(RankId{b});
    if (rank.id().value == b) heap.open(RankId{a});
  }
}

TEST(Heap, GivesTheSameOffsetsToAllAndTakesThemBackInAnyOrder) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    const HeapBlock a = heap.allocate(1000_B);
    const HeapBlock b = heap.allocate(1000_B, 4_KiB);
    const HeapBlock c = heap.allocate(24_B);
    EXPECT_EQ(a.offset, 0_B);
    EXPECT_EQ(b.offset, 4_KiB);
    EXPECT_EQ(c.offset, 1_KiB) << "the first place that fits";
    EXPECT_EQ(swap_with(rank, RankId{rank.id().value ^ 1}, b.offset.count()), b.offset.count());
    heap.free(a);
    heap.free(c);
    EXPECT_EQ(heap.allocate(2_KiB).offset, 0_B);
    heap.free(b);
    EXPECT_EQ(heap.allocate(kHeap - 2_KiB).offset, 2_KiB) << "what is free again is joined";
  });
}

TEST(Heap, RefusesOnAllRanksWhatDiffersOrDoesNotFit) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    const bool last = rank.id().value == rank.ranks() - 1;
    const Bytes uneven = last ? 512_B : 256_B;
    const std::string sizes = said_by([&] { heap.allocate(uneven); });
    EXPECT_TRUE(says(sizes, " allocates 256 B")) << sizes;
    EXPECT_TRUE(says(sizes, "rank " + std::to_string(rank.ranks() - 1) + " allocates 512 B")) << sizes;
    const std::string full = said_by([&] { heap.allocate(kHeap + 1_B); });
    EXPECT_TRUE(says(full, "has no room for 262145 B: 0 B are in use, and the longest free stretch has 262144 B"))
        << full;
    EXPECT_TRUE(says(said_by([&] { heap.allocate(0_B); }), "no bytes"));
    EXPECT_TRUE(says(said_by([&] { heap.allocate(8_B, 24_B); }), "an alignment of 24 B is no power of two"));
    const HeapBlock a = heap.allocate(256_B);
    const HeapBlock b = heap.allocate(256_B);
    const std::string order = said_by([&] { heap.free(last ? b : a); });
    EXPECT_TRUE(says(order, " frees what lies at 0, and rank")) << order;
    heap.free(b);
    EXPECT_TRUE(says(said_by([&] { heap.free(b); }), "it was freed before"));
    EXPECT_EQ(heap.allocate(256_B).offset, b.offset) << "what was refused has changed nothing";
  });
}

TEST(Heap, PutsGetsAndSignalsWorkOnOffsets) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    const HeapBlock out = heap.allocate(10'000_B);
    const HeapBlock in = heap.allocate(10'000_B);
    open_neighbours(heap);
    constexpr Tag kHere{tags::kHeapFirstFree};
    rank.fill(heap.view(out), Payload{static_cast<std::uint64_t>(rank.id().value) + 40});
    rank.fill(heap.view(in), kSentinel);
    heap.allocate(8_B);  // all have come here
    heap.put(next(rank), in.offset, out.offset, out.size, Engine::dma, Signal{kHere, 7});
    EXPECT_EQ(heap.await(before(rank), kHere), 7U);
    const Payload theirs{static_cast<std::uint64_t>(before(rank).value) + 40};
    EXPECT_TRUE(rank.check(heap.view(in), theirs).intact());
    heap.quiet();
    heap.raise(before(rank), Signal{Tag{kHere.value + 1}, 9});
    EXPECT_EQ(heap.await(next(rank), Tag{kHere.value + 1}), 9U);
    if (heap.is_mapped(before(rank))) {
      rank.fill(heap.view(in), kSentinel);
      heap.get(before(rank), in.offset, out.offset, out.size);
      heap.quiet();
      EXPECT_TRUE(rank.check(heap.view(in), theirs).intact());
    } else {
      EXPECT_THROW(heap.get(before(rank), in.offset, out.offset, out.size), UnavailableError);
    }
  });
}

/// Each peer has slots of its own here, behind what can be allocated, and writes into those that are its.
TEST(Heap, SlotsOfPeersShareNoByte) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    open_neighbours(heap);
    std::set<std::uint64_t> begins;
    for (const RankId peer : std::set{next(rank), before(rank)}) {
      ASSERT_EQ(heap.slots_for(peer), kSlots.each);
      for (std::size_t slot = 0; slot < kSlots.each; ++slot) {
        const View mine = heap.slot_for(peer, slot);
        EXPECT_EQ(mine.length, kSlots.size);
        EXPECT_GE(mine.offset, kHeap);
        EXPECT_EQ((mine.offset - kHeap).count() % kSlots.size.count(), 0U);
        EXPECT_TRUE(begins.insert(mine.offset.count()).second);
        EXPECT_LE(mine.offset + mine.length, mine.buffer.size);
      }
    }
    for (const RankId peer : std::set{next(rank), before(rank)}) {
      const std::uint64_t there = swap_with(rank, peer, heap.slot_for(peer, 0).offset.count());
      EXPECT_EQ(heap.slots_at(peer), kSlots.each);
      EXPECT_EQ(heap.slot_at(peer, 0).offset, Bytes{there});
      EXPECT_EQ(heap.slot_at(peer, 1).offset, Bytes{there} + kSlots.size);
    }
  });
}

TEST(Heap, RefusesWhatLiesElsewhereInTheWordsOfItsUsers) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    const Scratch elsewhere(rank, Memory::device, 64_B);
    EXPECT_TRUE(says(said_by([&] { heap.require_inside(elsewhere.view()); }), "allocate it in symmetric memory"));
    const HeapBlock block = heap.allocate(64_B);
    EXPECT_TRUE(says(said_by([&] { heap.require_inside(heap.mine(kHeap - 8_B, 16_B)); }), "reach beyond"));
    EXPECT_THROW(heap.put(next(rank), block.offset, block.offset, 8_B), UsageError) << "nobody has opened it";
    open_neighbours(heap);
    EXPECT_THROW(heap.put(next(rank), kHeap, block.offset, 8_B), UsageError);
  });
}

/// Messages from anywhere to anywhere, of lengths that fit into slots and that do not, while the receiver is early or
/// late.
TEST(HeapChannels, DeliverEveryMessageWhoeverComesFirst) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    if (rank.ranks() > 2) return;
    const RankId peer = next(rank);
    HeapChannel channel(heap, peer, {.timeout = kPatience}, Engine::dma);
    const bool sends_first = rank.id().value == 0;
    constexpr int kRounds = 12;
    const HeapBlock mine = heap.allocate(32_KiB);
    const HeapBlock theirs = heap.allocate(32_KiB);
    for (int round = 0; round < kRounds; ++round) {
      const Bytes length = round % 3 == 2 ? 32_KiB : Bytes{64U + static_cast<unsigned>(round) * 8U};
      const View out = heap.view(mine).slice(0_B, length);
      const View in = heap.view(theirs).slice(32_KiB - length, length);
      rank.fill(out, Payload{static_cast<std::uint64_t>(100 + round * 2 + rank.id().value)});
      rank.fill(in, kSentinel);
      // In turns one way, and both ways.
      Outcome outcome;
      const bool both = round % 4 == 3;
      if (both) {
        outcome = channel.exchange({&out, 1}, {&in, 1});
      } else {
        outcome = sends_first ? channel.send(out) : channel.receive(in);
      }
      ASSERT_TRUE(outcome.ok()) << outcome.reason << " in round " << round;
      if (both || !sends_first) {
        const Payload expected{static_cast<std::uint64_t>(100 + round * 2 + peer.value)};
        EXPECT_TRUE(rank.check(in, expected).intact()) << "round " << round;
      }
    }
  });
}

void linger(Rank& rank, RankId peer, Seconds time) {
  ControlMessage never;
  static_cast<void>(wait(rank, rank.recv_control(peer, tag(1), never), rank.now() + time));
}

/// Takes its time between saying that it is ready and taking a message out of its slot.
class LateTaker final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    const RankId peer{1 - id().value};
    send_control_now(*this, peer, tag(0));
    linger(*this, peer, Seconds{0.02});
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }
};

/// A receiver that is ready for the next one may still have to take this one.
TEST(HeapChannels, KeepASlotUntilItsMessageWasTaken) {
  on_every_rank([](MeasuredRank& plain) {
    if (plain.ranks() > 2 || !all_one_sided(plain)) return;
    LateTaker late(plain);
    const bool sends = plain.id().value == 0;
    MeasuredRank& rank = sends ? plain : static_cast<MeasuredRank&>(late);
    SymmetricHeap heap(rank, kHeap, kSlots, kPatience);
    {
      HeapChannel channel(heap, next(rank), {.timeout = kPatience}, Engine::dma);
      const View message = heap.view(heap.allocate(64_B));
      if (!sends) recv_control_now(rank, next(rank), tag(2));  // all slots are full
      for (std::uint64_t i = 0; i <= kSlots.each; ++i) {
        if (sends && i == kSlots.each) {
          send_control_now(rank, next(rank), tag(2));
          recv_control_now(rank, next(rank), tag(0));
          linger(rank, next(rank), Seconds{0.005});  // until what the receiver has said is there
        }
        rank.fill(message, sends ? Payload{300 + i} : kSentinel);
        const Outcome outcome = sends ? channel.send(message) : channel.receive(message);
        ASSERT_TRUE(outcome.ok()) << outcome.reason;
        if (!sends) {
          EXPECT_TRUE(rank.check(message, Payload{300 + i}).intact()) << i;
        }
      }
      if (sends) recv_control_now(rank, next(rank), tag(0));
    }
    heap.close();
  });
}

TEST(HeapChannels, RefuseMessagesOfOtherLengths) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    if (rank.ranks() > 2) return;
    HeapChannel channel(heap, next(rank), {.timeout = kPatience}, Engine::dma);
    const HeapBlock block = heap.allocate(32_KiB);
    const View message = heap.view(block).slice(0_B, rank.id().value == 0 ? 16_KiB : 24_KiB);
    const Outcome outcome = rank.id().value == 0 ? channel.send(message) : channel.receive(message);
    EXPECT_EQ(outcome.status, Status::wrong_size);
  });
}

TEST(HeapChannels, CopyBlocksFromPlaceToPlace) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    if (rank.ranks() > 2) return;
    HeapChannel channel(heap, next(rank), {.timeout = kPatience}, Engine::dma);
    const Path& path = rank.path_to(next(rank));
    EXPECT_EQ(channel.takes_blocks(), path.device_mapping && path.peer_access);
    if (!channel.takes_blocks()) return;
    const HeapBlock out = heap.allocate(4_KiB);
    const HeapBlock in = heap.allocate(4_KiB);
    const std::vector<Block> blocks{{.to = 512_B, .from = 0_B, .length = 64_B},
                                    {.to = 0_B, .from = 256_B, .length = 32_B}};
    for (std::uint64_t i = 0; i < blocks.size(); ++i) {
      rank.fill(heap.view(out).slice(blocks[i].from, blocks[i].length), Payload{200 + i});
    }
    rank.fill(heap.view(in), kSentinel);
    const Outcome outcome = channel.exchange_blocks(blocks, heap.view(out), heap.view(in), 96_B);
    ASSERT_TRUE(outcome.ok()) << outcome.reason;
    for (std::uint64_t i = 0; i < blocks.size(); ++i) {
      EXPECT_TRUE(rank.check(heap.view(in).slice(blocks[i].to, blocks[i].length), Payload{200 + i}).intact());
    }
  });
}

TEST(HeapChannels, OfAProtocolAreOrderedByThemselves) {
  on_every_heap([](MeasuredRank& rank, SymmetricHeap& heap) {
    const Protocol& protocol = find_protocol("symmetric-put");
    if (!protocol.supports(rank.path_to(next(rank))).usable()) return;
    Settings settings = protocol.defaults();
    settings.options["order"] = "user";
    EXPECT_TRUE(
        says(said_by([&] { connect_on(heap, next(rank), protocol, settings); }), "ordered by their own signals"));
  });
}

}  // namespace
}  // namespace twinlink::contract
