#include "tests/model/engine/one_message.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/tags.hpp"
#include "protocols/registry.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model::testing {
namespace {

nlohmann::json told_apart(const std::function<nlohmann::json()>& work) {
  return nlohmann::json::parse(in_child_process([&] {
    const nlohmann::json told = work();
    if (::testing::Test::HasFailure()) throw Error("a simulation has not done what is expected of it");
    return told.dump();
  }));
}

}  // namespace

void apart(const std::function<void()>& work) {
  told_apart([&] {
    work();
    return nlohmann::json();
  });
}

Seconds simulated(const Platform& platform, std::span<const Place> places,
                  const std::function<void(MeasuredRank&, Seconds& time)>& body) {
  const nlohmann::json told = told_apart([&] {
    Seconds time{};
    simulate(platform, places, [&](MeasuredRank& rank) { body(rank, time); });
    return nlohmann::json(time.value());
  });
  return Seconds{told.get<double>()};
}

void expect_near(Seconds actual, Seconds expected) {
  EXPECT_NEAR(actual.microseconds(), expected.microseconds(), kTolerance_us);
}

Seconds one_message(const std::string& name, std::vector<Place> places, Bytes size, const Settings& settings) {
  return simulated(sample_platform(), places, [&](MeasuredRank& rank, Seconds& arrived) {
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
}

Timed timed_message(const Platform& platform, const std::vector<Place>& places, const std::string& protocol, Bytes size,
                    const Settings& settings) {
  Timed timed;
  const nlohmann::json told = told_apart([&] {
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
            finish(
                rank,
                sends ? rank.recv_control(peer, tags::kFirstFree, go) : rank.send_control(peer, tags::kFirstFree, go),
                kLong);
          }
          if (sends) began = rank.now();
          const Outcome outcome = sends ? channel->send(View(buffer)) : channel->receive(View(buffer));
          EXPECT_TRUE(outcome.ok()) << outcome.reason;
          if (!sends) (round == 1 ? timed.cold : timed.warm) = rank.now() - began;
          EXPECT_TRUE(rank.check(View(buffer), Payload{round}).intact()) << "round " << round;
        }
        if (sends) timed.counters = channel->counters();
        // A protocol may have the peer's memory open: the channels end before the buffers.
        if (sends) finish(rank, rank.recv_control(peer, tags::kFirstFree, go), kLong);
      }
      ControlMessage done;
      if (!sends) finish(rank, rank.send_control(peer, tags::kFirstFree, done), kLong);
    });
    nlohmann::json all{timed.cold.value(), timed.warm.value()};
    for (const Counter& counter : timed.counters) all.push_back({counter.name, counter.value});
    return all;
  });
  timed = {.cold = Seconds{told[0].get<double>()}, .warm = Seconds{told[1].get<double>()}};
  for (std::size_t i = 2; i < told.size(); ++i) {
    timed.counters.push_back({told[i][0].get<std::string>(), told[i][1].get<std::uint64_t>()});
  }
  return timed;
}

}  // namespace twinlink::model::testing
