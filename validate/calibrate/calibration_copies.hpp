// Calibration of copies: what the CPU does to start one and to learn of its end, latency, rate and gap.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/calibrate/platform_edit.hpp"
#include "validate/calibrate/probe_set.hpp"

namespace twinlink::validate {

/// What the CPU does of a copy is no part of its latency, so it is told first.
class CopyFits {
 public:
  /// All must outlive this. What the probes do not tell is that of `base`.
  CopyFits(const ProbeSet& probes, const std::vector<Group>& groups, const platforms::Topology& base,
           PlatformEdit& edit, std::vector<std::string>& notes);

  /// The numbers that stand for what CPUs do for copies; of starts no more than what queues leave for them.
  void fit_cpu();
  /// Latency and rate of a class of copies, beside what the CPU does of it.
  void fit(const Group& group);
  /// What lies between two copies, by their size: what a queue of them leaves. Where the CPU decides that starts them,
  /// that is what it may be at most, so that it is no longer than that of larger copies. Where the bytes take much
  /// longer, the error of their rate is as much as what is looked for. `topology` has what fit() has told.
  void fit_gap(const Group& group, const platforms::Topology& topology);
  /// What a kernel takes after its bytes to raise a signal, by their number.
  void fit_kernel_signal(const Group& group, const platforms::Topology& topology);
  /// After all of these: of classes that have no such probe.
  void fit_gaps_alike(const platforms::Topology& topology);
  /// A put with a signal less that signal: the same puts there and back without it, measured in the same job, are
  /// closer than any fit. Empty if there are none and `topology` does not tell it.
  [[nodiscard]] std::optional<Seconds> put_alone(const GroupedProbe& signal, const platforms::Topology& topology) const;

 private:
  [[nodiscard]] std::optional<Seconds> measured_put(const GroupedProbe& signal) const;
  bool has_copy(const Group& group);
  void fit_share(const Group& group);
  void limit_host(const Group& group);
  [[nodiscard]] std::optional<Seconds> most_to_start(const Group& group) const;
  std::optional<Seconds> host_or_alike(const std::string& path);
  Seconds overhead_share(const Group& group, const std::string& path, Seconds overhead, Seconds other);
  void begin_as(const std::string& path, const platforms::CopyCost& other);
  [[nodiscard]] Seconds completion_of(const Primitive& copy) const;
  [[nodiscard]] std::vector<Observation> observations_beside_way(const Group& group) const;
  void fit_fallback(const Group& group, Seconds busy);

  const ProbeSet& probes_;
  const std::vector<Group>& groups_;
  const platforms::Topology& base_;
  PlatformEdit& edit_;
  std::vector<std::string>& notes_;
  std::map<std::string, Seconds> measured_{};           ///< parts of copies that probes tell, by path
  std::map<std::string, platforms::Piecewise> gaps_{};  ///< likewise
};

/// What fit_latency() knows beforehand.
struct KnownOfLatency {
  Seconds busy{};                 ///< what the CPU does of each
  std::optional<Rate> base{};     ///< the base's rate
  double parts = 1;               ///< so many of the largest flow beside each other, and the number is that of one
  const Group* queues = nullptr;  ///< of those that follow each other; null: there are none
  std::optional<Rate> most{};     ///< more is no rate of these: what queues show above it, they do not show
};
/// Latency and rate, at `rate_path` unless that is empty, of copies or messages. Where queues show a higher rate than
/// those alone, that is the rate, and what one alone takes longer is its latency, which queues hide. Returns the rate
/// if the sizes tell it.
std::optional<Rate> fit_latency(const Group& group, std::span<const Observation> observations,
                                const KnownOfLatency& known, const std::string& rate_path, const ProbeSet& probes,
                                PlatformEdit& edit, std::vector<std::string>& notes);

}  // namespace twinlink::validate
