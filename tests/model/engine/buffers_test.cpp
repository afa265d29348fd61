// Buffers in turn: more of them than a cache of handles keeps cost an opening and a closing with every message.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>

#include "model/engine/simulation.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr int kBuffers = 3;
constexpr double kExact_us = 1e-3;

/// Both ends of cuda-ipc that keeps so many handles; on rank 0 the curve.
bench::Series with_cache(MeasuredRank& rank, const std::string& cache, int buffers, bool verify = true) {
  const Protocol& protocol = find_protocol("cuda-ipc");
  bench::Plan plan;
  plan.sizes = {64_KiB};
  plan.small = plan.large = {.warmup = 1, .iterations = 4};
  plan.facts.buffers = buffers;
  plan.verify = verify;
  plan.settings = protocol.defaults();
  set_option(protocol, plan.settings, "cache", cache);
  return bench::measure(rank, protocol, plan);
}

std::uint64_t counter(const bench::Series& series, std::string_view name) {
  const auto found = std::ranges::find(series.counters, name, &Counter::name);
  return found == series.counters.end() ? 0 : found->value;
}

class BuffersInTurn : public ::testing::TestWithParam<bool> {};

TEST_P(BuffersInTurn, CostAnOpeningAndAClosingWhereTheCacheIsTooSmall) {
  std::map<std::string, bench::Series> by_cache;
  bench::Series one;
  simulate(sample_platform(), std::vector<Place>{{0, 1, {}}, {0, 2, {}}}, [&](MeasuredRank& rank) {
    for (const char* cache : {"0", "3", "2", "1"}) {
      bench::Series series = with_cache(rank, cache, kBuffers, GetParam());
      if (rank.id().value == 0) by_cache[cache] = std::move(series);
    }
    bench::Series series = with_cache(rank, "0", 1, GetParam());
    if (rank.id().value == 0) one = std::move(series);
  });
  const double warm = one.points.at(0).time_us.median;
  for (const auto& [cache, series] : by_cache) {
    const bench::Statistics& time = series.points.at(0).time_us;
    const bool too_small = cache == "1" || cache == "2";
    const double expected = warm + (too_small ? (kOpen + kClose).microseconds() : 0);
    EXPECT_NEAR(time.median, expected, kExact_us) << "cache " << cache;
    EXPECT_NEAR(time.max, expected, kExact_us) << "cache " << cache;
    EXPECT_EQ(counter(series, "cache evicted") > 0, too_small) << "cache " << cache;
    EXPECT_EQ(series.facts.buffers, kBuffers);
  }
  EXPECT_EQ(counter(by_cache["3"], "cache misses"), 3U) << "each buffer is opened once";
}

INSTANTIATE_TEST_SUITE_P(Of, BuffersInTurn, ::testing::Bool(),
                         [](const auto& param) { return param.param ? "verified" : "unverified"; });

TEST(Buffers, AreLimited) {
  simulate(sample_platform(), std::vector<Place>{{0, 1, {}}, {0, 2, {}}}, [&](MeasuredRank& rank) {
    EXPECT_THROW(with_cache(rank, "0", 0), UsageError);
    EXPECT_THROW(with_cache(rank, "0", bench::kMaxBuffers + 1), UsageError);
  });
}

}  // namespace
}  // namespace twinlink::model
