// Whether the simulated machine is fit for ten thousand ranks: one simulation in one process, one line of figures.
//
//   build/bin/scale_benchmark                                       10,000 ranks, 8 GPUs a node, gpudirect-v2
//   build/bin/scale_benchmark --protocol staging --between nodes    the same number of messages over the fabric
//
// Every rank has one partner. Both open a channel, which with a protocol of one node is where the handshake happens,
// and then send each other four messages, one after the other. Every pair has its own size, so that hardly any two
// events of the simulation coincide. The seconds include building the machine.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include <sys/resource.h>
#include <CLI/CLI.hpp>

#include "model/engine/simulation.hpp"
#include "protocols/registry.hpp"
#include "tests/benchmarks/large_platform.hpp"

namespace twinlink {
namespace {

struct Workload {
  std::string protocol = "gpudirect-v2";
  std::string between = "neighbours";
  int ranks = 10'000;
  int gpus = 8;
  int messages = 4;
  std::string size = "1M";
};

/// Neighbours share a node; partners on different nodes are half the job apart.
RankId partner_of(RankId rank, const Workload& workload) {
  if (workload.between == "neighbours") return RankId{rank.value ^ 1};
  return RankId{(rank.value + workload.ranks / 2) % workload.ranks};
}

/// A little more for each pair.
Bytes size_of(RankId rank, const Workload& workload) {
  const int pair = std::min(rank.value, partner_of(rank, workload).value);
  return parse_size(workload.size) + 4_B * static_cast<std::uint64_t>(pair);
}

/// Neighbours sit on one node, so that with an odd number of GPUs the first GPU of each node, which is alone on its
/// hub, stays idle.
std::vector<Place> places_of(const Workload& workload) {
  const bool skip_first = workload.between == "neighbours" && workload.gpus % 2 == 1;
  const int used = workload.gpus - (skip_first ? 1 : 0);
  std::vector<Place> places;
  for (int rank = 0; rank < workload.ranks; ++rank) {
    places.push_back({rank / used, rank % used + (skip_first ? 1 : 0), {}});
  }
  return places;
}

void run_rank(MeasuredRank& rank, const Workload& workload) {
  const Protocol& protocol = find_protocol(workload.protocol);
  const Bytes size = size_of(rank.id(), workload);
  const View outgoing(rank.allocate(protocol.message_memory(), size));
  const View incoming(rank.allocate(protocol.message_memory(), size));
  rank.fill(outgoing, Payload{1});
  const auto channel = protocol.connect(rank, partner_of(rank.id(), workload), protocol.defaults());
  for (int i = 0; i < workload.messages; ++i) {
    rank.fill(incoming, kSentinel);
    const Outcome outcome = channel->exchange({&outgoing, 1}, {&incoming, 1});
    if (!outcome.ok()) throw Error(outcome.reason);
    if (!rank.check(incoming, Payload{1}).intact()) throw Error("a message arrived wrong");
  }
}

double seconds(const timeval& time) {
  return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
}

int run(const Workload& workload) {
  const std::vector<Place> places = places_of(workload);
  const platforms::Platform platform = model::large_platform(places.back().node + 1, workload.gpus);
  const auto start = std::chrono::steady_clock::now();
  const Seconds end = model::simulate(platform, places, [&](MeasuredRank& rank) { run_rank(rank, workload); });
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const double cpu = seconds(usage.ru_utime) + seconds(usage.ru_stime);
  std::printf(
      "%s between %s: %d ranks, %d GPUs a node, %d messages of %s each way: %.2f s (CPU %.2f s), %.0f MiB; "
      "simulated %s\n",
      workload.protocol.c_str(), workload.between.c_str(), workload.ranks, workload.gpus, workload.messages,
      workload.size.c_str(), elapsed.count(), cpu, static_cast<double>(usage.ru_maxrss) / 1024,
      format_seconds(end).c_str());
  return 0;
}

}  // namespace
}  // namespace twinlink

int main(int argc, char** argv) {
  twinlink::Workload workload;
  CLI::App app("Times one simulation of many ranks: wall-clock seconds and peak resident memory.");
  app.add_option("--protocol", workload.protocol, "protocol of all messages")->capture_default_str();
  app.add_option("--between", workload.between, "where partners sit")
      ->check(CLI::IsMember({"neighbours", "nodes"}))
      ->capture_default_str();
  app.add_option("--ranks", workload.ranks, "number of ranks, even")->capture_default_str();
  app.add_option("--gpus", workload.gpus, "GPUs per node, one rank on each")->capture_default_str();
  app.add_option("--messages", workload.messages, "messages each way")->capture_default_str();
  app.add_option("--size", workload.size, "of the first pair's messages; each other pair's are a little larger")
      ->capture_default_str();
  CLI11_PARSE(app, argc, argv);
  try {
    return twinlink::run(workload);
  } catch (const twinlink::Error& error) {
    std::fprintf(stderr, "scale_benchmark: %s\n", error.what());
    return static_cast<int>(error.exit_code());
  }
}
