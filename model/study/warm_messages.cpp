#include "model/study/warm_messages.hpp"

#include <cmath>
#include <utility>

#include "model/engine/simulation.hpp"
#include "model/study/referee.hpp"
#include "protocols/bench/cli/options.hpp"

namespace twinlink::model {

bench::Plan warm_plan(bench::Pattern pattern, std::vector<Bytes> sizes, int window, Settings settings) {
  const bench::Repeats repeats = bench::simulated_repeats().latency_small;
  return {.pattern = pattern,
          .sizes = std::move(sizes),
          .window = window,
          .small = repeats,
          .large = repeats,
          .settings = std::move(settings)};
}

bench::Series warm_series(const Platform& platform, std::span<const Place> places, const Protocol& protocol,
                          const bench::Plan& plan) {
  bench::Series series;
  simulate(platform, places, [&](MeasuredRank& rank) {
    bench::Series mine = bench::measure(rank, protocol, plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  Referee(platform).judge(series);
  return series;
}

double to_picoseconds(double time_us) { return std::round(time_us * 1e6) / 1e6; }

}  // namespace twinlink::model
