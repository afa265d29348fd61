// What a hit of the handle cache adds to the bare copy at real ranks: rank 0 reads memory of rank 1, in turn by itself
// and with the look-up before and the release after it.
//
//   mpirun -n 2 build/bin/cache_hit_benchmark [host|cuda]
#include <fmt/format.h>

#include <cstdio>
#include <iterator>
#include <string>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/bench/results/rounds.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/parts/handle_cache.hpp"
#include "real/job/job.hpp"

namespace twinlink::real {
namespace {

const bench::Patience kPatience = bench::Patience::of_peer(Seconds{30});
constexpr int kRounds = 2000;
/// So that what changes on the machine meanwhile meets both.
constexpr int kTurns = 10;

void copy(Rank& rank, View to, View from) {
  const Op op = rank.copy(to, from, Stream{0}, Engine::dma);
  if (wait(rank, op, rank.now() + kPatience.longest) != Status::delivered) throw UsageError("the copy did not end");
}

void measure(Rank& rank, const IpcHandle& handle, Buffer own, Bytes size) {
  HandleCache cache(rank, RankId{1}, 0, Eviction::lru);
  const Buffer open = cache.acquire(handle);
  std::vector<double> bare_us;
  std::vector<double> hit_us;
  const View to(own, Bytes{}, size);
  for (int turn = 0; turn < kTurns; ++turn) {
    const auto bare = bench::time_rounds(rank, kRounds / kTurns, [&] { copy(rank, to, View(open, Bytes{}, size)); });
    const auto hit = bench::time_rounds(rank, kRounds / kTurns, [&] {
      const Buffer found = cache.acquire(handle);
      copy(rank, to, View(found, Bytes{}, size));
      cache.release(found);
    });
    bare_us.insert(bare_us.end(), bare.begin(), bare.end());
    hit_us.insert(hit_us.end(), hit.begin(), hit.end());
  }
  cache.release(open);
  const double bare = bench::summarize(bare_us).median;
  const double hit = bench::summarize(hit_us).median;
  fmt::print("{:>10} {:>12.3f} {:>12.3f} {:>12.3f}\n", format_size(size), bare, hit, hit - bare);
}

void run(MeasuredRank& rank) {
  const Buffer own = rank.allocate(Memory::device, 1_MiB);
  if (rank.id() == RankId{0}) {
    const auto handle = bench::recv_control_now(rank, RankId{1}, kPatience).as<IpcHandle>();
    fmt::print("{:>10} {:>12} {:>12} {:>12}\n", "size", "bare us", "hit us", "added us");
    for (const Bytes size : {4_B, 4_KiB, 64_KiB, 1_MiB}) measure(rank, handle, own, size);
    bench::send_control_now(rank, RankId{1}, ControlMessage(), kPatience);
  } else if (rank.id() == RankId{1}) {
    bench::send_control_now(rank, RankId{0}, ControlMessage(rank.export_memory(own)), kPatience);
    bench::recv_control_now(rank, RankId{0}, kPatience);
  }
}

}  // namespace
}  // namespace twinlink::real

int main(int argc, char** argv) {
  using namespace twinlink::real;  // NOLINT: a program's main
  try {
    Job job({.device = argc > 1 && std::string(argv[1]) == "cuda" ? DeviceKind::cuda : DeviceKind::host});
    job.run(run);
    return 0;
  } catch (const std::exception& error) {
    fmt::print(stderr, "error: {}\n", error.what());
    return 1;
  }
}
