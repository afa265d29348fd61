// The curves of the figures, simulated.
#pragma once

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/figure/figures.hpp"

namespace twinlink::model {

/// Simulates one curve, with the sizes and repeats of `options`. Once per process, as simulate().
bench::Series simulate_curve(const bench::FigureCurve& curve, const Platform& platform, bench::RunOptions options);

}  // namespace twinlink::model
