// What lies between the last byte of a put and those who are told of it, on the simulated machine. Resident kernels
// have a file of their own.
#include <gtest/gtest.h>

#include <vector>

#include "model/engine/rank/sim_rank.hpp"
#include "tests/model/engine/push_pair.hpp"
#include "tests/platforms/sample_platform.hpp"

namespace twinlink::model {
namespace {

using namespace testing;  // NOLINT: the sample platform's numbers

constexpr Seconds kKernelSignal = 2.0_us;
constexpr Seconds kCompletion = 1.5_us;

Platform with_completion() {
  Platform platform = sample_platform();
  platform.runtime.completion = made_up(kCompletion);
  return platform;
}

Platform with_kernel_signal() {
  Platform platform = with_completion();
  platform.runtime.kernel_signal = made_up(Piecewise(kKernelSignal));
  return platform;
}

/// One put: when its signal is seen, and when the CPU goes on that waits for its end, both after its start.
void expect_put(const Platform& platform, Engine engine, Seconds seen, Seconds known) {
  push(platform, kPeers, 1, [&](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    const Op op = rank.put(View(theirs), View(own), Stream{}, engine, signal_due(start + seen));
    expect_near(rank.now() - start, kHost);
    EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    expect_near(rank.now() - start, known);
  });
}

TEST(KernelSignal, TellsBothCpusAtOnce) {
  Platform platform = with_kernel_signal();
  platform.runtime.signal.reset();
  const Seconds end = kOverhead + 1_MiB / kKernelPush + kKernelSignal;
  expect_put(platform, Engine::kernel, end, end);
}

/// The kernel of the second put starts when that of the first has raised its signal; only the latency is over by then.
TEST(KernelSignal, HidesBehindNothingOfItsStream) {
  push(with_kernel_signal(), kPeers, 2, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds each = kKernelSignal + 1_MiB / kKernelPush;
    const Seconds first = rank.now() + kOverhead + each;
    const Seconds second = first + each;
    Op last{};
    for (const Seconds due : {first, second}) {
      last = rank.put(View(theirs), View(own), Stream{}, Engine::kernel, signal_due(due));
    }
    EXPECT_EQ(wait(rank, last, kLong), Status::delivered);
    expect_near(rank.now(), second);
    // Nor does it behind a copy that raises nothing, and a flag alone is put in no less.
    const Seconds start = rank.now();
    rank.copy(View(theirs), View(own), Stream{}, Engine::kernel);
    const View nothing = View(own).slice({}, {});
    const Op flag = rank.put(View(theirs).slice({}, {}), nothing, Stream{}, Engine::kernel, Signal{});
    EXPECT_EQ(wait(rank, flag, kLong), Status::delivered);
    expect_near(rank.now() - start, kOverhead + 1_MiB / kKernelPush + kKernelSignal);
  });
}

TEST(KernelSignal, WhereItIsAbsentTheCpuLearnsOfTheEndByAnEvent) {
  const Seconds last_byte = kOverhead + 1_MiB / kKernelPush;
  expect_put(with_completion(), Engine::kernel, last_byte + kSignal, last_byte + kCompletion);
}

/// The event stands behind the value that the engine's queue writes.
TEST(KernelSignal, IsNotThatOfTheCopyEngine) {
  const Seconds seen = kOverhead + 1_MiB / kPeer + kSignal;
  expect_put(with_kernel_signal(), Engine::dma, seen, seen + kCompletion);
}

TEST(SignalGap, LiesBetweenTheSignalOfACopyEngineAndTheEventOfItsPut) {
  constexpr Seconds kBehind = 2.25_us;
  Platform platform = with_completion();
  platform.runtime.signal_gap = made_up(kBehind);
  const Seconds seen = kOverhead + 1_MiB / kPeer + kSignal;
  expect_put(platform, Engine::dma, seen, seen + kBehind + kCompletion);
}

/// The engine's queue raises the signal before it turns to the next copy.
TEST(Gap, BeginsBehindTheSignalOfThePutBefore) {
  constexpr Seconds kGap = 2.5_us;
  Platform platform = sample_platform();
  platform.copies.at(CopyKind::peer).gap = made_up(Piecewise(kGap));
  push(platform, kPeers, 2, [&](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds flow = 1_MiB / kPeer;
    const Seconds first = rank.now() + kOverhead + flow + kSignal;
    const Seconds second = first + kGap + flow + kSignal;
    Op last{};
    for (const Seconds due : {first, second}) {
      last = rank.put(View(theirs), View(own), Stream{}, Engine::dma, signal_due(due));
    }
    EXPECT_EQ(wait(rank, last, kLong), Status::delivered);
    expect_near(rank.now(), second);
  });
}

TEST(KernelSignal, AKernelThatRaisesNothingEndsByAnEvent) {
  push(with_kernel_signal(), kPeers, 0, [](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds known = kOverhead + 1_MiB / kKernelPush + kCompletion;
    const Seconds start = rank.now();
    EXPECT_EQ(wait(rank, rank.put(View(theirs), View(own), Stream{}, Engine::kernel, {}), kLong), Status::delivered);
    expect_near(rank.now() - start, known);
    EXPECT_EQ(wait(rank, rank.copy(View(theirs), View(own), Stream{}, Engine::kernel), kLong), Status::delivered);
    expect_near(rank.now() - start, known * 2);
  });
}

TEST(KernelSignal, IsAPartOfTheReportsThatAddUp) {
  std::vector<OpReport> reports;
  Seconds took{};
  const auto body = [&](Rank& rank, Buffer own, Buffer theirs) {
    const Seconds start = rank.now();
    for (const Engine engine : {Engine::kernel, Engine::resident}) {
      const Op op = rank.put(View(theirs), View(own), Stream{}, engine, Signal{});
      EXPECT_EQ(wait(rank, op, kLong), Status::delivered);
    }
    took = rank.now() - start;
  };
  push(with_kernel_signal(), kPeers, 0, body, [&](const OpReport& report) {
    if (report.verb == "put") reports.push_back(report);
  });
  ASSERT_EQ(reports.size(), 2U);
  Seconds sum{};
  for (const OpReport& report : reports) {
    expect_near(report.ended - report.started, report.overhead + report.latency + report.flow);
    EXPECT_EQ(report.completion, Seconds{}) << report.cost;
    sum += report.ended - report.started;
  }
  expect_near(took, sum);
  expect_near(took, kOverhead * 2 + kKernelSignal + 1_MiB / kKernelPush + 1_MiB / kResidentPush);
}

}  // namespace
}  // namespace twinlink::model
