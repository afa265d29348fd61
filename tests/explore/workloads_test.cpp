// Three ranks in a ring, through all interleavings: connecting and exchanging cannot deadlock, whatever ends first.
#include <gmock/gmock.h>

#include <functional>
#include <string>
#include <vector>

#include "protocols/registry.hpp"
#include "protocols/workloads/catalogue.hpp"
#include "protocols/workloads/execution.hpp"
#include "tests/explore/bodies.hpp"
#include "tests/support/finish.hpp"
#include "tests/support/test_name.hpp"

namespace twinlink::explore {
namespace {

constexpr int kRanks = 3;

/// Each sends to the next and receives from the one before.
void go_round(const Protocol& protocol, MeasuredRank& inner, Witness& witness) {
  ConcurrentRank rank(inner);
  const auto& algorithm = workloads::find_workload("shift").algorithms.front();
  const workloads::Schedule schedule = algorithm.schedule({kRanks, 1}, rank.id().value, 1);
  const auto peers = workloads::peers_of(schedule);
  Settings settings = protocol.defaults();
  settings.depth = 1;
  const workloads::Ways ways{&protocol, &protocol, settings, settings};
  workloads::Buffers buffers(rank, protocol.message_memory(), schedule.data, schedule.scratch);
  std::vector<std::function<void()>> goodbyes;
  for (const RankId peer : peers) {
    goodbyes.emplace_back([&rank, peer] {
      ControlMessage received;
      const Op sent = rank.send_control(peer, kMeet, ControlMessage());
      finish(rank, rank.recv_control(peer, kMeet, received), kLong);
      finish(rank, sent, kLong);
    });
  }
  {
    workloads::Connections connections(rank, ways);
    connections.open(peers);
    prepare(rank, schedule, buffers);
    const Outcome outcome = run_once(rank, schedule, connections, buffers, kLong);
    witness.ending(to_string(outcome.status));
    witness.require(!fault_in(rank, schedule, buffers).has_value(), "a message is not what was sent");
    rank.run(goodbyes);  // the peers may have our buffers open
  }
  rank.run(goodbyes);
}

// By every byte of the stacks: works of a rank that wait at the same place look alike. gpudirect-v2 has too many steps.
class ExploredRing : public testing::TestWithParam<std::string> {};

TEST_P(ExploredRing, ConnectsAndDelivers) {
  Scenario scenario;
  const Protocol& protocol = find_protocol(GetParam());
  scenario.bodies.assign(kRanks,
                         [&protocol](MeasuredRank& rank, Witness& witness) { go_round(protocol, rank, witness); });
  scenario.late_sends = false;
  const ExploreResult result = explore(scenario);
  EXPECT_TRUE(result.clean()) << to_string(result);
  EXPECT_THAT(result.endings,
              testing::ElementsAre(testing::Pair("delivered | delivered | delivered", testing::Gt(0U))));
}

INSTANTIATE_TEST_SUITE_P(Of, ExploredRing, testing::Values("host", "staging", "gpudirect-v1"),
                         [](const auto& named) { return test_name(named.param); });

}  // namespace
}  // namespace twinlink::explore
