// Random jobs take the same time whether links are shared by SimGrid or by MaxMinFlows.
//
// TWINLINK_JOBS=3000 tries as many, TWINLINK_SEED=7 begins elsewhere.
#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <random>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/support/number_from.hpp"

namespace twinlink::model {
namespace {

using How = SimulationOptions::Engine;

/// One thing that happens, in the order of all. Whoever takes part starts it, and may then wait for all that it has
/// started. So nobody waits for what another one starts only later.
struct Event {
  enum class Kind { message, copy, compute };
  Kind kind = Kind::message;
  int from = 0;
  int to = 0;  ///< of a message
  Bytes size{};
  Memory source = Memory::pinned;
  bool from_waits = false;
  bool to_waits = false;
};

struct Job {
  Platform platform{};
  std::vector<Place> places{};
  std::vector<Event> events{};
};

Job random_job(std::uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto below = [&](std::uint64_t limit) { return random() % limit; };
  // Adapters that several GPUs share, CPUs that copy messages, interleaved memory, a fabric of switches.
  const std::vector<std::string> names{
      "keeneland-kids",           "keeneland-kfs", "hgx-h100",  "selene",       "perlmutter",
      "titan-rtx-eight",          "summit-256",    "dgx1-v100", "mi300x-eight", "a100-pcie-switch",
      "l40s-two-gpus-per-adapter"};
  Job job;
  job.platform = read_platform(std::string(TWINLINK_SOURCE_DIR "/platforms/") + names[below(names.size())] + ".yaml");
  // SimGrid knows no packets that choose among ways.
  if (job.platform.fabric) job.platform.fabric->routing = FabricRouting::by_target;
  const Topology topology(job.platform);
  const std::vector<Place> all = topology.places();
  const std::size_t first = below(std::min<std::size_t>(all.size(), 16));
  const std::size_t ranks = std::min<std::size_t>(all.size() - first, 2 + below(9));
  for (std::size_t i = 0; i < ranks; ++i) job.places.push_back(all[first + i]);
  const auto size = [&] { return Bytes{1 + below(std::uint64_t{1} << below(24))}; };
  for (std::uint64_t count = 5 + below(40); count > 0; --count) {
    Event event{.from = static_cast<int>(below(ranks)), .size = size()};
    event.to = static_cast<int>(
        (static_cast<std::size_t>(event.from) + 1 + below(std::max<std::size_t>(ranks - 1, 1))) % ranks);
    event.from_waits = below(3) == 0;
    event.to_waits = below(3) == 0;
    const auto kind = below(10);
    if (kind == 0) event.kind = Event::Kind::compute;
    if (kind > 6 || event.from == event.to) {
      event.kind = Event::Kind::copy;
      event.source = std::array{Memory::pinned, Memory::pageable, Memory::device}[below(3)];
    }
    job.events.push_back(event);
  }
  return job;
}

/// When each rank went on after each wait, rank by rank, exactly.
std::string times_of(const Job& job, How engine) {
  std::vector<std::string> times(job.places.size());
  simulate(job.platform, job.places,
           [&](MeasuredRank& rank) {
             std::vector<Op> ops;
             const auto wait = [&] {
               while (!ops.empty()) {
                 const auto ended = rank.wait_any(ops, Seconds{1e9});
                 ops.erase(ops.begin() + static_cast<std::ptrdiff_t>(ended->index));
               }
               std::array<char, 64> text{};
               const auto end = std::to_chars(text.data(), text.data() + text.size(), rank.now().value());
               times[static_cast<std::size_t>(rank.id().value)] += std::string(text.data(), end.ptr) + "\n";
             };
             for (std::size_t i = 0; i < job.events.size(); ++i) {
               const Event& event = job.events[i];
               const Tag tag{static_cast<int>(i)};
               const bool sends = rank.id().value == event.from;
               const bool receives = event.kind == Event::Kind::message && rank.id().value == event.to;
               if (!sends && !receives) continue;
               if (event.kind == Event::Kind::compute) {
                 ops.push_back(rank.compute(Seconds{1e-6} * static_cast<double>(event.size.count() % 50), Stream{0}));
               } else if (event.kind == Event::Kind::copy) {
                 const View from(rank.allocate(event.source, event.size));
                 const View to(rank.allocate(Memory::device, event.size));
                 ops.push_back(rank.copy(to, from, Stream{static_cast<int>(i % 3)}, Engine::dma));
               } else if (sends) {
                 ops.push_back(rank.send(RankId{event.to}, tag, View(rank.allocate(Memory::pinned, event.size))));
               } else {
                 ops.push_back(rank.receive(RankId{event.from}, tag, View(rank.allocate(Memory::pinned, event.size))));
               }
               if (sends ? event.from_waits : event.to_waits) wait();
             }
             wait();
           },
           {.engine = engine});
  std::string all;
  for (const std::string& of_rank : times) all += of_rank;
  return all;
}

std::vector<double> numbers(const std::string& lines) {
  std::vector<double> found;
  const char* at = lines.data();
  const char* const end = at + lines.size();
  while (at != end) {
    double number = 0;
    at = std::from_chars(at, end, number).ptr + 1;
    found.push_back(number);
  }
  return found;
}

TEST(Engines, AgreeOnRandomJobs) {
  const std::uint64_t jobs = number_from("TWINLINK_JOBS", 60);
  const std::uint64_t first = number_from("TWINLINK_SEED", 1);
  double worst = 0;
  for (std::uint64_t seed = first; seed < first + jobs; ++seed) {
    const Job job = random_job(seed);
    const auto of = [&](How engine) { return numbers(in_child_process([&] { return times_of(job, engine); })); };
    const std::vector<double> fast = of(How::automatic);
    const std::vector<double> exact = of(How::exact);
    ASSERT_EQ(fast.size(), exact.size()) << "job " << seed;
    for (std::size_t i = 0; i < fast.size(); ++i) {
      // Beside that, SimGrid takes ends within its precision of 1e-12 s for the same.
      const double difference = std::abs(fast[i] - exact[i]);
      worst = std::max(worst, difference / exact[i]);
      ASSERT_LE(difference, 1e-9 * exact[i] + 1e-12) << "job " << seed << " on " << job.platform.name << ", time " << i;
    }
  }
  RecordProperty("jobs", std::to_string(jobs));
  std::printf("%lu jobs, at most %.1e apart\n", static_cast<unsigned long>(jobs), worst);
}

}  // namespace
}  // namespace twinlink::model
