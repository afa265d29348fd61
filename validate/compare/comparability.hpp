// May two files be compared, and what must a reader know about the comparison?
#pragma once

#include <string>
#include <vector>

#include "validate/compare/recording.hpp"

namespace twinlink::validate {

/// The notes on a comparison: settings, devices or ways taken that differ, payloads that nobody verified. Throws
/// InputError for files that must not be compared; see compare_pair() for which these are.
std::vector<std::string> check_comparable(const Recording& measured, const Recording& simulated, bool force);

}  // namespace twinlink::validate
