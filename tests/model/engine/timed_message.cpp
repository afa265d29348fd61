#include "tests/model/engine/timed_message.hpp"

#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model::testing {
namespace {

constexpr Seconds kPatience{100};

}  // namespace

Timed timed_message(const Platform& platform, const std::vector<Place>& places, const std::string& protocol, Bytes size,
                    const Settings& settings) {
  Timed timed;
  Seconds began{};
  simulate(platform, places, [&](MeasuredRank& rank) {
    const Protocol& way = find_protocol(protocol);
    const bool sends = rank.id().value == 0;
    const RankId peer{1 - rank.id().value};
    const Buffer buffer = rank.allocate(way.message_memory(), size);
    {
      const auto channel = way.connect(rank, peer, settings);
      ControlMessage go;
      for (const std::uint64_t round : {1, 2}) {
        rank.fill(View(buffer), sends ? Payload{round} : kSentinel);
        if (round == 2) {
          finish(rank,
                 sends ? rank.recv_control(peer, tags::kFirstFree, go) : rank.send_control(peer, tags::kFirstFree, go),
                 kPatience);
        }
        if (sends) began = rank.now();
        const Outcome outcome = sends ? channel->send(View(buffer)) : channel->receive(View(buffer));
        EXPECT_TRUE(outcome.ok()) << outcome.reason;
        if (!sends) (round == 1 ? timed.cold : timed.warm) = rank.now() - began;
        EXPECT_TRUE(rank.check(View(buffer), Payload{round}).intact()) << "round " << round;
      }
      if (sends) timed.counters = channel->counters();
      // A protocol may have the peer's memory open: the channels end before the buffers.
      if (sends) finish(rank, rank.recv_control(peer, tags::kFirstFree, go), kPatience);
    }
    ControlMessage done;
    if (!sends) finish(rank, rank.send_control(peer, tags::kFirstFree, done), kPatience);
  });
  return timed;
}

}  // namespace twinlink::model::testing
