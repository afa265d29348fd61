// From probes and a base platform to a platform whose costs are fits of the probes: the command `calibrate`.
//
//   1. find_primitive() says for each line which number of the platform stands for it       primitives/primitive.hpp
//   2. lines of one number are a Group                                                      calibration_groups.hpp
//   3. what CPUs do is fitted first, then latencies and rates, gaps, signals, blocks        calibration_*.hpp
//   4. PlatformEdit writes each number with its source; what no probe tells stays the base's
//   5. the new platform predicts every line again: FitQuality
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "platforms/machine/platform_numbers.hpp"
#include "validate/calibrate/platform_edit.hpp"
#include "validate/calibrate/probe_set.hpp"
#include "validate/calibrate/time_shares.hpp"
#include "validate/compare/error_metrics.hpp"

namespace twinlink::validate {

/// How well the calibrated platform meets the probes of one name.
struct FitQuality {
  std::string probe{};    ///< "copy pinned-to-device near"
  std::string path{};     ///< the platform's entry that they went to: "driver.copies.pinned-to-device"
  ErrorSummary errors{};  ///< of the platform's times on an idle machine against the probes
  TimeShares shares{};    ///< the mean of all lines
};

/// A line that nothing was fitted to, and why.
struct UnusedProbe {
  std::string probe{};
  std::string reason{};
};

/// What calibrate() has found: the new file as a text, and what its report says.
struct Calibration {
  std::string base{};  ///< the file, as the user named it
  std::vector<ProbeOrigin> origins{};
  std::vector<NumberChange> replaced{};        ///< in the order of the fits
  std::vector<platforms::NumberEntry> kept{};  ///< a curve has one entry, without its points
  std::vector<FitQuality> fits{};              ///< in the order of the probes
  TimeShares shares{};                         ///< the mean of all lines of `fits`
  std::vector<UnusedProbe> unused{};
  std::vector<std::string> notes{};
  std::string platform_text{};  ///< the file, which the platform's reader has accepted
};

/// Fits every number of `base` that the probes tell. Throws InputError for a base that cannot be read, a device that it
/// does not have, probes of another device model or of another simulated platform unless `force` makes that a note, and
/// probes that send nothing.
Calibration calibrate(const ProbeSet& probes, const std::filesystem::path& base, bool force);

}  // namespace twinlink::validate
