// What lies between two ranks, as far as a protocol may know it. Topology::path() makes it of a platform, and real
// ranks find it out when their job begins; Protocol::supports() decides by it, and by nothing else.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

#include "protocols/core/units.hpp"

namespace twinlink {

/// Yes, or no with the reason in words that a user understands:
///
///   if (!path.peer_access) throw UnavailableError(path.peer_access.reason);
struct Answer {
  bool yes = false;
  std::string reason{};  ///< why not; empty if yes

  explicit operator bool() const { return yes; }
  static Answer granted() { return {.yes = true}; }
  static Answer refused(std::string why) { return {.yes = false, .reason = std::move(why)}; }
};

/// How far apart two devices of a node are, by the words of NCCL and nvidia-smi, from near to far.
enum class Level : std::uint8_t {
  loc,  ///< they are one
  nvl,  ///< links of GPUs join them, or each to one switch
  c2c,  ///< coherent links of a GPU to its CPU, beside which the adapter is
  pix,  ///< below one PCIe switch
  pxb,  ///< below several, and no CPU lies between
  phb,  ///< by the PCIe of one CPU
  sys   ///< by links between CPUs; also what nobody knows
};
inline constexpr std::array kLevels{Level::loc, Level::nvl, Level::c2c, Level::pix, Level::pxb, Level::phb, Level::sys};
/// "LOC", "NVL", "C2C", "PIX", "PXB", "PHB", "SYS".
std::string_view to_string(Level level);

/// Whose CPUs a node has, as far as libraries tell them apart; of Intel's by what joins the sockets.
enum class Cpu : std::uint8_t { unknown, broadwell, skylake, sapphire_rapids, emerald_rapids, amd, power, arm };
inline constexpr std::array kCpus{Cpu::unknown,        Cpu::broadwell, Cpu::skylake, Cpu::sapphire_rapids,
                                  Cpu::emerald_rapids, Cpu::amd,       Cpu::power,   Cpu::arm};
/// "unknown", "sapphire-rapids".
std::string_view to_string(Cpu cpu);
constexpr bool is_intel(Cpu cpu) { return cpu >= Cpu::broadwell && cpu <= Cpu::emerald_rapids; }

/// What a device is and what is around it, by the system: rules go by this and never by a name.
struct DeviceFacts {
  int capability = 0;                ///< compute capability: 10 times its first number, and its second; 0: unknown
  int links = 0;                     ///< to other GPUs, or to a switch that joins them
  Rate pcie{};                       ///< of its slot, each way; zero: it has none, or nobody knows
  Cpu cpu = Cpu::unknown;            ///< of its node
  int adapter = -1;                  ///< which of its node's it uses; -1: none
  Rate adapter_rate{};               ///< of that one, each way; zero: nobody knows
  Level adapter_level = Level::sys;  ///< how far from it

  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

/// Where a rank runs: its node and its GPU. Printed as NODE/GPU, as the command lines take it.
struct Place {
  int node = 0;
  int gpu = 0;
  std::string device{};  ///< the device's model, for people: "Tesla M2090", "NVIDIA H200", "emulated"
  DeviceFacts facts{};

  friend bool operator==(const Place& a, const Place& b) { return a.node == b.node && a.gpu == b.gpu; }
};

/// "0/2".
std::string to_string(const Place& place);
/// Reads NODE/GPU, two whole numbers. A UsageError for anything else; whether there is such a GPU the platform knows.
Place parse_place(std::string_view text);

/// The path between two ranks. Pure: it does not change during a run. Symmetric: both ends see the same answers, so
/// both decide for the same protocol without asking each other.
struct Path {
  bool same_node = false;
  bool same_device = false;
  bool loopback = false;  ///< on one node, but messages pass through the adapter and back

  /// May the copy engine of either GPU read and write the other's memory? Decided by the checks that every
  /// peer-to-peer program makes: unified addressing, compute capability 2.0 or later, and peer access granted both
  /// ways.
  Answer peer_access{};

  /// Can a process map the other's device memory (CUDA IPC)? Granted on one node even without peer access: the driver
  /// then moves the data through host memory.
  Answer device_mapping{};

  /// May put() write into the peer's device memory: through the mapping on one node, by the adapter between nodes?
  Answer one_sided{};

  /// May send() and receive() be given device memory: does the adapter, or the MPI library, read and write it?
  Answer device_memory_on_network{};

  /// May the GPU and the network adapter use one page-locked buffer (GPUDirect v1)? Granted where no adapter is asked.
  Answer shared_buffers = Answer::granted();

  /// Do the CPUs of both ends read and write their own GPUs' memory by themselves (Engine::cpu)?
  Answer cpu_reaches_device = Answer::refused("no CPU has device memory mapped here");

  /// Does the MPI library take device pointers?
  Answer cuda_aware_mpi = Answer::granted();

  /// How far apart the two GPUs are, where they share a node or reach each other; and how many links of GPUs join them,
  /// of a switch those of the one with fewer.
  Level level = Level::sys;
  int links = 0;
  bool switched = false;  ///< those lead to a switch

  /// What the narrowest link between the two GPUs lets through, where they reach each other; and what the adapter next
  /// to one of them carries to the other's, where they are on different nodes. Zero: nobody can tell.
  Rate peer_rate{};
  Rate adapter_rate{};

  /// May programs of thread blocks run on both GPUs? They meet in memory that both reach, or CPUs carry their slots
  /// over the network.
  Answer gpu_programs = Answer::refused("nothing here runs programs of thread blocks");

  /// Do such programs put into the peer's memory by adapters that they drive themselves?
  Answer gpu_drives_adapter = Answer::refused("no GPU drives an adapter here");

  /// Does a switch between the two GPUs add up what one reads of all GPUs behind it, and spread what one stores?
  Answer switch_reduces = Answer::refused("nothing here has a switch that adds up");

  /// Do switches of the network add up what ranks on these two nodes, and on others, give them?
  Answer fabric_reduces = Answer::refused("no switch of the network adds up here");

  /// Why an adapter that reads and writes device memory exists here on paper only; empty where it does exist.
  std::string hypothetical{};
};

}  // namespace twinlink
