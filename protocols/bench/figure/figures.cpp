#include "protocols/bench/figure/figures.hpp"

#include <algorithm>
#include <array>
#include <utility>

#include "protocols/registry.hpp"

namespace twinlink::bench {
namespace {

const Place kNode0{0, 0, {}};
const Place kNode1{1, 0, {}};
const Place kGpu1{0, 1, {}};
const Place kGpu2{0, 2, {}};

FigureCurve library(const std::string& id, Bytes block) {
  return {.id = id,
          .label = "device buffers through the library, blocks of " + format_size(block),
          .protocol = "cuda-aware",
          .from = kNode0,
          .to = kNode1,
          .settings = {.preset = "mvapich2-1.8", .chunk = block},
          .marker = Marker::star,
          .colour = "brown"};
}

Figure kfs() {
  FigureCurve unshared{.id = "kfs-unshared",
                       .label = "gpu-gpu, page-locked buffers that the adapter does not share",
                       .protocol = "staging",
                       .from = kNode0,
                       .to = kNode1,
                       .settings = {.options = {{"memory", "pinned"}}},
                       .of_the_page = false};
  FigureCurve blocks256 = library("kfs-library-256K", 256_KiB);
  FigureCurve blocks512 = library("kfs-library-512K", 512_KiB);
  blocks256.of_the_page = blocks512.of_the_page = false;
  return {.id = "keeneland-kfs",
          .title = "Bandwidth on Keeneland KFS",
          .platform = "keeneland-kfs.yaml",
          .curves = {{.id = "kfs-host",
                      .label = "host to host, between nodes, no GPU",
                      .protocol = "host",
                      .from = kNode0,
                      .to = kNode1,
                      .marker = Marker::diamond,
                      .colour = "green"},
                     {.id = "kfs-copy-pageable",
                      .label = "host-GPU copy, not page-locked",
                      .copy = Memory::pageable,
                      .from = kNode0,
                      .to = kNode0},
                     {.id = "kfs-copy-pinned",
                      .label = "host-GPU copy, page-locked",
                      .copy = Memory::pinned,
                      .from = kNode0,
                      .to = kNode0,
                      .marker = Marker::square,
                      .colour = "red"},
                     {.id = "kfs-gpu-gpu",
                      .label = "gpu-gpu between nodes, explicit copies",
                      .protocol = "staging",
                      .from = kNode0,
                      .to = kNode1,
                      .marker = Marker::triangle,
                      .colour = "blue"},
                     {.id = "kfs-v1",
                      .label = "gpu-gpu with GPUDirect v1",
                      .protocol = "gpudirect-v1",
                      .from = kNode0,
                      .to = kNode1,
                      .marker = Marker::cross,
                      .colour = "purple"},
                     library("kfs-library", 64_KiB),
                     std::move(blocks256),
                     std::move(blocks512),
                     std::move(unshared)},
          .rising = {{"kfs-copy-pageable", "kfs-copy-pinned"},
                     {"kfs-gpu-gpu", "kfs-v1"},
                     {"kfs-v1", "kfs-library"},
                     {"kfs-unshared", "kfs-v1"}}};
}

Figure kids() {
  const auto peers = [](const std::string& id, const std::string& label, const std::string& engine, Marker marker,
                        const std::string& colour) {
    return FigureCurve{.id = id,
                       .label = label,
                       .protocol = "gpudirect-v2",
                       .from = kGpu1,
                       .to = kGpu2,
                       .support = Support::Kind::yes,
                       .settings = {.options = {{"engine", engine}}},
                       .marker = marker,
                       .colour = colour};
  };
  const auto fallback = [](const std::string& id, const std::string& label, const Place& from, const Place& to,
                           Marker marker) {
    return FigureCurve{.id = id,
                       .label = label,
                       .protocol = "gpudirect-v2",
                       .from = from,
                       .to = to,
                       .support = Support::Kind::fallback,
                       .pattern = Pattern::bandwidth,
                       .marker = marker,
                       .colour = "blue"};
  };
  return {
      .id = "keeneland-kids",
      .title = "GPUDirect v2 on Keeneland KIDS",
      .platform = "keeneland-kids.yaml",
      .curves = {peers("kids-peer", "GPU 1 and 2, one hub, peer copies", "copy-engine", Marker::cross, "purple"),
                 peers("kids-stores", "GPU 1 and 2, a kernel stores", "kernel-push", Marker::square, "red"),
                 peers("kids-loads", "GPU 1 and 2, a kernel loads", "kernel-pull", Marker::star, "brown"),
                 fallback("kids-fallback-0-1", "GPU 0 to 1, refused, driver's copies", kNode0, kGpu1, Marker::triangle),
                 fallback("kids-fallback-1-0", "GPU 1 to 0, refused, driver's copies", kGpu1, kNode0, Marker::diamond),
                 {.id = "kids-explicit-pinned",
                  .label = "GPU 0 and 1, explicit copies, page-locked",
                  .protocol = "gpudirect-v1",
                  .from = kNode0,
                  .to = kGpu1,
                  .settings = {.chunk = 64_MiB, .options = {{"buffers", "shared"}}},
                  .marker = Marker::square,
                  .colour = "orange"},
                 {.id = "kids-explicit-pageable",
                  .label = "GPU 0 and 1, explicit copies, not page-locked",
                  .protocol = "staging",
                  .from = kNode0,
                  .to = kGpu1},
                 {.id = "kids-host",
                  .label = "host to host within the node, no GPU",
                  .protocol = "host",
                  .from = kNode0,
                  .to = kGpu1,
                  .marker = Marker::diamond,
                  .colour = "green"}},
      .rising = {{"kids-fallback-0-1", "kids-peer"},
                 {"kids-fallback-1-0", "kids-peer"},
                 {"kids-explicit-pinned", "kids-peer"},
                 {"kids-explicit-pageable", "kids-explicit-pinned"}}};
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

void set_curve(RunOptions& options, const FigureCurve& curve) {
  options.protocol = curve.copy ? "host" : curve.protocol;
  options.settings = curve.settings;
  options.pattern = curve.pattern;
  if (curve.pattern == Pattern::bandwidth) options.window = 1;
}

Series measure_curve(MeasuredRank& rank, const FigureCurve& curve, const Plan& plan) {
  return curve.copy ? measure_copy(rank, *curve.copy, Locality::near, plan)
                    : measure(rank, find_protocol(curve.protocol), plan);
}

std::span<const Figure> keeneland_figures() {
  static const std::array figures{kfs(), kids()};
  return figures;
}

}  // namespace twinlink::bench
