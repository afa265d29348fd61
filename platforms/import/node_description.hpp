// What is found out about a node before it becomes a platform: plain facts, as NVML and hwloc give them. Nothing is
// computed here, and what a source does not say is marked as unknown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "protocols/core/units.hpp"

namespace twinlink::real {

/// A NUMA domain with CPUs.
struct NumaFacts {
  int number = 0;              ///< the system's
  std::vector<int> sockets{};  ///< indices into NodeDescription::sockets
};

struct SocketFacts {
  std::string cpu_model{};  ///< empty: unknown
};

/// Something on the PCI buses that matters to a GPU: a GPU, an adapter, or what lies between one and its socket.
struct PciFacts {
  enum class Kind { host_bridge, bridge, gpu, adapter };
  Kind kind = Kind::bridge;
  std::string bus_id{};         ///< "0000:1b:00.0"; empty for a host bridge
  std::string name{};           ///< of an adapter: what the system calls it; of a GPU: its model, where it is known
  std::optional<int> parent{};  ///< index into NodeDescription::pci; nothing at the socket itself
  int socket = 0;               ///< index into NodeDescription::sockets
  int numa = 0;                 ///< the number of the nearest NUMA domain
  bool place_known = true;      ///< whether the system says to which socket it belongs
  double link_GBps = 0;         ///< of its link towards the socket, as it runs now; 0: unknown
  bool infiniband = false;      ///< of an adapter: an OpenFabrics device and no plain network card
};

/// The other end of one NVLink.
struct NvlinkFacts {
  /// other: told, but neither a switch nor a GPU that this process sees.
  enum class Remote { gpu, nvswitch, other, unknown };
  Remote remote = Remote::unknown;
  std::string remote_bus_id{};  ///< of a GPU
  unsigned version = 0;         ///< nvmlNvlinkVersion_t; 0: unknown
  unsigned speed_MBps = 0;      ///< each way, with what coding takes; 0: unknown
};

struct GpuFacts {
  std::string model{};
  std::string uuid{};    ///< "GPU-..."; empty: unknown
  std::string bus_id{};  ///< "0000:1b:00.0"
  std::optional<Bytes> memory{};
  int capability_major = 0;  ///< 0: unknown
  int capability_minor = 0;
  int pcie_generation = 0;             ///< the highest that GPU and slot have in common; 0: unknown
  int pcie_lanes = 0;                  ///< likewise
  std::vector<NvlinkFacts> nvlinks{};  ///< the active ones
};

/// The GPUs of a node and which of them reach each other.
struct GpuInventory {
  std::vector<GpuFacts> gpus{};
  /// By GPU and GPU: peer access, reading and writing; empty for granted, else the driver's reason.
  std::vector<std::vector<std::string>> peer_access{};
};

struct NodeDescription {
  std::string name{};  ///< of the host
  std::vector<SocketFacts> sockets{};
  std::vector<NumaFacts> memories{};
  std::vector<PciFacts> pci{};  ///< a parent stands before its children
  GpuInventory inventory{};
  std::string gpu_source{};  ///< who told of the GPUs: "NVML of driver 580.1"
};

}  // namespace twinlink::real
