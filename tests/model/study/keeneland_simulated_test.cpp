// The Keeneland machines as they are simulated, against the measurements of machines of the same shape, and the curves
// of "GPUDirect Performance on Keeneland" in the order that the page gives.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "model/engine/simulation.hpp"
#include "model/study/child_process.hpp"
#include "model/study/figures.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "tests/platforms/reference_rows.hpp"
#include "tests/support/finish.hpp"

namespace twinlink::model {
namespace {

using testing::contains;
using ::testing::HasSubstr;
using testing::number;
using testing::read_rows;
using testing::Row;
using testing::rows_for_kids;

Platform read(const std::string& file) {
  return read_platform(std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms" / file);
}

/// A copy as StarPU measured it: one operation, waited for.
struct MeasuredCopy {
  Place from{};
  Place to{};  ///< the same as `from` unless the copy goes to a peer
  Memory host = Memory::pinned;
  Locality locality = Locality::near;
  bool to_device = false;
};

MeasuredCopy copy_of(const Row& row) {
  const auto gpu = [&](const char* column) { return row.at(column).back() - '0'; };
  const std::string& path = row.at("path");
  if (row.at("kind") == "PEER") return {.from = {0, gpu("src"), {}}, .to = {0, gpu("dst"), {}}};
  const bool to_device = row.at("kind") == "H2D";
  const Place place{0, to_device ? gpu("dst") : gpu("src"), {}};
  return {.from = place,
          .to = place,
          .host = contains(path, "pageable") ? Memory::pageable : Memory::pinned,
          .locality = contains(path, "remote") ? Locality::far : Locality::near,
          .to_device = to_device};
}

/// The time of one copy of `size` bytes on an idle KIDS, in seconds. In a child: one simulation per process.
double simulate_copy(const MeasuredCopy& copy, Bytes size) {
  const Platform kids = read("keeneland-kids.yaml");
  return std::stod(in_child_process([&] {
           constexpr Seconds patience{100};
           constexpr Tag tag{64};
           Seconds time{};
           const std::vector<Place> places{copy.from, copy.to};
           simulate(kids, places, [&](Rank& rank) {
             const RankId peer{1 - rank.id().value};
             const Buffer device = rank.allocate(Memory::device, size);
             if (rank.id().value == 1) {
               finish(rank, rank.send_control(peer, tag, ControlMessage(rank.export_memory(device))), patience);
               ControlMessage done;
               finish(rank, rank.recv_control(peer, tag, done), patience);
               return;
             }
             ControlMessage handle;
             finish(rank, rank.recv_control(peer, tag, handle), patience);
             const bool to_peer = !(copy.from == copy.to);
             const Buffer other = to_peer ? rank.open_memory(peer, handle.as<IpcHandle>())
                                          : rank.allocate(copy.host, size, copy.locality);
             const View from(copy.to_device ? other : device);
             const View to(copy.to_device ? device : other);
             const Seconds start = rank.now();
             if (wait(rank, rank.copy(to, from, Stream{}, Engine::dma), patience) != Status::delivered)
               throw Error("lost");
             time = rank.now() - start;
             finish(rank, rank.send_control(peer, tag, ControlMessage{}), patience);
           });
           return std::to_string(time.microseconds());
         })) *
         1e-6;
}

TEST(SimulatedKids, CopiesAreWithin3PercentAndTheDriversFallbackWithin5) {
  std::size_t fallbacks = 0;
  for (const Row& row : rows_for_kids()) {
    const bool fallback = contains(row.at("path"), "no P2P");
    fallbacks += fallback ? 1 : 0;
    const double measured = number(row, "bandwidth_MBps");
    const double simulated = 1e-6 * static_cast<double>((32_MiB).count()) / simulate_copy(copy_of(row), 32_MiB);
    EXPECT_NEAR(simulated, measured, (fallback ? 0.05 : 0.03) * measured)
        << row.at("src") << " -> " << row.at("dst") << ", " << row.at("path");
  }
  EXPECT_EQ(fallbacks, 4U) << "both directions";
}

TEST(SimulatedKids, HostPingPongIsWithin3PercentOfQdrAtEverySize) {
  const Platform kids = read("keeneland-kids.yaml");
  std::size_t seen = 0;
  for (const Row& row : read_rows("host_mpi.csv")) {
    if (row.at("dataset") != "qdr_mlx4_host" || row.at("metric") != "mpi_latency" || row.at("bytes") == "0") continue;
    ++seen;
    const Bytes size{std::stoull(row.at("bytes"))};
    const FigureCurve curve{.protocol = "host", .from = {0, 0, {}}, .to = {1, 0, {}}};
    const double simulated = std::stod(in_child_process([&] {
      bench::RunOptions options;
      options.sweep = {.begin = size, .end = size};
      return std::to_string(simulate_curve(curve, kids, options).points.at(0).time_us.median);
    }));
    EXPECT_NEAR(simulated, number(row, "value"), 0.03 * number(row, "value")) << size.count() << " B";
  }
  EXPECT_EQ(seen, 19U);
}

/// Bandwidths of all curves of both figures by id and size, and the ways taken.
struct Drawn {
  std::map<std::string, std::vector<double>> bandwidth{};
  std::map<std::string, std::string> path{};
};

Drawn draw() {
  Drawn drawn;
  for (const Figure& figure : keeneland_figures()) {
    const Platform platform = read(figure.platform);
    for (const FigureCurve& curve : figure.curves) {
      const std::string text = in_child_process([&] {
        return to_json(bench::Result{.world = "simulated", .series = simulate_curve(curve, platform, {})}).dump();
      });
      const bench::Result result = bench::result_from_json(nlohmann::json::parse(text), curve.id);
      for (const bench::Point& point : result.series.points) {
        drawn.bandwidth[curve.id].push_back(point.bandwidth_MBps);
        drawn.path[curve.id] = point.path;
      }
    }
  }
  return drawn;
}

TEST(Figures, CurvesComeInTheOrderThatThePageGives) {
  const Drawn drawn = draw();
  const auto& curve = drawn.bandwidth;
  const std::size_t sizes = curve.at("kfs-host").size();
  EXPECT_EQ(sizes, 25U) << "4 B to 64 MiB";
  for (std::size_t i = 0; i < sizes; ++i) {
    EXPECT_LT(curve.at("kfs-copy-pageable")[i], curve.at("kfs-copy-pinned")[i]);
    EXPECT_LT(curve.at("kfs-gpu-gpu")[i], curve.at("kfs-v1")[i]);
    EXPECT_LT(curve.at("kfs-unshared")[i], curve.at("kfs-v1")[i]) << "the copy that GPUDirect v1 removes";
    EXPECT_LE(curve.at("kfs-v1")[i], curve.at("kfs-library-256K")[i]);
    EXPECT_LT(curve.at("kfs-library-256K")[i], curve.at("kfs-host")[i]);
    for (const char* other :
         {"kids-fallback-0-1", "kids-fallback-1-0", "kids-explicit-pinned", "kids-explicit-pageable"}) {
      EXPECT_LE(curve.at(other)[i], curve.at("kids-peer")[i]) << other << " at " << i;
    }
  }
  EXPECT_GT(curve.at("kids-peer").back(), curve.at("kids-stores").back());
  EXPECT_GT(curve.at("kids-stores").back(), curve.at("kids-loads").back());
  EXPECT_GT(curve.at("kfs-library").back(), 1.5 * curve.at("kfs-v1").back()) << "three hops overlap";
  EXPECT_GT(curve.at("kfs-library-512K").back(), curve.at("kfs-library").back()) << "as the page advises";
  EXPECT_LT(curve.at("kids-fallback-0-1").back(), curve.at("kids-fallback-1-0").back()) << "as on mirage";
  EXPECT_EQ(drawn.path.at("kids-peer"), "peer copy by the copy engine");
  EXPECT_THAT(drawn.path.at("kids-fallback-0-1"), HasSubstr("staged through the host by the driver: no peer access"));
}

}  // namespace
}  // namespace twinlink::model
