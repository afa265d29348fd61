// Which single part of a machine, slower than its platform says, would explain best what was measured.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "validate/calibrate/probe_set.hpp"
#include "validate/compare/error_metrics.hpp"
#include "validate/compare/spread.hpp"

namespace twinlink::validate {

/// A Possible that makes the error smaller: a link, adapter, hub, memory or the fabric with a share of its bandwidth,
/// as
/// `--degrade PART=50%` gives it to a simulation, but for the fabric; a GPU's memory or copy engine; a processor; or a
/// way that is not taken as it should be, without a share.
struct Suspect {
  std::string part{};
  std::string kind{};
  std::string of_what{};            ///< "bandwidth"; empty: it has no share, and `part` says all of it
  bool degradable = false;          ///< --degrade knows it
  std::vector<std::size_t> gpus{};  ///< that it is about; empty: what its links tell
  double share = 1;                 ///< at which the squared logarithms of the errors add up to least
  std::size_t curves = 0;           ///< that it slows
  double explained = 0;             ///< share of that sum which is gone then, over the lines that it makes longer
  double of_slow = 1;               ///< the same over all curves that are slow, whether it slows them or not
  std::string contradicted_by{};    ///< a curve that it would slow and that is as fast as if it were well; empty: none
  double seen_from = 1;             ///< the largest share at which a curve is slower by more than the tolerance
  ErrorSummary errors{};            ///< of all copies and messages, with the part at its share
  double least = 0;                 ///< that sum over all of them
  std::size_t left_slow = 0;        ///< curves of any kind that are slower than the platform even so
  std::vector<std::string> alike;   ///< parts that the probes do not tell from it, each with its share

  [[nodiscard]] bool has_share() const { return !of_what.empty(); }
};

/// So much of the squared errors has to be gone with what is said to explain them: more than half, so that nothing else
/// explains as much by itself.
inline constexpr double kExplains = 0.5;
/// And so much of those of all that is slow: of several ill parts each explains its own, and none of them all.
inline constexpr double kOfSlow = 0.3;

/// "link 'pcie3' at 50 % of its bandwidth"; of what has no share its own words.
std::string in_words(const Suspect& suspect);

/// A curve: the lines of one name between the same devices, by size.
struct SlowCurve {
  std::string name{};
  std::string devices{};
  std::string plural{};     ///< of its kind: "messages"
  Band band = Band::small;  ///< where it is slowest
  double slower = 0;  ///< geometric mean of measured over predicted there, less 1; lines that are faster count as equal
};

/// The curves of one kind that were held against the platform.
struct Judged {
  std::string plural{};  ///< "messages"
  std::size_t curves = 0;
  std::size_t slow = 0;
  double slowest = 0;  ///< as SlowCurve::slower
  double allowed = 0;  ///< least of all bands: the tolerance, or the model's own error, KindFacts::own_errors
  double widest = 0;   ///< most of all bands: the same, or what chance does where that is more
};

/// What nothing is said about: lines that no number of the platform stands for, devices, parts that nothing crosses.
struct Unjudged {
  std::vector<std::string> what{};
  std::string why{};
};

struct Suspicion {
  enum class Verdict {
    as_fast,      ///< no curve is slower than the platform says
    one_part,     ///< the first suspect explains it
    unexplained,  ///< curves are slower, and no single part explains it
    too_fast      ///< none is slower, and copies or messages are so much faster that the platform is of another machine
  };
  Verdict verdict = Verdict::as_fast;
  std::string base{};  ///< the file, as the user named it
  std::vector<ProbeOrigin> origins{};
  double tolerance = 0;
  std::size_t curves = 0;
  ErrorSummary errors{};         ///< of all copies and messages, with the platform as it is
  std::vector<Judged> judged{};  ///< every curve is in one of them
  std::vector<Unjudged> unjudged{};
  std::vector<std::string> fast{};  ///< copies and messages whose largest takes less than half of what is predicted
  std::vector<SlowCurve> slow{};    ///< by more than their kind is allowed; the slowest first
  std::vector<Suspect>
      suspects{};  ///< that make the error smaller; those that explain what is slow first, then the best
  std::vector<std::string> notes{};
};

/// Holds every probe of one thing at a time against `base`, on an idle machine: copies, messages, what CPUs do for
/// them, signals, handles, allocations. A curve is slow if it is in one of the bands of sizes; one of few sizes that
/// repeats itself badly is allowed what chance does to one of so many, as the percentiles of its lines tell; and what a
/// part explains is more than that noise. Then they are held again against the machine with each part in turn degraded,
/// and where anything is slow with each way that may be another. One explains it if a line is then slower by
/// more than `tolerance`, at least kExplains of the squared error of the lines that it makes longer is gone and kOfSlow
/// of all that is slow, and no curve contradicts it. An InputError for a base that cannot be read, a device that it
/// does not have, probes of another machine unless `force` makes that a note, and probes without a line that `base` has
/// numbers for.
Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force);

}  // namespace twinlink::validate
