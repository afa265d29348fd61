#include "tests/model/engine/one_message.hpp"

#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model::testing {

void expect_near(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.microseconds(), expected.microseconds(), kTolerance_us);
}

Seconds one_message(const std::string& name, std::vector<Place> places, Bytes size, const Settings& settings) {
  Seconds arrived{};
  simulate(sample_platform(), places, [&](MeasuredRank& rank) {
    const Protocol& protocol = find_protocol(name);
    const RankId peer{1 - rank.id().value};
    const Buffer buffer = rank.allocate(protocol.message_memory(), size);
    rank.fill(View(buffer), rank.id().value == 0 ? Payload{1} : kSentinel);
    {
      const auto channel = protocol.connect(rank, peer, settings);
      const Outcome outcome = rank.id().value == 0 ? channel->send(View(buffer)) : channel->receive(View(buffer));
      EXPECT_TRUE(outcome.ok()) << outcome.reason;
      if (rank.id().value == 1) arrived = rank.now();
      EXPECT_TRUE(rank.check(View(buffer), Payload{1}).intact());
      // The receiver's buffer must outlive the sender's channel.
      ControlMessage done;
      if (rank.id().value == 0) finish(rank, rank.recv_control(peer, tags::kFirstFree, done), kLong);
    }
    ControlMessage done;
    if (rank.id().value == 1) finish(rank, rank.send_control(peer, tags::kFirstFree, done), kLong);
  });
  return arrived;
}

}  // namespace twinlink::model::testing
