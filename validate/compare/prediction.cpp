#include "validate/compare/prediction.hpp"

#include <algorithm>
#include <cmath>

#include <nlohmann/json.hpp>

#include "protocols/bench/measure/expectation.hpp"
#include "protocols/core/enum_table.hpp"

namespace twinlink::validate {
namespace {

/// A simulated clock adds up what was before, so that another connection moves the last of a time's sixteen digits.
/// Whoever changes a platform or the model changes more than that.
constexpr double kRounding = 1e-8;

}  // namespace

Prediction prediction_of(const Recording& measured, const Recording& simulated) {
  const auto expected = bench::expectation_of(measured.environment, measured.file);
  if (!expected) return Prediction::unknown;
  const bool held = std::ranges::all_of(simulated.samples, [&](const Sample& sample) {
    const bench::ExpectedTime* const time = expected->find(sample.key.size);
    return time != nullptr && std::abs(time->time_us - sample.time_us) <= kRounding * sample.time_us;
  });
  return held ? Prediction::held : Prediction::other;
}

std::string_view sentence(Prediction prediction) {
  constexpr Words<Prediction> kNames{"Written before the measurement: the measured file holds it.",
                                     "The measured file holds another expectation.",
                                     "Not known to be written before the measurement."};
  return kNames[prediction];
}

std::string_view to_string(Prediction prediction) {
  constexpr Words<Prediction> kNames{"held", "other", "unknown"};
  return kNames[prediction];
}

}  // namespace twinlink::validate
