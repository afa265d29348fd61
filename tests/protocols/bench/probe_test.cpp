#include "protocols/bench/probe/probe.hpp"

#include <gmock/gmock.h>

#include <cmath>
#include <map>
#include <set>
#include <tuple>

#include "protocols/bench/measure/check_error.hpp"
#include "protocols/trace/decorated_rank.hpp"
#include "tests/explore/explorer/fake_world.hpp"
#include "tests/protocols/bench/probe_world.hpp"
#include "tests/protocols/bench/samples.hpp"
#include "tests/protocols/bench/slow_at_first.hpp"
#include "tests/support/said_by.hpp"

namespace twinlink::bench {
namespace {

using testing::Contains;
using testing::DoubleNear;
using testing::HasSubstr;

double transfer_us(Bytes size) { return 1 + 1e-3 * static_cast<double>(size.count()); }

/// "engine-block device-to-pinned of 8 B" and its like: each engine, way and block that `small_plan()` can measure.
std::set<std::string> block_lines() {
  std::set<std::string> all;
  for (const std::string engine : {"engine", "kernel"}) {
    for (const std::string way : {"device-to-device", "device-to-pinned", "pinned-to-device"}) {
      for (const std::string block : {"8", "64", "4096"}) all.insert(engine + "-block " + way + " of " + block + " B");
    }
  }
  return all;
}

/// What a rank says that does not run them.
std::string no_programs(const std::string& gpu) {
  return gpu + ": no programs of thread blocks: nothing here runs programs of thread blocks";
}

TEST(Probe, KeepsTheQuieterPassOfEveryLine) {
  const auto medians = [](int passes, Seconds slow_until) {
    ProbePlan plan = small_plan();
    plan.passes = passes;
    std::map<std::tuple<std::string, std::string, std::string, Bytes>, double> times_us;
    run_fake_world({}, [&](MeasuredRank& rank) {
      SlowAtFirst slow(rank, slow_until);
      for (const ProbeLine& line : probe(slow, plan).lines) {
        const bool is_new =
            times_us
                .emplace(std::tuple(line.name, line.gpu, line.peer, line.size), std::round(line.time_us.median * 1e6))
                .second;
        EXPECT_TRUE(is_new) << line.name;
      }
    });
    return times_us;
  };
  const auto quiet = medians(1, {});
  const Seconds during_the_first{200e-6};
  EXPECT_NE(medians(1, during_the_first), quiet) << "what the test adds itself shows";
  EXPECT_EQ(medians(2, during_the_first), quiet);
}

TEST(Probe, TellsNotesOfEveryPassOnce) {
  ProbePlan plan = small_plan();
  plan.passes = 3;
  const FakeWorldOptions alone{.ranks = 1, .peer_access = false};
  EXPECT_EQ(probe_world(alone, plan).notes, probe_world(alone).notes);
}

TEST(Probe, MeasuresEveryPrimitiveOfEveryRank) {
  const ProbeFindings findings = probe_world({});
  std::set<std::string> found = names(findings);
  for (const std::string& line : block_lines()) EXPECT_EQ(found.erase(line), 1U) << line;
  EXPECT_EQ(found, (std::set<std::string>{"copy pinned-to-device near",
                                          "copy device-to-pinned near",
                                          "copy pinned-to-device far",
                                          "copy device-to-pinned far",
                                          "copy pageable-to-device near",
                                          "copy device-to-pageable near",
                                          "copy pageable-to-device far",
                                          "copy device-to-pageable far",
                                          "copy shared-pinned-to-device near",
                                          "copy device-to-shared-pinned near",
                                          "copy shared-pinned-to-device far",
                                          "copy device-to-shared-pinned far",
                                          "copy device-to-device",
                                          "copy host-to-host",
                                          "queued copy pinned-to-device near",
                                          "queued copy device-to-pinned near",
                                          "queued copy kernel-push",
                                          "queued copy resident-push",
                                          "start copy pinned-to-device near",
                                          "start copy device-to-pinned near",
                                          "start peer copy write direct",
                                          "start copy kernel-push",
                                          "start copy resident-push",
                                          "copy pinned near both-ways",
                                          "copy pinned-to-device near cpu-written",
                                          "copy pageable-to-device near cpu-written",
                                          "copy pinned-to-device near of 2 GPUs",
                                          "copy device-to-pinned near of 2 GPUs",
                                          "copy pinned near both-ways of 2 GPUs",
                                          "copy pageable-to-device near of 2 GPUs",
                                          "copy device-to-pageable near of 2 GPUs",
                                          "copy host-to-host of 2 GPUs",
                                          "copy kernel-local",
                                          "copy kernel-to-pinned",
                                          "copy kernel-from-pinned",
                                          "copy kernel-push",
                                          "copy kernel-pull",
                                          "copy resident-push",
                                          "put and signal same-node",
                                          "put and signal by kernel same-node",
                                          "put and signal by resident kernel same-node",
                                          "allocate device",
                                          "allocate pinned",
                                          "allocate pageable",
                                          "allocate shared-pinned",
                                          "release device",
                                          "release pinned",
                                          "release pageable",
                                          "release shared-pinned",
                                          "register device",
                                          "deregister device",
                                          "handle export",
                                          "handle open",
                                          "handle close",
                                          "peer copy write direct",
                                          "peer copy write direct of 2 GPUs",
                                          "peer copy read direct of 2 GPUs",
                                          "queued peer copy read direct",
                                          "queued peer copy write direct",
                                          "queued put and signal same-node",
                                          "queued put and signal by kernel same-node",
                                          "queued put and signal by resident kernel same-node",
                                          "start message same-node",
                                          "queued message same-node",
                                          "queued message same-node both-ways",
                                          "queued bare control message same-node both-ways",
                                          "peer copy read direct",
                                          "message pinned same-node",
                                          "message pageable same-node",
                                          "message pageable same-node both-ways",
                                          "control message same-node"}));
  for (const std::string gpu : {"0/0", "0/1"}) {
    for (const std::string name : {"copy pinned-to-device near", "copy host-to-host", "peer copy write direct"}) {
      EXPECT_EQ(lines(findings, name, gpu).size(), 2U) << name << " on " << gpu;
    }
  }
  // Here copies take all their time when they start, and looks take none.
  EXPECT_THAT(findings.notes,
              testing::ElementsAre(no_programs("0/0"), "0/0: no line for 'finish ended copy': it takes no time",
                                   "0/0: no line for 'look copy': it takes no time",
                                   "0/0: no line for 'start receive same-node': it takes no time", no_programs("0/1"),
                                   "0/1: no line for 'finish ended copy': it takes no time",
                                   "0/1: no line for 'look copy': it takes no time"));
}

TEST(Probe, TellsHowFarItIs) {
  ProbePlan plan = small_plan();
  plan.only = "no line has this name";
  plan.passes = 2;
  std::size_t last = 0;
  std::size_t parts = 0;
  plan.on_progress = [&](std::size_t done, std::size_t all) {
    EXPECT_EQ(done, last + 1);
    last = done;
    parts = all;
  };
  probe_world({}, plan);
  EXPECT_GT(parts, 10U);
  EXPECT_EQ(last, parts);
}

TEST(Probe, NamesEveryLineOnce) {
  std::set<std::tuple<std::string, std::string, std::string, Bytes>> keys;
  for (const ProbeLine& line : probe_world({.ranks = 3}).lines) {
    EXPECT_TRUE(keys.insert({line.name, line.gpu, line.peer, line.size}).second) << line.name;
  }
}

TEST(Probe, TimesAreOneWay) {
  const ProbeFindings findings = probe_world({});
  for (const std::string name : {"copy device-to-pinned near", "peer copy read direct", "message pinned same-node"}) {
    for (const ProbeLine& line : lines(findings, name)) {
      EXPECT_THAT(line.time_us.median, DoubleNear(transfer_us(line.size), 1e-6)) << name;
      EXPECT_THAT(line.bandwidth_MBps, DoubleNear(static_cast<double>(line.size.count()) / line.time_us.median, 1e-6));
    }
  }
  EXPECT_EQ(lines(findings, "handle open").at(0).bandwidth_MBps, 0);
}

TEST(Probe, BlocksAreCountedByTheBytesThatMove) {
  const ProbeFindings findings = probe_world({});
  const auto found = lines(findings, "engine-block device-to-pinned of 4096 B");
  ASSERT_EQ(found.size(), 1U) << "4 B are no whole block";
  EXPECT_EQ(found[0].size, 64_KiB);
  EXPECT_THAT(found[0].time_us.median, DoubleNear(transfer_us(64_KiB), 1e-6));
}

/// Refuses what a platform without these costs refuses.
class PlainRank final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (!blocks.empty()) throw InputError("no blocks here");
    if (engine != Engine::dma) throw InputError("no kernels here");
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }
  Op put(View, View, Stream, Engine, std::optional<Signal>) override { throw UnavailableError("no signals here"); }
};

TEST(Probe, LeavesOutWhatTheMachineLacks) {
  ProbeFindings findings;
  run_fake_world({}, [&](MeasuredRank& rank) {
    PlainRank plain(rank);
    ProbeFindings mine = probe(plain, small_plan());
    if (rank.id() == RankId{0}) findings = std::move(mine);
  });
  for (const std::string& name : names(findings)) {
    EXPECT_THAT(name, testing::Not(testing::AnyOf(HasSubstr("kernel"), HasSubstr("resident"), HasSubstr("block"),
                                                  HasSubstr("signal"))));
  }
  EXPECT_EQ(lines(findings, "peer copy write direct").size(), 2U);
  EXPECT_THAT(findings.notes, Contains("0/0: no copies kernel-to-pinned: no kernels here"));
  EXPECT_THAT(findings.notes, Contains("0/1: no blocks device-to-pinned by the copy engine: no blocks here"));
  EXPECT_THAT(findings.notes, Contains("0/0: no copies kernel-push: no kernels here"));
  EXPECT_THAT(findings.notes, Contains("0/1: no copies kernel-pull: no kernels here"));
  EXPECT_THAT(findings.notes, Contains("0/0: no signals: no signals here"));
  EXPECT_THAT(findings.notes, Contains("0/0: no signals by kernel: no signals here"));
}

/// Refuses copies from device to page-locked memory, as a platform without that class of copies.
class WithoutCopiesOut final : public DecoratedRank {
 public:
  using DecoratedRank::DecoratedRank;
  Op start_copy(View to, View from, std::span<const Block> blocks, Stream stream, Engine engine) override {
    if (blocks.empty() && engine == Engine::dma && to.buffer.memory == Memory::pinned &&
        from.buffer.memory == Memory::device) {
      throw InputError("no way out");
    }
    return DecoratedRank::start_copy(to, from, blocks, stream, engine);
  }
};

TEST(Probe, OneMissingClassOfCopiesLeavesTheOthers) {
  ProbeFindings findings;
  run_fake_world({}, [&](MeasuredRank& rank) {
    // The two ends differ: what one cannot do, both must leave out of what they do together.
    WithoutCopiesOut poor(rank);
    ProbeFindings mine = probe(rank.id() == RankId{1} ? poor : rank, small_plan());
    if (rank.id() == RankId{0}) findings = std::move(mine);
  });
  std::set<std::string> missing;
  for (const std::string& name : names(findings)) {
    if (lines(findings, name, "0/1").empty()) missing.insert(name);
  }
  EXPECT_EQ(missing,
            (std::set<std::string>{
                "copy device-to-pinned far", "copy device-to-pinned near", "copy pinned near both-ways",
                "queued copy device-to-pinned near", "start copy device-to-pinned near", "put and signal same-node",
                "put and signal by kernel same-node", "put and signal by resident kernel same-node",
                "queued put and signal same-node", "queued put and signal by kernel same-node",
                "queued put and signal by resident kernel same-node", "message pinned same-node",
                "message pageable same-node", "message pageable same-node both-ways", "control message same-node",
                "start message same-node", "queued message same-node", "queued message same-node both-ways",
                "queued bare control message same-node both-ways"}))
      << "of the messages, rank 0 writes the lines";
  EXPECT_THAT(names(findings), testing::Not(Contains("copy device-to-pinned near of 2 GPUs")));
  EXPECT_THAT(names(findings), Contains("copy pinned-to-device near of 2 GPUs"));
  std::vector<std::string> refusals = findings.notes;
  std::erase_if(refusals, [](const std::string& note) { return note.find("no copies") == std::string::npos; });
  EXPECT_THAT(refusals, testing::ElementsAre("0/1: no copies device-to-pinned near: no way out",
                                             "0/1: no copies device-to-pinned far: no way out"));
}

TEST(Probe, SaysWhatItLeftOutAndWhy) {
  const ProbeFindings alone = probe_world({.ranks = 1, .numa_domains = 1});
  EXPECT_THAT(alone.notes,
              testing::ElementsAre("0/0: no far copies: there is one NUMA domain",
                                   "0/0: no registration of device memory: there is no peer", no_programs("0/0"),
                                   "0/0: no line for 'finish ended copy': it takes no time",
                                   "0/0: no line for 'look copy': it takes no time"));
  EXPECT_THAT(names(alone), testing::Not(Contains(HasSubstr("far"))));
  EXPECT_THAT(names(alone), testing::Not(Contains(HasSubstr("message"))));
}

TEST(Probe, TellsStagedPeerCopiesFromDirectOnes) {
  const ProbeFindings findings = probe_world({.peer_access = false});
  EXPECT_EQ(lines(findings, "peer copy write staged", "0/1").size(), 2U);
  EXPECT_TRUE(lines(findings, "peer copy write direct").empty());
  std::vector<std::string> staged = findings.notes;
  std::erase_if(staged, [](const std::string& note) { return note.find("staged") == std::string::npos; });
  EXPECT_THAT(staged, testing::ElementsAre("0/0 to 0/1: peer copies are staged: no peer access",
                                           "0/1 to 0/0: peer copies are staged: no peer access"));
}

TEST(Probe, MeasuresMessagesBetweenNodesAndNoPeerCopies) {
  const ProbeFindings findings = probe_world({.same_node = false});
  EXPECT_EQ(lines(findings, "message pageable other-node").size(), 2U);
  EXPECT_THAT(names(findings), testing::Not(Contains(HasSubstr("peer copy"))));
  EXPECT_THAT(names(findings), testing::Not(Contains("handle open")));
}

TEST(Probe, FindsABrokenPeerCopyAtTheOwnersSide) {
  // The first copy into rank 1 from a peer is one to see whether that works. Then come the writes of 4 B: one to warm
  // up, three that are timed, sixteen queued ones for each of these, and for each one to time its start and one before
  // that. Of 64 KiB there is one to warm up and one that is timed. The fault hits the last queued write of these:
  // nobody writes over it.
  constexpr int kSmall = 1 + 4 + 4 * 16 + 4 * 2;
  constexpr int kLarge = 2 + 2 * 16;
  const FakeWorldOptions world{.fault = {{Fault::Kind::scramble, RankId{1}, kSmall + kLarge - 1, 4_KiB}}};
  ProbePlan plan = small_plan();
  plan.large.iterations = 1;
  plan.small = {.warmup = 1, .iterations = 3};
  EXPECT_EQ(said_by<CheckError>([&] { probe_world(world, plan); }),
            "rank 1: peer copy write, 65536 B: scrambled at byte 4096");
}

TEST(Probe, RefusesPlansThatMakeNoSense) {
  ProbePlan plan = small_plan();
  plan.sizes = {8_B, 4_B};
  EXPECT_THROW(probe_world({}, plan), UsageError);
  plan.sizes.clear();
  EXPECT_THROW(probe_world({}, plan), UsageError);
  plan = small_plan();
  plan.large.iterations = 0;
  EXPECT_THROW(probe_world({}, plan), UsageError);
  plan = small_plan();
  plan.passes = 0;
  EXPECT_THROW(probe_world({}, plan), UsageError);
}

TEST(Probe, KeepsSamplesIfAsked) {
  ProbePlan plan = small_plan();
  EXPECT_TRUE(probe_world({}, plan).lines.at(0).samples_us.empty());
  plan.keep_samples = true;
  for (const ProbeLine& line : probe_world({}, plan).lines) {
    EXPECT_EQ(line.samples_us.size(), line.time_us.n) << line.name;
  }
}

}  // namespace
}  // namespace twinlink::bench
