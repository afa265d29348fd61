// Measured against simulated: everything that the reports print.
//
//   const Comparison found = compare_files(files, {.p95 = 0.15}, false);   // measured, simulated
//   found.pairs.front().errors.geometric_mean     // 0.05: 5 %
//   found.verdict()                               // Verdict::exceeded: exit code 1
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "validate/compare/crossover.hpp"
#include "validate/compare/error_metrics.hpp"
#include "validate/compare/join.hpp"
#include "validate/compare/prediction.hpp"
#include "validate/compare/recording.hpp"

namespace twinlink::validate {

/// The errors that are still accepted, as fractions; an empty one is not checked.
struct Limits {
  std::optional<double> geometric_mean{};
  std::optional<double> p95{};
  std::optional<double> slower{};
};

/// One figure of a pair, for people, and what is accepted of it.
struct LimitedFigure {
  std::string_view name{};  ///< "geometric mean"
  double ErrorSummary::*error = nullptr;
  std::optional<double> limit{};
};
/// All of them, also those without a limit.
std::vector<LimitedFigure> limited_figures(const Limits& limits);

/// `no_limit`: none was given, so there is nothing to pass.
enum class Verdict { no_limit, passed, exceeded };

/// A measured file held against a simulated one; or, where their sides have labels, any two.
struct Pair {
  std::string label{};  ///< unique within a comparison
  Recording measured{};
  Recording simulated{};
  std::vector<std::string> notes{};  ///< differences that a reader must know about
  Join joined{};
  ErrorSummary errors{};
  Prediction prediction = Prediction::unknown;  ///< of a curve; nobody expects probes

  /// What it is that one has and the other has not.
  [[nodiscard]] std::string_view difference() const { return measured.label.empty() ? "error" : "difference"; }
};

/// Two curves' crossovers, at the sizes that all four files hold.
struct CurveOrder {
  std::size_t a = 0;  ///< indices of Comparison::pairs
  std::size_t b = 0;
  std::vector<Lead> measured{};
  std::vector<Lead> simulated{};
  std::vector<Crossover> crossovers{};
  std::size_t sizes = 0;       ///< compared
  std::size_t same_order = 0;  ///< sizes at which both worlds name the same curve as the faster one
};

/// What compare() has found; report.hpp makes texts, pages and JSON of it.
struct Comparison {
  std::vector<Pair> pairs{};
  std::vector<CurveOrder> orders{};  ///< every two pairs that measure the same pattern
  Limits limits{};
  std::vector<std::string> exceeded{};  ///< each limit that is exceeded, in words

  [[nodiscard]] Verdict verdict() const;
};

/// Holds one file against the other. Throws InputError unless the first is measured, the second simulated (where their
/// sides have no labels), both are of one kind, and they have a line in common, and the expectation in the measured one
/// can be read; and, unless `force` turns these into notes, the same pattern and protocol, with the same protocols
/// beside it.
Pair compare_pair(Recording measured, Recording simulated, bool force);

/// Orders the pairs' curves and applies `limits`, to each pair on its own. `pairs` must not be empty.
Comparison compare(std::vector<Pair> pairs, const Limits& limits);

/// Reads MEASURED SIMULATED [MEASURED SIMULATED]... and compares them. `wishes` are for the files of other tools.
/// `labels` of the two sides: none, or two, and the files are of any world, the first ones what the second are held to.
/// Throws UsageError for an odd number of files and for a wish that is of no use, and InputError with the findings of
/// all files.
Comparison compare_files(std::span<const std::filesystem::path> files, const Limits& limits, bool force,
                         const ImportWishes& wishes = {}, std::span<const std::string> labels = {});

}  // namespace twinlink::validate
