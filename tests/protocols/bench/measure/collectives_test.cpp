// What ranks say to each other around a measurement.
#include "protocols/bench/measure/collectives.hpp"

#include <gmock/gmock.h>

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/core/tags.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/ledger_rank.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

constexpr Patience kPatience{.longest = Seconds{5}, .silence = Seconds{0.6}};

TEST(BenchCollectives, TellAllRanksTheLeastAndTheMostWhoeverHasIt) {
  constexpr std::uint64_t kUpper = std::uint64_t{1} << 30U;
  for (const int ranks : {1, 2, 3, 5, 8}) {
    for (int who = 0; who < ranks; ++who) {
      run_fake_world({.ranks = ranks}, [&](MeasuredRank& rank) {
        const bool mine = rank.id().value == who;
        EXPECT_EQ(least_of_all(rank, mine ? -7 : rank.id().value, kPatience), -7) << who << " of " << ranks;
        for (const std::uint64_t most : {std::uint64_t{9}, kUpper, kUpper + 9, 5 * kUpper + 9}) {
          for (const std::uint64_t less : {most, std::uint64_t{9}, most - 9}) {
            EXPECT_EQ(most_of_all(rank, mine ? most : less, kPatience), most);
          }
        }
        const std::array group{RankId{who}, RankId{(who + 1) % ranks}, RankId{(who + 2) % ranks}};
        for (const int least : {0, 1, 2}) {
          for (int place = 0; place < 3 && ranks > 2; ++place) {
            if (group.at(static_cast<std::size_t>(place)) != rank.id()) continue;
            EXPECT_EQ(agree_in(rank, group, place == least ? 3 : 4, kPatience), 3) << place;
          }
        }
      });
    }
  }
}

TEST(BenchCollectives, GatherTextsOfEveryLengthInTheOrderOfRanks) {
  const auto text_of = [](int rank) {
    constexpr std::array<std::size_t, 4> kMore{0, 1, ControlMessage::kCapacity, 2 * ControlMessage::kCapacity + 1};
    return std::string(kMore.at(static_cast<std::size_t>(rank)), static_cast<char>('a' + rank));
  };
  run_fake_world({.ranks = 4}, [&](MeasuredRank& rank) {
    const auto all = gather(rank, text_of(rank.id().value), kPatience);
    using Texts = std::vector<std::string>;
    const Texts of_ranks{text_of(0), text_of(1), text_of(2), text_of(3)};
    EXPECT_EQ(all, rank.id().value > 0 ? Texts{} : of_ranks);
    EXPECT_EQ(scatter(rank, all, kPatience), text_of(rank.id().value));
  });
}

/// Where all meet nobody ever comes, and the others show no sign of life.
class Lonely final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  bool is_real = false;
  std::optional<Op> meet() override {
    return inner().recv_control(RankId{1}, Tag{tags::kFirstFree.value + 50}, never_);
  }
  Seconds silence_of(RankId) override { return is_real ? now() : Seconds{}; }

 private:
  ControlMessage never_;
};

TEST(BenchCollectives, GiveUpWhatDoesNotCome) {
  run_fake_world({}, [](MeasuredRank& inner) {
    if (inner.id().value > 0) return;
    LedgerRank ledger(inner);
    Lonely rank(ledger);
    EXPECT_EQ(said_by<NotDelivered>([&] { meet_all(rank, kPatience); }),
              "rank 0: some rank has not come to where all meet");
    EXPECT_EQ(said_by<NotDelivered>([&] { recv_control_now(rank, RankId{1}, kPatience); }),
              "rank 0: a control message from rank 1: timed out");
    EXPECT_GE(rank.now(), kPatience.longest * 2);
    rank.is_real = true;
    const Seconds before = rank.now();
    EXPECT_THAT(said_by<CheckError>([&] { recv_control_now(rank, RankId{1}, kPatience); }),
                testing::StartsWith("rank 0: rank 1 has shown no sign of life for "));
    EXPECT_LT(rank.now() - before, Seconds{1});
    {
      Listener listener(rank, {RankId{1}, RankId{1}});
      EXPECT_FALSE(listener.received_all());
    }
    EXPECT_EQ(ledger.in_flight(), "");
  });
}

TEST(BenchCollectives, HavePatienceWithPeersAndMoreWithTurns) {
  for (const auto& [timeout, of_peer, of_turn] : {std::array{5, 60, 3600}, {61, 61, 3600}, {4000, 4000, 4000}}) {
    EXPECT_EQ(Patience::of_peer(Seconds{1.0 * timeout}).longest, Seconds{1.0 * of_peer});
    EXPECT_EQ(Patience::of_turn(Seconds{1.0 * timeout}).longest, Seconds{1.0 * of_turn});
    EXPECT_EQ(Patience::of_peer(Seconds{1.0 * timeout}).silence, Seconds{timeout + 5.0});
    EXPECT_EQ(Patience::of_turn(Seconds{1.0 * timeout}).silence, Seconds{timeout + 5.0});
  }
}

}  // namespace
}  // namespace twinlink::bench
