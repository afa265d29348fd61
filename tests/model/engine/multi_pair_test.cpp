// Pairs that run at once on a simulated machine, against closed forms: what they share halves what each gets, and what
// they do not share changes nothing.
#include "protocols/bench/measure/pairs.hpp"

#include <gmock/gmock.h>

#include <algorithm>

#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/collectives.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using bench::PairPlan;
using bench::Pattern;
using bench::Series;

constexpr Bytes kLarge = 64_MiB;
constexpr double kSame = 1e-3;

PairPlan pair(const std::string& protocol, int first, Bytes size = kLarge, Pattern pattern = Pattern::pingpong) {
  const Protocol& chosen = find_protocol(protocol);
  return {&chosen,
          {.pattern = pattern,
           .sizes = {size},
           .window = pattern == Pattern::pingpong ? 1 : 4,
           .small = {.warmup = 1, .iterations = 4},
           .large = {.warmup = 1, .iterations = 4},
           .keep_samples = true,
           .settings = chosen.defaults(),
           .first = RankId{first},
           .second = RankId{first + 1}}};
}

struct Outcome {
  std::vector<Series> alone{};     ///< each pair by itself
  std::vector<Series> together{};  ///< all at once
};

/// The first two places are the first pair, and so on.
Outcome run(const Platform& platform, const std::vector<Place>& places, const std::vector<PairPlan>& pairs) {
  std::vector<PairPlan> together = pairs;
  put_side_by_side(together);
  Outcome outcome;
  simulate(platform, places, [&](MeasuredRank& rank) {
    const auto add = [&rank](std::vector<Series>& all, std::span<const PairPlan> plans) {
      meet_all(rank, bench::Patience::of_peer(Seconds{60}));  // whoever takes no part is here at once
      std::ranges::move(measure_at_once(rank, plans), std::back_inserter(all));
    };
    for (const PairPlan& each : pairs) add(outcome.alone, {&each, 1});
    add(outcome.together, together);
  });
  return outcome;
}

double time_us(const Series& series) { return series.points.at(0).time_us.median; }

/// A fourth GPU, so that each hub has two, which reach each other by the hub alone.
Platform two_by_two() {
  Platform platform = sample_platform();
  Gpu gpu = platform.node.gpus[0];
  gpu.name = "gpu3";
  platform.node.gpus.push_back(gpu);
  Link link = platform.node.links[3];
  link.name = "bus3";
  link.from = "gpu3";
  platform.node.links.push_back(link);
  return platform;
}

class Apart : public ::testing::TestWithParam<Pattern> {};

TEST_P(Apart, PairsThatShareNoLinkTakeTheirTime) {
  const std::vector<Place> places{{0, 0, {}}, {0, 3, {}}, {0, 1, {}}, {0, 2, {}}};
  const Outcome outcome = run(
      two_by_two(), places, {pair("gpudirect-v2", 0, kLarge, GetParam()), pair("gpudirect-v2", 2, kLarge, GetParam())});
  ASSERT_EQ(outcome.together.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(time_us(outcome.together[i]) / time_us(outcome.alone[i]), 1, kSame);
    EXPECT_EQ(outcome.together[i].beside.size(), 1U);
    EXPECT_TRUE(outcome.alone[i].beside.empty());
  }
  EXPECT_EQ(outcome.together[0].points[0].path, "peer copy by the copy engine");
}

INSTANTIATE_TEST_SUITE_P(Patterns, Apart,
                         ::testing::Values(Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional));

// Both pairs send from node 0 to node 1, each from its own GPU, and the adapters have kWire for both.
const std::vector<Place> kOneWire{{0, 1, {}}, {1, 1, {}}, {0, 2, {}}, {1, 2, {}}};

class Shared : public ::testing::TestWithParam<Pattern> {};

TEST_P(Shared, TwoPairsTakeTwiceAsLong) {
  const Outcome outcome =
      run(sample_platform(), kOneWire, {pair("host", 0, kLarge, GetParam()), pair("host", 2, kLarge, GetParam())});
  ASSERT_EQ(outcome.together.size(), 2U);
  double sum = 0;
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(time_us(outcome.alone[i]) / (kLarge / kWire).microseconds(), 1, kSame);
    EXPECT_NEAR(time_us(outcome.together[i]) / (kLarge / kWire).microseconds(), 2, 2 * kSame);
    sum += outcome.together[i].points[0].bandwidth_MBps;
  }
  const double directions = GetParam() == Pattern::bidirectional ? 2 : 1;
  EXPECT_NEAR(sum * 1e6 / kWire.bytes_per_second(), directions, directions * kSame) << "together they get what one had";
}

INSTANTIATE_TEST_SUITE_P(Patterns, Shared,
                         ::testing::Values(Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional));

/// A fast pair is through with its rounds long before a slow one, and goes on, so that no round of the slow one has the
/// wire to itself.
TEST(AtOnce, EveryRoundOfTheSlowPairMeetsTheFastOne) {
  std::vector<PairPlan> pairs{pair("host", 0, kLarge, Pattern::bandwidth),
                              pair("staging", 2, kLarge, Pattern::bandwidth)};
  for (PairPlan& each : pairs) each.plan.window = 1;
  pairs[1].plan.settings = {.depth = 1};
  const Outcome outcome = run(sample_platform(), kOneWire, pairs);
  ASSERT_EQ(outcome.together.size(), 2U);
  EXPECT_GT(time_us(outcome.together[1]), 1.5 * time_us(outcome.together[0])) << "one is much slower, as was wanted";
  const std::vector<double>& samples = outcome.together[1].points[0].samples_us;
  ASSERT_EQ(samples.size(), 4U);
  // Of a staged message a part of the time is the wire's, and takes twice as long.
  const double least = time_us(outcome.alone[1]) + 0.9 * (kLarge / kWire).microseconds();
  EXPECT_GT(*std::ranges::min_element(samples), least);
}

TEST(AtOnce, SmallMessagesOnlyWaitForEachOther) {
  const Outcome outcome = run(sample_platform(), kOneWire, {pair("host", 0, 4_B), pair("host", 2, 4_B)});
  ASSERT_EQ(outcome.together.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(time_us(outcome.together[i]) / (kHost + kLatency).microseconds(), 1, kSame);
  }
}

}  // namespace
}  // namespace twinlink::model
