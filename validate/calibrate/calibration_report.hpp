// A calibration for people.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "platforms/report/document.hpp"
#include "validate/calibrate/calibration.hpp"

namespace twinlink::validate {

/// What was replaced and by what, how well it fits, what stayed, and what of the probes was of no use.
report::Document calibration_report(const Calibration& calibration);
/// All of it, errors as fractions.
nlohmann::json to_json(const Calibration& calibration);

}  // namespace twinlink::validate
