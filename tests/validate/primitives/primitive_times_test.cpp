// What each kind of probes takes on an idle machine, in closed form, and which number of a platform stands for it.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_reader.hpp"
#include "protocols/core/errors.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/primitives/queue_times.hpp"

namespace twinlink::validate {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

constexpr double kQueued = bench::kQueuedCopies;

platforms::Sourced<Seconds> us(double time) { return {.value = Seconds{time * 1e-6}}; }
platforms::Sourced<platforms::Piecewise> curve_us(double time) {
  return {.value = platforms::Piecewise(us(time).value)};
}
platforms::Sourced<Rate> gb(double gigabytes_per_second) { return {.value = Rate{gigabytes_per_second * 1e9}}; }

/// Two GPUs whose links all take 0.3 us, and copies that are all alike: 2 us of the CPU, 5 us of latency, 10 GB/s.
class PrimitiveTimes : public ::testing::Test {
 protected:
  PrimitiveTimes() {
    for (platforms::Link& link : machine_.node.links) link.latency = us(0.3);
    for (auto& [kind, cost] : machine_.copies) {
      cost = {.overhead = us(2), .latency = curve_us(5), .rate = gb(10), .gap = curve_us(3)};
    }
    machine_.copies.at(platforms::CopyKind::pinned_to_device).cpu_written = curve_us(7);
    machine_.node.memories[0].copy_rate = gb(10);
    platforms::RuntimeCosts& runtime = machine_.runtime;
    runtime.completion = us(1);
    runtime.failed_poll = us(0.4);
    runtime.signal = us(0.6);
    runtime.signal_gap = us(0.2);
    runtime.kernel_signal = curve_us(0.8);
    runtime.kernel_signal_gap = us(0.9);
    runtime.engine_block = us(0.01);
    runtime.kernel_block = us(0.02);
    runtime.allocate_device = us(30);
    runtime.pin_base = us(40);
    runtime.pin_per_gib = us(1024);
    runtime.ipc_export = us(11);
    runtime.ipc_open = us(12);
    runtime.ipc_close = us(13);
    runtime.program_launch = us(4);
    runtime.graph_launch = us(6);
    machine_.gpu_types[0].blocks = platforms::BlockCosts{.rate = gb(4),
                                                         .ll_rate = gb(3),
                                                         .ll128_rate = gb(2),
                                                         .ll = us(0.5),
                                                         .ll128 = us(0.7),
                                                         .simple = us(1.1),
                                                         .start = us(3),
                                                         .graph_start = us(5),
                                                         .next = us(1.5)};
    platforms::NetworkCosts& network = machine_.intra_node;
    network.send_overhead = curve_us(0.25);
    network.receive_overhead = us(0.1);
    network.latency = curve_us(1);
    network.rate = gb(5);
    network.eager_limit.value = 4_KiB;
    network.control = us(0.5);
    network.control_receive_overhead = us(0.08);
    network.copied_by = platforms::CopiedBy::both;
    network.fragment = {.value = 32_KiB};
    network.gap = curve_us(0.35);
    network.completion = curve_us(0.6);
    network.send_completion = us(0.15);
  }

  /// Of a mebibyte unless another size is named; nothing where the platform lacks a number, or is none.
  [[nodiscard]] std::optional<double> time(const std::string& name, const std::string& peer = {},
                                           Bytes size = 1_MiB) const {
    const platforms::Topology topology(machine_);
    std::string reason;
    const auto primitive = find_primitive({.name = name, .gpu = "0/0", .peer = peer, .size = size}, topology, reason);
    const auto found = primitive ? predict(*primitive, size, topology) : std::nullopt;
    return found ? std::optional(found->microseconds()) : std::nullopt;
  }
  void expect(const std::string& name, double expected, const std::string& peer = {}, Bytes size = 1_MiB) const {
    EXPECT_NEAR(time(name, peer, size).value_or(-1), expected, 1e-6) << name << " " << format_size(size);
  }
  /// Why no number stands for a line.
  [[nodiscard]] std::string reason_of(const std::string& name, const std::string& peer = "0/1",
                                      Bytes size = 1_KiB) const {
    const platforms::Topology topology(machine_);
    std::string reason;
    EXPECT_FALSE(find_primitive({.name = name, .gpu = "0/0", .peer = peer, .size = size}, topology, reason)) << name;
    return reason;
  }

  platforms::Platform machine_ =
      platforms::read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/validate/h200/by-hand.yaml");
};

constexpr double kFlow = 1048576 / 10e3;
constexpr double kMiB = 1048576;

/// A device that reads waits for its links there and back.
TEST_F(PrimitiveTimes, OfCopies) {
  expect("copy pinned-to-device near", 2 + 5 + 0.6 + kFlow + 1);
  expect("copy shared-pinned-to-device near", 2 + 5 + 0.6 + kFlow + 1);
  expect("copy device-to-pinned near", 2 + 5 + 0.3 + kFlow + 1);
  expect("copy device-to-device", 2 + 5 + kFlow + 1);
  expect("copy host-to-host", 2 + 5 + kFlow);
  expect("copy pageable-to-device near", 2 + 5 + 0.6 + kFlow + 1);
  expect("peer copy write direct", 2 + 5 + 0.6 + kFlow + 1, "0/1");
  expect("peer copy read direct", 2 + 5 + 1.2 + kFlow + 1, "0/1");
  expect("copy kernel-push", 2 + 5 + 0.6 + kFlow + 1, "0/1");
  expect("copy kernel-from-pinned", 2 + 5 + 0.6 + kFlow + 1);
  expect("copy pinned-to-device near cpu-written", 2 + 5 + 0.6 + kFlow + 1 + 7);
  expect("copy pageable-to-device near cpu-written", 2 + 5 + 0.6 + kFlow + 1);
  expect("start copy pinned-to-device near", 2);
  expect("finish ended copy", 1);
  expect("look copy", 0.4);
  // The first takes what one takes alone, and each other one a gap and its bytes.
  expect("queued copy pinned-to-device near", (2 + 5 + 0.6 + kFlow + 1 + (kQueued - 1) * (3 + kFlow)) / kQueued);
  expect("engine-block device-to-pinned of 64 B", 2 + 5 + 0.3 + kFlow + 1 + kMiB / 64 * 0.01);
  expect("kernel-block device-to-pinned of 64 B", 2 + 5 + 0.3 + kFlow + 1 + kMiB / 64 * 0.02);
}

/// A CPU that posts receives copies nothing meanwhile; while its answer is under way it posts those of the next window.
TEST_F(PrimitiveTimes, OfWindowsThatTheReceiversCpuCopiesAreAllThatItDoes) {
  platforms::NetworkCosts& network = machine_.intra_node;
  network.copied_by = platforms::CopiedBy::receiver;
  network.fragment.reset();
  network.completion.reset();
  network.receive_overhead = us(3);
  expect("queued message same-node", 3 + 4096 / 5e3 + 0.25 / kQueued, "0/1", 4_KiB);
  network.completion = curve_us(0.6);
  expect("queued message same-node", 3 + 0.6 + 0.5 / kQueued, "0/1", 4_KiB);
}

TEST_F(PrimitiveTimes, OfPutsWithSignals) {
  const double there = 2 + 5 + 0.6 + kFlow;
  expect("put and signal same-node", there + 0.6, "0/1");
  expect("put and signal by kernel same-node", there + 0.8, "0/1");
  // The answer, or what tells the CPU of the last one's end; between two the gaps and the signal.
  const auto queued = [&](double signal, double gap, double last) {
    return (there + last + (kQueued - 1) * (kFlow + 3 + signal + gap)) / kQueued;
  };
  expect("queued put and signal same-node", queued(0.6, 0.2, 0.6 + 0.2 + 1), "0/1");
  expect("queued put and signal by kernel same-node", queued(0.8, 0.9, 0.8 + 0.5), "0/1");
  machine_.intra_node.control = us(2);
  expect("queued put and signal same-node", queued(0.6, 0.2, 0.6 + 2), "0/1");
  expect("queued put and signal by kernel same-node", queued(0.8, 0.9, 0.8 + 2), "0/1");
  // Small ones follow each other as the CPU starts them.
  machine_.copies.at(platforms::CopyKind::peer).overhead = us(6);
  expect("queued put and signal same-node", (6 + 5 + 0.6 + 0.0008 + 0.6 + 2 + (kQueued - 1) * 6) / kQueued, "0/1", 8_B);
  // Both ways count half.
  machine_.node.links[1].latency = us(0.7);
  machine_.copies.at(platforms::CopyKind::peer).overhead = us(2);
  expect("put and signal same-node", 2 + 5 + 1.0 + kFlow + 0.6, "0/1");
  machine_.node.links[1].forward = gb(5);
  expect("put and signal same-node", 2 + 5 + 1.0 + (2 * kFlow + kFlow) / 2 + 0.6, "0/1");
  // A kernel's signal that nobody knows is the engine's.
  machine_.runtime.kernel_signal.reset();
  expect("put and signal by kernel same-node", 2 + 5 + 1.0 + (2 * kFlow + kFlow) / 2 + 0.6, "0/1");
  machine_.runtime.signal.reset();
  for (const char* name : {"put and signal same-node", "put and signal by kernel same-node",
                           "queued put and signal same-node", "queued put and signal by kernel same-node"}) {
    EXPECT_EQ(time(name, "0/1"), std::nullopt) << name;
  }
}

/// As the simulation has it, which starts the next one of a stream when the bytes of the one before have come.
TEST_F(PrimitiveTimes, SignalsHoldUpNoQueueWithoutAGapUnlessAKernelRaisesThem) {
  for (auto& [kind, cost] : machine_.copies) cost.gap.reset();
  const double there = 2 + 5 + 0.6 + kFlow;
  expect("queued put and signal same-node", (there + 0.6 + 0.2 + 1 + (kQueued - 1) * kFlow) / kQueued, "0/1");
  expect("queued put and signal by kernel same-node", (there + 0.8 + 0.5 + (kQueued - 1) * (kFlow + 0.8)) / kQueued,
         "0/1");
}

TEST_F(PrimitiveTimes, OfMemoryAndHandles) {
  expect("allocate device", 30);
  expect("allocate pinned", 40 + 1);
  expect("allocate pinned", 40 + 256, {}, 256_MiB);
  expect("handle export", 11);
  expect("handle open", 12);
  expect("handle close", 13);
  EXPECT_EQ(reason_of("allocate pageable"), "no number of a platform stands for it");
}

TEST_F(PrimitiveTimes, OfMessages) {
  const auto message = [&](double expected, Bytes size) {
    expect("message pageable same-node", expected, "0/1", size);
  };
  // Eager ones are taken in. Of larger ones a first part goes with the request, and the last is copied once more.
  const double flow = kMiB / 5e3;
  message(0.25 + 1 + 1024 / 5e3 + 0.6, 1_KiB);
  message(0.25 + 1 + flow * (1 - 4.0 / 1024) + flow * 32 / 1024, 1_MiB);
  expect("start message same-node", 0.25, "0/1");
  expect("start receive same-node", 0.1, "0/1");
  expect("control message same-node", 0.5, "0/1");
  // One rank tells the other that the window is over: one waits for the longer of the two, half of them for the other.
  expect("queued bare control message same-node both-ways", 0.25 + 0.08 + (0.25 + 0.08 / 2) / kQueued, "0/1");
  machine_.intra_node.control_receive_overhead = us(0.3);
  expect("queued bare control message same-node both-ways", 0.25 + 0.3 + (0.3 + 0.25 / 2) / kQueued, "0/1");
  machine_.intra_node.control_receive_overhead.reset();
  machine_.intra_node.control = us(5);
  expect("queued bare control message same-node both-ways", 0.25 + (2 * 5 - 0.25) / kQueued, "0/1");
}

TEST_F(PrimitiveTimes, OfWindowsOneWay) {
  const std::string name = "queued message same-node";
  const double bytes = 1024 / 5e3;
  // The receiver's CPU takes in one after the other,
  expect(name, 0.1 + 0.6 + 0.5 / kQueued, "0/1", 1_KiB);
  // or messages follow each other on the wire,
  machine_.intra_node.completion = curve_us(0.2);
  expect(name, (0.25 + 1 + bytes + 0.2 + 0.5 + (kQueued - 1) * (bytes + 0.35)) / kQueued, "0/1", 1_KiB);
  // or the sender's CPU posts them,
  machine_.intra_node.send_overhead = curve_us(0.7);
  machine_.intra_node.send_completion.reset();
  expect(name, (0.7 + 1 + bytes + 0.2 + 0.5 + (kQueued - 1) * 0.7) / kQueued, "0/1", 1_KiB);
  // or has more to do than that.
  machine_.intra_node.send_completion = us(0.4);
  expect(name, 0.7 + 0.4 + 0.08 / kQueued, "0/1", 1_KiB);
  // Of pieces the sender copies its part between what it does for each; the first one's latency hides behind posting.
  machine_.intra_node.gap.reset();
  const double flow = kMiB / 5e3;
  const double sent = flow * (1 - 4.0 / 1024);
  const auto window = [&](double latency, double hidden) {
    return (0.7 + latency + sent + flow * 32 / 1024 - hidden + 0.5 + (kQueued - 1) * (sent + 0.7 + 0.4)) / kQueued;
  };
  expect(name, window(1, 1), "0/1");
  machine_.intra_node.latency = curve_us(20);
  expect(name, window(20, 0.7 * (kQueued - 1)), "0/1");
}

TEST_F(PrimitiveTimes, OfWindowsBothWays) {
  const std::string name = "queued message same-node both-ways";
  expect(name, 0.25 + 0.1 + 0.15 + (0.6 * kQueued + 0.5) / kQueued, "0/1", 1_KiB);
  // The last one takes longer to come than all others to be taken in,
  machine_.intra_node.latency = curve_us(15);
  const double bytes = 1024 / 5e3;
  machine_.intra_node.send_overhead = curve_us(1);
  expect(name, 1 + 0.1 + 0.15 + (15 + bytes + 0.6 + 0.5) / kQueued, "0/1", 1_KiB);
  // and one way is no faster.
  machine_.intra_node.send_overhead = curve_us(0.25);
  machine_.intra_node.latency = curve_us(30);
  expect(name, (0.25 + 30 + bytes + 0.6 + 0.5 + (kQueued - 1) * (bytes + 0.35)) / kQueued, "0/1", 1_KiB);
  EXPECT_EQ(reason_of(name, "0/1", 4_KiB + 1_B), "of messages that are larger than eager ones the bytes decide");
  expect(name, (0.25 + 30 + 4 * bytes + 0.6 + 0.5 + (kQueued - 1) * (4 * bytes + 0.35)) / kQueued, "0/1", 4_KiB);
  machine_.intra_node.completion.reset();
  EXPECT_EQ(time(name, "0/1", 1_KiB), std::nullopt);
}

TEST_F(PrimitiveTimes, OfProgramsOfThreadBlocks) {
  expect("start program", 4);
  expect("program", 4 + 1 + 3);
  expect("start graph of 16 programs", 6);
  expect("graph of 2 programs", 6 + 1 + 5 + 1.5);
  expect("graph of 16 programs", 6 + 1 + 5 + 15 * 1.5);
  // A slot of Simple goes by a fence, a counter and a credit. Lines store more than their bytes.
  expect("hop simple direct", 1.1 + 3 * 0.6 + 8 / 4e3, "0/1", 8_B);
  expect("hop ll direct", 0.5 + 0.6, "0/1", 8_B);
  expect("hop ll128 direct", 0.7 + 0.6, "0/1", 8_B);
  expect("simple by 2 blocks", kMiB / 8e3, "0/1");
  expect("simple by 4 blocks", kMiB / 10e3, "0/1");
  expect("ll by 2 blocks", 2 * kMiB / 6e3, "0/1");
  expect("ll128 by 1 blocks", 1000 * 128 / 2e3, "0/1", 120_B * 1000);
  EXPECT_EQ(reason_of("hop ll by-host"), "the base has peer access, and the way through the host is its links'");
  expect("pass simple on", 1.1 + 3 * 0.6 + kMiB / 4e3, "0/1");
  expect("pass ll on", 2 * kMiB / 3e3 / 2, "0/1");
  expect("pass ll on", 0.5 + 0.6, "0/1", 8_B);
  machine_.gpu_types[0].blocks->ll_passing = gb(1);
  expect("pass ll on", 2 * kMiB / 1e3 / 2, "0/1");
  expect("queued ring ll of 3 GPUs", 1.5 + 4 * (0.5 + 0.6), "0/1", 24_B);
  machine_.gpu_types[0].blocks->fetch = us(2);
  machine_.gpu_types[0].blocks->simple_fetch = us(7);
  expect("queued ring ll128 of 2 GPUs", 1.5 + 2 + 2 * (0.7 + 0.6), "0/1", 16_B);
  expect("queued ring simple of 2 GPUs", 1.5 + 7 + 2 * (1.1 + 3 * 0.6), "0/1", 16_B);
  expect("ring ll of 2 GPUs", 4 + 1 + 3 + 2 + 2 * (0.5 + 0.6), "0/1", 16_B);
  machine_.gpu_types[0].blocks->cold = us(2.5);
  expect("ring ll of 2 GPUs", 4 + 1 + 3 + 2 + 2.5 + 2 * (0.5 + 0.6), "0/1", 16_B);
  // What a platform does not say of launches is as of a kernel that copies within the GPU.
  machine_.runtime.graph_launch.reset();
  machine_.gpu_types[0].blocks->graph_start.reset();
  expect("start graph of 16 programs", 4);
  expect("graph of 16 programs", 4 + 1 + 3 + 15 * 1.5);
  machine_.runtime.program_launch.reset();
  machine_.gpu_types[0].blocks->start.reset();
  machine_.gpu_types[0].blocks->next.reset();
  expect("start program", 2);
  expect("program", 2 + 1 + 5);
  expect("graph of 16 programs", 2 + 1 + 5);
  machine_.copies.erase(platforms::CopyKind::kernel_local);
  for (const char* name : {"start program", "program", "graph of 2 programs"}) {
    EXPECT_EQ(time(name), std::nullopt) << name;
  }
  machine_.gpu_types[0].blocks.reset();
  EXPECT_EQ(reason_of("program", ""), "the base does not say what thread blocks of this GPU do");
}

/// Without peer access a line lies in host memory, from where it is loaded: there and back.
TEST_F(PrimitiveTimes, OfLinesInHostMemory) {
  machine_.node.hubs[0].passing.forwards = platforms::Forwards::none;
  expect("hop ll by-host", 0.5 + 0.3 + 2 * 0.3, "0/1", 8_B);
  expect("hop simple by-host", 1.1 + 3 * 0.3 + 2 * 0.3 + 8 / 4e3, "0/1", 8_B);
  EXPECT_EQ(reason_of("hop ll direct"), "the base has no peer access between these GPUs");
  EXPECT_EQ(reason_of("peer copy write direct"), "the base has no peer access between these GPUs");
}

/// A CPU of half the speed takes twice as long for all that it does, and no longer for what it does not.
TEST_F(PrimitiveTimes, ACpuHasASpeed) {
  machine_.node.memories[0].speed = {.value = {0.5}};
  expect("copy pinned-to-device near", 4 + 5 + 0.6 + kFlow + 2);
  expect("start copy kernel-push", 4, "0/1");
  expect("finish ended copy", 2);
  expect("look copy", 0.8);
  expect("handle open", 24);
  expect("allocate pinned", 80 + 2);
  expect("start program", 8);
  expect("program", 8 + 2 + 3);
  expect("graph of 2 programs", 12 + 2 + 5 + 1.5);
  expect("message pageable same-node", 0.5 + 1 + 1024 / 5e3 + 1.2, "0/1", 1_KiB);
  machine_.runtime.program_launch.reset();
  machine_.runtime.graph_launch.reset();
  expect("start program", 4);
}

/// Where the engine is what all wait for, and where the CPU is: it asks for the oldest, and then for the newest.
TEST_F(PrimitiveTimes, OfQueuesAreWhatTheCpuSees) {
  const auto all_us = [](double start, double latency, double flow, double end, double gap, double look) {
    const CopyTimes times{.overhead = us(start).value,
                          .latency = us(latency).value,
                          .flow = us(flow).value,
                          .completion = us(end).value,
                          .gap = us(gap).value};
    return (share_of_queue(times, us(look).value) * kQueued).microseconds();
  };
  EXPECT_NEAR(all_us(2, 5, 104, 1, 3, 0.4), 2 + 5 + 16 * 104 + 15 * 3 + 1, 1e-9);
  EXPECT_NEAR(all_us(0.5, 0.2, 1.37, 0.2, 0.5, 0.45), 0.5 + 0.2 + 16 * 1.37 + 15 * 0.5 + 0.2, 1e-9);
  // All have ended when the last is started, which the oldest and the newest tell; or the newest has not yet, and after
  // a failed poll of it the next oldest is asked for.
  EXPECT_NEAR(all_us(2, 0.1, 0.1, 1, 0, 0.4), 16 * 2 + 1 + 1, 1e-9);
  EXPECT_NEAR(all_us(2, 1.55, 0.1, 1, 0, 0.4), 16 * 2 + 1 + 0.4 + 1 + 1, 1e-9);
  // The last one is both: nobody asks for it twice.
  EXPECT_NEAR(all_us(1.7, 3.8, 3, 0.1, 0, 1.3), 53.6, 1e-6);
  // The end may come while the CPU asks.
  EXPECT_NEAR(all_us(1, 4, 0.9, 0.1, 1.3, 0), 1 + 4 + 16 * 0.9 + 15 * 1.3 + 0.1, 1e-9);
  EXPECT_NEAR(all_us(1, 4, 0.9, 0.1, 1.3, 0.9), 1 + 4 + 16 * 0.9 + 15 * 1.3 + 0.1 + 0.2, 1e-9);
}

TEST_F(PrimitiveTimes, TheNumberOfALineHasItsPlace) {
  const auto path = [&](const std::string& name, const std::string& peer = {}) {
    const platforms::Topology topology(machine_);
    std::string reason;
    return cost_path(
        find_primitive({.name = name, .gpu = "0/0", .peer = peer, .size = 1_KiB}, topology, reason).value(), topology);
  };
  EXPECT_EQ(path("copy pinned-to-device near"), "driver.copies.pinned-to-device");
  EXPECT_EQ(path("copy shared-pinned-to-device near"), "driver.copies.pinned-to-device");
  EXPECT_EQ(path("peer copy write direct", "0/1"), "driver.copies.peer");
  EXPECT_EQ(path("peer copy read direct", "0/1"), "driver.copies.peer-read") << "also where the base has none";
  EXPECT_EQ(path("start copy kernel-push", "0/1"), "driver.copies.kernel-push.overhead");
  EXPECT_EQ(path("queued peer copy read direct", "0/1"), "driver.copies.peer-read.gap");
  EXPECT_EQ(path("copy pinned-to-device near cpu-written"), "driver.copies.pinned-to-device.cpu_written");
  EXPECT_EQ(path("engine-block device-to-pinned of 64 B"), "driver.runtime.engine_block");
  EXPECT_EQ(path("put and signal by kernel same-node", "0/1"), "driver.runtime.kernel_signal");
  EXPECT_EQ(path("message pinned same-node", "0/1"), "mpi.intra_node");
  EXPECT_EQ(path("start receive same-node", "0/1"), "mpi.intra_node.receive_overhead");
  EXPECT_EQ(path("ll128 by 2 blocks", "0/1"), "gpu_types.h200.blocks.ll128_rate");
  EXPECT_EQ(path("graph of 2 programs"), "gpu_types.h200.blocks.next");
}

TEST_F(PrimitiveTimes, WhatNoNumberStandsForHasAReason) {
  EXPECT_EQ(reason_of("something new"), "no number of a platform stands for it");
  EXPECT_EQ(reason_of("release device"), "no number of a platform stands for it");
  EXPECT_EQ(reason_of("copy pinned near both-ways"), "no number of a platform stands for it");
  EXPECT_EQ(reason_of("copy host-to-host of 2 GPUs"), "no number of a platform stands for it");
  EXPECT_EQ(reason_of("message pageable same-node both-ways"), "no number of a platform stands for it");
  EXPECT_EQ(reason_of("put and signal by resident kernel same-node"), "its signal comes with its end");
  EXPECT_EQ(reason_of("message pinned other-node"), "the base has no fabric");
  EXPECT_EQ(reason_of("queued message other-node both-ways"), "between nodes the adapters decide");
  EXPECT_EQ(reason_of("peer copy write staged"), "the base has peer access, these GPUs not");
  EXPECT_THAT([&] { std::ignore = reason_of("copy device-to-device", "0/7"); },
              ThrowsMessage<InputError>(HasSubstr("error: probe 'copy device-to-device': there is no device 0/7")));
}

}  // namespace
}  // namespace twinlink::validate
