// The table of accuracy: a row for each curve, one for all of them, one for the stable points, and
// where protocols cross in either world.
#pragma once

#include "validate/compare/comparison.hpp"
#include "validate/compare/document.hpp"

namespace twinlink::validate {

/// `comparison` holds curves: an InputError for probes. Of the crossovers those of ping-pong curves of two protocols
/// are listed; two settings of one protocol are not. The last line tells how many curves were expected.
Document accuracy_table(const Comparison& comparison);

}  // namespace twinlink::validate
