// What the hit path of the handle cache costs the CPU: looking up a handle that is open, and giving it back, which is
// all that a cached message adds to the bare copy apart from its two control messages.
//
//   build/bin/handle_cache_benchmark
#include <benchmark/benchmark.h>

#include <cstring>

#include "protocols/parts/handle_cache.hpp"
#include "tests/protocols/scripted_rank.hpp"

namespace twinlink {
namespace {

constexpr RankId kOwner{1};

/// Of the `number`th allocation; allocations lie 2 MiB apart, as those of CUDA do.
IpcHandle handle(std::uint64_t number) {
  IpcHandle handle{.size = 1 << 20, .address = number << 21};
  std::memcpy(handle.token.data(), &number, sizeof number);
  return handle;
}

void hit(benchmark::State& state) {
  ScriptedRank rank;
  HandleCache cache(rank, kOwner, 0, Eviction::lru);
  const auto open = static_cast<std::uint64_t>(state.range(0));
  for (std::uint64_t i = 0; i < open; ++i) cache.release(cache.acquire(handle(i)));
  std::uint64_t next = 0;
  for (auto _ : state) {
    Buffer buffer = cache.acquire(handle(next));  // not const: newer versions of Google Benchmark want that
    benchmark::DoNotOptimize(buffer);
    cache.release(buffer);
    next = (next + 7919) % open;  // a prime: neighbours in time are not neighbours in memory
  }
  if (cache.counts().misses != open) state.SkipWithError("not only hits");
}
BENCHMARK(hit)->ArgName("open")->Arg(1)->Arg(64)->Arg(4096);

}  // namespace
}  // namespace twinlink

BENCHMARK_MAIN();
