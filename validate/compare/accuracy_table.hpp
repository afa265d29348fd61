// How accurate many curves are: a table with a row for each protocol, one for all points and one for those that are
// stable; a table with a row for each curve; and where protocols cross in either world.
#pragma once

#include "platforms/report/document.hpp"
#include "validate/compare/comparison.hpp"

namespace twinlink::validate {

/// `comparison` holds curves: an InputError for probes. Of the crossovers those of ping-pong curves of two protocols
/// are listed; two settings of one protocol are not. The last line tells how many curves were expected.
report::Document accuracy_table(const Comparison& comparison);

}  // namespace twinlink::validate
