// Was a curve simulated before it was measured? A measured file may hold what was expected of it.
#pragma once

#include <string_view>

#include "validate/compare/recording.hpp"

namespace twinlink::validate {

enum class Prediction {
  held,    ///< the measured file holds every time of the simulated one, to eight digits
  other,   ///< it holds other times, or not all of them
  unknown  ///< it holds none
};

/// An InputError if the measured file holds an expectation that cannot be read.
Prediction prediction_of(const Recording& measured, const Recording& simulated);

/// A sentence for people, about the simulated file.
std::string_view sentence(Prediction prediction);
/// "held", "other", "unknown".
std::string_view to_string(Prediction prediction);

}  // namespace twinlink::validate
