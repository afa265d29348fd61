#include "tests/protocols/bench/probe_world.hpp"

#include <gtest/gtest.h>

namespace twinlink::bench {

ProbePlan small_plan() {
  return {.sizes = {4_B, 64_KiB}, .small = {.warmup = 1, .iterations = 2}, .large = {.warmup = 0, .iterations = 2}};
}

ProbeFindings probe_world(const FakeWorldOptions& world, const ProbePlan& plan) {
  ProbeFindings findings;
  run_fake_world(world, [&](MeasuredRank& rank) {
    ProbeFindings mine = probe(rank, plan);
    EXPECT_EQ(live_buffers(rank), 0U);
    if (rank.id() == RankId{0}) {
      findings = std::move(mine);
    } else {
      EXPECT_TRUE(mine.lines.empty());
    }
  });
  return findings;
}

std::vector<ProbeLine> lines(const ProbeFindings& findings, const std::string& name, const std::string& gpu) {
  std::vector<ProbeLine> found;
  for (const ProbeLine& line : findings.lines) {
    if (line.name == name && line.gpu == gpu) found.push_back(line);
  }
  return found;
}

std::set<std::string> names(const ProbeFindings& findings) {
  std::set<std::string> all;
  for (const ProbeLine& line : findings.lines) all.insert(line.name);
  return all;
}

}  // namespace twinlink::bench
