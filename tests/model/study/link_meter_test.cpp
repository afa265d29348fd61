// What crosses which link, on a machine of round numbers.
#include "model/study/link_meter.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "model/engine/simulation.hpp"
#include "protocols/bench/workload/measure_workload.hpp"
#include "protocols/registry.hpp"
#include "tests/model/engine/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Bytes kMeasured = 4_MiB;

/// Of one iteration of a pattern over host memory.
std::vector<LinkShare> links_of_iteration(const char* workload, const std::vector<Place>& places) {
  const Protocol& host = find_protocol("host");
  LinkMeter meter(static_cast<int>(places.size()));
  bench::WorkloadPlan plan{.workload = &workloads::find_workload(workload)};
  plan.algorithms = {&plan.workload->algorithms.front()};
  plan.ways = {&host, &host, host.defaults(), host.defaults()};
  plan.sizes = {kMeasured};
  plan.iterations = 2;
  plan.on_round = [&meter](bool begins, Seconds now) { meter.round(begins, now); };
  simulate(sample_platform(), places, [&](Rank& rank) { measure_workload(rank, plan); }, {.link_use = &meter.read});
  return meter.last_round();
}

const LinkShare& find(const std::vector<LinkShare>& links, std::string_view name) {
  const auto found = std::ranges::find(links, name, &LinkShare::name);
  EXPECT_NE(found, links.end()) << name;
  static const LinkShare nothing;
  return found != links.end() ? *found : nothing;
}

TEST(LinkMeter, CountsOneIteration) {
  const std::vector<LinkShare> links = links_of_iteration("shift", {parse_place("0/0"), parse_place("1/0")});
  const Seconds wire = kMeasured / kWire;
  for (const char* name : {"node 0 nic0 out", "node 0 nic0 in", "node 1 nic0 out", "node 1 nic0 in"}) {
    const LinkShare& link = find(links, name);
    EXPECT_NEAR(link.bytes, static_cast<double>(kMeasured.count()), 1) << name;
    EXPECT_NEAR(link.utilisation * ((kHost + kLatency + wire).value() / wire.value()), 1, 1e-2) << name;
  }
  EXPECT_NEAR(links.front().utilisation, find(links, "node 0 nic0 out").utilisation, 1e-6) << "the limit comes first";
}

TEST(LinkMeter, SeesThatTheReceiversWireLimitsAnIncast) {
  const std::vector<LinkShare> links =
      links_of_iteration("incast", {parse_place("0/0"), parse_place("1/0"), parse_place("2/0")});
  EXPECT_EQ(links.front().name, "node 0 nic0 in");
  EXPECT_NEAR(links.front().bytes, 2 * static_cast<double>(kMeasured.count()), 1);
  EXPECT_GT(links.front().utilisation, 0.98);
  EXPECT_NEAR(find(links, "node 1 nic0 out").utilisation, links.front().utilisation / 2, 1e-6);
}

}  // namespace
}  // namespace twinlink::model
