// Sources that were just written: probes made from known costs give these costs back.
#include "validate/calibrate/calibration_written.hpp"

#include <algorithm>
#include <fstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "platforms/reader/platform_writer.hpp"
#include "tests/validate/calibrate/synthetic_probes.hpp"

namespace twinlink::validate {
namespace {

using platforms::CopyKind;
using test::kPlatforms;
using test::line;
using test::platform_of;
using test::Probes;
using test::TimeOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

constexpr double kKiB = 1024;

/// Nothing up to 16 KiB, then 20 us per MiB up to 1 MiB, then no more.
double extra_us(double bytes) { return (std::clamp(bytes, 16 * kKiB, 1024 * kKiB) - 16 * kKiB) / (1024 * kKiB) * 20; }

TimeOf plus_extra(const TimeOf& time_us) {
  return [=](double bytes) { return time_us(bytes) + extra_us(bytes); };
}

Probes copies(const TimeOf& written_us, const std::string& name = "copy pinned-to-device near") {
  return Probes().add(name, line(6, 50)).add(name + " cpu-written", written_us);
}

std::vector<double> sizes_of(const platforms::Piecewise& curve) {
  std::vector<double> sizes;
  for (const auto& knot : curve.knots()) sizes.push_back(static_cast<double>(knot.size.count()) / kKiB);
  return sizes;
}

TEST(CalibrationOfWrittenSources, GivesTheCurveBackThatProbesWereMadeOf) {
  const auto calibration = copies(plus_extra(line(6, 50))).calibrate();
  const auto curve = platform_of(calibration).copies.at(CopyKind::pinned_to_device).cpu_written.value();
  EXPECT_EQ(curve.value.at(1_KiB), Seconds{});
  EXPECT_NEAR(curve.value.at(512_KiB).microseconds(), extra_us(512 * kKiB), 0.3);
  EXPECT_NEAR(curve.value.at(64_MiB).microseconds(), extra_us(1024 * kKiB), 0.3);
  EXPECT_THAT(sizes_of(curve.value), ElementsAre(16, 1024));
  EXPECT_EQ(curve.source.quality, platforms::Quality::measured);
  EXPECT_THAT(curve.source.text, HasSubstr("copy pinned-to-device near cpu-written"));
  for (const FitQuality& fit : calibration.fits) EXPECT_LT(fit.errors.max, kTolerance) << fit.probe;
}

/// Which the fits of the lines at rest need not meet.
TEST(CalibrationOfWrittenSources, TakesTheLinesOfTheSameJob) {
  const TimeOf uneven = [](double bytes) { return line(6, 50)(bytes) * (bytes == 256 * kKiB ? 1.2 : 1); };
  const auto calibration = Probes()
                               .add("copy pageable-to-device near", uneven)
                               .add("copy pageable-to-device near cpu-written", plus_extra(uneven))
                               .calibrate();
  const auto curve = platform_of(calibration).copies.at(CopyKind::pageable_to_device).cpu_written.value();
  EXPECT_NEAR(curve.value.at(256_KiB).microseconds(), extra_us(256 * kKiB), 0.2);
}

/// Each job is compared with itself, and what two find is the mean.
TEST(CalibrationOfWrittenSources, OfSeveralJobsAreHeldAgainstTheirOwn) {
  const std::string name = "copy pinned-to-device near";
  const auto calibration = Probes()
                               .add(name, line(6, 50))
                               .add(name + " cpu-written", plus_extra(line(6, 50)))
                               .next_file()
                               .add(name, line(9, 40))
                               .add(name + " cpu-written", plus_extra(plus_extra(line(9, 40))))
                               .next_file()
                               .add(name + " cpu-written", line(99, 40))
                               .calibrate();
  const auto curve = platform_of(calibration).copies.at(CopyKind::pinned_to_device).cpu_written.value();
  EXPECT_NEAR(curve.value.at(512_KiB).microseconds(), 1.5 * extra_us(512 * kKiB), 0.5);
}

TEST(CalibrationOfWrittenSources, AreNotWrittenWhereTheyTakeNoLonger) {
  const auto calibration = copies([](double bytes) { return line(6, 50)(bytes) * (1 + kTolerance / 2); }).calibrate();
  EXPECT_FALSE(platform_of(calibration).copies.at(CopyKind::pinned_to_device).cpu_written);
}

TEST(CalibrationOfWrittenSources, AreNeverFasterThanOthers) {
  const auto calibration = copies([](double bytes) { return line(6, 50)(bytes) * 0.8; }).calibrate();
  EXPECT_FALSE(platform_of(calibration).copies.at(CopyKind::pinned_to_device).cpu_written);
}

TEST(CalibrationOfWrittenSources, WithoutTheirOtherLinesNothingIsKnown) {
  const auto calibration = Probes()
                               .add("copy pinned-to-device near", line(6, 50), "0/1")
                               .add("copy pinned-to-device near cpu-written", plus_extra(line(6, 50)), "0/0")
                               .calibrate();
  EXPECT_FALSE(platform_of(calibration).copies.at(CopyKind::pinned_to_device).cpu_written);
  EXPECT_THAT(calibration.notes, ::testing::Contains(HasSubstr("no lines of the same job")));
}

TEST(CalibrationOfWrittenSources, ThatTakeNoLongerTakeTheBasesCurveAway) {
  const test::ScratchFolder folder;
  const auto base = folder.path() / "base.yaml";
  const auto first = copies(plus_extra(line(6, 50))).calibrate();
  std::ofstream(base) << first.platform_text;
  const auto curve = platform_of(copies(line(6, 50)).calibrate(base)).copies.at(CopyKind::pinned_to_device);
  EXPECT_EQ(curve.cpu_written.value().value.at(1_MiB), Seconds{});
}

TEST(FewPoints, MeetAllDifferencesWithinTheirNoise) {
  const auto differences = [](std::vector<double> longer_us) {
    std::vector<Difference> all;
    for (std::uint64_t i = 0; i < longer_us.size(); ++i) {
      all.push_back({Bytes{i * 100 + 100}, Seconds{longer_us[i] * 1e-6}, 0.5_us});
    }
    return all;
  };
  EXPECT_EQ(few_points(differences({0, 0, 0, 5, 10})).knots().size(), 2U) << "flat, then straight";
  EXPECT_EQ(few_points(differences({0, 0.3, 0, 5.2, 10, 10})).knots().size(), 2U) << "within the noise";
  EXPECT_EQ(few_points(differences({0, 0, 9, 0, 0})).knots().size(), 3U);
  EXPECT_EQ(few_points(differences({3, 3, 3})).knots().size(), 1U);
}

}  // namespace
}  // namespace twinlink::validate
