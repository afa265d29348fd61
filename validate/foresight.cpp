#include "validate/foresight.hpp"

#include <algorithm>

#include "protocols/bench/expectation.hpp"

namespace twinlink::validate {

Foresight foresight_of(const Recording& measured, const Recording& simulated) {
  const auto expected = bench::expectation_of(measured.environment, measured.file);
  if (!expected) return Foresight::unknown;
  const bool held = std::ranges::all_of(simulated.samples, [&](const Sample& sample) {
    const bench::ExpectedTime* const time = expected->find(sample.key.size);
    // Exactly: the same simulation gives the same bytes, and JSON keeps a number as it was.
    return time != nullptr && time->time_us == sample.time_us;
  });
  return held ? Foresight::held : Foresight::other;
}

std::string_view sentence(Foresight foresight) {
  switch (foresight) {
    case Foresight::held:
      return "Written before the measurement: the measured file holds it.";
    case Foresight::other:
      return "The measured file holds another expectation.";
    case Foresight::unknown:
      return "Not known to be written before the measurement.";
  }
  return "";
}

std::string_view to_string(Foresight foresight) {
  switch (foresight) {
    case Foresight::held:
      return "held";
    case Foresight::other:
      return "other";
    case Foresight::unknown:
      return "unknown";
  }
  return "";
}

}  // namespace twinlink::validate
