// Gnuplot, where it is installed.
#pragma once

#include <span>
#include <string>

#include "protocols/bench/figure/figures.hpp"

namespace twinlink::model {

/// The plot of a figure's curves that are of the page as SVG: MB/s over the message size, in the page's markers and
/// colours. An EnvironmentError if the program is missing, which names the package, or if it fails.
std::string svg_plot(const bench::Figure& figure, std::span<const bench::DrawnCurve> curves, const std::string& world);

}  // namespace twinlink::model
