// NVML, the driver's library that knows the GPUs of a node. It is opened when it is asked, so that this program starts
// where there is no driver; what is used of it is declared here, for a CUDA Toolkit need not be there to build, and
// often comes without nvml.h. Names and layouts are those of nvml.h, and stable: a function that changes gets a new
// name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/import/node_description.hpp"
#include "protocols/bench/results/gpu_health.hpp"

namespace twinlink::real {

namespace nvml {

using Device = struct OpaqueDevice*;
using Return = int;

inline constexpr Return kSuccess = 0;

inline constexpr unsigned kNameSize = 96;
inline constexpr unsigned kVersionSize = 80;

struct PciInfo {
  char bus_id_legacy[16];  // NOLINT(modernize-avoid-c-arrays)
  unsigned domain;
  unsigned bus;
  unsigned device;
  unsigned pci_device_id;
  unsigned pci_subsystem_id;
  char bus_id[32];  // NOLINT(modernize-avoid-c-arrays)
};
static_assert(sizeof(PciInfo) == 68);

struct Memory {
  unsigned long long total;
  unsigned long long free;
  unsigned long long used;
};
static_assert(sizeof(Memory) == 24);

struct FieldValue {
  unsigned field_id = 0;
  unsigned scope_id = 0;
  long long timestamp = 0;
  long long latency_us = 0;
  int value_type = 0;
  Return result = kSuccess;
  unsigned long long value = 0;  ///< a union; of an unsigned int, the lower half
};
static_assert(sizeof(FieldValue) == 40);
inline constexpr unsigned kFieldNvlinkSpeed = 164;  ///< NVML_FI_DEV_NVLINK_GET_SPEED: MB/s, scope_id is the link
inline constexpr int kTypeUnsigned = 1;             ///< NVML_VALUE_TYPE_UNSIGNED_INT

struct ViolationTime {
  unsigned long long reference_us;
  unsigned long long violation_ns;
};
static_assert(sizeof(ViolationTime) == 16);

inline constexpr int kPowerPolicy = 0;  ///< nvmlPerfPolicyType_t
inline constexpr int kThermalPolicy = 1;
inline constexpr int kCorrected = 0;  ///< nvmlMemoryErrorType_t
inline constexpr int kUncorrected = 1;
inline constexpr int kVolatile = 0;     ///< nvmlEccCounterType_t: since the driver was loaded
inline constexpr int kClockSm = 1;      ///< nvmlClockType_t
inline constexpr int kSensorOfGpu = 0;  ///< nvmlTemperatureSensors_t
inline constexpr int kLinkReplay = 0;   ///< nvmlNvLinkErrorCounter_t
inline constexpr int kLinkRecovery = 1;
inline constexpr int kLinkCrcFlit = 2;
inline constexpr int kLinkCrcData = 3;

inline constexpr int kRemoteGpu = 0;  ///< nvmlIntNvLinkDeviceType_t
inline constexpr int kRemoteNpu = 1;
inline constexpr int kRemoteSwitch = 2;
inline constexpr int kPeerRead = 0;  ///< nvmlGpuP2PCapsIndex_t
inline constexpr int kPeerWrite = 1;
/// Of one GPU that are asked for: twice what any has so far (kMostNvlinks in platforms/import). One that is not there
/// costs an error code.
inline constexpr int kMostLinks = 36;

/// The functions, under their names of nvml.h without the prefix "nvml". All but those marked with ? are there since
/// 2017 at the latest; these may be null.
struct Functions {
  Return (*init)();                   // nvmlInit_v2
  Return (*shutdown)();               // nvmlShutdown
  const char* (*error_text)(Return);  // nvmlErrorString
  Return (*driver_version)(char*, unsigned);
  Return (*count)(unsigned*);
  Return (*handle)(unsigned, Device*);
  Return (*name)(Device, char*, unsigned);
  Return (*uuid)(Device, char*, unsigned);
  Return (*memory)(Device, Memory*);
  Return (*pci_info)(Device, PciInfo*);
  Return (*capability)(Device, int*, int*);
  Return (*max_generation)(Device, unsigned*);
  Return (*max_width)(Device, unsigned*);
  Return (*nvlink_state)(Device, unsigned, int*);
  Return (*nvlink_remote)(Device, unsigned, PciInfo*);
  Return (*nvlink_remote_type)(Device, unsigned, int*);  // ?
  Return (*field_values)(Device, int, FieldValue*);      // ?
  Return (*peer_status)(Device, Device, int, int*);
  // Of its health, none of which every GPU tells.
  Return (*ecc_errors)(Device, int, int, unsigned long long*);                  // ? nvmlDeviceGetTotalEccErrors
  Return (*remapped_rows)(Device, unsigned*, unsigned*, unsigned*, unsigned*);  // ?
  Return (*pcie_replays)(Device, unsigned*);                                    // ?
  Return (*generation)(Device, unsigned*);                                      // ? nvmlDeviceGetCurrPcieLinkGeneration
  Return (*width)(Device, unsigned*);                                           // ?
  Return (*nvlink_errors)(Device, unsigned, int, unsigned long long*);          // ? nvmlDeviceGetNvLinkErrorCounter
  Return (*violation)(Device, int, ViolationTime*);                             // ? nvmlDeviceGetViolationStatus
  Return (*throttle_reasons)(Device, unsigned long long*);                      // ?
  Return (*clock)(Device, int, unsigned*);                                      // ? nvmlDeviceGetClockInfo
  Return (*max_clock)(Device, int, unsigned*);                                  // ?
  Return (*temperature)(Device, int, unsigned*);                                // ?
};

}  // namespace nvml

/// NVML, ready to be asked, as long as this lives.
class Nvml {
 public:
  /// Opens `library` by the system's rules for names of libraries. An UnavailableError "no NVIDIA driver: ..." if there
  /// is none, or if it does not start.
  explicit Nvml(const std::string& library = "libnvidia-ml.so.1");
  ~Nvml();
  Nvml(const Nvml&) = delete;
  Nvml& operator=(const Nvml&) = delete;

  [[nodiscard]] std::string driver_version() const;
  /// All GPUs of the node, whatever CUDA_VISIBLE_DEVICES says, by their bus ids, and who reaches whom, in place of
  /// those that `node` has. What the driver does not support is left unknown; an EnvironmentError if it refuses what
  /// every GPU has.
  void read(platforms::NodeDescription& node) const;
  /// How well each GPU is, or `only` that of this bus id, by bus ids in lower case. What the driver does not tell is
  /// not there.
  [[nodiscard]] std::map<std::string, bench::GpuHealth> health(const std::string& only = {}) const;

 private:
  void load(const std::string& library);
  [[nodiscard]] std::vector<nvml::Device> devices() const;

  void* library_ = nullptr;
  nvml::Functions functions_{};
};

/// How well the GPU of this bus id is; nothing where nobody knows, as without a driver.
bench::GpuHealth health_of_gpu(const std::string& bus_id, const std::string& library = "libnvidia-ml.so.1");

}  // namespace twinlink::real
