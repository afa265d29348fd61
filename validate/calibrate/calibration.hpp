// From probes and a base platform to a platform whose costs are fits of the probes.
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

struct UnusedProbe {
  std::string probe{};
  std::string reason{};
};

struct Calibration {
  std::string base{};  ///< the file, as the user named it
  std::vector<ProbeOrigin> origins{};
  std::vector<NumberChange> replaced{};    ///< in the order of the fits
  std::vector<model::NumberEntry> kept{};  ///< a curve has one entry, without its points
  std::vector<FitQuality> fits{};          ///< in the order of the probes
  TimeShares shares{};                     ///< the mean of all lines of `fits`
  std::vector<UnusedProbe> unused{};
  std::vector<std::string> notes{};
  std::string platform_text{};  ///< the file, which the platform's reader has accepted
};

/// Fits every number of `base` that the probes tell. Throws InputError for a base that cannot be read, a device that it
/// does not have, probes of another device model or of another simulated platform unless `force` makes that a note, and
/// probes that send nothing.
Calibration calibrate(const ProbeSet& probes, const std::filesystem::path& base, bool force);

}  // namespace twinlink::validate
