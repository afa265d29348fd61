// What has become slower since when, told from a node's own past.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "validate/history/history.hpp"

namespace twinlink::validate {

struct Regression {
  CurveKey key{};
  Band band = Band::small;
  double slower = 0;    ///< than before: 0.5 takes half as long again
  double allowed = 0;   ///< the tolerance, or what the spread of its own points does where that is more
  std::string since{};  ///< the first date on which it was slow, and has stayed so; of a drift the first of all
  bool drift = false;   ///< it has become slower little by little, by `slower` from the first date to the last
  std::vector<DatedFigure> dated{};
};

struct NodeHistory {
  std::vector<Regression> regressions{};  ///< the worst first
  std::size_t dates = 0;
  std::size_t judged = 0;    ///< figures with a past
  std::size_t unstable = 0;  ///< whose newest point did not repeat itself (~): not judged
  std::size_t single = 0;    ///< without a past, or whose past did not repeat itself
};

/// What has become of one figure: the step that is clearest, where everything from `since` on is slower than everything
/// before by `slower`; or a drift, the slope of Theil and Sen, where Kendall's test finds a trend and the line leaves
/// less than the step. Empty where its newest value is no slower than chance allows: faster is no failure. `trials`
/// figures are looked at.
std::vector<Regression> steps_of(const FigureHistory& figure, double tolerance, std::size_t trials);

/// By node: of each curve, and of the mean of all curves of a test, in which noise is less.
std::vector<NodeHistory> find_regressions(const std::vector<NodeResultsOverTime>& nodes, double tolerance);

/// "peer copies slower by 31 % since 2026-11-20"; empty for a node without any.
std::vector<std::string> in_words(const std::vector<NodeHistory>& history);

}  // namespace twinlink::validate
