// Which numbers of a platform a time depends on, and how much.
#pragma once

#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "model/study/message_times.hpp"
#include "platforms/machine/platform.hpp"

namespace twinlink::model {

/// What one number does to the time.
struct Influence {
  std::string path{};  ///< as an override names it; a point of a curve ends in "[4K]"
  std::string text{};  ///< its value
  double percent = 0;  ///< by how many per cent the time grows when the number grows by one per cent
};

struct Sensitivity {
  double time_us = 0;
  std::string path{};
  std::vector<Influence> influences{};  ///< the largest first, whatever its sign; none is 0
  std::vector<std::string> without{};   ///< numbers that change nothing
  std::vector<std::string> refused{};   ///< numbers that can be neither larger nor smaller
};

/// Of what is timed at one size, simulated once for each number. An UnavailableError or UsageError if it cannot be done
/// on the platform as it is.
Sensitivity sensitivity_of(const Platform& platform, const Timed& what);

}  // namespace twinlink::model
