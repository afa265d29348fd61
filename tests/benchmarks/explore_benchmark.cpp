// How many states of explored jobs per second: both ranks send `range(0)` messages with `range(1)` at once. And the
// explorations that are too large for a test: the handshake of cuda-ipc, with all messages of both ranks at once.
//
//   build/bin/explore_benchmark
#include <benchmark/benchmark.h>

#include "tests/explore/bodies.hpp"
#include "tests/explore/cuda_ipc_jobs.hpp"

namespace twinlink::explore {
namespace {

void explore_all(benchmark::State& state, const Scenario& scenario, Likeness likeness) {
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

void both_ways(benchmark::State& state, const std::string& protocol, Likeness likeness) {
  const auto messages = static_cast<int>(state.range(0));
  Scenario scenario = exchange_of({.protocol = protocol,
                                   .forth = messages,
                                   .back = messages,
                                   .settings = {.depth = static_cast<int>(state.range(1))}});
  scenario.late_sends = protocol != "cuda-ipc";
  explore_all(state, scenario, likeness);
}

/// All messages at once, of which one waits for a header's answer unless it is at most `range(1)` bytes. The last
/// `range(2)` ranks are late.
void handshake_of(benchmark::State& state, handshake::Fidelity fidelity, bool peer_access) {
  const auto messages = static_cast<int>(state.range(0));
  explore_all(state,
              scenario_of({.fidelity = fidelity,
                           .exchanges = {{messages, messages}},
                           .peer_access = peer_access,
                           .late = {state.range(2) > 1, true},
                           .eager = Bytes{static_cast<std::uint64_t>(state.range(1))}}),
              Likeness::looks);
  state.SetLabel(std::string(to_string(fidelity)) + (peer_access ? "" : ", no peer access"));
}

void seven_each(benchmark::internal::Benchmark* benchmark) {
  benchmark->ArgNames({"messages", "eager", "late"})
      ->Args({7, 0, 1})
      ->Args({7, 256, 1})
      ->Args({7, 0, 2})
      ->Args({7, 256, 2})
      ->Unit(benchmark::kMillisecond)
      ->Iterations(1);
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

BENCHMARK_CAPTURE(handshake_of, design, handshake::Fidelity::design, true)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, openmpi_4_1, handshake::Fidelity::openmpi_4_1, true)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, openmpi_5, handshake::Fidelity::openmpi_5, true)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, repaired, handshake::Fidelity::repaired, true)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, design_without, handshake::Fidelity::design, false)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, openmpi_4_1_without, handshake::Fidelity::openmpi_4_1, false)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, openmpi_5_without, handshake::Fidelity::openmpi_5, false)->Apply(seven_each);
BENCHMARK_CAPTURE(handshake_of, repaired_without, handshake::Fidelity::repaired, false)->Apply(seven_each);

}  // namespace
}  // namespace twinlink::explore

BENCHMARK_MAIN();
