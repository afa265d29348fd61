#include "real/device/cuda/cuda_device_info.hpp"

#include <cuda_runtime_api.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cstring>

#include "real/device/cuda/cuda_check.hpp"

namespace twinlink::real {
namespace {

int attribute(cudaDeviceAttr what, int device) {
  int value = 0;
  check_cuda(cudaDeviceGetAttribute(&value, what, device), "cudaDeviceGetAttribute");
  return value;
}

}  // namespace

DeviceInfo cuda_device_info(int device) {
  cudaDeviceProp properties{};
  check_cuda(cudaGetDeviceProperties(&properties, device), "cudaGetDeviceProperties");
  std::array<char, 32> pci{};
  check_cuda(cudaDeviceGetPCIBusId(pci.data(), static_cast<int>(pci.size()), device), "cudaDeviceGetPCIBusId");
  DeviceInfo info{.name = properties.name,
                  .pci_bus_id = pci.data(),
                  .capability_major = properties.major,
                  .capability_minor = properties.minor,
                  .unified_addressing = attribute(cudaDevAttrUnifiedAddressing, device) != 0,
                  .memory = Bytes{properties.totalGlobalMem}};
  std::ranges::transform(info.pci_bus_id, info.pci_bus_id.begin(),
                         [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  static_assert(sizeof properties.uuid.bytes == sizeof info.uuid);
  std::memcpy(info.uuid.data(), properties.uuid.bytes, sizeof info.uuid);
  return info;
}

}  // namespace twinlink::real
