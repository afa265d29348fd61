#include "platforms/import/gpu_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <vector>

#include "platforms/machine/pcie.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::string_view kNvidia = "10de:";
constexpr std::string_view kAmd = "1002:";

// From the PCI ID repository, and data sheets of NVIDIA and AMD.
constexpr std::array<GpuModel, 19> kModels{{{"10de:15f9", "Tesla P100-SXM2-16GB", 6, 0, 16},
                                            {"10de:15f8", "Tesla P100-PCIE-16GB", 6, 0, 16},
                                            {"10de:1db1", "Tesla V100-SXM2-16GB", 7, 0, 16},
                                            {"10de:1db5", "Tesla V100-SXM2-32GB", 7, 0, 32},
                                            {"10de:1db4", "Tesla V100-PCIE-16GB", 7, 0, 16},
                                            {"10de:20b0", "NVIDIA A100-SXM4-40GB", 8, 0, 40, 12},
                                            {"10de:20b2", "NVIDIA A100-SXM4-80GB", 8, 0, 80, 12},
                                            {"10de:20b5", "NVIDIA A100 80GB PCIe", 8, 0, 80},
                                            {"10de:20f1", "NVIDIA A100-PCIE-40GB", 8, 0, 40},
                                            {"10de:2235", "NVIDIA A40", 8, 6, 48},
                                            {"10de:26b9", "NVIDIA L40S", 8, 9, 48},
                                            {"10de:2330", "NVIDIA H100 80GB HBM3", 9, 0, 80, 18},
                                            {"10de:2331", "NVIDIA H100 PCIe", 9, 0, 80},
                                            {"10de:2335", "NVIDIA H200", 9, 0, 141, 18},
                                            {"10de:2342", "NVIDIA GH200 480GB", 9, 0, 96},
                                            {"10de:2901", "NVIDIA B200", 10, 0, 180, 18},
                                            {"1002:7408", "AMD Instinct MI250X", 9, 0, 64},
                                            {"1002:740f", "AMD Instinct MI210", 9, 0, 64},
                                            {"1002:74a1", "AMD Instinct MI300X", 9, 4, 192}}};

/// AMD's displays that are no accelerators: consoles of servers, and graphics of processors up to 2024.
constexpr std::array<std::string_view, 18> kDisplays{"4752", "5159", "515e", "13c0", "150e", "15bf",
                                                     "15c8", "15d8", "15dd", "15e7", "1636", "1638",
                                                     "164c", "164d", "164e", "1681", "1900", "1901"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

Sourced<Rate> nvlink(double gigabytes, const std::string& generation, const std::string& why) {
  return {
      Rate{gigabytes * 1e9},
      {Quality::derived, fmt::format("nominal: NVLink {}, {} GB/s a link each way; {}", generation, gigabytes, why)}};
}

}  // namespace

/// Model numbers of Intel's family 6 from which on NCCL takes sockets to be joined by faster links (src/graph/topo.cc).
Cpu cpu_of(std::string_view vendor, int family, int model) {
  constexpr int kSkylake = 0x55;
  constexpr int kSapphireRapids = 0x8f;
  constexpr int kEmeraldRapids = 0xcf;
  if (vendor == "AuthenticAMD") return Cpu::amd;
  if (vendor == "IBM" || vendor.starts_with("POWER")) return Cpu::power;
  if (vendor == "ARM" || vendor.starts_with("0x")) return Cpu::arm;
  if (vendor != "GenuineIntel") return Cpu::unknown;
  constexpr int kFamily = 6;
  return family != kFamily || model < kSkylake ? Cpu::broadwell
         : model < kSapphireRapids             ? Cpu::skylake
         : model < kEmeraldRapids              ? Cpu::sapphire_rapids
                                               : Cpu::emerald_rapids;
}

const GpuModel* model_of_device(std::string_view device_id) {
  const auto* const found = std::ranges::find(kModels, device_id, &GpuModel::device_id);
  return found == kModels.end() ? nullptr : found;
}

const GpuModel& model_named(std::string_view name) {
  std::vector<const GpuModel*> found;
  std::string all;
  for (const GpuModel& model : kModels) {
    if (lower(model.name) == lower(name)) return model;
    if (lower(model.name).find(lower(name)) != std::string::npos) found.push_back(&model);
    all += fmt::format("{}{}", all.empty() ? "" : ", ", model.name);
  }
  if (found.size() == 1) return *found.front();
  throw InputError(
      fmt::format("{} GPU is called '{}' (there are: {})", found.empty() ? "no" : "more than one", name, all));
}

void set_model(GpuFacts& gpu, const GpuModel& model) {
  constexpr std::uint64_t kGigabyte = 1'000'000'000;
  gpu.model = model.name;
  gpu.device_id = model.device_id;
  gpu.capability = {model.major, model.minor};
  gpu.memory = {Bytes{model.gigabytes * kGigabyte}, {Quality::datasheet, "the data sheet of this model"}};
}

void complete(GpuFacts& gpu) {
  const GpuModel* known = model_of_device(gpu.device_id);
  for (const GpuModel& model : kModels) {
    if (known == nullptr && lower(model.name) == lower(gpu.model)) known = &model;
  }
  if (known == nullptr) return;
  GpuFacts told = gpu;
  set_model(gpu, *known);
  if (!told.model.empty()) gpu.model = std::move(told.model);
  if (told.memory) gpu.memory = std::move(told.memory);
  if (told.capability) gpu.capability = told.capability;
}

bool is_of_amd(std::string_view device_id) { return device_id.starts_with(kAmd); }

bool computes(std::string_view device_id, unsigned pci_class) {
  constexpr unsigned kVga = 0x0300;
  const bool accelerates = pci_class >> 8U == 0x03 || pci_class >> 8U == 0x12;
  if (!accelerates) return false;
  if (device_id.starts_with(kNvidia)) return true;
  if (!device_id.starts_with(kAmd)) return false;
  return pci_class != kVga || std::ranges::find(kDisplays, device_id.substr(kAmd.size())) == kDisplays.end();
}

std::optional<Sourced<Rate>> pcie_rate(int generation, int lanes, const std::string& said_by) {
  if (generation < 1 || generation > static_cast<int>(pcie_generations().size()) || lanes < 1 ||
      lanes > kMostPcieLanes) {
    return std::nullopt;
  }
  const PcieGeneration& one = pcie_generations()[static_cast<std::size_t>(generation - 1)];
  return Sourced<Rate>{
      Rate{one.lane_rate() * lanes * 1e9},
      {Quality::derived, fmt::format("nominal: PCIe Gen{} x{}, {} GT/s x {} lanes x {}/{}, before packet headers; {}",
                                     generation, lanes, one.transfers, lanes, one.payload, one.coded, said_by)}};
}

std::optional<Sourced<Rate>> pcie_rate_of_transfers(double transfers, int lanes, const std::string& said_by) {
  for (std::size_t g = 0; g < pcie_generations().size(); ++g) {
    const double nominal = pcie_generations()[g].transfers;
    if (std::abs(nominal - transfers) <= 0.01 * nominal) return pcie_rate(static_cast<int>(g) + 1, lanes, said_by);
  }
  return std::nullopt;
}

std::optional<Sourced<Rate>> pcie_rate_of_status(double gigabytes_per_second) {
  if (!(gigabytes_per_second > 0)) return std::nullopt;
  double rate = gigabytes_per_second;
  std::string names;
  for (std::size_t g = 0; g < pcie_generations().size(); ++g) {
    for (const int lanes : {1, 4, 8, 16}) {
      const double nominal = pcie_generations()[g].lane_rate() * lanes;
      if (std::abs(nominal - gigabytes_per_second) > 0.005 * gigabytes_per_second) continue;
      if (names.empty()) rate = nominal;  // the system's number is a rounded one
      names += fmt::format("{}PCIe Gen{} x{}", names.empty() ? "" : " or ", g + 1, lanes);
    }
  }
  return Sourced<Rate>{
      Rate{rate * 1e9},
      {Quality::derived, fmt::format("nominal: {}, as the link runs now by hwloc, before packet headers",
                                     names.empty() ? "a PCIe link" : names)}};
}

int pcie_generation(const std::pair<int, int>& capability) {
  constexpr int kHopper = 9;
  constexpr int kAmpere = 8;
  return capability.first >= kHopper ? 5 : capability.first == kAmpere ? 4 : 3;
}

Sourced<Rate> nvlink_rate_of_speed(unsigned reported, const std::pair<int, int>& capability) {
  const std::string why = fmt::format("the driver reports {} MB/s, coding included", reported);
  // 25781 for 25 GB/s, 26562 for 25, 53125 for 50.
  if (reported < 22'000) return nvlink(20, "1", why);
  // The speeds of the second and the third generation are the same.
  if (reported < 26'000) return nvlink(25, capability.first == 7 ? "2" : "3", why);
  if (reported < 40'000) return nvlink(25, "4", why);
  return nvlink(50, "5", why);
}

Sourced<Rate> link_rate(GpuLinks::Kind kind, const std::pair<int, int>& capability) {
  const auto& [major, minor] = capability;
  if (kind == GpuLinks::Kind::xgmi) {
    return major == 9 && minor >= 4
               ? Sourced<Rate>{64.0_GBps, {Quality::datasheet, "MI300X: 64 GB/s each way and link"}}
               : Sourced<Rate>{50.0_GBps, {Quality::datasheet, "MI250X: 50 GB/s each way and link"}};
  }
  const std::string why = fmt::format("by the compute capability {}.{}, for nobody tells its rate", major, minor);
  if (major <= 6) return nvlink(20, "1", why);
  if (major == 7) return nvlink(25, "2", why);
  if (capability == std::pair(8, 6)) return nvlink(14.0625, "3, four lanes", why);
  if (major == 8) return nvlink(25, "3", why);
  if (major == 9) return nvlink(25, "4", why);
  return nvlink(50, "5", why);
}

}  // namespace twinlink::platforms
