// A fleet that a simulated machine's probes are copied to, with noise of its own at each node.
#pragma once

#include <cmath>
#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <nlohmann/json.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/results/statistics.hpp"

namespace twinlink::validate::test {

inline std::string node_name(std::size_t node) { return fmt::format("node{:04}", node); }

class PlantedFleet {
 public:
  PlantedFleet(std::filesystem::path folder, unsigned seed, double noise)
      : folder_(std::move(folder)), random_(seed), noise_(noise) {}

  /// What validate/node leaves of a node with eight H100.
  void add(std::size_t node, bench::ProbeFile probes, const std::string& date = "2026-11-25T07:00:00Z") {
    settle(probes, node, date);
    for (bench::ProbeLine& line : probes.findings.lines) {
      const double factor = disturb(line.time_us);
      line.bandwidth_MBps /= factor;
    }
    bench::write_json(probes, file(node, "probes.json"));
  }
  /// A curve between it and a node that all are measured with.
  void add(std::size_t node, bench::Result result, const std::string& date = "2026-11-25T07:05:00Z") {
    settle(result, node, date);
    for (bench::Point& point : result.series.points) point.bandwidth_MBps /= disturb(point.time_us);
    bench::write_json(result, file(node, "between.json"));
  }

  [[nodiscard]] std::filesystem::path file(std::size_t node, const std::string& name) const {
    const auto folder = folder_ / node_name(node);
    std::filesystem::create_directories(folder);
    return folder / name;
  }

 private:
  void settle(auto& content, std::size_t node, const std::string& date) const {
    nlohmann::json ranks = nlohmann::json::array();
    for (int gpu = 0; gpu < 8; ++gpu) {
      ranks.push_back({{"host", node_name(node)},
                       {"place", fmt::format("0/{}", gpu)},
                       {"device",
                        {{"name", "NVIDIA H100 80GB HBM3"},
                         {"pci_bus_id", fmt::format("0000:{:02x}:00.0", 0x1b + 16 * gpu)},
                         {"uuid", fmt::format("GPU-{:08x}-{:012x}", node, gpu)}}}});
    }
    content.world = "measured";
    content.program = "twinlink-real 0.1.0";
    content.environment = nlohmann::json{{"date", date}, {"ranks", std::move(ranks)}};
  }

  /// By what the median has become longer.
  double disturb(bench::Statistics& time) {
    constexpr double kTo95 = 1.645;
    const double factor = std::exp(noise_ * normal_(random_));
    time.median *= factor;
    time.n = 100;
    time.min = time.p5 = time.median * std::exp(-kTo95 * noise_);
    time.max = time.p95 = time.median * std::exp(kTo95 * noise_);
    return factor;
  }

  std::filesystem::path folder_;
  std::mt19937 random_;
  std::normal_distribution<double> normal_{};
  double noise_;
};

}  // namespace twinlink::validate::test
