#include "model/study/sensitivity.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <functional>

#include "platforms/tools/variation.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

constexpr double kPart = 0.01;

/// By how many per cent a time grows for each per cent of the number.
double percent(double time, double before, double grown) { return (time / before - 1) / grown * kPart * 100; }

/// The numbers at these indices, each times `factor`.
std::vector<MessageTimes> times_with(const Variations& variations, const std::vector<std::size_t>& numbers,
                                     double factor, const Timed& what) {
  std::vector<std::function<Platform()>> platforms;
  for (const std::size_t number : numbers) {
    platforms.emplace_back([&variations, number, factor] { return variations.with(number, factor); });
  }
  return message_times(platforms, what);
}

}  // namespace

Sensitivity sensitivity_of(const Platform& platform, const Timed& what) {
  const Variations variations(platform);
  const std::function<Platform()> as_it_is = [&] { return variations.unchanged(); };
  Timed once = what;
  once.on_progress = {};
  const MessageTimes base = message_times({&as_it_is, 1}, once).front();
  if (!base.refused.empty()) throw UnavailableError(base.refused);
  assert(base.us.size() == 1);

  Sensitivity found{.time_us = base.us.front(), .path = base.path};
  std::vector<std::size_t> left;
  for (std::size_t i = 0; i < variations.numbers().size(); ++i) left.push_back(i);
  // Some cannot grow: a limit that is at another one. They can shrink.
  for (const double factor : {1 + kPart, 1 - kPart}) {
    const std::vector<MessageTimes> times = times_with(variations, left, factor, factor > 1 ? what : once);
    std::vector<std::size_t> refused;
    for (std::size_t i = 0; i < left.size(); ++i) {
      const auto& [path, text] = variations.numbers()[left[i]];
      if (!times[i].refused.empty()) {
        refused.push_back(left[i]);
      } else if (times[i].us.front() == found.time_us) {
        found.without.push_back(path);
      } else {
        const double grown = variations.growth(left[i], factor);
        found.influences.push_back({path, text, percent(times[i].us.front(), found.time_us, grown)});
      }
    }
    left = std::move(refused);
    if (left.empty()) break;
  }
  for (const std::size_t number : left) found.refused.push_back(variations.numbers()[number].path);
  std::ranges::stable_sort(found.influences, std::ranges::greater{},
                           [](const Influence& influence) { return std::abs(influence.percent); });
  return found;
}

}  // namespace twinlink::model
