// How many states of explored jobs per second: both ranks send `range(0)` messages with `range(1)` at once.
//
//   build/bin/explore_benchmark
#include <benchmark/benchmark.h>

#include "tests/explore/bodies.hpp"

namespace twinlink::explore {
namespace {

void both_ways(benchmark::State& state, const std::string& protocol, Likeness likeness) {
  const auto messages = static_cast<int>(state.range(0));
  Scenario scenario = exchange_of({.protocol = protocol,
                                   .forth = messages,
                                   .back = messages,
                                   .settings = {.depth = static_cast<int>(state.range(1))}});
  scenario.late_tells = protocol != "cuda-ipc";
  ExploreResult result;
  std::uint64_t states = 0;
  for (auto _ : state) {
    result = explore(scenario, {.likeness = likeness});
    if (!result.clean()) state.SkipWithError("not clean");
    states += result.states;
  }
  state.counters["states"] = static_cast<double>(result.states);
  state.counters["steps"] = static_cast<double>(result.steps);
  state.counters["states_per_s"] = benchmark::Counter(static_cast<double>(states), benchmark::Counter::kIsRate);
}

BENCHMARK_CAPTURE(both_ways, host, "host", Likeness::looks)->Args({7, 2})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_ways, staging, "staging", Likeness::looks)->Args({7, 2})->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_ways, gpudirect_v2, "gpudirect-v2", Likeness::looks)
    ->Args({7, 1})
    ->Args({7, 2})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_ways, symmetric_put, "symmetric-put", Likeness::looks)
    ->Args({7, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_ways, cuda_ipc, "cuda-ipc", Likeness::looks)
    ->Args({4, 1})
    ->Args({7, 1})
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(both_ways, gpudirect_v2_by_bytes, "gpudirect-v2", Likeness::bytes)
    ->Args({2, 1})
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinlink::explore

BENCHMARK_MAIN();
