// Sharing is max-min: what that means, on random networks, after every change. And the grain of time.
#include <gtest/gtest.h>

#include <algorithm>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "model/engine/flows/max_min_flows.hpp"

namespace twinlink::model {
namespace {

class Ignores final : public FlowListener {
 public:
  void flow_has_ended() override { ++ended; }
  int ended = 0;
};

constexpr double kTolerance = 1e-9;

/// No link carries more than its rate, and whoever has less than it could have is on a full link where nobody has more.
void expect_max_min(const MaxMinFlows& network, const std::vector<SharedLink*>& links, const std::vector<Flow*>& flows,
                    int step) {
  const auto rate = [&](const Flow* flow) { return network.rate(*flow); };
  for (const SharedLink* link : links) {
    double sum = 0;
    for (const SharedLink::Crossing& crossing : link->crossing) sum += rate(crossing.flow);
    ASSERT_LE(sum, link->rate * (1 + kTolerance)) << "step " << step;
  }
  for (const Flow* flow : flows) {
    if (std::ranges::any_of(flow->legs, [](const Flow::Leg& leg) { return leg.link->rests; })) {
      ASSERT_EQ(rate(flow), 0) << "step " << step;
      continue;
    }
    ASSERT_GT(rate(flow), 0) << "step " << step;
    if (rate(flow) >= network.most(*flow) * (1 - kTolerance)) continue;
    const bool held = std::ranges::any_of(flow->legs, [&](const Flow::Leg& leg) {
      double sum = 0;
      double most = 0;
      for (const SharedLink::Crossing& crossing : leg.link->crossing) {
        sum += rate(crossing.flow);
        most = std::max(most, rate(crossing.flow));
      }
      return sum >= leg.link->rate * (1 - kTolerance) && rate(flow) >= most * (1 - kTolerance);
    });
    ASSERT_TRUE(held) << "step " << step << ": flow " << flow->number << " has " << rate(flow) << " of "
                      << network.most(*flow);
  }
}

TEST(MaxMinFlows, GiveEverybodyAsMuchAsNobodyWithLessMisses) {
  for (unsigned seed = 0; seed < 400; ++seed) {
    std::mt19937 random(seed);
    const auto below = [&](std::size_t limit) { return random() % limit; };
    Clock clock;
    MaxMinFlows network(clock);
    Ignores listener;
    std::vector<SharedLink*> links;
    for (std::size_t i = 1 + below(8); i > 0; --i) {
      links.push_back(&network.add_link(Rate{static_cast<double>(1 + below(5)) * 1e9}));
    }
    std::vector<FlowId> started;
    for (int step = 0; step < 60; ++step) {
      switch (below(8)) {
        case 0:
          if (!started.empty()) network.drop(started[below(started.size())]);
          break;
        case 1:
          network.rest(*links[below(links.size())]);
          break;
        case 2:
          for (SharedLink* link : links) network.go_on(*link);
          break;
        case 3: {
          SharedLink& link = *links[below(links.size())];
          network.set_rate(link, Rate{link.rate * 0.75});
          break;
        }
        default: {
          FlowRoute route;
          for (std::size_t i = 1 + below(3); i > 0; --i) route.links.push_back(links[below(links.size())]);
          if (below(3) == 0) route.limit = Rate{static_cast<double>(1 + below(20)) * 1e8};
          started.push_back(network.start(route, Bytes{1 + below(1U << 20U)}, listener));
        }
      }
      if (below(3) == 0) continue;  // something else happens in the same moment
      network.share();
      std::vector<Flow*> flows;
      for (const FlowId& id : started) {
        if (id.flow->number == id.number) flows.push_back(id.flow);
      }
      expect_max_min(network, links, flows, step);
      const Seconds next = clock.next();
      if (next == kNever || below(3) > 0) continue;
      clock.advance(next);
      clock.act();
    }
    for (SharedLink* link : links) network.go_on(*link);
    network.share();
    while (clock.next() < kNever) {
      clock.advance(clock.next());
      clock.act();
      network.share();
    }
    for (const SharedLink* link : links) EXPECT_TRUE(link->crossing.empty()) << "seed " << seed;
    EXPECT_GT(listener.ended, 0);
  }
}

/// Two of 1 GB over a link of 1 GB/s: the first has it alone for 0.25 s.
TEST(MaxMinFlows, ShareWhatIsLeft) {
  Clock clock;
  MaxMinFlows network(clock);
  SharedLink& link = network.add_link(Rate{1e9});
  Ignores listener;
  std::vector<FlowRecord> records;
  network.observe([&](const FlowRecord& record) { records.push_back(record); });
  const FlowId first = network.start({.links = {&link}}, Bytes{1'000'000'000}, listener);
  network.share();
  clock.advance(Seconds{0.25});
  EXPECT_NEAR(network.left(first), 0.75e9, 1);
  const FlowId second = network.start({.links = {&link}, .limit = Rate{2e9}}, Bytes{1'000'000'000}, listener);
  network.share();
  while (clock.next() < kNever) {
    clock.advance(clock.next());
    clock.act();
    network.share();
  }
  ASSERT_EQ(records.size(), 2U);
  EXPECT_EQ(records[0].number, first.number);
  EXPECT_EQ(records[0].limit, std::numeric_limits<double>::infinity());
  EXPECT_EQ(records[0].began, Seconds{});
  EXPECT_NEAR(records[0].ended.value(), 0.25 + 2 * 0.75, 1e-12);
  EXPECT_EQ(records[1].number, second.number);
  EXPECT_EQ(records[1].limit, 2e9);
  EXPECT_EQ(records[1].began, Seconds{0.25});
  EXPECT_NEAR(records[1].ended.value(), 2, 1e-12);
  for (const FlowRecord& record : records) {
    EXPECT_EQ(record.links, std::vector<const SharedLink*>{&link});
    EXPECT_EQ(record.bytes, 1e9);
  }
  EXPECT_EQ(link.carried, 2e9);
}

/// The sum over the rates that it had, each for as long as it had it.
TEST(MaxMinFlows, ALinkCouldHaveCarriedWhatItsRatesAllowed) {
  Clock clock;
  MaxMinFlows network(clock);
  SharedLink& link = network.add_link(Rate{4});
  clock.advance(Seconds{2});
  network.set_rate(link, Rate{2});
  clock.advance(Seconds{5});
  network.set_rate(link, Rate{1});
  const auto until = [](double time) {
    return 4 * std::min(time, 2.0) + 2 * std::clamp(time - 2, 0.0, 3.0) + std::max(time - 5, 0.0);
  };
  for (double from = 0; from <= 8; from += 0.5) {
    for (double to = from; to <= 8; to += 0.5) {
      EXPECT_NEAR(link.possible(Seconds{from}, Seconds{to}), until(to) - until(from), 1e-12) << from << " to " << to;
    }
  }
}

/// A switch's link has room for the two ports before it, whatever their flows would have without these.
TEST(MaxMinFlows, OfOnePortDoNotConcernThoseOfAnother) {
  Clock clock;
  MaxMinFlows network(clock);
  Ignores listener;
  SharedLink& wide = network.add_link(Rate{2e9});
  std::vector<FlowId> flows;
  for (SharedLink* port : {&network.add_link(Rate{1e9}), &network.add_link(Rate{1e9})}) {
    for (int i = 0; i < 3; ++i) flows.push_back(network.start({.links = {port, &wide}}, Bytes{1'000'000}, listener));
  }
  network.share();
  EXPECT_EQ(network.affected(), 6U);
  network.drop(flows[0]);
  network.share();
  EXPECT_EQ(network.affected(), 2U);
  for (std::size_t i = 1; i < flows.size(); ++i) {
    EXPECT_NEAR(network.rate(*flows[i].flow), i < 3 ? 1e9 / 2 : 1e9 / 3, 1) << i;
  }
}

/// The wide link has no room for a flow of its own and those of a port, until the former has less.
TEST(MaxMinFlows, AFlowThatHasLessLeavesALinkRoomOnEitherSideOfIt) {
  for (const bool behind : {false, true}) {
    Clock clock;
    MaxMinFlows network(clock);
    Ignores listener;
    SharedLink& wide = network.add_link(Rate{3e9});
    SharedLink& port = network.add_link(Rate{1e9});
    SharedLink& wider = network.add_link(Rate{4e9});
    SharedLink& slowed = network.add_link(Rate{3.5e9});
    const auto start = [&](std::vector<SharedLink*> links) {
      if (behind) std::ranges::reverse(links);
      return network.start({.links = std::move(links)}, Bytes{1'000'000}, listener);
    };
    const FlowId own = start({&wider, &wide, &slowed});
    network.share();
    EXPECT_EQ(network.affected(), 0U) << "nobody holds it up";
    EXPECT_EQ(network.rate(*own.flow), 3e9);
    std::vector<FlowId> others;
    for (int i = 0; i < 3; ++i) others.push_back(start({&port, &wide}));
    network.share();
    EXPECT_EQ(network.affected(), 4U);
    network.set_rate(slowed, Rate{1.5e9});
    network.share();
    EXPECT_NEAR(network.rate(*own.flow), 1.5e9, 1);
    network.drop(others.back());
    network.share();
    EXPECT_EQ(network.affected(), 2U) << "those of the port";
    EXPECT_NEAR(network.rate(*others.front().flow), 1e9 / 2, 1);
  }
}

/// Of links in a row that are as wide one is enough. A way that goes through a link twice has half of it.
TEST(MaxMinFlows, OneOfLinksAsWideLimits) {
  Clock clock;
  MaxMinFlows network(clock);
  Ignores listener;
  std::vector<SharedLink*> row{&network.add_link(Rate{1e9}), &network.add_link(Rate{1e9}),
                               &network.add_link(Rate{1e9})};
  const FlowId first = network.start({.links = row}, Bytes{1'000'000}, listener);
  std::ranges::reverse(row);
  const FlowId second = network.start({.links = row}, Bytes{1'000'000}, listener);
  network.share();
  EXPECT_NEAR(network.rate(*first.flow), 5e8, 1);
  EXPECT_NEAR(network.rate(*second.flow), 5e8, 1);
  network.drop(second);
  const FlowId twice = network.start({.links = {row[0], row[1], row[0]}}, Bytes{1'000'000}, listener);
  network.share();
  EXPECT_NEAR(network.rate(*first.flow), 1e9 / 3, 1);
  EXPECT_NEAR(network.rate(*twice.flow), 1e9 / 3, 1);
}

TEST(Grain, IsNeverEarlierAndLessThanAPicosecondLater) {
  std::mt19937_64 random(7);
  std::uniform_real_distribution<double> time(0, 100);
  for (int i = 0; i < 1000; ++i) {
    const Seconds when{time(random)};
    const Seconds at = on_grain(when);
    EXPECT_GE(at, when);
    EXPECT_LT((at - when).value(), 1e-12);
    EXPECT_EQ(on_grain(at), at);
  }
  EXPECT_EQ(on_grain(kNever), kNever);
  EXPECT_EQ(on_grain(Seconds{3e6 + 0.1}), Seconds{3e6 + 0.1});
}

}  // namespace
}  // namespace twinlink::model
