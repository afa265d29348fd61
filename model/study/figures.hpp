// The two figures of "GPUDirect Performance on Keeneland": which curves they have, simulated on the page's machines.
// The page gives their order and what each curve is, not its numbers.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "model/engine/flows/platform_names.hpp"
#include "platforms/machine/platform.hpp"
#include "protocols/bench/cli/options.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/core/path.hpp"

namespace twinlink::model {

struct FigureCurve {
  std::string id{};  ///< of its result files
  std::string label{};
  std::optional<Memory> copy{};  ///< a copy between the GPU and host memory of this kind; else `protocol`
  std::string protocol{};
  Place from{};
  Place to{};
  /// What the protocol must answer to the path; absent: whatever it does.
  std::optional<Support::Kind> support{};
  bench::Pattern pattern =
      bench::Pattern::pingpong;  ///< half of a round trip, as the page has it; bandwidth: this direction alone
  bench::SettingsOptions settings{};
  bool of_the_page = true;  ///< others are in the table and the files, not in the plot
};

struct Figure {
  std::string id{};  ///< by which users name it
  std::string title{};
  std::string platform{};  ///< file name within the folder of platforms
  std::vector<FigureCurve> curves{};
  /// By id, pairs of curves of which the page says that the second is faster.
  std::vector<std::pair<std::string, std::string>> rising{};
};

std::span<const Figure> keeneland_figures();
/// Their names, for texts.
std::string figure_names();
/// Those of these names in the page's order; all where none is named. A UsageError for a name that none has.
std::vector<const Figure*> figures_named(std::span<const std::string> names);

/// Why two devices have no such curve; empty: they have.
std::string why_not(const FigureCurve& curve, const Path& path);
/// Simulates one curve, with the sizes and repeats of `options`. With SimGrid's flows once per process, as simulate().
bench::Series simulate_curve(const FigureCurve& curve, const Platform& platform, bench::RunOptions options);

struct DrawnCurve {
  const FigureCurve* curve = nullptr;  ///< null: of no figure
  bench::Series series{};
};

/// The plot in plain text, a table of MB/s by size, the way of each curve, and where the page's order does not come
/// out. `world` is how `title` goes on. A UsageError if there is nothing to draw.
std::string figure_text(const Figure& figure, std::span<const DrawnCurve> curves, const std::string& world);

/// The sizes at which the page's order does not come out, one line for each pair of curves; empty if it does.
std::string against_the_page(const Figure& figure, std::span<const DrawnCurve> curves);

}  // namespace twinlink::model
