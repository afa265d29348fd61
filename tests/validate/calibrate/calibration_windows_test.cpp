// What the CPU does for messages that have come, and to find out that none has: probes made from known costs give these
// costs back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "protocols/bench/probe/probe.hpp"
#include "tests/validate/calibrate/synthetic_probes.hpp"
#include "validate/primitives/message_times.hpp"

namespace twinlink::validate {
namespace {

using test::line;
using test::platform_of;
using test::Probes;
using ::testing::Contains;
using ::testing::HasSubstr;

// In microseconds; the rate in GB/s.
constexpr double kSendHost = 0.25;
constexpr double kReceiveHost = 0.1;
constexpr double kWireLatency_us = 0.4;
constexpr double kRate_GBps = 10;
constexpr double kControl = 0.25;
constexpr double kTakenIn = 0.6;
constexpr double kQueued = bench::kQueuedCopies;

double alone_us(double bytes) { return kSendHost + kWireLatency_us + bytes / (kRate_GBps * 1e3) + kTakenIn; }
/// The receiver's CPU awaits all, and takes in one after the other.
double one_way_us(double) { return kReceiveHost + kTakenIn + kControl / kQueued; }

Probes messages_both_ways(double both_ways_us) {
  const auto both = [=](double) { return both_ways_us; };
  return Probes()
      .add_one("start message same-node", kSendHost, "0/1")
      .add_one("start receive same-node", kReceiveHost, "0/1")
      .add_one("control message same-node", kControl, "0/1")
      .add("message pageable same-node", alone_us, "0/0", "0/1", 1_B, 1_KiB)
      .add("queued message same-node", one_way_us, "0/0", "0/1", 1_B, 1_KiB)
      .add("queued message same-node both-ways", both, "0/0", "0/1", 1_B, 64_KiB);
}

TEST(CalibrationOfWindows, WhatCpusDoForMessagesThatHaveComeIsNoLatency) {
  const double both_ways_us = kSendHost + kReceiveHost + kTakenIn + kControl / kQueued;
  const auto calibration = messages_both_ways(both_ways_us).calibrate();
  const platforms::NetworkCosts& costs = platform_of(calibration).intra_node;
  for (const Bytes size : {1_B, 256_B, 1_KiB}) {
    EXPECT_NEAR(costs.completion.value().value.at(size).microseconds(), kTakenIn, 0.01) << size.count();
    EXPECT_NEAR((costs.latency.value.at(size) + size / costs.rate.value().value).microseconds(),
                kWireLatency_us + static_cast<double>(size.count()) / (kRate_GBps * 1e3), 0.02);
  }
  EXPECT_NEAR(costs.receive_overhead.value.microseconds(), kReceiveHost, 1e-6);
  EXPECT_EQ(costs.completion->source.quality, platforms::Quality::measured);
  EXPECT_THAT(costs.completion->source.text, HasSubstr("queued message same-node both-ways"));
}

/// A message takes 1 us each of posting it and its receive, and `taken_in` us; what ends first is the most it can be.
TEST(CompletionOf, IsWhatNothingElseExplains) {
  struct Case {
    double alone, one_way, both_ways, flow, expected;
  };
  constexpr double kAnswer = kControl / kQueued;
  constexpr double kBoth = 2 + 0.6 + kAnswer;  // posting and 0.6 us for each
  const auto us = [](double time) { return Seconds{time * 1e-6}; };
  platforms::NetworkCosts costs{.send_overhead = {.value = platforms::Piecewise({{0_B, 1.0_us}})},
                                .receive_overhead = {.value = 1.0_us},
                                .control = {.value = us(kControl)}};
  for (const Case& each : {Case{3, 1.9 + kAnswer, kBoth, 0, 0.6}, Case{3, 1.5 + kAnswer, kBoth, 0, 0.5},
                           Case{1.4, 1.9 + kAnswer, kBoth, 0, 0.4}, Case{1 + kQueued * 0.6, 1.9, kBoth, 0, 0},
                           Case{3, kBoth, kBoth, 0, 0}, Case{3, 1.9, kBoth, 0.7, 0}}) {
    const EagerTimes times{us(each.alone), us(each.one_way), us(each.both_ways), us(each.flow)};
    EXPECT_NEAR(completion_of(costs, 1_KiB, times).microseconds(), each.expected, 1e-9) << each.alone;
  }
  costs.completion = {.value = platforms::Piecewise({{0_B, 0.1_us}})};
  EXPECT_NEAR(completion_of(costs, 1_KiB, {us(3), us(1.9), us(kBoth), us(0.7)}).microseconds(), 0.6, 1e-9)
      << "where a number holds the bytes, they are not asked for";
  costs.eager_limit.value = 1_KiB;
  EXPECT_NEAR(send_completion_of(costs, 1_KiB, us(kBoth)).microseconds(), 0.5, 1e-9);
  EXPECT_NEAR(send_completion_of(costs, 2_KiB, us(kBoth)).microseconds(), 0.6, 1e-9);
}

/// One way a sender has the time to learn that its messages are over; both ways it comes on top.
TEST(CalibrationOfWindows, WindowsBothWaysTellWhatItTakesToLearnThatSendsAreOver) {
  constexpr double kSent = 0.15;
  const double both_ways_us = kSendHost + kReceiveHost + kTakenIn + kSent + kControl / kQueued;
  const auto calibration = messages_both_ways(both_ways_us).calibrate();
  const platforms::NetworkCosts& costs = platform_of(calibration).intra_node;
  EXPECT_NEAR(costs.completion.value().value.at(256_B).microseconds(), kTakenIn, 0.01);
  EXPECT_NEAR(costs.send_completion.value().value.microseconds(), kSent, 0.01);
  EXPECT_THAT(costs.send_completion->source.text, HasSubstr("queued message same-node both-ways"));
}

/// A large one may take more of the CPU than a small one, for a part of its bytes goes at once; of eager ones the
/// largest stands for all up to the limit.
TEST(CalibrationOfWindows, WhatPostingTakesDependsOnTheSize) {
  const auto posting = [](double bytes) { return bytes <= 4096 ? kSendHost : 2 * kSendHost; };
  const auto calibration = Probes()
                               .add("start message same-node", posting, "0/0", "0/1", 1_KiB, 64_KiB)
                               .add("message pageable same-node", alone_us, "0/0", "0/1", 1_KiB, 64_KiB)
                               .calibrate();
  const platforms::NetworkCosts& costs = platform_of(calibration).intra_node;
  EXPECT_NEAR(costs.posting(1_KiB).microseconds(), kSendHost, 1e-3);
  EXPECT_NEAR(costs.posting(costs.eager_limit.value).microseconds(), kSendHost, 1e-3);
  EXPECT_NEAR(costs.posting(64_KiB).microseconds(), 2 * kSendHost, 1e-3);
}

/// Where windows both ways leave more than that, nothing is left for the latency, and the fit of other sizes bears it.
TEST(CalibrationOfWindows, TakingInTakesNoMoreThanAMessageAsAWhole) {
  const auto one_way = [](double) { return 3.0; };
  const auto both_ways = [](double) { return 4.0; };
  Probes probes;
  probes.add_one("start message same-node", kSendHost, "0/1")
      .add("message pageable same-node", alone_us, "0/0", "0/1")
      .add("queued message same-node", one_way, "0/0", "0/1", 64_B, 64_B)
      .add("queued message same-node both-ways", both_ways, "0/0", "0/1", 64_B, 64_B);
  const auto calibration = probes.calibrate();
  const platforms::NetworkCosts& costs = platform_of(calibration).intra_node;
  EXPECT_NEAR(costs.completion.value().value.at(64_B).microseconds(), alone_us(64) - kSendHost, 1e-3);
  EXPECT_NEAR(costs.rate.value().value.bytes_per_second() / 1e9, kRate_GBps, 0.1);
}

/// Messages of all sizes alone, and in windows one way.
template <class Alone, class Queued>
Probes one_way(Alone alone, Queued queued) {
  return Probes()
      .add_one("start message same-node", kSendHost, "0/1")
      .add("message pageable same-node", alone, "0/0", "0/1")
      .add("queued message same-node", queued, "0/0", "0/1");
}

/// What one message alone takes longer is a latency, which the message before it hides.
TEST(CalibrationOfWindows, MessagesThatFollowEachOtherTellTheRate) {
  constexpr double kFaster = 14;
  const auto alone = [](double bytes) { return kSendHost + kWireLatency_us + bytes / (kRate_GBps * 1e3); };
  const auto queued = [](double bytes) { return kSendHost + bytes / (kFaster * 1e3); };
  const platforms::Platform platform = platform_of(one_way(alone, queued).calibrate());
  const platforms::NetworkCosts& costs = platform.intra_node;
  EXPECT_NEAR(costs.rate.value().value.bytes_per_second() / 1e9, kFaster, 0.1);
  EXPECT_THAT(costs.rate->source.text, HasSubstr("queued message same-node"));
  const double size = static_cast<double>((16_MiB).count());
  EXPECT_NEAR((costs.send_overhead.value.at(16_MiB) + costs.latency.value.at(16_MiB) + 16_MiB / costs.rate->value)
                  .microseconds(),
              alone(size), 0.03 * alone(size));
}

/// Windows that show more than twice what a core copies show something else.
TEST(CalibrationOfWindows, NoMessageIsFasterThanTheCopiesThatMakeIt) {
  const auto alone = [](double bytes) { return kSendHost + kWireLatency_us + bytes / (kRate_GBps * 1e3); };
  const auto queued = [](double bytes) { return kSendHost + bytes / (500 * 1e3); };
  const auto calibration = one_way(alone, queued).calibrate();
  EXPECT_NEAR(platform_of(calibration).intra_node.rate.value().value.bytes_per_second() / 1e9, kRate_GBps, 0.1);
  EXPECT_THAT(calibration.notes, testing::Contains(HasSubstr(" GB/s, and CPUs copy no more than 34340.0 MB/s")));
}

/// Between large messages lies what caches do not hold, which is no gap.
TEST(CalibrationOfWindows, LargeMessagesHaveNoGap) {
  const auto queued = [](double bytes) { return kSendHost + bytes / (kRate_GBps * 1e3) * (bytes > 1e6 ? 2 : 1) + 0.3; };
  const platforms::Platform platform = platform_of(one_way(alone_us, queued).calibrate());
  const platforms::Piecewise& gap = platform.intra_node.gap.value().value;
  EXPECT_GT(gap.at(64_B).microseconds(), 0.2);
  EXPECT_EQ(gap.at(16_MiB), Seconds{});
}

TEST(CalibrationOfWindows, CpusThatWaitForMessagesTellNothing) {
  // As long as the window one way: the way of the last one decides, or the wire.
  const auto platform = platform_of(messages_both_ways(one_way_us(1)).calibrate());
  EXPECT_EQ(platform.intra_node.completion.value().value.at(1_B), Seconds{});
}

TEST(CalibrationOfWindows, WithoutMessagesAloneThereIsNoCompletion) {
  const auto calibration = Probes()
                               .add("queued message same-node both-ways", line(2, kRate_GBps), "0/0", "0/1", 1_B, 1_KiB)
                               .add_one("handle export", 0.2)
                               .calibrate();
  EXPECT_FALSE(platform_of(calibration).intra_node.completion);
  EXPECT_THAT(calibration.notes, Contains(HasSubstr("mpi.intra_node.completion: told only beside")));
}

/// Sending one takes what posting the smallest message does.
TEST(CalibrationOfWindows, WhatAControlMessageLeavesBesideSendingItIsAwaitingIt) {
  const auto controls = [](double posting_us, double each_us) {
    return Probes()
        .add_one("start message same-node", posting_us, "0/1")
        .add_one("control message same-node", kControl, "0/1")
        .add_one("queued bare control message same-node both-ways", each_us, "0/1")
        .calibrate();
  };
  constexpr double kSend = 0.05;
  constexpr double kReceive = 0.08;
  for (const auto& [send, receive] : {std::pair(kSend, kReceive), {kReceive, kSend}, {kSend, kSend}}) {
    const auto busy =
        controls(send, send + receive + (std::max(send, receive) + std::min(send, receive) / 2) / kQueued);
    EXPECT_NEAR(platform_of(busy).intra_node.control_receive_overhead.value().value.microseconds(), receive, 1e-6);
  }
  // Where the CPUs wait for the messages, it cannot be told.
  const auto waiting = controls(0.001, 2 * kControl / kQueued);
  EXPECT_EQ(platform_of(waiting).intra_node.control_receive_overhead.value().value, Seconds{});
}

TEST(CalibrationOfWindows, FailedPollsAreWhatTheirProbesSay) {
  const auto calibration = Probes().add_one("look copy", 0.21).calibrate();
  EXPECT_NEAR(platform_of(calibration).runtime.failed_poll.value().value.microseconds(), 0.21, 1e-6);
  for (const FitQuality& fit : calibration.fits) EXPECT_LT(fit.errors.max, 1e-3) << fit.probe;
}

/// Of files that other versions have written.
TEST(CalibrationOfWindows, LinesThatNoNumberStandsForAreLeftOutAndNamed) {
  const auto calibration =
      Probes().add_one("handle export", 0.2).add_one("look message same-node", 0.17, "0/1").calibrate();
  ASSERT_EQ(calibration.unused.size(), 1U);
  EXPECT_EQ(calibration.unused.front().probe, "look message same-node");
}

}  // namespace
}  // namespace twinlink::validate
