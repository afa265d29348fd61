// What a simulation said of a curve before it was measured. A simulated file is the same whenever it is written, and so
// cannot prove when that was; the measured file can, by holding what was expected.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/measure/driver.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::bench {

/// The member of a measured result's environment that holds an expectation.
inline constexpr std::string_view kExpectedMember = "expected";

struct ExpectedTime {
  Bytes size{};
  double time_us = 0;  ///< the simulated median; positive

  friend bool operator==(const ExpectedTime&, const ExpectedTime&) = default;
};

struct Expectation {
  std::string file{};                  ///< the simulated file, as the user named it
  std::string platform{};              ///< its platform's name
  std::vector<ExpectedTime> points{};  ///< all of its sizes, in its order

  /// Null where nothing is expected.
  [[nodiscard]] const ExpectedTime* find(Bytes size) const;
};

/// Reads a simulated result of the curve that `plan` would measure with `protocol`. An InputError that names the file
/// if it is no result, is not simulated, is of another protocol, pattern, window, chunk, depth, layout or options, ran
/// beside others than the plan's, holds a time that is not positive, or none of the plan's sizes. The places may
/// differ: a rank cannot choose the name of its device.
Expectation read_expectation(const std::filesystem::path& file, std::string_view protocol, const Plan& plan);

/// {"file", "platform", "points": [[bytes, time_us], ...]}.
nlohmann::json to_json(const Expectation& expectation);
/// What an environment block holds; empty if it holds none. An InputError that names `origin` for a wrong member.
std::optional<Expectation> expectation_of(const nlohmann::json& environment, const std::string& origin);

}  // namespace twinlink::bench
