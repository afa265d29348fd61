#include "model/study/figures.hpp"

#include <array>
#include <utility>

#include "model/engine/simulation.hpp"
#include "protocols/registry.hpp"

namespace twinlink::model {
namespace {

const Place kNode0{0, 0, {}};
const Place kNode1{1, 0, {}};

// The chunk that MVAPICH2's source uses and its manual calls better for large messages; eight chunks in flight.
constexpr Bytes kLibraryChunk = 256_KiB;
constexpr int kLibraryDepth = 8;

Figure kfs() {
  return {.title = "Bandwidth on Keeneland KFS",
          .platform = "keeneland-kfs.yaml",
          .curves = {
              {.id = "kfs-host",
               .label = "host to host, between nodes, no GPU",
               .protocol = "host",
               .from = kNode0,
               .to = kNode1},
              {.id = "kfs-copy-pageable",
               .label = "host-GPU copy, not page-locked",
               .copy = Memory::pageable,
               .from = kNode0,
               .to = kNode0},
              {.id = "kfs-copy-pinned",
               .label = "host-GPU copy, page-locked",
               .copy = Memory::pinned,
               .from = kNode0,
               .to = kNode0},
              {.id = "kfs-gpu-gpu",
               .label = "gpu-gpu between nodes, explicit copies",
               .protocol = "staging",
               .from = kNode0,
               .to = kNode1},
              {.id = "kfs-v1",
               .label = "gpu-gpu with GPUDirect v1",
               .protocol = "gpudirect-v1",
               .from = kNode0,
               .to = kNode1},
              {.id = "kfs-library",
               .label = "device buffers through the library",
               .protocol = "gpudirect-v1",
               .from = kNode0,
               .to = kNode1,
               .chunk = kLibraryChunk,
               .depth = kLibraryDepth},
          }};
}

Figure kids() {
  const Place gpu1{0, 1, {}};
  const Place gpu2{0, 2, {}};
  return {.title = "GPUDirect v2 on Keeneland KIDS",
          .platform = "keeneland-kids.yaml",
          .curves = {
              {.id = "kids-v2-one-hub",
               .label = "GPU 1 to 2, peer-to-peer on one hub",
               .protocol = "gpudirect-v2",
               .from = gpu1,
               .to = gpu2},
              {.id = "kids-v2-refused",
               .label = "GPU 0 to 1 and back, refused, driver's copies",
               .protocol = "gpudirect-v2",
               .from = kNode0,
               .to = gpu1},
              {.id = "kids-v1",
               .label = "gpu-gpu between nodes, GPUDirect v1",
               .protocol = "gpudirect-v1",
               .from = kNode0,
               .to = kNode1},
              {.id = "kids-gpu-gpu",
               .label = "gpu-gpu between nodes, explicit copies",
               .protocol = "staging",
               .from = kNode0,
               .to = kNode1},
          }};
}

}  // namespace

bench::Series simulate_curve(const FigureCurve& curve, const Platform& platform, bench::RunOptions options) {
  options.protocol = curve.copy ? "host" : curve.protocol;  // a copy runs no protocol; its settings are not used
  options.settings.chunk = curve.chunk;
  options.settings.depth = curve.depth;
  const bench::Plan plan = make_plan(options, bench::simulated_repeats());
  const std::vector<Place> places{curve.from, curve.to};  // for a copy, the second rank has nothing to do
  bench::Series series;
  simulate(platform, places, [&](Rank& rank) {
    bench::Series mine = curve.copy ? bench::measure_copy(rank, *curve.copy, Locality::near, plan)
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

}  // namespace twinlink::model
