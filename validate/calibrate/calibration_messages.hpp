// Calibration of what CPUs do for messages: to send, to await and to take one in.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "platforms/topology/topology.hpp"
#include "validate/calibrate/calibration_groups.hpp"
#include "validate/calibrate/platform_edit.hpp"
#include "validate/calibrate/probe_set.hpp"
#include "validate/primitives/cost_fit.hpp"

namespace twinlink::validate {

/// As with copies, what the CPU does is no part of a message's latency, so it is told first.
class MessageFits {
 public:
  /// All must outlive this. What the probes do not tell is that of `base`.
  MessageFits(const ProbeSet& probes, const std::vector<Group>& groups, const platforms::Topology& base,
              PlatformEdit& edit, std::vector<std::string>& notes);

  /// The numbers that stand for what CPUs do for messages.
  void fit_cpu();
  /// Observations of messages by themselves, less what CPUs do of them, which fit_cpu() has told. Sending is limited to
  /// what the shortest takes.
  std::vector<Observation> observations_beside_cpu(const Group& messages);

 private:
  platforms::NetworkCosts& network_at(const std::string& path);
  void fit_start(const Group& group);
  void fit_end(const Group& group);
  void limit_posting(const Group& messages);

  const ProbeSet& probes_;
  const std::vector<Group>& groups_;
  const platforms::Topology& base_;
  PlatformEdit& edit_;
  std::vector<std::string>& notes_;
  std::map<std::string, platforms::NetworkCosts> networks_{};  ///< by path: the base's, with what probes have told
};

}  // namespace twinlink::validate
