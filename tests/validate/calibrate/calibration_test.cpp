#include <algorithm>
#include <cmath>
#include <cstdint>
#include <filesystem>
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "platforms/costs/transfer_costs.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "platforms/topology/topology.hpp"
#include "tests/validate/calibrate/synthetic_probes.hpp"
#include "tests/validate/golden.hpp"
#include "validate/calibrate/calibration_report.hpp"

namespace twinlink::validate {
namespace {

using test::kBase;
using test::kPlatforms;
using test::line;
using test::platform_of;
using test::Probes;
using ::testing::AllOf;
using ::testing::Contains;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;
using ::testing::ThrowsMessage;

/// A base that lacks `what`, or has something in its place.
std::filesystem::path base_with(const test::ScratchFolder& folder, const std::string& what,
                                const std::string& instead) {
  std::string text = test::read_file(kBase);
  const std::size_t at = text.find(what);
  EXPECT_NE(at, std::string::npos) << what;
  return folder.write("base.yaml", text.replace(at, what.size(), instead));
}

TEST(Calibration, ACopyTellsLatencyAndRate) {
  const auto calibration = Probes().add("copy pinned-to-device near", line(7, 50)).calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const platforms::Cost& cost = platform.copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_EQ(cost.overhead.value, 2.0_us) << "stays: a probe waits for the end, so it cannot tell";
  EXPECT_EQ(cost.overhead.source.quality, platforms::Quality::assumed);
  EXPECT_NEAR(cost.latency.value.at(1_KiB).microseconds(), 5, 1e-3);
  EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), 50e9, 50e9 * 1e-4);
  EXPECT_EQ(cost.rate->source.quality, platforms::Quality::measured);
  EXPECT_THAT(cost.rate->source.text,
              AllOf(HasSubstr("2026-11-21"), HasSubstr("NVIDIA H200"), HasSubstr("spread of the rounds +0.0 %"),
                    HasSubstr("copy pinned-to-device near"), HasSubstr("1 B to 64 MiB")));
}

/// Four adapters behind two links of PCIe get what these carry, which is less than four of theirs; one gets its own.
TEST(Calibration, WhatAdaptersShareIsNotTheFabricsLink) {
  const test::ScratchFolder folder;
  const auto link_with = [&](const std::string& adapters, double gigabytes_per_second) {
    const auto dgx =
        platforms::read_platform(kPlatforms / "dgx-a100.yaml", std::vector{"mpi.network.host_adapters=" + adapters});
    const auto base = folder.write("dgx-" + adapters + ".yaml", platforms::platform_text(dgx));
    const auto calibration =
        Probes().add("message pinned other-node", line(10, gigabytes_per_second), "0/0", "1/0").calibrate(base, true);
    const bool said = std::ranges::any_of(calibration.notes, [](const std::string& note) {
      return note.starts_with("fabric.link: what adapters share");
    });
    EXPECT_EQ(said, adapters == "4");
    return platform_of(calibration).fabric->link.value.bytes_per_second();
  };
  EXPECT_EQ(link_with("4", 55), 24.46e9);
  EXPECT_NEAR(link_with("1", 20), 20e9, 20e9 * 1e-3);
}

TEST(Calibration, WhatIsNotProbedStays) {
  const auto calibration = Probes().add("copy pinned-to-device near", line(7, 50)).calibrate();
  const auto before = all_numbers(platforms::read_platform(kBase));
  for (const platforms::NumberEntry& entry : all_numbers(platform_of(calibration))) {
    if (entry.path.starts_with("driver.copies.pinned-to-device.")) continue;
    const auto same = std::ranges::find(before, entry.path, &platforms::NumberEntry::path);
    ASSERT_NE(same, before.end()) << entry.path;
    EXPECT_EQ(entry.value, same->value) << entry.path;
    EXPECT_EQ(entry.source.text, same->source.text) << entry.path;
  }
  EXPECT_THAT(calibration.kept, Contains(Field(&platforms::NumberEntry::path, "driver.copies.peer.rate")));
  EXPECT_THAT(calibration.kept,
              Not(Contains(Field(&platforms::NumberEntry::path, "driver.copies.pinned-to-device.rate"))));
  ASSERT_EQ(calibration.replaced.size(), 2U);
  EXPECT_EQ(calibration.replaced[0].path, "driver.copies.pinned-to-device.latency");
  EXPECT_EQ(calibration.replaced[1].before, "55.57 GB/s");
  EXPECT_EQ(calibration.replaced[1].after, "50 GB/s");
}

TEST(Calibration, LinesThatTheSimulationChargesAlikeAreFittedTogether) {
  const auto calibration = Probes()
                               .add("copy pinned-to-device near", line(6, 50))
                               .add("copy shared-pinned-to-device near", line(6.6, 50))
                               .calibrate();
  const platforms::Cost cost = platform_of(calibration).copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_NEAR((cost.overhead.value + cost.latency.value.at(Bytes{1})).microseconds(), 6.3, 0.05);
  ASSERT_EQ(calibration.fits.size(), 2U) << "but each says how well it is met";
  EXPECT_GT(calibration.fits[0].errors.bias, 0.01);
  EXPECT_LT(calibration.fits[1].errors.bias, -0.01);
}

/// Its probes, their spread, and how far the platform is from them.
TEST(Calibration, ASourceSaysWhatItIsAFitOf) {
  Probes probes;
  for (const char* name :
       {"copy pinned-to-device near", "copy pinned-to-device far", "copy shared-pinned-to-device near"}) {
    probes.add(name, line(6, 50));
  }
  for (Probe& probe : probes.set().probes) {
    probe.line.time_us.p5 = 0.98 * probe.line.time_us.median;
    probe.line.time_us.p95 = 1.03 * probe.line.time_us.median;
  }
  const auto source = [&] {
    return platform_of(probes.calibrate()).copies.at(platforms::CopyKind::pinned_to_device).rate.value().source.text;
  };
  const std::string end = "; fit within 0.0 % (geometric mean), 0.0 % (worst)";
  EXPECT_EQ(
      source(),
      "2026-11-21, twinlink-real 0.1.0 on 2 x NVIDIA H200: copy pinned-to-device near, copy pinned-to-device far, "
      "copy shared-pinned-to-device near; 1 B to 64 MiB, 42 medians; spread of the rounds -2.0 % to +3.0 % (p5, "
      "p95)" +
          end);
  probes.next_file().add("copy shared-pinned-to-device far", line(6, 50), "0/0", {}, 4_B, 4_B);
  probes.set().files[1].date.clear();
  EXPECT_EQ(source(),
            "2026-11-21, twinlink-real 0.1.0 on 2 x NVIDIA H200 and twinlink-real 0.1.0 on 2 x NVIDIA H200: copy "
            "pinned-to-device near, and 3 more of the kind; 1 B to 64 MiB, 43 medians; spread of the rounds -2.0 % to "
            "+3.0 % (p5, p95)" +
                end);
  const auto handle = [](std::size_t rounds) {
    Probes one;
    one.add_one("handle export", 2).set().probes[0].line.time_us.n = rounds;
    return platform_of(one.calibrate()).runtime.ipc_export.source.text;
  };
  EXPECT_THAT(handle(1), HasSubstr(": handle export; 8 B, 1 median; spread of the rounds +0.0 % to +0.0 % (p5, p95);"));
  EXPECT_THAT(handle(0), HasSubstr("; spread of the rounds not told;"));
}

TEST(Calibration, RuntimeAndMessages) {
  const auto pinning = [](double bytes) { return 40 + bytes * 1e5 / (1 << 30); };  // 100 ms per GiB
  const auto calibration = Probes()
                               .add("allocate pinned", pinning, "0/0", {}, 4_KiB)
                               .add_one("allocate device", 30)
                               .add_one("handle export", 0.05)
                               .add_one("handle open", 900, "0/1")
                               .add_one("handle close", 25, "0/1")
                               .add("message pinned same-node", line(0.7, 10), "0/0", "0/1")
                               .add_one("control message same-node", 0.5, "0/1")
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  EXPECT_NEAR(platform.runtime.pin_base.value.microseconds(), 40, 0.01);
  EXPECT_NEAR(platform.runtime.pin_per_gib.value.value(), 0.1, 1e-4);
  EXPECT_NEAR(platform.runtime.allocate_device.value.microseconds(), 30, 1e-3);
  EXPECT_NEAR(platform.runtime.ipc_export.value.microseconds(), 0.05, 1e-5);
  EXPECT_NEAR(platform.runtime.ipc_open.value.microseconds(), 900, 0.1);
  EXPECT_NEAR(platform.runtime.ipc_close.value.microseconds(), 25, 1e-3);
  EXPECT_NEAR(platform.intra_node.latency.value.at(1_KiB).microseconds(), 0.5, 1e-3);
  EXPECT_NEAR(platform.intra_node.rate.value().value.bytes_per_second(), 10e9, 1e6);
  EXPECT_NEAR(platform.intra_node.control.value.microseconds(), 0.5, 1e-3);
  EXPECT_EQ(platform.intra_node.eager_limit.value, 4_KiB);
}

TEST(Calibration, BlocksAndSignalsAreWhatComesOnTopOfCopies) {
  const auto copy = line(7, 50);
  const auto blocks = [&](double bytes) { return copy(bytes) + bytes / 64 * 0.004; };
  const auto calibration = Probes()
                               .add("copy device-to-pinned near", copy)
                               .add("engine-block device-to-pinned of 64 B", blocks, "0/0", {}, Bytes{64}, 1_MiB)
                               .add("peer copy write direct", line(6, 400), "0/0", "0/1")
                               .add("peer copy write direct", line(6.4, 400), "0/1", "0/0")
                               .add_one("put and signal same-node", 6.5, "0/1")
                               .calibrate();
  const platforms::RuntimeCosts runtime = platform_of(calibration).runtime;
  EXPECT_NEAR(runtime.engine_block.value().value.value(), 4e-9, 1e-11);
  // One way takes 6 us, the other 6.4 us; there is no put of 8 B, so the fit of both stands for them.
  EXPECT_NEAR(runtime.signal.value().value.microseconds(), 0.3, 0.02);
  EXPECT_NEAR(runtime.kernel_block.value().value.value(), 2.6e-9, 1e-15) << "stays";
}

TEST(Calibration, WhatProbesDoNotTellIsNotedAndStays) {
  const auto copy = line(7, 50);
  const auto calibration = Probes()
                               .add("copy device-to-pinned near", copy)
                               .add("engine-block device-to-pinned of 64 B", line(6.9, 50), "0/0", {}, Bytes{64}, 1_MiB)
                               .add_one("allocate pinned", 40)
                               .add_one("start copy resident-push", 0.4, "0/1")
                               .add_one("queued put and signal by kernel same-node", 4, "0/1")
                               .calibrate();
  for (const char* note :
       {"driver.runtime.engine_block: the probes take no longer than the copies alone",
        "driver.runtime.pin_base, pin_per_gib: the sizes of the probes do not tell them; they stay",
        "driver.copies.resident-push.overhead: neither the base nor the probes tell what the copy itself takes",
        "driver.runtime.kernel_signal_gap: neither the base nor the probes tell what else it takes"}) {
    EXPECT_THAT(calibration.notes, Contains(note));
  }
  const platforms::Platform before = platforms::read_platform(kBase);
  const platforms::Platform after = platform_of(calibration);
  EXPECT_EQ(after.runtime.engine_block, before.runtime.engine_block);
  EXPECT_EQ(after.runtime.pin_base, before.runtime.pin_base);
  EXPECT_FALSE(after.copies.contains(platforms::CopyKind::resident_push));
}

TEST(Calibration, HostCopiesTellTheMemory) {
  const auto platform = platform_of(Probes().add("copy host-to-host", line(1, 12)).calibrate());
  EXPECT_NEAR(platform.node.memories[0].copy_rate.value.bytes_per_second(), 12e9, 1e6);
  EXPECT_NEAR(platform.copies.at(platforms::CopyKind::host_to_host).rate.value().value.bytes_per_second(), 12e9, 1e6);
}

TEST(Calibration, WhatTheBaseLacksIsAdded) {
  const test::ScratchFolder folder;
  const std::string text = test::read_file(kBase);
  const std::size_t from = text.find("    kernel-push:");
  const auto base = base_with(folder, text.substr(from, text.find("    kernel-pull:") - from), "");
  const auto calibration = Probes().add("copy kernel-push", line(9, 350), "0/0", "0/1").calibrate(base);
  const platforms::Cost cost = platform_of(calibration).copies.at(platforms::CopyKind::kernel_push);
  EXPECT_EQ(cost.overhead.value, Seconds{});
  EXPECT_EQ(cost.overhead.source.quality, platforms::Quality::assumed);
  EXPECT_NEAR(cost.latency.value.at(Bytes{1}).microseconds(), 9, 1e-3);
  EXPECT_THAT(calibration.replaced, Contains(Field(&NumberChange::before, "")));
}

TEST(Calibration, AResidentKernelHasAClassOfItsOwn) {
  const auto calibration = Probes().add("copy resident-push", line(3, 300), "0/0", "0/1").calibrate();
  const auto platform = platform_of(calibration);
  const platforms::Cost cost = platform.copies.at(platforms::CopyKind::resident_push);
  EXPECT_NEAR(cost.latency.value.at(Bytes{1}).microseconds(), 3, 1e-3);
  EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), 300e9, 300e9 * 1e-3);
}

TEST(Calibration, WhatTheCpuNeedsToLearnOfAnEndIsNoLatency) {
  const test::ScratchFolder folder;
  const auto base =
      base_with(folder, "  runtime:\n", "  runtime:\n    completion: {value: 1.5 us, assumed: made up for a test}\n");
  const auto calibration =
      Probes().add("copy pinned-to-device near", line(7, 50)).add("copy host-to-host", line(1, 12)).calibrate(base);
  const auto platform = platform_of(calibration);
  const auto latency = [&](platforms::CopyKind kind) {
    return platform.copies.at(kind).latency.value.at(1_KiB).microseconds();
  };
  EXPECT_NEAR(latency(platforms::CopyKind::pinned_to_device), 7 - 2 - 1.5, 1e-3);
  const Seconds overhead = platform.copies.at(platforms::CopyKind::host_to_host).overhead.value;
  EXPECT_NEAR(latency(platforms::CopyKind::host_to_host), 1 - overhead.microseconds(), 1e-3);
  for (const auto& fit : calibration.fits) EXPECT_LT(fit.errors.max, 1e-3) << fit.probe;
}

TEST(Calibration, AHostShareThatExceedsTheWholeIsTakenBack) {
  const auto calibration = Probes().add("copy pinned-to-device near", line(1.5, 50)).calibrate();
  const platforms::Cost cost = platform_of(calibration).copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_NEAR(cost.overhead.value.microseconds(), 1.5, 1e-3);
  EXPECT_EQ(cost.overhead.source.quality, platforms::Quality::derived);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("all takes only 1.50 us")));
}

TEST(Calibration, SmallSizesLeaveTheRate) {
  const auto calibration =
      Probes().add("copy pinned-to-device near", line(7, 50), "0/0", {}, Bytes{1}, 1_KiB).calibrate();
  const platforms::Cost cost = platform_of(calibration).copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_EQ(cost.rate.value().value.bytes_per_second(), 55.57e9);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("pinned-to-device.rate: the sizes of the probes do not tell")));
}

TEST(Calibration, OneLargeSizeTellsNoLatency) {
  // At half of the base's rate: what is left of the time would be 10 ms of latency at every size.
  const auto calibration = Probes()
                               .add("copy pinned-to-device near", line(7, 25), "0/0", {}, 512_MiB, 512_MiB)
                               .add("copy device-to-device", line(7, 900))
                               .calibrate();
  const platforms::Cost before = platforms::read_platform(kBase).copies.at(platforms::CopyKind::pinned_to_device);
  const platforms::Cost after = platform_of(calibration).copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_EQ(after.latency.value.at(4_B), before.latency.value.at(4_B));
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("pinned-to-device.latency: the bytes of these sizes")));
}

TEST(Calibration, ALinkThatIsTooNarrowIsNoted) {
  const auto calibration = Probes().add("copy pinned-to-device near", line(7, 100)).calibrate();
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("the base has only 63000.0 MB/s on the way")));
  EXPECT_GT(calibration.fits.at(0).errors.max, 0.3) << "the errors are those of the platform, links included";
}

TEST(Calibration, OtherMachinesAreRefused) {
  Probes probes;
  probes.add("copy device-to-device", line(7, 900));
  probes.set().files[0].devices["0/1"] = "Tesla T4";
  EXPECT_THAT([&] { std::ignore = probes.calibrate(); },
              ThrowsMessage<InputError>(AllOf(HasSubstr("'Tesla T4'"), HasSubstr("NVIDIA H200"))));
  EXPECT_THAT(probes.calibrate(kBase, true).notes, Contains(HasSubstr("Tesla T4")));

  Probes two = Probes().next_file().add("copy device-to-device", line(7, 900));
  two.set().files[1].devices = {{"0/0", "NVIDIA H200"}, {"0/1", "Tesla T4"}, {"0/7", "of no GPU of the base"}};
  EXPECT_THAT([&] { std::ignore = two.calibrate(); },
              ThrowsMessage<InputError>("probes-2.json: error: probes of a 'Tesla T4', but GPU 1 of the base is a "
                                        "'NVIDIA H200'"));

  probes.set().files[0] = {.file = "p.json", .platform = "keeneland-kids"};
  EXPECT_THAT([&] { std::ignore = probes.calibrate(); }, ThrowsMessage<InputError>(HasSubstr("'keeneland-kids'")));
  EXPECT_THAT([] { std::ignore = Probes().add("copy device-to-device", line(7, 900), "0/2").calibrate(); },
              ThrowsMessage<InputError>(HasSubstr("no device 0/2")));
}

TEST(Calibration, LinesWithoutANumberAreListedWithTheReason) {
  const auto calibration = Probes()
                               .add("copy device-to-device", line(7, 900))
                               .add_one("message pinned other-node", 5, "0/1")
                               .add_one("release device", 5)
                               .add_one("something new", 5)
                               .add_one("peer copy read staged", 5, "0/1")
                               .add_one("peer copy write direct of 2 GPUs", 5, "0/1")
                               .calibrate();
  const auto unused = [](const char* probe, const char* reason) {
    return AllOf(Field(&UnusedProbe::probe, probe), Field(&UnusedProbe::reason, HasSubstr(reason)));
  };
  EXPECT_THAT(calibration.unused,
              ::testing::ElementsAre(unused("message pinned other-node", "no fabric"),
                                     unused("release device", "no number"), unused("something new", "no number"),
                                     unused("peer copy read staged", "the base has peer access"),
                                     unused("peer copy write direct of 2 GPUs", "no number")));
}

/// They cross more links than the others of their kind, and tell of these; how far the platform is from them is said.
TEST(Calibration, CopiesOfFarMemoryArePredictedAndNotFitted) {
  Probes probes;
  probes.add("copy pinned-to-device far", line(20, 2)).add("copy pinned-to-device near", line(9, 5));
  probes.set().files[0].devices.clear();
  const auto calibration = probes.calibrate(kPlatforms / "keeneland-kids.yaml");
  const platforms::Platform platform = platform_of(calibration);
  const auto& copies =
      platform.copies.contains(platforms::CopyKind::pinned_to_device) ? platform.copies : platform.gpu_types[0].copies;
  const platforms::Cost& cost = copies.at(platforms::CopyKind::pinned_to_device);
  EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), 5e9, 5e6);
  EXPECT_THAT(cost.rate->source.text, AllOf(HasSubstr("copy pinned-to-device near; "), Not(HasSubstr("far"))));
  ASSERT_EQ(calibration.fits.size(), 2U);
  EXPECT_EQ(calibration.fits[0].probe, "copy pinned-to-device near");
  EXPECT_LT(calibration.fits[0].errors.max, 1e-3);
  EXPECT_EQ(calibration.fits[1].probe, "copy pinned-to-device far");
  EXPECT_EQ(calibration.fits[1].path, calibration.fits[0].path);
  EXPECT_GT(calibration.fits[1].errors.max, 0.3);
}

/// A base that says something else of its blocks.
TEST(Calibration, WhatBlocksMoveIsToldByTheFewest) {
  const test::ScratchFolder folder;
  const std::string guess = ", assumed: a guess}, ";
  const auto base = base_with(folder, "capability: \"9.0\"",
                              "capability: \"9.0\"\n    blocks: {rate: {value: 3 GB/s" + guess + "ll: {value: 1 us" +
                                  guess + "ll128: {value: 1 us" + guess + "simple: {value: 2 us" + guess +
                                  "start: {value: 3 us" + guess + "next: {value: 2 us, assumed: a guess}}");
  const auto calibration = Probes()
                               .add("simple by 8 blocks", line(0, 16), "0/0", "0/1", 4_MiB, 16_MiB)
                               .add("simple by 2 blocks", line(0, 8), "0/0", "0/1", 4_MiB, 16_MiB)
                               .add("ll by 1 blocks", line(0, 2), "0/0", "0/1", 4_MiB, 16_MiB)
                               .add_one("program", 1)
                               .add_one("start program", 2)
                               .add_one("graph of 2 programs", 9)
                               .add_one("hop ll direct", 2.5, "0/1")
                               .add_one("hop simple direct", 0.001, "0/1")
                               .add("pass simple on", line(0, 4), "0/0", "0/1", 512_KiB, 512_KiB)
                               .add("pass ll on", line(4, 1e6), "0/0", "0/1", 32_KiB, 32_KiB)
                               .add_one("queued ring ll of 2 GPUs", 9, "0/1")
                               .add_one("ring ll of 2 GPUs", 12, "0/1")
                               .add_one("queued ring ll128 of 2 GPUs", 7, "0/1")
                               .add_one("queued ring ll128 of 3 GPUs", 10, "0/1")
                               .calibrate(base);
  const platforms::BlockCosts blocks = platform_of(calibration).gpu_types[0].blocks.value();
  EXPECT_NEAR(blocks.rate.value.bytes_per_second(), 4e9, 1e5) << "of each of two";
  EXPECT_NEAR(blocks.ll_rate.value().value.bytes_per_second(), 4e9, 1e5) << "half of a line is its flags";
  EXPECT_EQ(blocks.start.value().value, Seconds{}) << "the call takes all of it";
  EXPECT_EQ(blocks.next.value().value, 2.0_us);
  EXPECT_THAT(calibration.notes,
              Contains("gpu_types.h200.blocks.next: the graphs of the probes do not tell it; it stays"));
  EXPECT_NEAR(blocks.ll.value.microseconds(), 2.5, 1e-3) << "lines go on as they come";
  EXPECT_EQ(blocks.simple.value, Seconds{});
  EXPECT_NEAR(blocks.passing.value().value.bytes_per_second(), 4e9, 1e5);
  EXPECT_NEAR(blocks.ll_passing.value().value.bytes_per_second(), 64 * 1024 / 8e-6, 1e7) << "to and fro at once";
  EXPECT_NEAR(blocks.fetch.value().value.microseconds(), 9 - 2 - 2 * 2.5, 1e-3) << "beside two hops of an echo";
  EXPECT_NEAR(blocks.cold.value().value.microseconds(), 12 - 2 - 2 - 2 * 2.5, 1e-3)
      << "beside a call of 2 us, the fetch and two hops";
  EXPECT_NEAR(blocks.ll128.value.microseconds(), 1.5, 1e-3) << "two hops more take 3 us";
  EXPECT_NEAR(blocks.ll128_fetch.value().value.microseconds(), 7 - 2 - 2 * 1.5, 1e-3);
}

/// The largest two messages differ by 48 chunks; what is left is the latency, at every size.
TEST(Calibration, TheChunksOfAFallbackAreToldByItsLargestMessages) {
  const std::filesystem::path base = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms/rtx4090-no-peers.yaml";
  const platforms::Platform no_peers = platforms::read_platform(base);
  const platforms::Topology topology(no_peers);
  platforms::CopyCost copy = copy_cost(topology, {.location = {platforms::Location::Kind::gpu, 0}, .own = true},
                                       {.location = {platforms::Location::Kind::gpu, 1}});
  copy.chunks->each = 7.0_us;
  const auto time_us = [&](double bytes) {
    const Bytes size{static_cast<std::uint64_t>(bytes)};
    return 30 + (copy.in_chunks(size) + size / copy.rate.value()).microseconds();
  };
  const Calibration calibration = Probes().add("peer copy write staged", time_us, "0/0", "0/1").calibrate(base, true);
  const platforms::Platform calibrated = platform_of(calibration);
  EXPECT_NEAR(calibrated.fallback.value().per_chunk.value.microseconds(), 7, 0.01);
  const platforms::Topology after(calibrated);
  const platforms::CopyCost found = copy_cost(after, {.location = {platforms::Location::Kind::gpu, 0}, .own = true},
                                              {.location = {platforms::Location::Kind::gpu, 1}});
  for (const Bytes size : {4_B, 256_KiB, 1_MiB, 64_MiB}) {
    const Seconds time = found.cost->overhead.value + found.latency(size) + found.in_chunks(size) +
                         size / found.rate.value() + or_none(calibrated.runtime.completion);
    EXPECT_NEAR(time.microseconds(), time_us(static_cast<double>(size.count())), 0.1) << size.count();
  }
}

TEST(Calibration, ProbesThatTellNothingAreRefused) {
  EXPECT_THAT([] { std::ignore = Probes().add_one("release device", 5).calibrate(); },
              ThrowsMessage<InputError>(HasSubstr("tell no number")));
}

TEST(Calibration, SimulatedProbesAreNotCalledMeasured) {
  Probes probes;
  probes.add("copy device-to-device", line(7, 900));
  probes.set().simulated = true;
  const platforms::Cost cost = platform_of(probes.calibrate()).copies.at(platforms::CopyKind::device_to_device);
  EXPECT_EQ(cost.rate.value().source.quality, platforms::Quality::derived);
}

TEST(Calibration, ACalibratedPlatformIsABaseAgain) {
  const test::ScratchFolder folder;
  const auto all = Probes().add("peer copy write direct", line(6, 400), "0/0", "0/1");
  const auto first = folder.write("first.yaml", all.calibrate().platform_text);
  const std::string again = all.calibrate(first).platform_text;
  EXPECT_THAT(again, Not(HasSubstr("earlier-")));

  // Later probes do not tell the rate: it keeps the source that it has.
  Probes later;
  later.add("peer copy write direct", line(8, 400), "0/0", "0/1", Bytes{1}, 1_KiB);
  later.set().files[0].date = "2027-01-02";
  const platforms::Cost cost = platform_of(later.calibrate(first)).copies.at(platforms::CopyKind::peer);
  EXPECT_THAT(cost.rate.value().source.text, HasSubstr("2026-11-21"));
  EXPECT_THAT(cost.latency.source.text, HasSubstr("2027-01-02"));
}

TEST(Calibration, CommentsOnTheTopologyStayAndThoseOnCostsGo) {
  Probes probes;
  probes.add("copy pinned-to-device near", line(9, 6));
  probes.set().files[0].devices.clear();
  const std::string text = probes.calibrate(kPlatforms / "keeneland-kids.yaml").platform_text;
  EXPECT_THAT(text, HasSubstr("  # That the adapter shares the hub with GPU 0 is likely"));
  EXPECT_THAT(text, Not(HasSubstr("# What a kernel's loads and stores reach was not measured")));
  EXPECT_THAT(text, Not(HasSubstr("No table of KIDS")));
  EXPECT_THAT(text, Not(HasSubstr("include")));
  EXPECT_LT(text.find("schema: 2"), text.find("sources:"));
  EXPECT_LT(text.find("nodes:"), text.find("driver:"));
  EXPECT_LT(text.find("driver:"), text.find("\nmpi:"));
  EXPECT_LT(text.find("\n  copies:", text.find("driver:")), text.find("\n  runtime:"));
}

TEST(CalibrationReport, IsAsItWas) {
  Calibration found{.base = "base.yaml", .shares = {0.1, 0.2, 0.3, 0.35, 0.05}};
  found.origins = {{.file = "a.json", .date = "2026-11-21", .program = "twinlink-real 0.1.0", .machine = "2 x H200"},
                   {.file = "b.json", .program = "other 7"}};
  found.replaced = {{"driver.copies.peer.rate", "55.57 GB/s", "50 GB/s"}, {"driver.runtime.signal", "", "0.5 us"}};
  found.kept = {{.path = "mpi.control",
                 .value = 5e-7,
                 .unit = "s",
                 .text = "0.5 us",
                 .source = {platforms::Quality::datasheet, "a book"}}};
  const ErrorSummary errors{.n = 3,
                            .geometric_mean = 0.021,
                            .bias = -0.012,
                            .max = 0.043,
                            .max_at = {"peer copy write direct", "0/0", "0/1", 64_KiB}};
  found.fits = {{"peer copy write direct", "driver.copies.peer", errors, {0.5, 0.25, 0.125, 0.0625, 0.0625}},
                {"signal", "driver.runtime.signal", errors, {1, 0, 0, 0, 0}}};
  found.unused = {{"release device", "no number"}};
  found.notes = {"a note"};
  std::string text = to_text(calibration_report(found)) + "\n" + to_json(found).dump(1) + "\n\n";
  found.unused.clear();
  found.notes.clear();
  test::expect_golden("calibration.txt", text + to_text(calibration_report(found)));
}

/// The stored probes of two H200, against the numbers that a person derived from them.
TEST(Calibration, TheStoredProbesGiveTheRatesOfThePlatformMadeByHand) {
  const std::vector files{test::kByHand / "probes.json", test::kByHand / "probes-kernels.json"};
  const auto calibration = calibrate(read_probe_set(files), kBase, false);
  EXPECT_EQ(calibration.platform_text, calibrate(read_probe_set(files), kBase, false).platform_text);
  EXPECT_THAT(calibration.notes, IsEmpty());

  const platforms::Platform by_hand = platforms::read_platform(kBase);
  const platforms::Platform calibrated = platform_of(calibration);
  for (const auto& [kind, cost] : calibrated.copies) {
    // Caches give small copies more than the one by hand says; its rate is that of the largest.
    if (kind == platforms::CopyKind::host_to_host) continue;
    // The one made by hand does not tell reads of a peer's memory from writes.
    const auto known = kind == platforms::CopyKind::peer_read ? platforms::CopyKind::peer : kind;
    const double expected = by_hand.copies.at(known).rate.value().value.bytes_per_second();
    EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), expected, 0.02 * expected) << to_string(kind);
    EXPECT_LE(cost.latency.value.knots().size(), 7U) << to_string(kind);
  }
  for (const FitQuality& fit : calibration.fits) {
    // Caches make host copies of 64 KiB to 1 MiB faster than a latency and a rate can say.
    if (fit.probe == "copy host-to-host" || !fit.path.starts_with("driver.copies.")) continue;
    EXPECT_LE(fit.errors.geometric_mean, 0.06) << fit.probe;
  }
}

TEST(Calibration, TheStoredPlatformIsWhatItMakesOfItsProbes) {
  const std::filesystem::path source(TWINLINK_SOURCE_DIR);
  const auto file = source / "platforms/h200-nvlink.yaml";
  const std::vector probes{source / "validate/data/h200-nvlink-probes.json"};
  const platforms::Platform stored = platforms::read_platform(file);
  const platforms::Platform made = platform_of(calibrate(read_probe_set(probes), file, false));
  const auto numbers = all_numbers(made);
  const auto expected = all_numbers(stored);
  ASSERT_EQ(numbers.size(), expected.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(numbers[i].path, expected[i].path);
    EXPECT_EQ(numbers[i].value, expected[i].value) << expected[i].path;
  }
  // Up to the eager limit a message is posted as the largest eager one that was probed.
  EXPECT_EQ(made.intra_node.posting(2_KiB), made.intra_node.posting(1_KiB));
  EXPECT_GT(made.intra_node.posting(4_KiB), made.intra_node.posting(1_KiB));
}

/// One number for one line leaves no error, whatever the base says of signals and gaps.
TEST(Calibration, WhatLiesBehindSignalsIsToldFromTheSignalsOfTheSameProbes) {
  const std::vector files{std::filesystem::path(TWINLINK_SOURCE_DIR) / "validate/data/h200-nvlink-probes.json"};
  const auto calibration = calibrate(read_probe_set(files), kBase, false);
  int found = 0;
  for (const FitQuality& fit : calibration.fits) {
    if (!fit.path.ends_with("signal_gap")) continue;
    ++found;
    EXPECT_LT(fit.errors.max, 0.001) << fit.probe;
  }
  EXPECT_EQ(found, 2);
}

}  // namespace
}  // namespace twinlink::validate
