// Which single part of a machine, slower than its platform says, would explain measured copies best.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

#include "validate/calibrate/probe_set.hpp"
#include "validate/compare/error_metrics.hpp"

namespace twinlink::validate {

/// A link, adapter, hub, memory or the fabric with a share of its bandwidth, as `--degrade PART=50%` gives it to a
/// simulation, but for the fabric.
struct Suspect {
  std::string part{};
  std::string kind{};              ///< "link", "adapter", "hub", "memory", "fabric"
  double share = 1;                ///< at which the squared logarithms of the errors add up to least
  std::size_t curves = 0;          ///< that it slows
  double explained = 0;            ///< share of that sum, over these curves, which is gone then
  double seen_from = 1;            ///< the largest share at which a curve is slower by more than the tolerance
  ErrorSummary errors{};           ///< of all copies and messages, with the part at its share
  double least = 0;                ///< that sum over all of them
  std::size_t left_slow = 0;       ///< curves of any kind that are slower than the platform even so
  std::vector<std::string> alike;  ///< parts that the probes do not tell from it, each with its share
};

/// So much of the squared errors has to be gone with what is said to explain them: more than half, so that nothing else
/// explains as much by itself.
inline constexpr double kExplains = 0.5;

/// A curve: the lines of one name between the same devices, by size.
struct SlowCurve {
  std::string name{};
  std::string devices{};
  std::string plural{};  ///< of its kind: "messages"
  double slower = 0;     ///< geometric mean of measured over predicted, less 1; lines that are faster count as equal
};

/// The curves of one kind that were held against the platform.
struct Judged {
  std::string plural{};  ///< "messages"
  std::size_t curves = 0;
  std::size_t slow = 0;
  double slowest = 0;  ///< as SlowCurve::slower
  double allowed = 0;  ///< the tolerance, or the model's own error where that is larger: KindFacts::own_error
  double widest = 0;   ///< or what chance does to the curve that repeats itself least, where that is larger
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
/// them, signals, handles, allocations. A curve of few sizes that repeats itself badly is allowed what chance does to
/// one of so many curves, as the percentiles of its lines tell; and what a part explains is more than that noise. Then
/// copies and messages again with each part in turn degraded. A part explains what is slow if a copy or message is then
/// slower by more than `tolerance`, and at least half of the squared error of those that it slows is gone. An
/// InputError for a base that cannot be read, a device that it does not have, probes of another machine unless `force`
/// makes that a note, and probes without a line that `base` has numbers for.
Suspicion find_suspects(const ProbeSet& probes, const std::filesystem::path& base, double tolerance, bool force);

}  // namespace twinlink::validate
