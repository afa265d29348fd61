// The two figures of "GPUDirect Performance on Keeneland": which curves they have. The page gives their order and what
// each curve is, not its numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "protocols/path.hpp"
#include "protocols/rank.hpp"

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

}  // namespace twinlink::model
