// A study: one command, and the values of some of its options, over which it is run.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/yaml/diagnostics.hpp"

namespace twinlink::model {

/// An option of the command. "chunk" is --chunk; "set PATH" and "option NAME" are one --set or --option; "workload" is
/// the argument of `workload`.
struct StudyOption {
  std::string name{};
  std::vector<std::string> values{};
  platforms::Position position{};
  std::vector<std::vector<StudyOption>> meanings{};  ///< of values that are names: the options of each; else empty

  /// What one of its values adds to the command line. A flag is "true" or "false".
  [[nodiscard]] std::vector<std::string> arguments(const std::string& value) const;
  /// "--chunk"; empty for the argument.
  [[nodiscard]] std::string flag() const;
};

/// A number of the platform that is not known exactly.
struct Spread {
  std::string path{};  ///< as --set names it
  double share = 0;    ///< one standard deviation of its logarithm: 0.05 is 5 %
  platforms::Position position{};
};

struct StudyPoint {
  std::vector<std::string> values{};  ///< by axis
  int sample = 0;
  std::vector<std::string> arguments{};  ///< of the program: "run", "--platform", ...
  std::string error{};                   ///< why it cannot run: its platform lacks a number that has a spread
};

struct Study {
  std::string title{};
  std::string command = "run";         ///< or "workload"
  std::vector<StudyOption> options{};  ///< the same for all points; values are repetitions
  std::vector<StudyOption> axes{};
  std::vector<std::vector<std::size_t>> chosen{};  ///< of each point the value of each axis
  std::vector<Spread> spreads{};
  int samples = 1;
  std::uint64_t seed = 1;

  /// All points, samples of a point one behind the other. `base(arguments, path)` is the text of a number of the
  /// platform that the arguments name; asked for what has a spread. The same study gives the same points.
  [[nodiscard]] std::vector<StudyPoint> points(
      const std::function<std::string(const std::vector<std::string>& arguments, const std::string& path)>& base) const;
};

/// The form is in `twinlink-sim study --help` and validate/studies/README.md. An InputError with all that is wrong.
Study read_study(const std::filesystem::path& file);

}  // namespace twinlink::model
