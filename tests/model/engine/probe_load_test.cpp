// Probes under load on the simulated machine, against closed forms. As in simulation_test.cpp the tolerance is that of
// the arithmetic.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>

#include "model/engine/simulation.hpp"
#include "protocols/bench/probe/prober.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers
using bench::kQueuedCopies;

constexpr double kLoadTolerance_us = 1e-4;

/// The medians of the probes of GPUs 0/1 and 0/2, which share a hub.
class Medians {
 public:
  explicit Medians(const Platform& platform) {
    // What a probe itself has written to check it later is at rest after the first round.
    const bench::Repeats repeats{.warmup = 1, .iterations = 2};
    const bench::ProbePlan plan{.sizes = {4_B, 1_MiB}, .small = repeats, .large = repeats};
    simulate(platform, std::vector{Place{0, 1, {}}, Place{0, 2, {}}}, [&](MeasuredRank& rank) {
      bench::ProbeFindings mine = bench::probe(rank, plan);
      if (rank.id() == RankId{0}) findings_ = std::move(mine);
    });
  }

  /// Of the line that rank 0 measured.
  [[nodiscard]] double us(const std::string& name, Bytes size) const {
    const auto line = std::ranges::find_if(findings_.lines, [&](const bench::ProbeLine& candidate) {
      return candidate.name == name && candidate.gpu == "0/1" && candidate.size == size;
    });
    if (line != findings_.lines.end()) return line->time_us.median;
    ADD_FAILURE() << "no line '" << name << "'";
    return 0;
  }

 private:
  bench::ProbeFindings findings_;
};

TEST(ProbeLoad, QueuedCopiesHideTheLatencyOfAllButTheFirst) {
  const Medians medians(sample_platform());
  const Seconds large = kHost + kLatency + 1_MiB / kDown * kQueuedCopies;
  EXPECT_NEAR(medians.us("queued copy pinned-to-device near", 1_MiB), large.microseconds() / kQueuedCopies,
              kLoadTolerance_us);
  // The CPU starts small ones more slowly than they flow.
  const Seconds small = kHost * kQueuedCopies + kLatency + 4_B / kDown;
  EXPECT_NEAR(medians.us("queued copy pinned-to-device near", 4_B), small.microseconds() / kQueuedCopies,
              kLoadTolerance_us);
  const Seconds peers = kHost + kLatency + 1_MiB / kPeer * kQueuedCopies;
  EXPECT_NEAR(medians.us("queued peer copy write direct", 1_MiB), peers.microseconds() / kQueuedCopies,
              kLoadTolerance_us);
}

TEST(ProbeLoad, BothWaysTakeTheSlowerWaysTimeWhereNothingIsShared) {
  const Seconds slower = kHost * 2 + kLatency + 1_MiB / kDown;
  EXPECT_NEAR(Medians(sample_platform()).us("copy pinned near both-ways", 1_MiB), slower.microseconds(),
              kLoadTolerance_us);
}

TEST(ProbeLoad, BothWaysShareALinksTotal) {
  Platform platform = sample_platform();
  for (Link& link : platform.node.links) {
    if (link.name == "up1") link.total = {Rate{6e9}, {Quality::assumed, "less than both ways"}};
  }
  // The way out begins kHost earlier, alone; then the two share the link, and the way in has as much left.
  const Bytes ahead{5000};
  ASSERT_NEAR((ahead / kUp).microseconds(), kHost.microseconds(), 1e-9);
  const Seconds shared = (1_MiB - ahead) / Rate{3e9};
  const Seconds rest = ahead / kDown;
  EXPECT_NEAR(Medians(platform).us("copy pinned near both-ways", 1_MiB),
              (kHost * 2 + kLatency + shared + rest).microseconds(), kLoadTolerance_us);
}

TEST(ProbeLoad, GpusAtOnceShareTheHubsLinkAndPeersDoNot) {
  Platform platform = sample_platform();
  for (Link& link : platform.node.links) {
    if (link.name == "up1") link.forward.value = link.backward.value = Rate{6e9};
  }
  const Medians medians(platform);
  const double apart = (kHost + kLatency + 1_MiB / kDown).microseconds();
  const double together = (kHost + kLatency + 1_MiB / Rate{3e9}).microseconds();
  EXPECT_NEAR(medians.us("copy pinned-to-device near", 1_MiB), apart, kLoadTolerance_us);
  // The two begin one control message apart, at most.
  EXPECT_NEAR(medians.us("copy pinned-to-device near of 2 GPUs", 1_MiB), together, 2 * kControl.microseconds());
  EXPECT_NEAR(medians.us("peer copy write direct of 2 GPUs", 1_MiB), (kHost + kLatency + 1_MiB / kPeer).microseconds(),
              kLoadTolerance_us);
}

TEST(ProbeLoad, StartingACopyTakesWhatTheCpuIsBusyFor) {
  const Medians medians(sample_platform());
  EXPECT_NEAR(medians.us("start copy pinned-to-device near", 4_B), kHost.microseconds(), kLoadTolerance_us);
  EXPECT_NEAR(medians.us("start peer copy write direct", 4_B), kHost.microseconds(), kLoadTolerance_us);
}

TEST(ProbeLoad, MessagesBothWaysDoNotSlowEachOtherHere) {
  const Medians medians(sample_platform());
  const double one_way = medians.us("message pageable same-node", 1_MiB);
  // Each end posts a receive before it sends; the two begin one control message apart, at most.
  EXPECT_NEAR(medians.us("message pageable same-node both-ways", 1_MiB), one_way, 2 * kControl.microseconds());
}

TEST(ProbeLoad, WhoWroteTheSourceMakesNoDifferenceHere) {
  const Medians medians(sample_platform());
  const double expected = (kHost + kLatency + 1_MiB / kDown).microseconds();
  EXPECT_NEAR(medians.us("copy pinned-to-device near cpu-written", 1_MiB), expected, kLoadTolerance_us);
}

TEST(ProbeLoad, WhoWroteTheSourceShowsWhatThePlatformSays) {
  const Source guess{Quality::assumed, "a round number"};
  const auto constant = [&](Seconds extra) { return Sourced<Piecewise>{Piecewise({{Bytes{}, extra}}), guess}; };
  Platform platform = sample_platform();
  platform.copies[CopyKind::pinned_to_device].cpu_written = constant(3.0_us);
  platform.copies[CopyKind::pageable_to_device].cpu_written = constant(5.0_us);
  const Medians medians(platform);
  const auto extra_us = [&](const std::string& name) {
    return medians.us(name + " cpu-written", 1_MiB) - medians.us(name, 1_MiB);
  };
  EXPECT_NEAR(extra_us("copy pinned-to-device near"), 3, kLoadTolerance_us);
  EXPECT_NEAR(extra_us("copy pageable-to-device near"), 5, kLoadTolerance_us);
}

/// The names of the lines of GPUs 0/1 and 0/2, and the notes.
struct Found {
  std::set<std::string> names{};
  std::vector<std::string> notes{};
};

Found probe_names(const Platform& platform, const Place& second = {0, 2, {}}) {
  const bench::ProbePlan plan{.sizes = {4_B, 1_MiB}, .small = {.iterations = 1}, .large = {.iterations = 1}};
  Found found;
  simulate(platform, std::vector{Place{0, 1, {}}, second}, [&](MeasuredRank& rank) {
    const bench::ProbeFindings mine = bench::probe(rank, plan);
    for (const bench::ProbeLine& line : mine.lines) found.names.insert(line.name);
    if (rank.id() == RankId{0}) found.notes = mine.notes;
  });
  return found;
}

TEST(Probe, APlatformWithoutAKindOfCopiesHasAllOtherLines) {
  Platform platform = sample_platform();
  platform.copies.erase(CopyKind::device_to_pinned);
  const Found found = probe_names(platform);
  EXPECT_TRUE(found.names.contains("copy pinned-to-device near"));
  EXPECT_TRUE(found.names.contains("copy pinned-to-device far"));
  EXPECT_TRUE(found.names.contains("peer copy write direct of 2 GPUs"));
  EXPECT_FALSE(found.names.contains("copy device-to-pinned far"));
  EXPECT_TRUE(std::ranges::any_of(found.notes, [](const std::string& note) {
    return note.starts_with("0/1: no copies device-to-shared-pinned far: ") &&
           note.find("'driver.copies.device-to-pinned'") != std::string::npos;
  }));
}

TEST(Probe, RanksThatShareAGpuSayWhySignalsAreNotMeasured) {
  const Found found = probe_names(sample_platform(), {0, 1, {}});
  EXPECT_TRUE(found.names.contains("message pinned same-node"));
  EXPECT_FALSE(found.names.contains("put and signal same-node"));
  EXPECT_TRUE(std::ranges::any_of(found.notes, [](const std::string& note) {
    return note.starts_with("0/1: no puts with signals: both ranks use this GPU");
  }));
}

TEST(Probe, APlatformWithoutAnyCopiesStillHasMessages) {
  Platform platform = sample_platform();
  platform.copies.clear();
  platform.fallback.reset();
  const Found found = probe_names(platform);
  EXPECT_TRUE(found.names.contains("message pinned same-node"));
  for (const std::string& name : found.names) EXPECT_EQ(name.find("copy"), std::string::npos) << name;
}

}  // namespace
}  // namespace twinlink::model
