#include "model/study/figures.hpp"

#include <utility>
#include <vector>

#include "model/engine/simulation.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {

bench::Series simulate_curve(const bench::FigureCurve& curve, const Platform& platform, bench::RunOptions options) {
  set_curve(options, curve);
  const bench::Plan plan = make_plan(options, bench::simulated_repeats());
  const std::vector<Place> places{curve.from, curve.to};  // for a copy, the second rank has nothing to do
  bench::Series series;
  simulate(platform, places, [&](MeasuredRank& rank) {
    bench::Series mine = bench::measure_curve(rank, curve, plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  series.label = curve.label;
  series.clock = "simulated";
  return series;
}

}  // namespace twinlink::model
