// Probes made from known costs, for the tests of calibration.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <fmt/format.h>

#include "platforms/reader/platform_reader.hpp"
#include "tests/validate/scratch_folder.hpp"
#include "validate/calibrate/calibration.hpp"

namespace twinlink::validate::test {

inline const std::filesystem::path kPlatforms = std::filesystem::path(TWINLINK_SOURCE_DIR) / "platforms";
/// Two H200 by hand: what a person derived from the probes beside it, before the first calibration.
inline const std::filesystem::path kByHand = std::filesystem::path(TWINLINK_SOURCE_DIR) / "tests/validate/h200";
inline const std::filesystem::path kBase = kByHand / "by-hand.yaml";

using TimeOf = std::function<double(double bytes)>;  ///< in microseconds

inline TimeOf line(double base_us, double gigabytes_per_second) {
  return [=](double bytes) { return base_us + bytes / (gigabytes_per_second * 1e3); };
}

/// The probes of a machine that is measured without any noise.
class Probes {
 public:
  Probes() {
    set_.files.push_back({.file = "probes.json",
                          .date = "2026-11-21",
                          .program = "twinlink-real 0.1.0",
                          .machine = "2 x NVIDIA H200",
                          .devices = {{"0/0", "NVIDIA H200"}, {"0/1", "NVIDIA H200"}}});
  }

  Probes& add(const std::string& name, const TimeOf& time_us, const std::string& gpu = "0/0",
              const std::string& peer = {}, Bytes least = Bytes{1}, Bytes most = 64_MiB) {
    for (Bytes size = least; size <= most; size = size * 4) {
      const double time = time_us(static_cast<double>(size.count()));
      set_.probes.push_back(
          {.line = {name, gpu, peer, size, {.n = 9, .median = time, .min = time, .max = time, .p5 = time, .p95 = time}},
           .file = set_.files.size() - 1});
    }
    return *this;
  }
  /// What follows was measured by another job.
  Probes& next_file() {
    set_.files.push_back(set_.files.back());
    set_.files.back().file = fmt::format("probes-{}.json", set_.files.size());
    set_.files.back().date = fmt::format("2026-11-{}", 20 + set_.files.size());
    return *this;
  }
  Probes& add_one(const std::string& name, double time_us, const std::string& peer = {}) {
    return add(
        name, [=](double) { return time_us; }, "0/0", peer, Bytes{8}, Bytes{8});
  }

  ProbeSet& set() { return set_; }
  [[nodiscard]] Calibration calibrate(const std::filesystem::path& base = kBase, bool force = false) const {
    return validate::calibrate(set_, base, force);
  }

 private:
  ProbeSet set_{};
};

inline platforms::Platform platform_of(const Calibration& calibration) {
  return platforms::read_platform_text(calibration.platform_text, "calibrated");
}

}  // namespace twinlink::validate::test
