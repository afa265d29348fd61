// Suspects for people.
#pragma once

#include <nlohmann/json_fwd.hpp>

#include "platforms/report/document.hpp"
#include "validate/suspect/suspects.hpp"

namespace twinlink::validate {

/// The verdict, the parts that would explain the most, and the copies that are slow.
report::Document suspect_report(const Suspicion& suspicion);
/// All of it, errors and shares as fractions.
nlohmann::json to_json(const Suspicion& suspicion);

}  // namespace twinlink::validate
