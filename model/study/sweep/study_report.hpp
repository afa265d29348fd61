// What comes of a study, for people.
#pragma once

#include <span>
#include <string>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/sweep/study_results.hpp"
#include "platforms/report/document.hpp"

namespace twinlink::model {

/// The best settings, what each axis changes, and the curves, each with its 5th to 95th percentile.
report::Document to_document(const std::string& title, const StudyIdentity& identity, std::span<const StudyRow> rows);

}  // namespace twinlink::model
