// Nodes whose times are made up, for the tests of what is said of them.
#pragma once

#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "tests/validate/nodes/planted_fleet.hpp"
#include "validate/nodes/node_files.hpp"

namespace twinlink::validate::test {

/// Logarithms of microseconds, by size.
using Times = std::vector<std::pair<Bytes, double>>;

inline NodeCurve curve_of(const std::string& name, const Times& times, const std::string& from = "0/0",
                          const std::string& to = "0/1", const std::string& test = "peer copies") {
  NodeCurve curve{.test = test, .name = name, .from = from, .to = to};
  for (const auto& [size, log_us] : times) curve.points.push_back({.size = size, .log_us = log_us});
  return curve;
}

inline NodeFile file_with(std::vector<NodeCurve> curves, const std::string& date = "2026-11-25",
                          const std::string& program = "tool 1") {
  return {.file = program + " of " + date,
          .date = date,
          .program = program,
          .machine = "2 x GPU",
          .curves = std::move(curves)};
}

/// `files_of` a node.
inline FleetFiles fleet_of(std::size_t nodes, const std::function<std::vector<NodeFile>(std::size_t)>& files_of) {
  FleetFiles files{.folder = "fleet"};
  for (std::size_t node = 0; node < nodes; ++node) {
    files.nodes.push_back({.name = node_name(node), .files = files_of(node)});
  }
  return files;
}

/// The text of nccl-tests, of two GPUs on each host: three sizes, which take `times` as long as usual.
inline std::string nccl_text(const std::vector<std::string>& hosts, double times,
                             const std::string& version = "2.21.5") {
  std::string text = "NCCL version " + version + "+cuda12.4\n# nThread 1 nGpus 1\n# Using devices\n";
  int rank = 0;
  for (const std::string& host : hosts) {
    for (int gpu = 0; gpu < 2; ++gpu) {
      text += fmt::format("#  Rank {} Group 0 Pid 1 on {} device {} [0x{:02x}] NVIDIA H100 80GB HBM3\n", rank++, host,
                          gpu, 0x17 + gpu);
    }
  }
  text +=
      "#       size count type redop root time algbw busbw #wrong time algbw busbw #wrong\n"
      "#        (B) (elements) (us) (GB/s) (GB/s) (us) (GB/s) (GB/s)\n";
  for (const double size : {65536.0, 1048576.0, 16777216.0}) {
    const double us = times * (20 + size / 2e5);
    const double rate = size / us / 1e3;
    text += fmt::format("{0:.0f} {1:.0f} float sum -1 {2:.3f} {3:.3f} {4:.3f} 0 {2:.3f} {3:.3f} {4:.3f} 0\n", size,
                        size / 4, us, rate, rate * 2 * (rank - 1) / rank);
  }
  return text + "# Out of bounds values : 0 OK\n# Avg bus bandwidth : 1\n";
}
inline std::string nccl_text(const std::string& host, double times, const std::string& version = "2.21.5") {
  return nccl_text(std::vector{host}, times, version);
}

/// The text of nvbandwidth, of two GPUs that write to each other at `rate` GB/s.
inline std::string nvbandwidth_text(double rate, const std::string& version = "v0.8") {
  return fmt::format(
      "nvbandwidth Version: {0}\nBuilt from Git version: v0.8\nDevice 0: NVIDIA H100 80GB HBM3 (00000000:1b:00)\n"
      "Device 1: NVIDIA H100 80GB HBM3 (00000000:2b:00)\n\nRunning device_to_device_memcpy_write_ce.\n"
      "memcpy CE GPU(row) <- GPU(column) bandwidth (GB/s)\n           0         1\n 0       N/A     {1:.2f}\n"
      " 1     {1:.2f}       N/A\n\nSUM device_to_device_memcpy_write_ce {2:.2f}\n",
      version, rate, 2 * rate);
}

}  // namespace twinlink::validate::test
