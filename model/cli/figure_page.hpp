// The figures of the page "GPUDirect Performance on Keeneland" as a page of our own.
#pragma once

#include <span>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "platforms/report/document.hpp"
#include "protocols/bench/figure/figures.hpp"

namespace twinlink::model {

/// A figure, its curves, and the machine that they were simulated on.
struct SimulatedFigure {
  const bench::Figure* figure = nullptr;
  Platform platform{};
  std::vector<bench::DrawnCurve> curves{};  ///< not empty
};

/// Plots with their tables, the machines, and the ways of five protocols on the first machine where each can run; why
/// where none can. Simulates a message of each in a process of its own.
report::Document figure_page(std::span<const SimulatedFigure> figures);

}  // namespace twinlink::model
