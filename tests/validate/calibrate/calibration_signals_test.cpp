// Who is told of a put's end, and when: probes made from known costs give these costs back.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/calibrate/synthetic_probes.hpp"

namespace twinlink::validate {
namespace {

using test::line;
using test::platform_of;
using test::Probes;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;

// In microseconds; rates in GB/s.
constexpr double kCompletion_us = 0.6;
constexpr double kPush = 7;  ///< a kernel's copy of no bytes, as long as its CPU waits for it

TEST(CalibrationOfSignals, ASignalComesBeforeTheSenderKnowsOfItsPutsEnd) {
  const double put_us = 6.5;
  const auto calibration = Probes()
                               .add_one("finish ended copy", kCompletion_us)
                               .add("peer copy write direct", line(put_us, 400), "0/0", "0/1")
                               .add_one("put and signal same-node", put_us + 0.4, "0/1")
                               .calibrate();
  EXPECT_NEAR(platform_of(calibration).runtime.signal.value().value.microseconds(), 0.4 + kCompletion_us, 0.01);
}

/// The line of a put by a kernel that takes `put_us`, beside those of the kernel's copies.
Probes kernel_puts(double put_us) {
  return Probes()
      .add_one("finish ended copy", kCompletion_us)
      .add_one("start copy kernel-push", 3, "0/1")
      .add("copy kernel-push", line(kPush, 350), "0/0", "0/1")
      .add_one("put and signal by kernel same-node", put_us, "0/1");
}

TEST(CalibrationOfSignals, AKernelsSignalIsWhatComesOnTopOfItsCopies) {
  const auto calibration = kernel_puts(kPush + 1.1).calibrate();
  const platforms::Platform platform = platform_of(calibration);
  // No copy of 8 B was measured: the fit of the others stands for it.
  EXPECT_NEAR(platform.runtime.kernel_signal.value().value.at(1_B).microseconds(), 1.1 + kCompletion_us, 1e-3);
  EXPECT_EQ(platform.runtime.kernel_signal->source.quality, platforms::Quality::measured);
  EXPECT_THAT(platform.runtime.kernel_signal->source.text, HasSubstr("put and signal by kernel same-node"));
  for (const FitQuality& fit : calibration.fits) EXPECT_LT(fit.errors.max, 1e-3) << fit.probe;
}

/// Which are closer than any fit; both directions count half.
TEST(CalibrationOfSignals, AKernelsCopiesOfThatSizeComeFirst) {
  const auto calibration = kernel_puts(kPush + 1.1)
                               .add("copy kernel-push", line(kPush + 0.5, 350), "0/0", "0/1", Bytes{8}, Bytes{8})
                               .add("copy kernel-push", line(kPush + 0.7, 350), "0/1", "0/0", Bytes{8}, Bytes{8})
                               .calibrate();
  EXPECT_NEAR(platform_of(calibration).runtime.kernel_signal.value().value.at(1_B).microseconds(), 0.5 + kCompletion_us,
              1e-3);
}

/// Of each job its own: another's, of a machine without peer access, say nothing of this one's puts.
TEST(CalibrationOfSignals, CopiesOfAnotherJobDoNotCount) {
  const double put_us = 6.5;
  const auto calibration = Probes()
                               .add_one("finish ended copy", kCompletion_us)
                               .add("peer copy write direct", line(put_us, 400), "0/0", "0/1")
                               .add_one("put and signal same-node", put_us + 0.4, "0/1")
                               .next_file()
                               .add("peer copy write staged", line(3, 400), "0/0", "0/1", Bytes{8}, Bytes{8})
                               .add("peer copy write staged", line(3, 400), "0/1", "0/0", Bytes{8}, Bytes{8})
                               .calibrate();
  EXPECT_NEAR(platform_of(calibration).runtime.signal.value().value.microseconds(), 0.4 + kCompletion_us, 0.01);
}

/// The last of many blocks of threads waits for all others.
TEST(CalibrationOfSignals, AKernelsSignalMayDependOnTheSize) {
  const auto puts = [](double bytes) { return kPush + bytes / 350e3 + (bytes > 20e3 ? 2.0 : 0.7); };
  const auto calibration = Probes()
                               .add_one("finish ended copy", kCompletion_us)
                               .add_one("start copy kernel-push", 3, "0/1")
                               .add("copy kernel-push", line(kPush, 350), "0/0", "0/1")
                               .add("copy kernel-push", line(kPush, 350), "0/1", "0/0")
                               .add("put and signal by kernel same-node", puts, "0/0", "0/1", 1_B, 256_KiB)
                               .calibrate();
  const platforms::Platform platform = platform_of(calibration);
  const platforms::Piecewise& signal = platform.runtime.kernel_signal.value().value;
  EXPECT_NEAR(signal.at(1_KiB).microseconds(), 0.7 + kCompletion_us, 0.2);
  EXPECT_NEAR(signal.at(256_KiB).microseconds(), 2.0 + kCompletion_us, 0.2);
}

TEST(CalibrationOfSignals, OfAKernelIsNeverNegative) {
  const auto calibration = kernel_puts(kPush - 2 * kCompletion_us).calibrate();
  EXPECT_EQ(platform_of(calibration).runtime.kernel_signal.value().value.at(1_B), Seconds{});
}

TEST(CalibrationOfSignals, WithoutItsLineAKernelsSignalIsNotThere) {
  const auto calibration = Probes().add("copy kernel-push", line(kPush, 350), "0/0", "0/1").calibrate();
  EXPECT_FALSE(platform_of(calibration).runtime.kernel_signal);
}

TEST(CalibrationOfSignals, AResidentKernelTellsItsCpuWithoutACompletion) {
  const auto calibration = Probes()
                               .add_one("finish ended copy", kCompletion_us)
                               .add_one("start copy kernel-push", 3, "0/1")
                               .add_one("start copy resident-push", 0.4, "0/1")
                               .add("copy resident-push", line(2.4, 200), "0/0", "0/1")
                               .add_one("put and signal by resident kernel same-node", 2.5, "0/1")
                               .calibrate();
  const platforms::Cost cost = platform_of(calibration).copies.at(platforms::CopyKind::resident_push);
  EXPECT_NEAR(cost.overhead.value.microseconds(), 0.4, 1e-3);
  EXPECT_NEAR(cost.latency.value.at(1_KiB).microseconds(), 2, 1e-3);
  EXPECT_NEAR(cost.rate.value().value.bytes_per_second(), 200e9, 200e9 * 1e-3);
  for (const FitQuality& fit : calibration.fits) EXPECT_LT(fit.errors.max, 1e-3) << fit.probe;
  EXPECT_THAT(calibration.unused,
              ElementsAre(::testing::AllOf(Field(&UnusedProbe::probe, "put and signal by resident kernel same-node"),
                                           Field(&UnusedProbe::reason, "its signal comes with its end"))));
}

}  // namespace
}  // namespace twinlink::validate
