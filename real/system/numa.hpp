// Where host memory lies, and where this process runs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>

#include "protocols/core/rank.hpp"

namespace twinlink::platforms {
class HwlocTopology;
}

namespace twinlink::real {

/// The NUMA domains of this machine, seen from one device.
class Numa {
 public:
  /// `pci_bus_id` names the device; where it is unknown (an emulated device), the CPU that this process runs on counts.
  explicit Numa(std::string pci_bus_id);
  ~Numa();

  /// Domains with CPUs that memory can be bound to. 1 where the system refuses to bind, as containers often do.
  [[nodiscard]] int domains() const { return pretended_.value_or(domains_); }
  /// Says from now on that there are `domains`, for an emulated machine that has them. Memory is bound as before.
  void pretend(int domains) { pretended_ = domains; }
  /// The system's number of a domain.
  [[nodiscard]] int number(Locality locality) const { return locality == Locality::near ? near_ : far_; }
  /// Binds memory that was not touched yet. Does nothing with one domain.
  void bind(std::byte* memory, Bytes size, Locality locality) const;

  /// Binds this process, with all its threads, to the CPUs next to the device: its NUMA domain's, or its socket's where
  /// that is all that the system says. Replaces the launcher's binding. False, and nothing is bound, for an emulated
  /// device and where the place of the device is unknown. An EnvironmentError if the system refuses.
  bool bind_process();
  /// What came of it: "NUMA domain 1, next to 0000:9b:00.0: CPUs 24-47", or "nothing to bind to: ..." with the reason.
  [[nodiscard]] const std::string& binding() const { return binding_; }

  /// The CPUs that this process may run on: "0-7,16".
  [[nodiscard]] std::string cpu_binding() const;

 private:
  std::unique_ptr<platforms::HwlocTopology> topology_;
  std::string pci_bus_id_;
  std::string binding_ = "not asked for";
  int domains_ = 1;
  std::optional<int> pretended_{};
  int near_ = 0;
  int far_ = 0;
};

}  // namespace twinlink::real
