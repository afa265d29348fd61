// Rules about what thread blocks put: messages of two ranks, and blocks of unequal lengths to the experts of all and
// back, of which nobody knows the lengths before they come.
#include <array>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "protocols/core/options.hpp"
#include "protocols/heap/symmetric_heap.hpp"
#include "protocols/puts/expert_puts.hpp"
#include "protocols/registry.hpp"
#include "tests/contract/helpers.hpp"

namespace twinlink::contract {
namespace {

bool reaches_all(const Rank& rank) {
  for (int r = 0; r < rank.ranks(); ++r) {
    if (RankId{r} == rank.id()) continue;
    const Path& path = rank.path_to(RankId{r});
    if (!path.gpu_programs || !path.peer_access) return false;
  }
  return rank.ranks() > 1;
}

const Protocol& protocol() { return find_protocol("symmetric-put"); }
Settings by_blocks(const std::string& blocks, Seconds timeout = Seconds{20}) {
  Settings settings{.timeout = timeout};
  set_option(protocol(), settings, "engine", "blocks");
  set_option(protocol(), settings, "blocks", blocks);
  return settings;
}

/// What lies where, on one rank: of tokens that each rank has for each expert of each rank, in words. Some have none.
class Routing {
 public:
  Routing(const Rank& rank, int experts, std::uint64_t unit)
      : ranks_(rank.ranks()), self_(rank.id().value), experts_(experts), unit_(unit) {
    for (int places = 0; places < ranks_; ++places) {
      for (int expert = 0; expert < experts_; ++expert) {
        const int to = (self_ + places) % ranks_;
        const int from = (self_ + ranks_ - places) % ranks_;
        // Tokens lie by rank and expert; at the expert by how far away their rank is.
        lengths.push_back(length(self_, to, expert));
        places_of_tokens.push_back(token_begin(to, expert));
        lengths_back.push_back(length(to, self_, expert));
        begins_back.push_back(expert_begin(expert, (ranks_ - places) % ranks_));
        from_experts.push_back(token_begin(from, expert));
        if (places == 0) begins.push_back(expert_begin(expert, 0));
      }
    }
  }

  [[nodiscard]] Bytes tokens() const { return token_begin(ranks_, 0); }
  [[nodiscard]] Bytes at_experts() const { return expert_begin(experts_, 0); }
  [[nodiscard]] Bytes longest() const { return Bytes{8 * unit_ * 3}; }
  /// How many bytes tokens of a rank have for an expert of another one.
  [[nodiscard]] Bytes length(int rank, int owner, int expert) const {
    return Bytes{8 * unit_ * static_cast<std::uint64_t>((rank + 2 * owner + 3 * expert) % 4)};
  }
  [[nodiscard]] Bytes token_begin(int owner, int expert) const {
    Bytes at{};
    for (int r = 0; r <= owner; ++r) {
      for (int e = 0; e < (r == owner ? expert : experts_); ++e) at += length(self_, r, e);
    }
    return at;
  }
  /// Where the own expert has those of the rank so many places before this one.
  [[nodiscard]] Bytes expert_begin(int expert, int places) const {
    Bytes at{};
    for (int e = 0; e <= expert; ++e) {
      for (int k = 0; k < (e == expert ? places : ranks_) && e < experts_; ++k) {
        at += length((self_ + ranks_ - k) % ranks_, self_, e);
      }
    }
    return at;
  }
  [[nodiscard]] Portions there() const {
    return {.experts = experts_,
            .longest = longest(),
            .sent = tokens(),
            .lengths = lengths,
            .from = places_of_tokens,
            .to = begins};
  }
  [[nodiscard]] Portions back() const {
    return {.experts = experts_,
            .longest = longest(),
            .sent = at_experts(),
            .lengths = lengths_back,
            .from = begins_back,
            .to = from_experts};
  }

 private:
  int ranks_;
  int self_;
  int experts_;
  std::uint64_t unit_;

 public:
  std::vector<Bytes> lengths{};
  std::vector<Bytes> places_of_tokens{};
  std::vector<Bytes> begins{};
  std::vector<Bytes> lengths_back{};
  std::vector<Bytes> begins_back{};
  std::vector<Bytes> from_experts{};
};

std::uint64_t value(int rank, int owner, int expert, int round) {
  return static_cast<std::uint64_t>(1 + rank + 10 * owner + 100 * expert + 1000 * round);
}

void run(Communicator& all, Collective what, const View& data, const Portions& portions, int times = 1) {
  const Outcome outcome = all.run(what, data, times, portions);
  ASSERT_TRUE(outcome.ok()) << to_string(outcome.status) << ": " << outcome.reason;
}

/// As much as tokens take on any rank, and twice.
Bytes room_for(const Rank& rank, const Routing& routing, int experts) {
  return routing.longest() * static_cast<std::uint64_t>(2 * rank.ranks() * experts);
}

/// There and back, again and again: who was slow would find its slots overwritten.
void there_and_back(MeasuredRank& rank, SymmetricHeap& heap, Communicator& all, const Routing& routing, int experts,
                    int times) {
  const Bytes data = routing.tokens() + routing.at_experts();
  const std::array blocks{heap.allocate(room_for(rank, routing, experts)),
                          heap.allocate(room_for(rank, routing, experts))};
  const View forth = heap.view(blocks[0]);
  const View home = heap.view(blocks[1]);
  const int self = rank.id().value;
  for (int round = 0; round < 4; ++round) {
    for (int to = 0; to < rank.ranks(); ++to) {
      for (int e = 0; e < experts; ++e) {
        rank.fill(forth.slice(routing.token_begin(to, e), routing.length(self, to, e)),
                  summable(value(self, to, e, round)));
      }
    }
    rank.fill(forth.slice(routing.tokens(), routing.at_experts()), kSentinel);
    run(all, Collective::dispatch, forth.slice({}, data), routing.there(), times);
    for (int e = 0; e < experts; ++e) {
      for (int places = 0; places < rank.ranks(); ++places) {
        const int from = (self + rank.ranks() - places) % rank.ranks();
        const View block =
            forth.slice(routing.tokens() + routing.expert_begin(e, places), routing.length(from, self, e));
        const View same = home.slice(routing.expert_begin(e, places), block.length);
        EXPECT_TRUE(rank.check(block, summable(value(from, self, e, round))).intact())
            << "from rank " << from << " to expert " << e << " of " << self << ", round " << round;
        rank.fill(same, summable(value(from, self, e, round)));
      }
    }
    rank.fill(home.slice(routing.at_experts(), routing.tokens()), kSentinel);
    run(all, Collective::combine, home.slice({}, data), routing.back(), times);
    for (int to = 0; to < rank.ranks(); ++to) {
      for (int e = 0; e < experts; ++e) {
        const View block = home.slice(routing.at_experts() + routing.token_begin(to, e), routing.length(self, to, e));
        EXPECT_TRUE(rank.check(block, summable(value(self, to, e, round))).intact())
            << "back from expert " << e << " of rank " << to << ", round " << round;
      }
    }
  }
  for (const HeapBlock& block : blocks) heap.free(block);
}

TEST(Puts, BlocksGoToExpertsAndComeBack) {
  on_every_rank([](MeasuredRank& rank) {
    if (!reaches_all(rank)) return;
    for (const auto& [experts, unit, blocks, times] :
         {std::tuple{1, 2U, "1", 1}, {5, 1U, "2", 1}, {4, 500U, "0", 1}, {3, 6U, "3", 3}}) {
      const Routing routing(rank, experts, unit);
      const Settings settings = by_blocks(blocks);
      const Bytes slots = room_for_experts(protocol(), settings, rank.ranks(), routing.there());
      SymmetricHeap heap(rank, room_for(rank, routing, experts) * 2 + slots + 4_KiB, {}, Seconds{20});
      there_and_back(rank, heap, *join_on(heap, protocol(), settings), routing, experts, times);
      heap.close();
    }
  });
}

/// Others' experts, fewer of them, longer blocks and shorter ones, one after the other.
TEST(Puts, SlotsAreMadeAnewForWhatDoesNotFitThem) {
  on_every_rank([](MeasuredRank& rank) {
    if (!reaches_all(rank)) return;
    SymmetricHeap heap(rank, 1_MiB, {}, Seconds{20});
    const auto all = join_on(heap, protocol(), by_blocks("3"));
    std::vector<std::string> ways;
    for (const auto& [experts, unit] : {std::pair{2, 4U}, {5, 4U}, {5, 2U}, {5, 8U}, {1, 64U}}) {
      there_and_back(rank, heap, *all, Routing(rank, experts, unit), experts, 1);
      ways.push_back(all->path_taken(Collective::dispatch, {}));
    }
    const auto said = [](int blocks, int slots, int bytes) {
      return "P2P, puts by " + std::to_string(blocks) + " blocks, and as many that receive; of each rank " +
             std::to_string(slots) + " slots of " + std::to_string(bytes) + " B";
    };
    // Twice as many in turn as a block has experts; the longest block is three units of words.
    EXPECT_EQ(ways,
              (std::vector{said(2, 4, 96), said(3, 12, 96), said(3, 12, 96), said(3, 12, 192), said(1, 2, 1536)}));
    heap.close();
  });
}

/// Whoever asks for more than a heap has learns what it has.
TEST(Puts, AHeapThatIsTooSmallForTheSlotsIsNamed) {
  on_every_rank([](MeasuredRank& rank) {
    if (!reaches_all(rank)) return;
    const Routing routing(rank, 2, 100);
    SymmetricHeap heap(rank, 64_KiB, {}, Seconds{20});
    const View data = heap.view(heap.allocate(63_KiB));
    const auto all = join_on(heap, protocol(), by_blocks("0"));
    try {
      static_cast<void>(
          all->run(Collective::dispatch, data.slice({}, routing.tokens() + routing.at_experts()), 1, routing.there()));
      ADD_FAILURE() << "it should not fit";
    } catch (const UsageError& error) {
      EXPECT_NE(std::string(error.what()).find("the symmetric heap of 65536 B has no room for"), std::string::npos)
          << error.what();
    }
    heap.close();
  });
}

TEST(Puts, ListsThatDoNotGoTogetherAreRefused) {
  on_every_rank([](MeasuredRank& rank) {
    if (!reaches_all(rank)) return;
    const Routing routing(rank, 2, 1);
    SymmetricHeap heap(rank, 1_MiB, {}, Seconds{20});
    const View data = heap.view(heap.allocate(64_KiB)).slice({}, routing.tokens() + routing.at_experts());
    const auto refuses = [&](const auto& change) {
      const auto all = join_on(heap, protocol(), by_blocks("0"));
      Portions portions = routing.there();
      change(portions);
      EXPECT_THROW(static_cast<void>(all->run(Collective::dispatch, data, 1, portions)), UsageError);
    };
    refuses([](Portions& p) { p.experts = 3; });
    refuses([](Portions& p) { p.lengths = p.lengths.first(1); });
    refuses([](Portions& p) { p.sent = 63_KiB; });
    refuses([](Portions& p) { p.longest = 8_B; });  // less than a block has
    const std::vector<Bytes> beyond(routing.lengths.size(), 64_KiB);
    refuses([&](Portions& p) { p.from = beyond; });
    refuses([&](Portions& p) { p.to = beyond; });
    const auto all = join_on(heap, protocol(), by_blocks("0"));
    EXPECT_THROW(static_cast<void>(all->run(Collective::all_reduce, data)), UsageError);
    Settings ordered = by_blocks("0");
    set_option(protocol(), ordered, "order", "user");
    EXPECT_THROW(static_cast<void>(join_on(heap, protocol(), ordered)), UsageError);
    heap.close();
  });
}

/// A rank that does not come: the others' blocks are given up, and nobody waits for ever.
TEST(Puts, ARankThatDoesNotComeEndsADispatchInTime) {
  on_every_rank([](MeasuredRank& rank) {
    if (!reaches_all(rank)) return;
    const Routing routing(rank, 2, 10);
    SymmetricHeap heap(rank, 1_MiB, {}, Seconds{60});
    const View data = heap.view(heap.allocate(64_KiB)).slice({}, routing.tokens() + routing.at_experts());
    const auto all = join_on(heap, protocol(), by_blocks("0", Seconds{5}));
    run(*all, Collective::dispatch, data, routing.there());
    if (rank.id().value != rank.ranks() - 1) {
      const Outcome late = all->run(Collective::dispatch, data, 1, routing.there());
      EXPECT_EQ(late.status, Status::timed_out) << late.reason;
      EXPECT_EQ(all->run(Collective::combine, data, 1, routing.back()).status, Status::timed_out);
    }
    heap.close();
  });
}

// ---- messages of two ranks ------------------------------------------------------------------------------------------

/// A channel of blocks, where this world runs them.
std::unique_ptr<Channel> try_connect(Rank& rank, RankId peer, const Settings& settings) {
  try {
    return protocol().connect(rank, peer, settings);
  } catch (const UnavailableError&) {
    return nullptr;
  }
}

/// Where the user orders messages, an origin asks nobody, and the target alone finds it out.
TEST(Puts, AMessageOfAnotherLengthThanTheTargetsIsFound) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    if (!protocol().supports(rank.path_to(peer)).usable()) return;
    for (const char* order : {"exchange", "user"}) {
      Settings settings = by_blocks("2", Seconds{5});
      set_option(protocol(), settings, "order", order);
      auto channel = try_connect(rank, peer, settings);
      if (!channel) return;
      const Scratch data(rank, Memory::device, 4_KiB);
      const bool sends = first(rank, peer);
      const View view = data.slice({}, sends ? 4_KiB : 2_KiB);
      const Outcome outcome = sends ? channel->send(view) : channel->receive(view);
      const bool knows = !sends || std::string(order) == "exchange";
      EXPECT_EQ(outcome.status, knows ? Status::wrong_size : Status::delivered) << order << ": " << outcome.reason;
      channel.reset();
      meet(rank, peer);
    }
  });
}

TEST(Puts, MoreBlocksThanAGpuHasRoomForAreRefused) {
  on_every_pair([](MeasuredRank& rank, RankId peer) {
    if (!protocol().supports(rank.path_to(peer)).usable()) return;
    Settings settings = by_blocks("65");
    if (!rank.path_to(peer).gpu_programs || !rank.path_to(peer).peer_access) return;
    EXPECT_THROW(static_cast<void>(protocol().connect(rank, peer, settings)), UsageError);
    settings = Settings{};
    set_option(protocol(), settings, "blocks", "2");
    EXPECT_THROW(static_cast<void>(protocol().connect(rank, peer, settings)), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::contract
