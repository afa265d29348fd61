// What is known of a node before it becomes a platform: facts, whoever found them (nvidia-smi, NCCL, hwloc, NVML on the
// spot). What a source does not say is marked as unknown; node_sketch.hpp assumes it.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "platforms/yaml/sourced.hpp"
#include "protocols/core/path.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::platforms {

/// A NUMA domain with CPUs.
struct NumaFacts {
  int number = 0;              ///< the system's
  std::vector<int> sockets{};  ///< indices into NodeDescription::sockets
};

struct SocketFacts {
  std::string cpu_model{};  ///< empty: unknown
  Cpu cpu = Cpu::unknown;
};

/// What CPUID says of a processor of x86: its vendor as "GenuineIntel", family and model; of others the vendor alone,
/// or none.
Cpu cpu_of(std::string_view vendor, int family, int model);

/// Something on the PCI buses that matters to a GPU: a GPU, an adapter, or what lies between one and its socket.
struct PciFacts {
  enum class Kind { host_bridge, bridge, gpu, adapter };
  Kind kind = Kind::bridge;
  std::string bus_id{};                  ///< "0000:1b:00.0", or what the source calls it; empty for a host bridge
  std::string device_id{};               ///< of PCI, of an adapter: "15b3:1021"; empty: unknown
  std::string name{};                    ///< of an adapter: what the system calls it
  std::optional<int> parent{};           ///< index into NodeDescription::pci; nothing at the socket itself
  int socket = 0;                        ///< index into NodeDescription::sockets
  int numa = 0;                          ///< the number of the nearest NUMA domain
  bool place_known = true;               ///< whether the source says to which socket it belongs
  std::optional<Sourced<Rate>> link{};   ///< of its link towards the socket, each way
  bool link_may_idle = false;            ///< `link` is as it runs now, and that of an idle GPU runs slower
  bool infiniband = false;               ///< of an adapter: an OpenFabrics device and no plain network card
  std::optional<Sourced<Rate>> ports{};  ///< of an adapter: what its ports have of the network, each way
};

/// Links of a GPU that are no PCIe, to one other end.
struct GpuLinks {
  enum class Kind { nvlink, xgmi, c2c };
  /// hidden: active, but nobody tells the other end; elsewhere: told, and nothing that this process sees.
  enum class Remote { gpu, nvswitch, memory, hidden, elsewhere };
  Kind kind = Kind::nvlink;
  Remote remote = Remote::hidden;
  std::string remote_bus_id{};          ///< of a GPU
  int remote_numa = 0;                  ///< of a memory
  int count = 1;                        ///< so many side by side
  std::optional<Sourced<Rate>> each{};  ///< of one, each way; nothing: by the generation of the GPU
};

struct GpuFacts {
  std::string model{};      ///< as the driver calls it; empty: unknown
  std::string device_id{};  ///< of PCI, vendor and device: "10de:2330"; empty: unknown
  std::string uuid{};       ///< "GPU-..."; empty: unknown
  std::string bus_id{};     ///< that of its PciFacts
  std::optional<Sourced<Bytes>> memory{};
  bool by_amd = false;    ///< and not by NVIDIA
  std::string gcn{};      ///< of AMD's: "gfx942"; empty: unknown
  bool coherent = false;  ///< its memory is a NUMA domain of the system, for a processor shares its addresses
  std::optional<std::pair<int, int>> capability{};
  bool capability_told = true;          ///< false: the source led to it
  std::optional<Sourced<Rate>> pcie{};  ///< the most that GPU and slot have in common, each way
  std::vector<GpuLinks> links{};        ///< the active ones
  bool links_told = true;               ///< false: the source says nothing of such links, whether there are any
};

/// What nobody tells, and so is assumed; and what would tell it.
struct Assumption {
  enum class Better { name, driver, xml, probes };
  std::string what{};
  Better better = Better::probes;

  bool operator==(const Assumption&) const = default;
};

struct NodeDescription {
  std::string origin{};  ///< who told: "NCCL's topology XML"
  std::string name{};    ///< of the host or the platform
  std::vector<SocketFacts> sockets{};
  std::vector<NumaFacts> memories{};  ///< by their numbers; at least one
  std::vector<PciFacts> pci{};        ///< a parent stands before its children, and each GPU has an entry
  std::vector<GpuFacts> gpus{};       ///< in the order in which they are numbered
  /// By GPU and GPU: peer access, reading and writing; empty for granted, else the driver's reason. No rows: unknown.
  std::vector<std::vector<std::string>> peer_access{};
  std::optional<bool> rdma{};             ///< whether the adapters reach device memory
  std::vector<Assumption> assumptions{};  ///< what the source led to, beside what every sketch assumes; each once
  std::vector<std::string> notes{};       ///< what the user must know
  std::vector<std::string> remarks{};     ///< what else the source says, for the file's heading
};

/// Adds an assumption, once.
void assume(NodeDescription& facts, std::string what, Assumption::Better better = Assumption::Better::probes);

}  // namespace twinlink::platforms
