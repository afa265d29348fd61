// What the CPU does of a copy, what lies between two queued copies, and where CPUs slow each other down: probes made
// from known costs give these costs back.
#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "tests/validate/calibrate/synthetic_probes.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/calibrate/contention.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {
namespace {

using test::kBase;
using test::line;
using test::platform_of;
using test::Probes;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::Not;

// In microseconds; the rate in GB/s.
constexpr double kHost = 1.8;
constexpr double kCompletion = 0.6;
constexpr double kLatency = 4.5;
constexpr double kGap = 2.5;
constexpr double kRate = 50;

double flow_us(double bytes) { return bytes / (kRate * 1e3); }

/// What one of the queued copies takes on a machine with these costs. Where the engine decides, the first takes what
/// one takes alone, and each other one a gap and its bytes; where the CPU does, it starts them one after the
/// other.
double queued_us(double bytes) {
  const double by_engine =
      kHost + kLatency + flow_us(bytes) + kCompletion + (bench::kQueuedCopies - 1) * (kGap + flow_us(bytes));
  const double by_cpu = kHost * bench::kQueuedCopies + kLatency + flow_us(bytes) + kCompletion;
  return std::max(by_engine, by_cpu) / bench::kQueuedCopies;
}

/// `queued` says what one of the queued copies takes, by its bytes.
Probes whole_machine(const test::TimeOf& queued = queued_us) {
  return Probes()
      .add_one("start copy pinned-to-device near", kHost)
      .add_one("finish ended copy", kCompletion)
      .add("copy pinned-to-device near", line(kHost + kLatency + kCompletion, kRate))
      .add("queued copy pinned-to-device near", queued);
}

TEST(CalibrationOfCpus, GivesTheCostsBackThatProbesWereMadeOf) {
  const auto calibration = whole_machine().calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const platforms::Cost& cost = platform.copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_NEAR(cost.overhead.value.microseconds(), kHost, 1e-3);
  EXPECT_EQ(cost.overhead.source.quality, platforms::Quality::measured);
  EXPECT_THAT(cost.overhead.source.text, HasSubstr("start copy pinned-to-device near"));
  EXPECT_NEAR(platform.runtime.completion.value().value.microseconds(), kCompletion, 1e-3);
  EXPECT_THAT(platform.runtime.completion->source.text, HasSubstr("finish ended copy"));
  EXPECT_NEAR(cost.latency.value.at(1_KiB).microseconds(), kLatency, 1e-3);
  EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), kRate * 1e9, 1e6);
  // A rate of five digits is off by up to 1e-5 of the 84 us that 4 MiB flow.
  EXPECT_NEAR(cost.gap.value().value.at(1_MiB).microseconds(), kGap, 0.1);
  EXPECT_THAT(cost.gap->source.text, HasSubstr("queued copy pinned-to-device near"));
  // A curve of gaps may pass by one by two percent of the time between two copies.
  for (const FitQuality& fit : calibration.fits) {
    EXPECT_LT(fit.errors.max, fit.probe.starts_with("queued") ? 0.03 : 1e-3) << fit.probe;
  }
}

/// Of 16 MiB a percent of the bytes' time is longer than any gap.
TEST(CalibrationOfCpus, LargeCopiesTellTheErrorOfTheRateAndNoGap) {
  const auto queued = [](double bytes) {
    return queued_us(bytes) + (bytes >= static_cast<double>((16_MiB).count()) ? flow_us(bytes) / 100 : 0);
  };
  const platforms::Platform platform = platform_of(whole_machine(queued).calibrate());
  const auto& gap = platform.copies.at(platforms::CopyKind::pinned_to_device).gap;
  EXPECT_NEAR(gap.value().value.at(16_MiB).microseconds(), kGap, 0.1);
}

TEST(CalibrationOfCpus, ToStartALaunchTakesNoLongerThanAQueueOfPutsLeavesForIt) {
  constexpr double kPut = 9.4;
  constexpr double kEach = 4.27;
  const auto calibration = Probes()
                               .add_one("start copy kernel-push", 4.5, "0/1")
                               .add_one("copy kernel-push", kPut - 0.4, "0/1")
                               .add_one("put and signal by kernel same-node", kPut, "0/1")
                               .add_one("queued put and signal by kernel same-node",
                                        (kPut + kEach * (bench::kQueuedCopies - 1)) / bench::kQueuedCopies, "0/1")
                               .calibrate();
  const auto host = platform_of(calibration).copies.at(platforms::CopyKind::kernel_push).overhead;
  EXPECT_NEAR(host.value.microseconds(), kEach * (1 - kTolerance), 1e-3);
  EXPECT_EQ(host.source.quality, platforms::Quality::derived);
  EXPECT_THAT(host.source.text, HasSubstr("queued put and signal by kernel same-node"));
  // Of the copy itself the rest is latency.
  const auto latency = platform_of(calibration).copies.at(platforms::CopyKind::kernel_push).latency;
  EXPECT_NEAR(latency.value.at(8_B).microseconds(), kPut - 0.4 - kEach * (1 - kTolerance), 1e-3);
}

TEST(CalibrationOfCpus, ToStartALaunchTakesNoLongerThanAQueueOfKernelsLeavesForIt) {
  constexpr double kEach = 4.2;
  const auto calibration = Probes()
                               .add_one("start copy kernel-push", 4.7, "0/1")
                               .add_one("finish ended copy", 1.4)
                               .add_one("copy kernel-push", 9, "0/1")
                               .add_one("queued copy kernel-push", kEach, "0/1")
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  EXPECT_NEAR(platform.copies.at(platforms::CopyKind::kernel_push).overhead.value.microseconds(), kEach, 1e-3);
  EXPECT_NEAR(platform.runtime.completion.value().value.microseconds(), 1.4, 1e-3);
  EXPECT_NEAR(platform.copies.at(platforms::CopyKind::kernel_push).latency.value.at(8_B).microseconds(),
              9 - kEach - 1.4, 1e-3);
  const auto changes =
      std::ranges::count(calibration.replaced, "driver.copies.kernel-push.overhead", &NumberChange::path);
  EXPECT_EQ(changes, 1) << "what was measured first is no change of its own";
  EXPECT_THAT(calibration.replaced, Contains(Field(&NumberChange::after, "4.2 us")));
  // Where the start takes less than that, it is what it is.
  const auto shorter = Probes()
                           .add_one("start copy kernel-push", 4.1, "0/1")
                           .add_one("copy kernel-push", 9, "0/1")
                           .add_one("queued copy kernel-push", kEach, "0/1")
                           .calibrate();
  const auto start = platform_of(shorter).copies.at(platforms::CopyKind::kernel_push).overhead;
  EXPECT_NEAR(start.value.microseconds(), 4.1, 1e-3);
  EXPECT_EQ(start.source.quality, platforms::Quality::measured);
}

/// The CPU decides of small copies, and the engine of large ones.
TEST(CalibrationOfCpus, AGapIsNoLongerThanThatOfLargerCopies) {
  const auto queued = [](double bytes) {
    const double gap = bytes < 100e3 ? 5 : 2;
    return (kHost + kLatency + (flow_us(bytes) + gap) * (bench::kQueuedCopies - 1) + flow_us(bytes) + kCompletion) /
           bench::kQueuedCopies;
  };
  const platforms::Platform platform = platform_of(whole_machine(queued).calibrate());
  const auto& gap = platform.copies.at(platforms::CopyKind::pinned_to_device).gap;
  for (const Bytes size : {1_B, 4_KiB, 256_KiB, 1_MiB}) EXPECT_NEAR(gap.value().value.at(size).microseconds(), 2, 0.1);
}

TEST(CalibrationOfCpus, WithoutTheirLinesNothingIsThereThatTheBaseLacks) {
  const platforms::Platform platform =
      platform_of(Probes().add("copy pinned-to-device near", line(7, kRate)).calibrate());
  EXPECT_FALSE(platform.runtime.completion);
  EXPECT_FALSE(platform.copies.at(platforms::CopyKind::pinned_to_device).gap);
}

TEST(CalibrationOfCpus, TheNextProbesLeaveWhatTheyDoNotTell) {
  const test::ScratchFolder folder;
  const auto first = folder.write("first.yaml", whole_machine().calibrate().platform_text);
  const double whole_us = kHost + kCompletion + 5;
  const auto again = Probes().add("copy pinned-to-device near", line(whole_us, kRate)).calibrate(first);
  const platforms::Platform platform = platform_of(again);
  const platforms::Cost& cost = platform.copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_NEAR(cost.latency.value.at(1_KiB).microseconds(), 5, 1e-3) << "the base's host and completion come off";
  EXPECT_NEAR(cost.gap.value().value.at(1_MiB).microseconds(), kGap, 0.1);
  EXPECT_EQ(cost.overhead.source.quality, platforms::Quality::measured);
}

TEST(CalibrationOfCpus, CopiesWithoutALineTakeTheirSiblings) {
  const auto calibration = Probes()
                               .add_one("start copy kernel-push", 3, "0/1")
                               .add("copy kernel-push", line(9, 350), "0/0", "0/1")
                               .add("copy kernel-local", line(8, 2000))
                               .add("copy pageable-to-device near", line(8, 15))
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const platforms::Cost& local = platform.copies.at(platforms::CopyKind::kernel_local);
  EXPECT_NEAR(local.overhead.value.microseconds(), 3, 1e-3);
  EXPECT_EQ(local.overhead.source.quality, platforms::Quality::derived);
  EXPECT_THAT(local.overhead.source.text, HasSubstr("that of driver.copies.kernel-push.overhead"));
  EXPECT_NEAR(local.latency.value.at(1_KiB).microseconds(), 5, 1e-3);
  // Of a copy that was not measured, the base's latency belongs to the base's host.
  const platforms::Platform base = platforms::read_platform(kBase);
  const auto pull = platforms::CopyKind::kernel_pull;
  EXPECT_EQ(platform.copies.at(pull).overhead.value, base.copies.at(pull).overhead.value);
  const auto pageable = platforms::CopyKind::pageable_to_device;
  EXPECT_EQ(platform.copies.at(pageable).overhead.value, base.copies.at(pageable).overhead.value)
      << "the CPU does all of it";
}

TEST(CalibrationOfCpus, WhatTheSameEngineDoesIsAlike) {
  for (const auto& [kind, probed] : {std::pair("device-to-device", "peer"),
                                     {"peer-read", "peer"},
                                     {"kernel-pull", "kernel-push"},
                                     {"kernel-local", "kernel-push"},
                                     {"kernel-to-pinned", "kernel-push"},
                                     {"kernel-from-pinned", "kernel-push"}}) {
    for (const std::string owner : {"driver.copies.", "gpu_types.x.copies."}) {
      EXPECT_EQ(path_alike(owner + kind), owner + probed);
    }
    EXPECT_EQ(path_alike(std::string("driver.runtime.") + kind), std::nullopt);
  }
  for (const char* kind : {"peer", "kernel-push", "pinned-to-device", "host-to-host"}) {
    EXPECT_EQ(path_alike(std::string("driver.copies.") + kind), std::nullopt) << kind;
  }
  // Its gap too.
  const auto calibration = Probes()
                               .add("copy kernel-push", line(9, 350), "0/0", "0/1")
                               .add("queued copy kernel-push", line(3, 350), "0/0", "0/1", 1_B, 1_MiB)
                               .add("copy kernel-local", line(9, 350))
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const auto gap = [&](platforms::CopyKind kind) { return platform.copies.at(kind).gap; };
  ASSERT_TRUE(gap(platforms::CopyKind::kernel_local));
  EXPECT_EQ(gap(platforms::CopyKind::kernel_local)->value.at(4_KiB),
            gap(platforms::CopyKind::kernel_push)->value.at(4_KiB));
  EXPECT_EQ(gap(platforms::CopyKind::kernel_local)->source.quality, platforms::Quality::derived);
  EXPECT_THAT(gap(platforms::CopyKind::kernel_local)->source.text, HasSubstr("that of driver.copies.kernel-push.gap"));
  EXPECT_FALSE(gap(platforms::CopyKind::pinned_to_device));
}

TEST(CalibrationOfCpus, SourcesAreNamedByTheirNumbers) {
  for (const auto& [path, name] : {std::pair("driver.copies.peer", "fit-peer"),
                                   {"gpu_types.m2090.copies.peer", "fit-peer"},
                                   {"driver.runtime.ipc_open", "fit-ipc-open"},
                                   {"mpi.intra_node", "fit-intra-node"},
                                   {"driver.fallback", "fit-fallback"},
                                   {"gpu_types.h200.blocks.ll_rate", "fit-gpu-types-h200-blocks-ll-rate"}}) {
    EXPECT_EQ(source_name(path), name);
  }
}

TEST(CalibrationOfCpus, CopiesByTheCpuHaveNoCompletion) {
  const auto platform =
      platform_of(Probes().add_one("finish ended copy", 0.6).add("copy host-to-host", line(1, 12)).calibrate());
  const platforms::Cost& cost = platform.copies.at(platforms::CopyKind::host_to_host);
  EXPECT_NEAR((cost.overhead.value + cost.latency.value.at(1_KiB)).microseconds(), 1, 1e-3);
}

TEST(CalibrationOfCpus, AMeasuredHostThatExceedsTheWholeIsTakenBack) {
  const auto calibration = Probes()
                               .add_one("start copy pinned-to-device near", 2)
                               .add_one("finish ended copy", 0.6)
                               .add("copy pinned-to-device near", line(2.1, kRate))
                               .calibrate();
  EXPECT_NEAR(platform_of(calibration).copies.at(platforms::CopyKind::pinned_to_device).overhead.value.microseconds(),
              1.5, 1e-3);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("overhead: 2.00 us measured, but all takes only 1.50 us")));
}

TEST(CalibrationOfCpus, AGapIsNeverNegative) {
  // As if the engine copied two at a time.
  const auto calibration = Probes()
                               .add("copy pinned-to-device near", line(7, kRate))
                               .add("queued copy pinned-to-device near", line(1, 2 * kRate))
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const auto& gap = platform.copies.at(platforms::CopyKind::pinned_to_device).gap;
  EXPECT_EQ(gap.value().value.at(1_B), Seconds{});
  EXPECT_EQ(gap.value().value.at(4_MiB), Seconds{});
}

/// The engine may need less, but not more.
TEST(CalibrationOfCpus, SizesThatTheCpuLimitsTellWhatAGapIsAtMost) {
  constexpr double kEach = 4;
  const auto calibration = Probes()
                               .add_one("start copy pinned-to-device near", 3.5)
                               .add_one("finish ended copy", 0.5)
                               .add("copy pinned-to-device near", line(7, kRate))
                               .add_one("queued copy pinned-to-device near", kEach)
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const auto& gap = platform.copies.at(platforms::CopyKind::pinned_to_device).gap;
  EXPECT_NEAR(gap.value().value.at(1_B).microseconds(), (kEach * bench::kQueuedCopies - 7) / (bench::kQueuedCopies - 1),
              1e-3);
}

/// As of reads from a peer, of which the last answer is waited for.
TEST(CalibrationOfCpus, AGapMayDependOnTheSize) {
  constexpr double kSmall = 1.5;
  constexpr double kLarge = 3;
  const auto queued = [](double bytes) {
    const double gap = bytes > 300e3 ? kLarge : kSmall;
    return (kHost + kLatency + (flow_us(bytes) + gap) * (bench::kQueuedCopies - 1) + flow_us(bytes) + kCompletion) /
           bench::kQueuedCopies;
  };
  const auto calibration = Probes()
                               .add_one("start copy pinned-to-device near", kHost)
                               .add_one("finish ended copy", kCompletion)
                               .add("copy pinned-to-device near", line(kHost + kLatency + kCompletion, kRate))
                               .add("queued copy pinned-to-device near", queued, "0/0", {}, 64_KiB, 4_MiB)
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const auto& gap = platform.copies.at(platforms::CopyKind::pinned_to_device).gap;
  EXPECT_NEAR(gap.value().value.at(64_KiB).microseconds(), kSmall, 0.2);
  EXPECT_NEAR(gap.value().value.at(4_MiB).microseconds(), kLarge, 0.2);
}

TEST(CalibrationOfCpus, CpusThatSlowEachOtherDownAreNoted) {
  const auto calibration = Probes()
                               .add("copy host-to-host", line(1, 12))
                               .add("copy host-to-host of 2 GPUs", line(1, 9))
                               .add("copy device-to-pageable near", line(8, 15))
                               .add("copy device-to-pageable near of 2 GPUs", line(8, 14.8))
                               .add("message pageable same-node", line(1, 10), "0/0", "0/1")
                               .add("message pageable same-node both-ways", line(1, 6), "0/0", "0/1")
                               .calibrate();
  EXPECT_THAT(calibration.notes,
              Contains("copy host-to-host of 2 GPUs: at 64M each gets 75 % of what one gets alone; no number is fitted "
                       "to it"));
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("same-node both-ways: at 64M each gets 60 %")));
  EXPECT_THAT(calibration.notes, Not(Contains(HasSubstr("device-to-pageable"))));
  EXPECT_THAT(calibration.unused, Contains(Field(&UnusedProbe::probe, "copy host-to-host of 2 GPUs")));
}

/// At the largest size that both have, of the middle of all GPUs and jobs; each is held against its own.
TEST(CalibrationOfCpus, WhoIsSlowedDownIsHeldAgainstItself) {
  const std::string alone = "copy host-to-host";
  const std::string both = alone + " of 2 GPUs";
  const auto at = [](double us) { return [=](double) { return us; }; };
  Probes probes;
  probes.add(alone, at(2), "0/0", {}, 4_KiB, 64_KiB)
      .add(both, at(2), "0/0", {}, 4_KiB, 4_KiB)
      .add(both, at(4), "0/0", {}, 64_KiB, 1_MiB)  // there is none alone of the largest
      .add(alone, at(10), "0/1", {}, 64_KiB, 64_KiB)
      .add(both, at(10), "0/1", {}, 64_KiB, 64_KiB)
      .next_file()
      .add(alone, at(6), "0/0", {}, 64_KiB, 64_KiB)
      .add(both, at(10), "0/0", {}, 64_KiB, 64_KiB);
  // Of 50, 100 and 60 %.
  EXPECT_THAT(contention_notes(probes.set()),
              ElementsAre(both + ": at 64K each gets 60 % of what one gets alone; no number is fitted to it"));
  probes.next_file().add(both, at(99), "0/0", {}, 64_KiB, 64_KiB);
  EXPECT_THAT(contention_notes(probes.set()), ElementsAre(HasSubstr("60 %"))) << "that job has none alone";
  for (const double kept : {0.94, 0.96}) {
    Probes near;
    near.add(alone, at(kept), "0/0", {}, 4_KiB, 4_KiB).add(both, at(1), "0/0", {}, 4_KiB, 4_KiB);
    near.add("copy pinned-to-device near", at(1), "0/0", {}, 4_KiB, 4_KiB);
    near.add("copy pinned-to-device near of 2 GPUs", at(9), "0/0", {}, 4_KiB, 4_KiB);  // links have limits of their own
    EXPECT_EQ(contention_notes(near.set()).size(), kept < 0.95 ? 1U : 0U);
  }
}

/// What is measured on a host is measured on its own CPUs: the base's speed is in its numbers then.
TEST(CalibrationOfCpus, TakesTheBasesSpeedIntoItsNumbers) {
  const auto base = test::kPlatforms / "summit-node.yaml";
  const platforms::Platform before = platforms::read_platform(base);
  const double speed = before.node.memories.front().speed.value().value.of_one;
  ASSERT_LT(speed, 1);
  const platforms::Platform platform = platform_of(whole_machine().calibrate(base, true));
  for (const platforms::HostMemory& memory : platform.node.memories) EXPECT_EQ(memory.speed.value().value.of_one, 1);
  const platforms::CopyKind measured = platforms::CopyKind::pinned_to_device;
  const auto& copies = platform.gpu_types.front().copies;
  EXPECT_NEAR(copies.at(measured).overhead.value.microseconds(), kHost, 1e-3);
  // Another kind was not measured: it takes what it took in the base's simulations.
  const platforms::CopyKind other = platforms::CopyKind::peer;
  const Seconds then = before.gpu_types.front().copies.at(other).overhead.value / speed;
  EXPECT_NEAR(copies.at(other).overhead.value.microseconds(), then.microseconds(), 1e-2);
  EXPECT_NEAR(platform.runtime.ipc_open.value.microseconds(), (before.runtime.ipc_open.value / speed).microseconds(),
              1);
}

/// Whatever was not measured takes what it took, but for the digits that a file holds.
TEST(CalibrationOfCpus, WhatWasNotMeasuredTakesWhatItTookOnTheBasesProcessors) {
  for (const char* name : {"summit-node", "piz-daint", "keeneland-kfs", "rtx4090-no-peers"}) {
    const auto base = test::kPlatforms / (std::string(name) + ".yaml");
    platforms::Platform slow = platforms::read_platform(base);
    for (platforms::HostMemory& memory : slow.node.memories)
      memory.speed = {.value = {0.6}, .source = {platforms::Quality::assumed, "a test"}};
    const test::ScratchFolder folder;
    const auto file = folder.write("slow.yaml", platform_text(slow));
    const platforms::Topology before(slow);
    const platforms::Platform own = platform_of(Probes().add_one("look copy", 0.21).calibrate(file, true));
    const platforms::Topology after(own);
    std::size_t compared = 0;
    for (const std::string probe : {"copy pinned-to-device near",
                                    "copy device-to-pageable near",
                                    "copy host-to-host",
                                    "copy kernel-to-pinned",
                                    "start copy device-to-device",
                                    "peer copy write direct",
                                    "peer copy read staged",
                                    "finish ended copy",
                                    "message pageable same-node",
                                    "queued message same-node",
                                    "queued message same-node both-ways",
                                    "start message same-node",
                                    "control message same-node",
                                    "message pinned other-node",
                                    "start message other-node",
                                    "queued message other-node",
                                    "allocate pinned",
                                    "handle open",
                                    "program",
                                    "start graph of 2 programs"}) {
      const bool other_node = probe.find("other-node") != std::string::npos;
      if (probe.starts_with("peer") && before.part_of(0).gpus == 1) continue;
      if (other_node && before.graph().gpus.size() == before.part_of(0).gpus) continue;
      const std::string peer = other_node ? "1/0" : before.part_of(0).gpus > 1 ? "0/1" : "0/0";
      for (const Bytes size : {8_B, 1_MiB}) {
        const bench::ProbeLine line{.name = probe, .gpu = "0/0", .peer = peer, .size = size};
        std::string reason;
        const auto then = find_primitive(line, before, reason);
        if (!then) continue;
        const auto us = [&](const platforms::Topology& machine) {
          const auto time = predict(find_primitive(line, machine, reason).value(), size, machine);
          return time ? time->microseconds() : -1;
        };
        EXPECT_NEAR(us(after) / us(before), 1, 3e-4) << name << ": " << probe << " " << format_size(size);
        ++compared;
      }
    }
    EXPECT_GT(compared, 20U) << name;
  }
}

}  // namespace
}  // namespace twinlink::validate
