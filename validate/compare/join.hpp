// Which line of one file belongs to which line of the other. Lines that only one file has are listed and judged
// nowhere.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::validate {

/// What two lines must agree on to be the same measurement. A sweep has only sizes.
struct Key {
  std::string name{};  ///< the primitive that was probed; the algorithm of a workload
  std::string gpu{};   ///< NODE/GPU of the rank that measured it
  std::string peer{};  ///< NODE/GPU of the other rank; empty if there is none
  Bytes size{};

  auto operator<=>(const Key&) const = default;
};

/// "0/0", "0/0 to 1/0"; empty in a sweep.
std::string devices(const Key& key);

/// The key for people: "64K", "host message 0/0 to 1/0 64K".
std::string to_string(const Key& key);

/// One line of a file: a size of a curve, a probe, a size and algorithm of a workload.
struct Sample {
  Key key{};
  double time_us = 0;
  bool unstable = false;  ///< as of bench::Statistics
};

/// One measurement that both files hold. Both times are positive.
struct Row {
  Key key{};
  double measured_us = 0;
  double simulated_us = 0;
  bool unstable = false;  ///< when it was measured, on either side
};

struct Join {
  std::vector<Row> rows{};  ///< in the order of the measured file
  std::vector<Key> only_measured{};
  std::vector<Key> only_simulated{};
};

/// Joins by exact key; nothing is interpolated. Both sides have unique keys and positive times, as read_recording()
/// guarantees.
Join join(std::span<const Sample> measured, std::span<const Sample> simulated);

}  // namespace twinlink::validate
