// A stand-in for libnvidia-ml.so.1, with three GPUs as NVML would tell of them. TWINLINK_FAKE_NVML says which machine:
//   switch   (the default) 0000:13, 14, 81; each has 18 NVLinks to an NVSwitch; all are peers
//   direct   two NVLinks between 13 and 14, told without the kind of the other end; 81 has none: it does not read the
//            others, and they do not write it
//   silent   as switch, of a virtual machine: no memory sizes, PCIe widths, link speeds and other ends,
//            and nothing of what 81 reaches
//   mixed    13 and 14 alone; 13 has links to an NVSwitch, to 14, to a GPU that nobody sees here and to a CPU's memory,
//            one of which is down
//   ill      as switch; 14 throttles by temperature, for a second more each time it is asked, and 81 has had 12 PCIe
//            replays, of which 2 since it was first asked, a remapping that is pending, and a lane in two that is dead
//   no-driver, lost: nvmlInit fails; a GPU does not answer
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "real/discover/nvml.hpp"

namespace {

using namespace twinlink::real::nvml;  // NOLINT(google-build-using-namespace)

constexpr Return kInvalidArgument = 2;
constexpr Return kNotSupported = 3;
constexpr Return kDriverNotLoaded = 9;
constexpr Return kGpuIsLost = 15;

constexpr unsigned kBuses[] = {0x81, 0x13, 0x14};  // not in the order of the buses, as NVML may have it
constexpr unsigned kGpus = 3;

bool machine(std::string_view name) {
  const char* const asked = std::getenv("TWINLINK_FAKE_NVML");
  return name == (asked == nullptr ? "switch" : asked);
}

Device device(unsigned index) { return reinterpret_cast<Device>(static_cast<std::uintptr_t>(index) + 1); }
unsigned index_of(Device device) { return static_cast<unsigned>(reinterpret_cast<std::uintptr_t>(device) - 1); }

void fill(PciInfo* pci, unsigned bus) {
  *pci = {};
  pci->bus = bus;
}

unsigned links(Device device) {
  if (machine("mixed")) return index_of(device) == 1 ? 5 : 0;
  if (!machine("direct")) return 18;
  return kBuses[index_of(device)] == 0x81 ? 0 : 2;
}

}  // namespace

extern "C" {

Return nvmlInit_v2() { return machine("no-driver") ? kDriverNotLoaded : kSuccess; }
Return nvmlShutdown() { return kSuccess; }
const char* nvmlErrorString(Return code) {
  return code == kDriverNotLoaded ? "Driver Not Loaded" : code == kGpuIsLost ? "GPU is lost" : "another error";
}
Return nvmlSystemGetDriverVersion(char* text, unsigned size) {
  std::strncpy(text, "999.1", size);
  return kSuccess;
}
Return nvmlDeviceGetCount_v2(unsigned* count) {
  *count = machine("mixed") ? kGpus - 1 : kGpus;
  return kSuccess;
}
Return nvmlDeviceGetHandleByIndex_v2(unsigned index, Device* found) {
  *found = device(machine("mixed") ? index + 1 : index);
  return index < kGpus ? kSuccess : kInvalidArgument;
}
Return nvmlDeviceGetName(Device, char* text, unsigned size) {
  std::strncpy(text, "Fake H100", size);
  return kSuccess;
}
Return nvmlDeviceGetUUID(Device device, char* text, unsigned size) {
  static constexpr const char* kUuids[] = {"GPU-81", "GPU-13", "GPU-14"};
  std::strncpy(text, kUuids[index_of(device)], size);
  return machine("lost") ? kGpuIsLost : kSuccess;
}
Return nvmlDeviceGetMemoryInfo(Device, Memory* memory) {
  *memory = {.total = 80ULL << 30U, .free = 0, .used = 0};
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetPciInfo_v3(Device device, PciInfo* pci) {
  fill(pci, kBuses[index_of(device)]);
  return kSuccess;
}
Return nvmlDeviceGetCudaComputeCapability(Device, int* major, int* minor) {
  *major = 9;
  *minor = 0;
  return kSuccess;
}
Return nvmlDeviceGetMaxPcieLinkGeneration(Device, unsigned* generation) {
  *generation = 5;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetMaxPcieLinkWidth(Device, unsigned* width) {
  *width = 16;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetNvLinkState(Device device, unsigned link, int* active) {
  if (link >= 18) return kInvalidArgument;
  *active = link < links(device) && !(machine("mixed") && link == 2) ? 1 : 0;
  return kSuccess;
}
Return nvmlDeviceGetNvLinkRemotePciInfo_v2(Device device, unsigned link, PciInfo* pci) {
  if (machine("silent")) return kNotSupported;
  if (machine("mixed")) return fill(pci, link == 1 ? 0x14 : 0xc0 + link), kSuccess;
  fill(pci, machine("direct") ? (kBuses[index_of(device)] == 0x13 ? 0x14 : 0x13) : 0xc1);
  return kSuccess;
}
Return nvmlDeviceGetNvLinkRemoteDeviceType(Device, unsigned link, int* type) {
  static constexpr int kMixed[] = {kRemoteSwitch, kRemoteGpu, kRemoteGpu, kRemoteGpu, kRemoteNpu};
  *type = machine("mixed") ? kMixed[link] : kRemoteSwitch;
  return machine("switch") || machine("mixed") ? kSuccess : kNotSupported;
}
Return nvmlDeviceGetFieldValues(Device, int count, FieldValue* values) {
  for (int i = 0; i < count; ++i) {
    values[i].result = values[i].field_id == kFieldNvlinkSpeed && !machine("silent") ? kSuccess : kNotSupported;
    values[i].value_type = kTypeUnsigned;
    values[i].value = 0xffffffff00000000ULL | 26562U;  // of the union, an unsigned int is the lower half
  }
  return kSuccess;
}
Return nvmlDeviceGetP2PStatus(Device from, Device to, int capability, int* status) {
  const bool reads = kBuses[index_of(from)] != 0x81;
  const bool writes = kBuses[index_of(to)] != 0x81;
  *status = !machine("direct") || (capability == kPeerRead ? reads : writes) ? 0 : capability == kPeerRead ? 1 : 3;
  return machine("silent") && !reads ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetTotalEccErrors(Device device, int type, int, unsigned long long* count) {
  *count = machine("ill") && kBuses[index_of(device)] == 0x81 && type == kCorrected ? 5 : 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetRemappedRows(Device device, unsigned* corrected, unsigned* others, unsigned* pending,
                                 unsigned* failed) {
  const bool ill = machine("ill") && kBuses[index_of(device)] == 0x81;
  *corrected = 0;
  *others = *pending = ill ? 1 : 0;
  *failed = 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetPcieReplayCounter(Device device, unsigned* count) {
  static unsigned asked = 0;
  *count = machine("ill") && kBuses[index_of(device)] == 0x81 ? 10 + 2 * asked++ : 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetCurrPcieLinkGeneration(Device, unsigned* generation) {
  *generation = 5;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetCurrPcieLinkWidth(Device device, unsigned* width) {
  *width = machine("ill") && kBuses[index_of(device)] == 0x81 ? 8 : 16;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetNvLinkErrorCounter(Device device, unsigned link, int counter, unsigned long long* count) {
  *count = machine("ill") && kBuses[index_of(device)] == 0x13 && link == 4 ? 10 + counter : 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetViolationStatus(Device device, int policy, ViolationTime* time) {
  static unsigned long long asked = 0;
  const bool hot = machine("ill") && kBuses[index_of(device)] == 0x14 && policy == kThermalPolicy;
  *time = {.reference_us = 1, .violation_ns = hot ? 7 + 1000000000ULL * asked++ : 0};
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetCurrentClocksThrottleReasons(Device device, unsigned long long* reasons) {
  *reasons = machine("ill") && kBuses[index_of(device)] == 0x14 ? 0x40 : 0x1;  // the others are idle
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetClockInfo(Device, int type, unsigned* mhz) {
  *mhz = type == kClockSm ? 345 : 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetMaxClockInfo(Device, int type, unsigned* mhz) {
  *mhz = type == kClockSm ? 1980 : 0;
  return machine("silent") ? kNotSupported : kSuccess;
}
Return nvmlDeviceGetTemperature(Device, int, unsigned* degrees) {
  *degrees = 88;
  return machine("silent") ? kNotSupported : kSuccess;
}

}  // extern "C"
