// Probes of machines, predicted in closed form: what a node that is sick, or well, would measure.
#pragma once

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "platforms/machine/degraded.hpp"
#include "platforms/reader/platform_reader.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "validate/compare/spread.hpp"
#include "validate/primitives/primitive.hpp"
#include "validate/suspect/suspect_report.hpp"

namespace twinlink::validate {

using platforms::Platform;

inline constexpr double kTolerance = 0.1;

inline std::filesystem::path file_of(const std::string& name) {
  return std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms" / (name + ".yaml");
}
inline Platform platform_named(const std::string& name) { return platforms::read_platform(file_of(name)); }

inline Platform degraded(const std::string& name, const std::vector<std::pair<std::string, double>>& parts) {
  Platform platform = platform_named(name);
  for (const auto& [part, share] : parts) EXPECT_TRUE(platforms::degrade(platform, part, share, "a test")) << part;
  return platform;
}

/// The percentiles of a line whose rounds scatter so.
inline void say_scatter(bench::ProbeLine& line, double deviation) {
  line.time_us.p5 = line.time_us.median * std::exp(-1.645 * deviation);
  line.time_us.p95 = line.time_us.median * std::exp(1.645 * deviation);
}

/// Of what the probes of a machine hold; each time is off by up to `noise`, in either direction.
class MachineProbes {
 public:
  explicit MachineProbes(const Platform& machine, double noise = 0, std::size_t most_gpus = 8)
      : topology_(machine), noise_(noise) {
    set_.files.push_back({.file = "probes.json", .program = "twinlink-real 0.1.0"});
    const std::size_t gpus = std::min(topology_.part_of(0).gpus, most_gpus);
    for (std::size_t gpu = 0; gpu < gpus; ++gpu) {
      set_.files.front().devices[place(gpu)] = topology_.type_of(gpu).model;
      for (const std::string kind :
           {"pinned-to-device", "device-to-pinned", "pageable-to-device", "device-to-pageable"}) {
        add("copy " + kind + " near", gpu);
        if (topology_.part_of(0).memories > 1) add("copy " + kind + " far", gpu);
      }
      for (const char* name : {"copy device-to-device", "copy host-to-host", "copy kernel-local",
                               "copy kernel-to-pinned", "start copy pinned-to-device near", "handle export"}) {
        add(name, gpu);
      }
      for (std::size_t peer = 0; peer < gpus; ++peer) {
        if (peer == gpu) continue;
        const std::string how = topology_.peer_access(gpu, peer) ? " direct" : " staged";
        for (const std::string way : {"write", "read"}) add("peer copy " + way + how, gpu, place(peer));
        add("queued peer copy write" + how, gpu, place(peer));
      }
    }
    if (gpus > 1) add_messages("same-node", place(1));
    if (topology_.nodes() > 1) add_messages("other-node", "1/0");
  }

  /// Lets all lines whose name has this text take longer.
  MachineProbes& slow_down(const std::string& text, double times) {
    for (Probe& probe : set_.probes) {
      if (probe.line.name.find(text) != std::string::npos) probe.line.time_us.median *= times;
    }
    return *this;
  }

  /// The same of what the bytes of a GPU's lines take beyond those of the smallest.
  MachineProbes& let_bytes_take(const std::string& name, const std::string& gpu, double times) {
    double least = 0;
    for (Probe& probe : set_.probes) {
      if (probe.line.name != name || probe.line.gpu != gpu) continue;
      if (least == 0) least = probe.line.time_us.median;
      probe.line.time_us.median += (probe.line.time_us.median - least) * (times - 1);
    }
    return *this;
  }

  /// Lets all lines say that their rounds scatter by so much.
  MachineProbes& scatter(double deviation) {
    for (Probe& probe : set_.probes) say_scatter(probe.line, deviation);
    return *this;
  }

  /// The lines of `other`, in a file of their own.
  MachineProbes& add_file(const MachineProbes& other) {
    for (Probe probe : other.set_.probes) {
      probe.file = set_.files.size();
      set_.probes.push_back(probe);
    }
    set_.files.push_back(other.set_.files.front());
    set_.files.back().file = "other.json";
    return *this;
  }

  [[nodiscard]] Suspicion held_against(const std::string& base, double tolerance = kTolerance) const {
    return held_against_file(file_of(base), tolerance);
  }
  [[nodiscard]] Suspicion held_against_file(const std::filesystem::path& base, double tolerance = kTolerance) const {
    return find_suspects(set_, base, tolerance, false);
  }

 private:
  static std::string place(std::size_t gpu) { return "0/" + std::to_string(gpu); }

  void add_messages(const std::string& where, const std::string& peer) {
    for (const std::string name : {"message pageable ", "queued message ", "start message ", "control message "}) {
      add(name + where, 0, peer);
    }
  }

  /// Unless the machine has no such thing.
  void add(const std::string& name, std::size_t gpu, const std::string& peer = {}) {
    for (Bytes size = 1_KiB; size <= 64_MiB; size = size * 16) {
      bench::ProbeLine line{.name = name, .gpu = place(gpu), .peer = peer, .size = size};
      std::string reason;
      const auto primitive = find_primitive(line, topology_, reason);
      const auto time = primitive ? predict(*primitive, size, topology_) : std::nullopt;
      if (!time || !(*time > Seconds{})) continue;
      const auto count = static_cast<double>(set_.probes.size());
      const double us = time->microseconds() * (1 + noise_ * std::sin(count * count));
      line.time_us = {.n = 9, .median = us, .min = us, .max = us, .p5 = us, .p95 = us};
      set_.probes.push_back({.line = line});
    }
  }

  platforms::Topology topology_;
  double noise_;
  ProbeSet set_{};
};

}  // namespace twinlink::validate
