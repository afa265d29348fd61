// The two figures of "GPUDirect Performance on Keeneland": which curves they have. The page gives their order and what
// each curve is, not its numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "model/platform/platform.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/rank.hpp"

namespace twinlink::model {

struct FigureCurve {
  std::string id{};  ///< of its result files
  std::string label{};
  std::optional<Memory> copy{};  ///< a copy between the GPU and host memory of this kind; else `protocol`
  std::string protocol{};
  Place from{};
  Place to{};
  std::optional<Bytes> chunk{};  ///< empty: the protocol's default
  std::optional<int> depth{};
};

struct Figure {
  std::string title{};
  std::string platform{};  ///< file name within the folder of platforms
  std::vector<FigureCurve> curves{};
};

std::span<const Figure> keeneland_figures();

/// Simulates one curve, with the sizes and repeats of `options`. Once per process, as simulate().
bench::Series simulate_curve(const FigureCurve& curve, const Platform& platform, bench::RunOptions options);

}  // namespace twinlink::model
