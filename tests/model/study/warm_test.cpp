// What is timed is warm: with verification, without, and after many more rounds the times are the same, for every
// protocol, pattern and workload, to nine digits.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "model/study/survey.hpp"
#include "model/study/warm_messages.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/tools/placement.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/core/options.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using bench::Pattern;

const std::vector<Bytes> kSizes{8_B, 1_KiB, 32_KiB, 1_MiB};

/// A protocol with its defaults, and those whose connections take long to become what they are.
struct Used {
  const Protocol* protocol;
  Settings settings;
  std::string name;
};
std::vector<Used> all_used() {
  std::vector<Used> all;
  for (const Protocol* protocol : all_protocols()) {
    all.push_back({protocol, protocol->defaults(), std::string(protocol->name())});
  }
  const auto add = [&](const std::string& protocol, const std::string& option, const std::string& value) {
    const Protocol& used = find_protocol(protocol);
    Settings settings = used.defaults();
    set_option(used, settings, option, value);
    all.push_back({&used, std::move(settings), protocol + " " + option + "=" + value});
  };
  add("cuda-ipc", "start", "late");
  add("cuda-ipc", "fidelity", "openmpi-4.1");
  add("cuda-ipc", "cache", "1");
  add("cuda-aware", "rules", "openmpi");
  add("gpudirect-v3", "registration_cache", "off");
  return all;
}

/// How a measurement goes about it; its times may not depend on that.
struct Care {
  bool verify;
  int warmup;
};
constexpr Care kCares[] = {{false, 0}, {true, 1}, {false, 24}};

/// Times in us.
struct Case {
  std::string name;
  std::function<std::vector<double>(const Care&)> times;
};

/// What the clock's grain takes from the sum of ten thousand events.
constexpr double kLost = 1e-9;

/// All cases with all cares, each in a process of its own.
void expect_the_same(const std::vector<Case>& cases) {
  std::vector<std::function<std::string()>> works;
  for (const Case& each : cases) {
    for (const Care& care : kCares) {
      works.emplace_back([&each, care] { return nlohmann::json(each.times(care)).dump(); });
    }
  }
  const std::vector<std::string> texts = in_child_processes(works, cores());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    const std::size_t first = i / std::size(kCares) * std::size(kCares);
    const auto expected = nlohmann::json::parse(texts[first]).get<std::vector<double>>();
    const auto times = nlohmann::json::parse(texts[i]).get<std::vector<double>>();
    ASSERT_EQ(times.size(), expected.size());
    for (std::size_t t = 0; t < times.size(); ++t) {
      EXPECT_NEAR(times[t], expected[t], expected[t] * kLost)
          << cases[i / std::size(kCares)].name << ", care " << i - first << ", time " << t << ": " << times[t]
          << " us, and " << expected[t];
    }
  }
}

Platform platform_of(const std::string& name) {
  return read_platform(TWINLINK_SOURCE_DIR "/platforms/" + name + ".yaml");
}

struct Way {
  std::string platform;
  std::vector<Place> places;
};

class Warm : public ::testing::TestWithParam<Way> {};

TEST_P(Warm, MessagesTakeTheSameTimeWhateverWasBefore) {
  const Platform platform = platform_of(GetParam().platform);
  const std::vector<Place>& places = GetParam().places;
  const Topology topology(platform);
  std::vector<Case> cases;
  for (const Used& used : all_used()) {
    if (!used.protocol->supports(topology.path(places[0], places[1])).usable()) continue;
    for (const Pattern pattern : {Pattern::pingpong, Pattern::bandwidth, Pattern::bidirectional}) {
      for (const int window : {1, 5}) {
        if (pattern == Pattern::pingpong && window > 1) continue;
        const auto times = [&, used, pattern, window](const Care& care) {
          bench::Plan plan = warm_plan(pattern, kSizes, window, used.settings);
          plan.verify = care.verify;
          plan.small = plan.large = {.warmup = care.warmup, .iterations = 2};
          std::vector<double> all;
          for (const bench::Point& point : warm_series(platform, places, *used.protocol, plan).points) {
            all.push_back(to_picoseconds(point.time_us.min));
            all.push_back(to_picoseconds(point.time_us.max));
          }
          return all;
        };
        cases.push_back({used.name + ", pattern " + std::to_string(static_cast<int>(pattern)) + ", window " +
                             std::to_string(window),
                         times});
      }
    }
  }
  expect_the_same(cases);
}

INSTANTIATE_TEST_SUITE_P(Ways, Warm,
                         ::testing::Values(Way{"h200-nvlink", {{0, 0, {}}, {0, 1, {}}}},
                                           Way{"keeneland-kids", {{0, 0, {}}, {0, 2, {}}}},
                                           Way{"hgx-h100", {{0, 0, {}}, {1, 0, {}}}}));

bench::WorkloadSeries run(const Platform& platform, const std::vector<Place>& places, const bench::WorkloadPlan& plan) {
  bench::WorkloadSeries series;
  simulate(platform, places, [&](MeasuredRank& rank) {
    bench::WorkloadSeries mine = bench::measure_workload(rank, plan);
    if (rank.id() == RankId{0}) series = std::move(mine);
  });
  return series;
}

class WarmWorkload : public ::testing::TestWithParam<Way> {};

TEST_P(WarmWorkload, TakesTheSameTimeWhateverWasBefore) {
  const Platform platform = platform_of(GetParam().platform);
  const std::vector<Place>& places = GetParam().places;
  const Topology topology(platform);
  std::vector<Case> cases;
  for (const Used& used : all_used()) {
    if (used.protocol->wants_same_places() || used.protocol->message_memory() != Memory::device) continue;
    const bool everywhere = std::ranges::all_of(places, [&](const Place& to) {
      return to == places[0] || used.protocol->supports(topology.path(places[0], to)).usable();
    });
    if (!everywhere) continue;
    for (const workloads::Workload& workload : workloads::all_workloads()) {
      const auto times = [&, used](const Care& care) {
        bench::Scheduled work{.workload = &workload, .sizes = {1_KiB, 256_KiB}};
        for (const auto& algorithm : workload.algorithms) work.algorithms.push_back(&algorithm);
        if (work.algorithms.size() == 1) work.algorithms.clear();
        if (workload.name == "training-step") work.training.emplace();
        bench::WorkloadPlan plan{.work = std::move(work),
                                 .ways = {used.protocol, used.protocol, used.settings, used.settings},
                                 .warmup = care.warmup,
                                 .iterations = 1,
                                 .verify = care.verify};
        std::vector<double> all;
        for (const bench::WorkloadPoint& point : run(platform, places, plan).points) {
          all.push_back(to_picoseconds(point.time_us.median));
          all.push_back(to_picoseconds(point.predicted_us));
        }
        return all;
      };
      cases.push_back({used.name + ", " + std::string(workload.name), times});
    }
  }
  expect_the_same(cases);
}

INSTANTIATE_TEST_SUITE_P(Ways, WarmWorkload,
                         ::testing::Values(Way{"h200-nvlink", {{0, 0, {}}, {0, 1, {}}}},
                                           Way{"hgx-h100", {{0, 0, {}}, {0, 1, {}}, {1, 0, {}}, {1, 1, {}}}}));
INSTANTIATE_TEST_SUITE_P(Others, WarmWorkload,
                         ::testing::Values(Way{"dgx-a100",
                                               {{0, 0, {}}, {0, 1, {}}, {0, 2, {}}, {0, 3, {}}, {0, 4, {}}}}));

/// Jobs whose ranks do not begin alike: of several nodes, of unlike sockets, of adapters that take turns.
class WarmJob : public ::testing::TestWithParam<std::string> {};

TEST_P(WarmJob, TakesTheSameTimeWhateverWasBefore) {
  const Platform platform = platform_of(GetParam());
  std::vector<Case> cases;
  for (const char* name : {"host", "cuda-aware"}) {
    const Protocol& protocol = find_protocol(name);
    for (const int ranks : {3, 6, 8}) {
      const std::vector<Place> all = places_of_ranks(platform, "packed");
      if (all.size() < static_cast<std::size_t>(ranks)) continue;
      const std::vector<Place> places(all.begin(), all.begin() + ranks);
      for (const char* of : {"shift", "halo-3d", "all-to-all", "barrier", "incast"}) {
        const workloads::Workload& workload = workloads::find_workload(of);
        const auto times = [&platform, &protocol, &workload, places](const Care& care) {
          bench::WorkloadPlan plan{.work = bench::Scheduled{.workload = &workload, .sizes = {8_B, 2_KiB, 64_KiB}},
                                   .ways = {&protocol, &protocol, protocol.defaults(), protocol.defaults()},
                                   .warmup = care.warmup,
                                   .iterations = 2,
                                   .verify = care.verify};
          std::vector<double> found;
          for (const bench::WorkloadPoint& point : run(platform, places, plan).points) {
            found.push_back(to_picoseconds(point.time_us.min));
            found.push_back(to_picoseconds(point.time_us.max));
            found.push_back(to_picoseconds(point.predicted_us));
          }
          return found;
        };
        cases.push_back({std::string(name) + ", " + of + " of " + std::to_string(ranks), times});
      }
    }
  }
  expect_the_same(cases);
}

INSTANTIATE_TEST_SUITE_P(Machines, WarmJob,
                         ::testing::Values("gh200-slingshot", "keeneland-kfs-rdma", "dual-port-a100"));
INSTANTIATE_TEST_SUITE_P(Others, WarmJob,
                         ::testing::Values("mi250x-frontier", "keeneland-kids", "piz-daint", "perlmutter",
                                           "imaginary-2030", "selene"));

}  // namespace
}  // namespace twinlink::model
