// Software: which GPUDirect the versions on the nodes have. What a platform does not say is new enough for all that its
// hardware allows.
#pragma once

#include <array>
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "protocols/core/path.hpp"

namespace twinlink::platforms {

class Section;

/// Numbers between dots: "4.1", "2.6.18", "270.41.19". 4 is as new as 4.0.
struct Version {
  std::vector<int> numbers{};

  friend std::strong_ordering operator<=>(const Version& a, const Version& b);
  friend bool operator==(const Version& a, const Version& b) { return std::is_eq(a <=> b); }
};
/// Nothing for a text that is no version; what follows a "-" is the vendor's and left out: "2.6.32-220.el6".
std::optional<Version> parse_version(std::string_view text);
std::string to_string(const Version& version);

struct Software {
  std::optional<Version> cuda{};    ///< of the toolkit
  std::optional<Version> driver{};  ///< of NVIDIA's driver for Linux
  std::optional<Version> kernel{};  ///< of Linux
  std::string mpi{};                ///< the library and its version: "mvapich2 1.8"; empty: not said
  bool kernel_patch = false;        ///< NVIDIA's patch that lets two drivers lock the same pages
  bool nic_interop = false;         ///< CUDA_NIC_INTEROP=1 in the environment
  // What whoever runs a job switches off, whatever the versions; the file does not say it.
  bool without_peers = false;
  bool without_rdma = false;

  /// GPUDirect v1: may GPU and adapter use one page-locked buffer? From CUDA 3.1 with a patched kernel, with 4.0 from
  /// kernel 2.6.18, both where CUDA_NIC_INTEROP is set; from 4.1 without (NVIDIA's technical note on GPUDirect).
  [[nodiscard]] Answer shared_buffers() const;
  /// GPUDirect v2: from CUDA 4.0, with a driver that knows it.
  [[nodiscard]] Answer peer_access() const;
  /// GPUDirect v3: from CUDA 5.0, with a driver that knows it.
  [[nodiscard]] Answer rdma() const;
  /// Does MPI take device pointers? MVAPICH2 from 1.8, Open MPI from 1.7.
  [[nodiscard]] Answer cuda_aware_mpi() const;
};

/// The map `software` of a platform file; what is wrong goes into the section's diagnostics.
Software read_software(Section& section);

/// The MPI libraries whose limits and pipelines are known: presets of protocols have these names.
inline constexpr std::array<std::string_view, 7> kLibraries{"mvapich2", "mvapich2-gdr", "openmpi",       "ucx",
                                                            "spectrum", "cray-mpich",   "cray-mpich-gni"};

/// Splits "mvapich2 1.8", or "mvapich2-1.8", into name and version. Nothing for a text of another form.
std::optional<std::pair<std::string, Version>> parse_library(std::string_view text);

}  // namespace twinlink::platforms
