// What NCCL itself expects: the table of latencies and bandwidths that 2.28.9 prints (NCCL_DEBUG_SUBSYS=TUNING) on up
// to four H100, 2026-11-28, as they are and where NCCL_TOPO_FILE makes it believe in other links, generations and CPUs;
// its tables go by the real GPUs all the same. Nodes by NCCL_HOSTID, over Ethernet of 10 Gbit/s. Left out are trees of
// two and three GPUs and of cards, for which NCCL finds faster channels than rings have.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "protocols/gpu/choice.hpp"
#include "protocols/nccl/search.hpp"
#include "tests/protocols/release.hpp"

namespace twinlink::nccl {
namespace {

using gpu::Algorithm;
using gpu::Ground;
using gpu::LineFormat;
using gpu::Operation;

/// GPUs of a node; the search goes by `searched`, and the tables by what the GPUs are, which is 90.
struct Machine {
  int ranks = 4;
  int searched = 90;
  int links = 18;        ///< of each; in a mesh, of each pair that has any
  bool switched = true;  ///< else the pairs below have them, or all
  std::vector<std::pair<std::size_t, std::size_t>> pairs{};
  int nodes = 1;
  Cpu cpu = Cpu::emerald_rapids;
};

std::map<std::string, Machine> machines() {
  std::map<std::string, Machine> all{
      {"2 behind a switch", {.ranks = 2}},
      {"3 behind a switch", {.ranks = 3}},
      {"4 behind a switch", {}},
      {"4 with 8 links", {.links = 8}},
      {"4 of sm 80 behind a switch", {.searched = 80, .links = 12}},
      {"4 of sm 70 behind a switch", {.searched = 70, .links = 6}},
      {"mesh of 6 links", {.links = 6, .switched = false}},
      {"mesh of 4 links", {.searched = 80, .links = 4, .switched = false}},
      {"mesh of 2 links", {.searched = 70, .links = 2, .switched = false}},
      {"square", {.searched = 70, .links = 2, .switched = false, .pairs = {{0, 1}, {1, 2}, {2, 3}, {0, 3}}}},
      {"2 with a bridge", {.ranks = 2, .links = 12, .switched = false}},
      {"2 bridges", {.links = 12, .switched = false, .pairs = {{0, 1}, {2, 3}}}},
      {"2 bridges of sm 80", {.searched = 80, .links = 12, .switched = false, .pairs = {{0, 1}, {2, 3}}}}};
  for (const auto& [nodes, of] : {std::pair{2, 1}, {4, 1}, {3, 1}, {2, 2}}) {
    for (const auto& [name, cpu] : {std::pair{"amd", Cpu::amd}, {"intel", Cpu::emerald_rapids}}) {
      all[std::to_string(nodes) + " nodes of " + std::to_string(of) + " on " + name] = {
          .ranks = of, .nodes = nodes, .cpu = cpu};
    }
  }
  return all;
}

Ground ground_of(const Machine& machine) {
  const gpu::Release& release = release_2_28();
  const auto members = static_cast<std::size_t>(machine.ranks);
  Near near;
  near.switched = machine.switched;
  near.farthest = machine.switched ? Level::nvl : Level::phb;
  for (std::size_t a = 0; a < members; ++a) {
    for (std::size_t b = 0; b < members; ++b) {
      const bool joined = a != b && (machine.pairs.empty() ||
                                     std::ranges::count(machine.pairs, std::pair{std::min(a, b), std::max(a, b)}) > 0);
      near.links[a][b] = static_cast<std::uint8_t>(joined ? machine.links : 0);
      near.levels[a][b] = a == b ? Level::loc : joined ? Level::nvl : Level::phb;
    }
  }
  const DeviceFacts each{
      .capability = machine.searched, .links = machine.links, .pcie = Rate{57.6e9}, .cpu = machine.cpu};
  const Found found = look_within(release, std::vector<DeviceFacts>(members, each), near);
  constexpr int kHopper = 90;
  Ground ground{.release = &release,
                .capability = machine.searched,
                .cpu = machine.cpu,
                .within = found.within,
                .ring = found.ring,
                .one_order = found.one_order(),
                .searched = gpu::doubled(release, found.channels, machine.searched),
                .nodes = machine.nodes,
                .per_node = machine.ranks,
                .to_adapter = Level::phb};
  // Ethernet of 10 Gbit/s.
  if (machine.nodes > 1) gpu::look_between_nodes(ground, 1, Rate{1.25e9}, Rate{48e9});
  gpu::double_channels(ground);
  ground.capability = kHopper;
  return ground;
}

/// Numbers are printed with one digit behind the point.
void expect_printed(double ours, double printed, const std::string& what) {
  EXPECT_NEAR(ours, printed, std::max(0.051, 0.005 * printed)) << what;
}

/// Calls `body` with each line of a table, its cells, its machine and its operation; returns how many there are.
template <class Body>
int for_each_row(const std::string& table, const Body& body) {
  std::ifstream file(TWINLINK_SOURCE_DIR "/tests/data/" + table);
  std::string line;
  std::getline(file, line);
  int rows = 0;
  for (; std::getline(file, line); ++rows) {
    std::istringstream text(line);
    std::vector<std::string> cells;
    for (std::string cell; std::getline(text, cell, ',');) cells.push_back(cell);
    const std::map<std::string, Operation> operations{{"AllReduce", Operation::all_reduce},
                                                      {"AllGather", Operation::all_gather},
                                                      {"ReduceScatter", Operation::reduce_scatter},
                                                      {"Broadcast", Operation::broadcast},
                                                      {"Reduce", Operation::reduce}};
    body(line, cells, machines().at(cells[0]), operations.at(cells[1]));
  }
  return rows;
}

TEST(NcclPredictions, AreThoseThatNcclPrints) {
  const auto judge = [](const std::string& line, const std::vector<std::string>& cells, const Machine& machine,
                        Operation operation) {
    const Ground ground = ground_of(machine);
    const LineFormat format = cells[3] == "LL"      ? LineFormat::ll
                              : cells[3] == "LL128" ? LineFormat::ll128
                                                    : LineFormat::simple;
    const double latency = std::stod(cells[4]);
    const double bandwidth = std::stod(cells[5]);
    if (format == LineFormat::ll128 && bandwidth == 0) {
      EXPECT_FALSE(ground.ll128().open) << line;
      return;
    }
    const gpu::Fixed fixed{.formats = {format}, .algorithms = {cells[2] == "Tree" ? Algorithm::tree : Algorithm::ring}};
    const auto us = [&](Bytes bytes) {
      return choose(ground, operation, bytes, machine.ranks * machine.nodes, fixed).predicted->microseconds();
    };
    constexpr Bytes kLarge = 64_GiB;  // from where no share of trees and no more of a plateau changes anything
    const double each = (us(kLarge * 2) - us(kLarge)) / static_cast<double>(kLarge.count());
    expect_printed(1e-3 / each, bandwidth, line + ": bandwidth");
    // Below 64 B no share of trees counts.
    expect_printed(us(8_B) - 8 * each, latency, line + ": latency");
  };
  EXPECT_GT(for_each_row("nccl_predictions.csv", judge), 150);
}

/// What it then takes, by collective and size; a size is that of a rank's part where it is gathered or scattered. Not
/// known here are the faster channels of trees over two bridges.
TEST(NcclChoices, AreThoseThatNcclTakes) {
  int judged = 0;
  const auto judge = [&](const std::string& line, const std::vector<std::string>& cells, const Machine& machine,
                         Operation operation) {
    const bool of_bridges = cells[0].starts_with("2 bridges") && cells[3] == "Tree";
    if (of_bridges) return;
    const int ranks = machine.ranks * machine.nodes;
    const bool parts = operation == Operation::all_gather || operation == Operation::reduce_scatter;
    const Bytes bytes{std::stoull(cells[2]) * (parts ? static_cast<std::uint64_t>(ranks) : 1)};
    const gpu::Choice choice = choose(ground_of(machine), operation, bytes, ranks, {});
    const std::map<LineFormat, std::string> formats{
        {LineFormat::ll, "LL"}, {LineFormat::ll128, "LL128"}, {LineFormat::simple, "Simple"}};
    EXPECT_EQ(formats.at(choice.format), cells[4]) << line;
    const std::map<Algorithm, std::string> algorithms{
        {Algorithm::ring, "Ring"}, {Algorithm::tree, "Tree"}, {Algorithm::pat, "Pat"}};
    EXPECT_EQ(algorithms.at(choice.algorithm), cells[3]) << line;
    ++judged;
    EXPECT_EQ(choice.channels, std::stoi(cells[5])) << line;
  };
  const int rows = for_each_row("nccl_choices.csv", judge);
  EXPECT_GT(rows, 2500);
  EXPECT_GT(judged, rows * 98 / 100);
}

}  // namespace
}  // namespace twinlink::nccl
