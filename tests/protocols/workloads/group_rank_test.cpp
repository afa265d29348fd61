#include "protocols/workloads/group_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <vector>

#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/execution.hpp"
#include "protocols/workloads/numbered_channel.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/support/meet_all.hpp"

namespace twinlink {
namespace {

constexpr Seconds kAWhile{10};

TEST(GroupRank, TwoGroupsRunTheirWorkloadsSideBySide) {
  for (const char* name : {"host", "staging", "gpudirect-v2", "cuda-ipc"}) {
    run_fake_world({.ranks = 5}, [&](MeasuredRank& whole) {
      // In another order than that of the job.
      const RankGroup odd({RankId{3}, RankId{1}}, whole.position().places);
      const RankGroup even({RankId{4}, RankId{0}, RankId{2}}, whole.position().places);
      GroupRank mine(whole, whole.id().value % 2 == 1 ? odd : even);
      ConcurrentRank rank(mine);
      const Protocol& protocol = find_protocol(name);
      const workloads::Ways ways{&protocol, &protocol, protocol.defaults(), protocol.defaults()};
      const auto& algorithm = workloads::find_workload("shift").algorithms.front();
      const workloads::Schedule schedule = algorithm.schedule({rank.ranks(), 1}, rank.id().value, 100);
      const workloads::Buffers buffers(rank, protocol.message_memory(), schedule.data, schedule.scratch);
      {
        workloads::Connections connections(rank, ways);
        connections.open(peers_of(schedule));
        prepare(rank, schedule, buffers);
        EXPECT_TRUE(run_once(rank, schedule, connections, buffers, kAWhile).ok()) << name;
        EXPECT_FALSE(fault_in(rank, schedule, buffers).has_value()) << name;
        meet_all(rank);
      }
      meet_all(rank);
    });
  }
}

/// Notes whom it is asked about, where no message shows it.
class Asked final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  [[nodiscard]] const std::vector<int>& about() const { return about_; }

  Seconds silence_of(RankId peer) override { return note(peer), Seconds{}; }
  Answer check_peer_access(RankId peer) override { return note(peer), Answer::granted(); }
  void look_up_pointer(RankId peer) override { note(peer); }
  Buffer allocate_beside(RankId peer, Bytes) override { return note(peer), Buffer{}; }
  Op await_signal(RankId peer, Tag, std::uint64_t&) override { return note(peer), Op{}; }
  Op send_synchronously(RankId peer, Tag, View) override { return note(peer), Op{}; }

  bool take_adapters(AdapterTurn turn) override { return turns.push_back(turn), true; }
  std::vector<AdapterTurn> turns{};

 private:
  void note(RankId peer) { about_.push_back(peer.value); }

  std::vector<int> about_;
};

TEST(NumberedChannel, TakesItsAdaptersForAMessageAndGivesThemBack) {
  run_fake_world({}, [](MeasuredRank& rank) {
    Asked asked(rank);
    NumberedChannel channel(asked, 1);
    channel.send_synchronously(RankId{1}, Tag{1}, {});
    EXPECT_TRUE(asked.turns.empty()) << "the library chooses";
    channel.turn_to({1, 2});
    channel.send_synchronously(RankId{1}, Tag{1}, {});
    EXPECT_EQ(asked.turns, (std::vector{AdapterTurn{1, 2}, AdapterTurn{}}));
  });
}

TEST(GroupRank, KnowsItsMembersOnly) {
  run_fake_world({.ranks = 3}, [](MeasuredRank& whole) {
    const RankGroup pair({RankId{2}, RankId{0}}, whole.position().places);
    if (whole.id() == RankId{1}) {
      EXPECT_THROW(GroupRank(whole, pair), UsageError);
      return;
    }
    Asked asked(whole);
    GroupRank mine(asked, pair);
    EXPECT_EQ(mine.ranks(), 2);
    EXPECT_EQ(mine.id().value, whole.id().value == 2 ? 0 : 1);
    EXPECT_EQ(mine.place(RankId{0}), whole.place(RankId{2}));
    for (const int unknown : {-1, 2}) EXPECT_THROW(static_cast<void>(mine.path_to(RankId{unknown})), UsageError);
    const RankId other{1 - mine.id().value};
    std::uint64_t signal = 0;
    static_cast<void>(mine.silence_of(other));
    mine.check_peer_access(other);
    mine.look_up_pointer(other);
    mine.allocate_beside(other, 1_B);
    mine.await_signal(other, Tag{1}, signal);
    mine.send_synchronously(other, Tag{1}, {});
    EXPECT_EQ(asked.about(), std::vector<int>(6, 2 - whole.id().value));
  });
}

}  // namespace
}  // namespace twinlink
