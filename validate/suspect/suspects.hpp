// Which single part of a machine, slower than its platform says, would explain measured copies best.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "validate/calibrate/probe_set.hpp"
#include "validate/compare/error_metrics.hpp"

namespace twinlink::validate {

/// A link, hub or memory with a share of its bandwidth, as `--degrade PART=50%` gives it to a simulation.
struct Suspect {
  std::string part{};
  std::string kind{};              ///< "link", "hub", "memory"
  double share = 1;                ///< at which the squared logarithms of the errors add up to least
  std::size_t curves = 0;          ///< that it slows
  double explained = 0;            ///< share of that sum, over these curves, which is gone then
  ErrorSummary errors{};           ///< of all copies, with the part at its share
  double least = 0;                ///< that sum over all copies
  std::size_t left_slow = 0;       ///< curves that are slower than the platform even so
  std::vector<std::string> alike;  ///< parts that the probes do not tell from it, each with its share
};

/// The copies of one name between the same devices, by size.
struct SlowCurve {
  std::string name{};
  std::string devices{};
  double slower = 0;  ///< geometric mean of measured over predicted, less 1; lines that are faster count as equal
};

struct Suspicion {
  enum class Verdict {
    as_fast,     ///< no curve of copies is slower than the platform says
    one_part,    ///< the first suspect explains it
    unexplained  ///< curves are slower, and no single part explains it
  };
  Verdict verdict = Verdict::as_fast;
  std::string base{};  ///< the file, as the user named it
  std::vector<ProbeOrigin> origins{};
  double tolerance = 0;
  std::size_t curves = 0;
  ErrorSummary errors{};            ///< of all copies, with the platform as it is
  std::vector<SlowCurve> slow{};    ///< by more than the tolerance; the slowest first
  std::vector<Suspect> suspects{};  ///< that make the error smaller; the best first
  std::vector<std::string> notes{};
};

/// Holds all single copies of `probes` against `base`, on an idle machine, and again with each part in turn degraded.
/// A part explains what is slow if it then has 1 - `tolerance` of its bandwidth or less, and at least half of the
/// squared error of the curves that it slows is gone. An InputError for a base that cannot be read, a device that it
/// does not have, probes of another machine unless `force` makes that a note, and probes without such a copy.
Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force);

}  // namespace twinlink::validate
