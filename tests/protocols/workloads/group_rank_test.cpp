#include "protocols/workloads/group_rank.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/connections.hpp"
#include "protocols/workloads/execution.hpp"
#include "tests/support/fake_rank.hpp"
#include "tests/support/finish.hpp"

namespace twinlink {
namespace {

constexpr Seconds kAWhile{10};

/// Once round the group: what was sent by whoever is before has arrived.
void meet_group(Rank& rank) {
  ControlMessage message;
  const int next = (rank.id().value + 1) % rank.ranks();
  const int last = (rank.id().value + rank.ranks() - 1) % rank.ranks();
  finish(rank, rank.send_control(RankId{next}, tags::kFirstFree, ControlMessage(rank.id().value)), kAWhile);
  finish(rank, rank.recv_control(RankId{last}, tags::kFirstFree, message), kAWhile);
  EXPECT_EQ(message.as<int>(), last);
}

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
        for (int round = 0; round < rank.ranks(); ++round) meet_group(rank);
      }
      for (int round = 0; round < rank.ranks(); ++round) meet_group(rank);
    });
  }
}

TEST(GroupRank, KnowsItsMembersOnly) {
  run_fake_world({.ranks = 3}, [](MeasuredRank& whole) {
    const RankGroup pair({RankId{2}, RankId{0}}, whole.position().places);
    if (whole.id() == RankId{1}) {
      EXPECT_THROW(GroupRank(whole, pair), UsageError);
      return;
    }
    GroupRank mine(whole, pair);
    EXPECT_EQ(mine.ranks(), 2);
    EXPECT_EQ(mine.id().value, whole.id().value == 2 ? 0 : 1);
    EXPECT_EQ(mine.place(RankId{0}), whole.place(RankId{2}));
    EXPECT_THROW(static_cast<void>(mine.path_to(RankId{2})), UsageError);
  });
}

}  // namespace
}  // namespace twinlink
