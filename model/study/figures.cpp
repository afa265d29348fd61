#include "model/study/figures.hpp"

#include <algorithm>
#include <array>

#include <fmt/format.h>

#include "model/engine/simulation.hpp"
#include "model/study/chart.hpp"
#include "protocols/bench/measure/driver.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

using bench::Pattern;
using bench::Point;
using bench::Series;

struct Ends {
  Place from{};
  Place to{};
};
const Ends kNodes{{0, 0, {}}, {1, 0, {}}};
const Ends kPeers{{0, 1, {}}, {0, 2, {}}};  // below one hub
const Ends kApart{{0, 0, {}}, {0, 1, {}}};  // no peer access
const Ends kBack{kApart.to, kApart.from};

FigureCurve curve(const std::string& id, const std::string& label, const std::string& protocol, const Ends& ends,
                  const bench::SettingsOptions& settings = {}) {
  return {.id = id, .label = label, .protocol = protocol, .from = ends.from, .to = ends.to, .settings = settings};
}

FigureCurve copies(const std::string& id, const std::string& label, Memory host) {
  return {.id = id, .label = label, .copy = host, .from = kNodes.from, .to = kNodes.from};
}

FigureCurve library(const std::string& id, Bytes block) {
  return curve(id, "device buffers through the library, blocks of " + format_size(block), "cuda-aware", kNodes,
               {.preset = "mvapich2-1.8", .chunk = block});
}

FigureCurve peers(const std::string& id, const std::string& label, const std::string& engine) {
  FigureCurve made = curve(id, label, "gpudirect-v2", kPeers, {.options = {{"engine", engine}}});
  made.support = Support::Kind::yes;
  return made;
}

FigureCurve fallback(const std::string& id, const std::string& label, const Ends& ends) {
  FigureCurve made = curve(id, label, "gpudirect-v2", ends);
  made.support = Support::Kind::fallback;
  made.pattern = Pattern::bandwidth;
  return made;
}

FigureCurve beside_the_page(FigureCurve made) {
  made.of_the_page = false;
  return made;
}

Figure kfs() {
  return {
      .id = "keeneland-kfs",
      .title = "Bandwidth on Keeneland KFS",
      .platform = "keeneland-kfs.yaml",
      .curves = {curve("kfs-host", "host to host, between nodes, no GPU", "host", kNodes),
                 copies("kfs-copy-pageable", "host-GPU copy, not page-locked", Memory::pageable),
                 copies("kfs-copy-pinned", "host-GPU copy, page-locked", Memory::pinned),
                 curve("kfs-gpu-gpu", "gpu-gpu between nodes, explicit copies", "staging", kNodes),
                 curve("kfs-v1", "gpu-gpu with GPUDirect v1", "gpudirect-v1", kNodes), library("kfs-library", 64_KiB),
                 beside_the_page(library("kfs-library-256K", 256_KiB)),
                 beside_the_page(library("kfs-library-512K", 512_KiB)),
                 beside_the_page(curve("kfs-unshared", "gpu-gpu, page-locked buffers that the adapter does not share",
                                       "staging", kNodes, {.options = {{"memory", "pinned"}}}))},
      .rising = {{"kfs-copy-pageable", "kfs-copy-pinned"},
                 {"kfs-gpu-gpu", "kfs-v1"},
                 {"kfs-v1", "kfs-library"},
                 {"kfs-unshared", "kfs-v1"}}};
}

Figure kids() {
  return {
      .id = "keeneland-kids",
      .title = "GPUDirect v2 on Keeneland KIDS",
      .platform = "keeneland-kids.yaml",
      .curves = {peers("kids-peer", "GPU 1 and 2, one hub, peer copies", "copy-engine"),
                 peers("kids-stores", "GPU 1 and 2, a kernel stores", "kernel-push"),
                 peers("kids-loads", "GPU 1 and 2, a kernel loads", "kernel-pull"),
                 fallback("kids-fallback-0-1", "GPU 0 to 1, refused, driver's copies", kApart),
                 fallback("kids-fallback-1-0", "GPU 1 to 0, refused, driver's copies", kBack),
                 curve("kids-explicit-pinned", "GPU 0 and 1, explicit copies, page-locked", "gpudirect-v1", kApart,
                       {.chunk = 64_MiB, .options = {{"buffers", "shared"}}}),
                 curve("kids-explicit-pageable", "GPU 0 and 1, explicit copies, not page-locked", "staging", kApart),
                 curve("kids-host", "host to host within the node, no GPU", "host", kApart)},
      .rising = {{"kids-fallback-0-1", "kids-peer"},
                 {"kids-fallback-1-0", "kids-peer"},
                 {"kids-explicit-pinned", "kids-peer"},
                 {"kids-explicit-pageable", "kids-explicit-pinned"}}};
}

const Point* point_at(const Series& series, Bytes size) {
  const auto found = std::ranges::find(series.points, size, &Point::size);
  return found == series.points.end() ? nullptr : &*found;
}

std::string table(std::span<const DrawnCurve> curves) {
  std::string text = "\n      size";
  for (std::size_t i = 0; i < curves.size(); ++i) text += fmt::format("{:>10}", fmt::format("({})", i + 1));
  text += "   MB/s\n";
  for (const Point& row : curves.front().series.points) {
    text += fmt::format("{:>10}", format_size(row.size));
    for (const DrawnCurve& drawn : curves) {
      const Point* point = point_at(drawn.series, row.size);
      text += point == nullptr ? fmt::format("{:>10}", "-") : fmt::format("{:>10.1f}", point->bandwidth_MBps);
    }
    text += "\n";
  }
  return text;
}

/// "4 to 8K, 1M": sizes as ranges of neighbours of `all`.
std::string ranges(const std::vector<Bytes>& sizes, const std::vector<Point>& all) {
  std::string text;
  for (std::size_t i = 0; i < sizes.size();) {
    auto here = std::ranges::find(all, sizes[i], &Point::size);
    std::size_t last = i;
    while (last + 1 < sizes.size() && ++here != all.end() && here->size == sizes[last + 1]) ++last;
    text += (text.empty() ? "" : ", ") + format_size(sizes[i]);
    if (last > i) text += " to " + format_size(sizes[last]);
    i = last + 1;
  }
  return text;
}

}  // namespace

std::string figure_names() {
  std::string names;
  for (const Figure& figure : keeneland_figures()) names += (names.empty() ? "" : ", ") + figure.id;
  return names;
}

std::vector<const Figure*> figures_named(std::span<const std::string> names) {
  const std::span<const Figure> all = keeneland_figures();
  for (const std::string& name : names) {
    if (std::ranges::find(all, name, &Figure::id) == all.end()) {
      throw UsageError("no figure \"" + name + "\"; there are: " + figure_names());
    }
  }
  std::vector<const Figure*> named;
  for (const Figure& figure : all) {
    if (names.empty() || std::ranges::find(names, figure.id) != names.end()) named.push_back(&figure);
  }
  return named;
}

std::string why_not(const FigureCurve& curve, const Path& path) {
  if (curve.copy) return {};
  const bool within_a_node = curve.from.node == curve.to.node;
  if (within_a_node != path.same_node) {
    return within_a_node ? "the devices are on different nodes" : "the devices are on one node";
  }
  const Support support = find_protocol(curve.protocol).supports(path);
  if (!support.usable()) return support.reason;
  if (!curve.support || *curve.support == support.kind) return {};
  return support.kind == Support::Kind::yes ? "there is peer access, so the driver does not fall back" : support.reason;
}

bench::Series simulate_curve(const FigureCurve& curve, const Platform& platform, bench::RunOptions options) {
  options.protocol = curve.copy ? "host" : curve.protocol;  // a copy runs none, and the second rank has nothing to do
  options.settings = curve.settings;
  options.pattern = curve.pattern;
  if (curve.pattern == Pattern::bandwidth) options.window = 1;
  const bench::Plan plan = make_plan(options, bench::simulated_repeats());
  const std::vector<Place> places{curve.from, curve.to};
  Series series;
  simulate(platform, places, [&](MeasuredRank& rank) {
    Series mine = curve.copy ? bench::measure_copy(rank, *curve.copy, Locality::near, plan)
                             : bench::measure(rank, find_protocol(curve.protocol), plan);
    if (rank.id() == plan.first) series = std::move(mine);
  });
  series.label = curve.label;
  series.clock = "simulated";
  return series;
}

std::span<const Figure> keeneland_figures() {
  static const std::array figures{kfs(), kids()};
  return figures;
}

std::string against_the_page(const Figure& figure, std::span<const DrawnCurve> curves) {
  std::string text;
  const auto numbered = [&](const std::string& id) {
    const auto found = std::ranges::find(curves, id, [](const DrawnCurve& drawn) { return drawn.curve->id; });
    return static_cast<std::size_t>(found - curves.begin());
  };
  for (const auto& [lower, upper] : figure.rising) {
    const std::size_t low = numbered(lower);
    const std::size_t high = numbered(upper);
    if (low == curves.size() || high == curves.size()) continue;
    std::vector<Bytes> wrong;
    for (const Point& point : curves[low].series.points) {
      const Point* other = point_at(curves[high].series, point.size);
      if (other != nullptr && other->bandwidth_MBps < point.bandwidth_MBps) wrong.push_back(point.size);
    }
    if (wrong.empty()) continue;
    text += fmt::format("  ({}) is below ({}), against the page, at {}\n", high + 1, low + 1,
                        ranges(wrong, curves[low].series.points));
  }
  return text;
}

std::string figure_text(const Figure& figure, std::span<const DrawnCurve> curves, const std::string& world) {
  if (curves.empty()) throw UsageError("there is no curve to draw");
  std::vector<Curve> plotted;
  std::string legend;
  for (std::size_t i = 0; i < curves.size(); ++i) {
    const auto& [of, series] = curves[i];
    legend += fmt::format("  ({}) {}\n      {} to {}: {}\n", i + 1, series.label, series.from, series.to,
                          series.points.back().path);
    if (of != nullptr && !of->of_the_page) continue;
    Curve curve{.label = fmt::format("({}) {}", i + 1, series.label)};
    for (const Point& point : series.points) curve.points.push_back({point.size, point.bandwidth_MBps});
    plotted.push_back(std::move(curve));
  }
  const std::string notes = against_the_page(figure, curves);
  return draw_chart(plotted, {.title = fmt::format("{} ({})", figure.title, world)}) + table(curves) + "\n" + legend +
         (notes.empty() ? "" : "\n" + notes);
}

}  // namespace twinlink::model
