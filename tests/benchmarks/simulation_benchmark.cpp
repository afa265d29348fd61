// How long simulations take, and how much memory. Each iteration simulates in a child process, for SimGrid's engine
// starts once per process; the child reports its own time and peak memory.
//
//   build/bin/simulation_benchmark
#include <chrono>
#include <sstream>
#include <vector>

#include <benchmark/benchmark.h>
#include <sys/resource.h>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"

namespace twinlink {
namespace {

const std::string kPlatform = "platforms/keeneland-kids.yaml";

/// Runs `simulation` in a child; its wall time is the iteration's time, its peak resident memory a counter.
void measure_in_child(benchmark::State& state, const std::function<void()>& simulation) {
  double peak_mib = 0;
  for (auto _ : state) {
    const std::string report = model::in_child_process([&] {
      const auto start = std::chrono::steady_clock::now();
      simulation();
      const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      return std::to_string(elapsed.count()) + " " + std::to_string(usage.ru_maxrss);
    });
    double seconds = 0;
    double peak_kib = 0;
    std::istringstream(report) >> seconds >> peak_kib;
    state.SetIterationTime(seconds);
    peak_mib = std::max(peak_mib, peak_kib / 1024);
  }
  state.counters["peak_MiB"] = peak_mib;
}

/// A ping-pong sweep from 4 B to 64 MiB between two nodes.
void pingpong_sweep(benchmark::State& state, const std::string& protocol) {
  measure_in_child(state, [&] {
    const platforms::Platform platform = platforms::read_platform(kPlatform);
    bench::Plan plan;
    plan.sizes = bench::size_sweep(4_B, 64_MiB, 2);
    plan.small = plan.large = {.warmup = 1, .iterations = 2};
    plan.settings = find_protocol(protocol).defaults();
    const std::vector<Place> places{{0, 0, {}}, {1, 0, {}}};
    model::simulate(platform, places, [&](MeasuredRank& rank) { bench::measure(rank, find_protocol(protocol), plan); });
  });
}

/// Every rank exchanges one message of eight chunks with a partner on another node, staged through the host.
void staged_exchange(benchmark::State& state) {
  const auto ranks = static_cast<int>(state.range(0));
  measure_in_child(state, [&] {
    constexpr int kGpusPerNode = 3;
    const int nodes = (ranks + kGpusPerNode - 1) / kGpusPerNode;
    const std::vector<std::string> overrides{"nodes.count=" + std::to_string(nodes)};
    const platforms::Platform platform = platforms::read_platform(kPlatform, overrides);
    std::vector<Place> places;
    for (int i = 0; i < ranks; ++i) places.push_back({i / kGpusPerNode, i % kGpusPerNode, {}});
    constexpr Bytes kChunk = 256_KiB;
    constexpr std::uint64_t kChunks = 8;
    model::simulate(platform, places, [&](Rank& rank) {
      const RankId partner{(rank.id().value + ranks / 2) % ranks};
      const View outgoing(rank.allocate(Memory::device, kChunk * kChunks));
      const View incoming(rank.allocate(Memory::device, kChunk * kChunks));
      const auto channel = find_protocol("staging").connect(rank, partner, {.chunk = kChunk, .depth = 2});
      const Outcome outcome = channel->exchange({&outgoing, 1}, {&incoming, 1});
      if (!outcome.ok()) throw Error(outcome.reason);
    });
  });
  state.counters["ranks"] = ranks;
}

BENCHMARK_CAPTURE(pingpong_sweep, host, "host")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pingpong_sweep, staging, "staging")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(pingpong_sweep, gpudirect_v1, "gpudirect-v1")->UseManualTime()->Unit(benchmark::kMillisecond);
BENCHMARK(staged_exchange)->Arg(64)->Arg(256)->Arg(1024)->UseManualTime()->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace twinlink

BENCHMARK_MAIN();
