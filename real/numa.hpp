// Where host memory lies, and where this process runs.
#pragma once

#include <cstddef>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "protocols/rank.hpp"

namespace twinlink::real {

/// The NUMA domains of this machine, seen from one device.
class Numa {
 public:
  /// `pci_bus_id` names the device; where it is unknown (an emulated device), the CPU that this process runs on counts.
  explicit Numa(const std::string& pci_bus_id);
  ~Numa();

  /// Domains with CPUs that memory can be bound to. 1 where the system refuses to bind, as containers often do.
  [[nodiscard]] int domains() const { return pretended_.value_or(domains_); }
  /// Says from now on that there are `domains`, for an emulated machine that has them. Memory is bound as before.
  void pretend(int domains) { pretended_ = domains; }
  /// The system's number of a domain.
  [[nodiscard]] int number(Locality locality) const { return locality == Locality::near ? near_ : far_; }
  /// Binds memory that was not touched yet. Does nothing with one domain.
  void bind(std::byte* memory, Bytes size, Locality locality) const;

  /// The CPUs that this process may run on: "0-7,16".
  [[nodiscard]] std::string cpu_binding() const;

 private:
  struct Topology;
  std::unique_ptr<Topology> topology_;
  int domains_ = 1;
  std::optional<int> pretended_{};
  int near_ = 0;
  int far_ = 0;
};

}  // namespace twinlink::real
