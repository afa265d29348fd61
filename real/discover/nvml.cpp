#include "real/discover/nvml.hpp"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <source_location>
#include <utility>

#include "platforms/import/gpu_models.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::real {
namespace {

using nvml::Device;
using nvml::Functions;
using nvml::Return;
using platforms::GpuFacts;
using platforms::GpuLinks;

std::string loader_error() {
  const char* const text = ::dlerror();
  return text == nullptr ? "no reason given" : text;
}

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
}

template <class Function>
void require(void* library, const char* name, Function& function) {
  find(library, name, function);
  if (function == nullptr) throw UnavailableError("the NVIDIA driver is too old: " + loader_error());
}

/// "0000:1b:00.0", as the system and CUDA write it; the function of a GPU is 0.
std::string bus_id(const nvml::PciInfo& pci) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", pci.domain, pci.bus, pci.device);
}

std::string peer_reason(int status) {
  // nvmlGpuP2PStatus_t
  static constexpr std::array<const char*, 6> kReasons{"",
                                                       "the chipset does not support it",
                                                       "the GPU does not support it",
                                                       "the I/O hubs do not support it",
                                                       "disabled in the driver's settings",
                                                       "not supported"};
  const auto index = static_cast<std::size_t>(status);
  return index < kReasons.size() ? kReasons.at(index) : fmt::format("refused with status {}", status);
}

/// Reads one GPU.
class GpuReader {
 public:
  GpuReader(const Functions& functions, Device device) : nvml_(functions), device_(device) {}

  [[nodiscard]] GpuFacts read() const {
    GpuFacts gpu{.model = text(nvml_.name, "nvmlDeviceGetName"), .uuid = text(nvml_.uuid, "nvmlDeviceGetUUID")};
    nvml::PciInfo pci{};
    check(nvml_.pci_info(device_, &pci), "nvmlDeviceGetPciInfo");
    gpu.bus_id = bus_id(pci);
    constexpr unsigned kWord = 16;
    gpu.device_id = fmt::format("{:04x}:{:04x}", pci.pci_device_id & 0xffffU, pci.pci_device_id >> kWord);
    std::pair<int, int> capability;
    check(nvml_.capability(device_, &capability.first, &capability.second), "nvmlDeviceGetCudaComputeCapability");
    gpu.capability = capability;
    // Virtual machines may not tell these, nor GPUs that share the host's memory theirs.
    nvml::Memory memory{};
    if (nvml_.memory(device_, &memory) == nvml::kSuccess) {
      gpu.memory = {Bytes{memory.total}, {platforms::Quality::measured, "as NVML tells of " + gpu.uuid}};
    }
    unsigned generation = 0;
    unsigned width = 0;
    if (nvml_.max_generation(device_, &generation) == nvml::kSuccess &&
        nvml_.max_width(device_, &width) == nvml::kSuccess) {
      gpu.pcie =
          platforms::pcie_rate(static_cast<int>(generation), static_cast<int>(width), "the most that NVML tells of");
    }
    for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
      // Links that the GPU does not have are an invalid argument.
      int active = 0;
      if (nvml_.nvlink_state(device_, link, &active) == nvml::kSuccess && active != 0) {
        gpu.links.push_back(nvlink(link, capability));
      }
    }
    return gpu;
  }

 private:
  void check(Return code, const char* call, std::source_location where = std::source_location::current()) const {
    if (code != nvml::kSuccess) throw EnvironmentError(call, nvml_.error_text(code), where);
  }

  [[nodiscard]] std::string text(Return (*function)(Device, char*, unsigned), const char* call) const {
    std::array<char, nvml::kNameSize> buffer{};
    check(function(device_, buffer.data(), nvml::kNameSize), call);
    buffer.back() = '\0';
    return buffer.data();
  }

  [[nodiscard]] GpuLinks nvlink(unsigned link, const std::pair<int, int>& capability) const {
    GpuLinks facts;
    int type = -1;
    if (nvml_.nvlink_remote_type != nullptr && nvml_.nvlink_remote_type(device_, link, &type) == nvml::kSuccess) {
      facts.remote = type == nvml::kRemoteSwitch ? GpuLinks::Remote::nvswitch
                     : type == nvml::kRemoteGpu  ? GpuLinks::Remote::gpu
                     : type == nvml::kRemoteNpu  ? GpuLinks::Remote::memory
                                                 : GpuLinks::Remote::hidden;
    }
    nvml::PciInfo remote{};
    const bool to_gpu = facts.remote == GpuLinks::Remote::gpu || facts.remote == GpuLinks::Remote::hidden;
    if (to_gpu && nvml_.nvlink_remote(device_, link, &remote) == nvml::kSuccess) facts.remote_bus_id = bus_id(remote);
    nvml::FieldValue speed{.field_id = nvml::kFieldNvlinkSpeed, .scope_id = link};
    if (nvml_.field_values != nullptr && nvml_.field_values(device_, 1, &speed) == nvml::kSuccess &&
        speed.result == nvml::kSuccess && speed.value_type == nvml::kTypeUnsigned) {
      if (const auto reported = static_cast<unsigned>(speed.value); reported > 0) {
        facts.each = platforms::nvlink_rate_of_speed(reported, capability);
      }
    }
    return facts;
  }

  const Functions& nvml_;
  Device device_;
};

/// What of a GPU's health NVML tells.
class HealthReader {
 public:
  HealthReader(const Functions& functions, Device device) : nvml_(functions), device_(device) {}

  bench::GpuHealth read() {
    read_memory();
    read_links();
    take<unsigned>("sm_clock_mhz", nvml_.clock, nvml::kClockSm);
    take<unsigned>("sm_clock_mhz_max", nvml_.max_clock, nvml::kClockSm);
    take<unsigned>("temperature_c", nvml_.temperature, nvml::kSensorOfGpu);
    take<unsigned long long>("throttle_reasons", nvml_.throttle_reasons);
    for (const auto& [name, policy] :
         {std::pair{"hot_ns", nvml::kThermalPolicy}, std::pair{"out_of_power_ns", nvml::kPowerPolicy}}) {
      nvml::ViolationTime time{};
      if (nvml_.violation != nullptr && nvml_.violation(device_, policy, &time) == nvml::kSuccess) {
        health_[name] = time.violation_ns;
      }
    }
    return std::move(health_);
  }

 private:
  template <class Value, class Function, class... Which>
  void take(const char* name, Function function, Which... which) {
    Value value{};
    if (function != nullptr && function(device_, which..., &value) == nvml::kSuccess) health_[name] += value;
  }

  void read_memory() {
    take<unsigned long long>("ecc_corrected", nvml_.ecc_errors, nvml::kCorrected, nvml::kVolatile);
    take<unsigned long long>("ecc_uncorrected", nvml_.ecc_errors, nvml::kUncorrected, nvml::kVolatile);
    std::array<unsigned, 4> rows{};  // after corrected errors, after others, pending, failed
    if (nvml_.remapped_rows == nullptr ||
        nvml_.remapped_rows(device_, &rows[0], &rows[1], &rows[2], &rows[3]) != nvml::kSuccess) {
      return;
    }
    health_["rows_remapped"] = std::uint64_t{rows[0]} + rows[1];
    health_["row_remapping_pending"] = rows[2];
    health_["row_remapping_failed"] = rows[3];
  }

  void read_links() {
    take<unsigned>("pcie_replays", nvml_.pcie_replays);
    take<unsigned>("pcie_generation", nvml_.generation);
    take<unsigned>("pcie_generation_max", nvml_.max_generation);
    take<unsigned>("pcie_width", nvml_.width);
    take<unsigned>("pcie_width_max", nvml_.max_width);
    for (unsigned link = 0; link < nvml::kMostLinks; ++link) {
      int active = 0;
      if (nvml_.nvlink_state(device_, link, &active) != nvml::kSuccess || active == 0) continue;
      for (const auto& [name, counter] :
           {std::pair{"nvlink_replays", nvml::kLinkReplay}, std::pair{"nvlink_recoveries", nvml::kLinkRecovery},
            std::pair{"nvlink_crc_errors", nvml::kLinkCrcFlit}, std::pair{"nvlink_crc_errors", nvml::kLinkCrcData}}) {
        take<unsigned long long>(name, nvml_.nvlink_errors, link, counter);
      }
    }
  }

  const Functions& nvml_;
  Device device_;
  bench::GpuHealth health_{};
};

/// Older drivers give a bus id and no kind of device: if it is a GPU's, it is a GPU.
void name_remotes(platforms::NodeDescription& node) {
  for (GpuFacts& gpu : node.gpus) {
    const auto place = std::ranges::find(node.pci, gpu.bus_id, &platforms::PciFacts::bus_id);
    for (GpuLinks& link : gpu.links) {
      if (std::ranges::find(node.gpus, link.remote_bus_id, &GpuFacts::bus_id) != node.gpus.end()) {
        link.remote = GpuLinks::Remote::gpu;
      } else if (link.remote == GpuLinks::Remote::gpu) {
        link.remote = GpuLinks::Remote::elsewhere;  // hidden from this process
      } else {
        link.remote_bus_id.clear();
      }
      if (link.remote == GpuLinks::Remote::memory) {
        link.remote_numa = place == node.pci.end() ? node.memories.front().number : place->numa;
      }
    }
  }
}

}  // namespace

Nvml::Nvml(const std::string& library) : library_(::dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL)) {
  if (library_ == nullptr) throw UnavailableError("no NVIDIA driver: " + loader_error());
  try {
    load(library);
  } catch (...) {
    ::dlclose(library_);
    throw;
  }
}

void Nvml::load(const std::string& library) {
  Functions& f = functions_;
  require(library_, "nvmlInit_v2", f.init);
  require(library_, "nvmlShutdown", f.shutdown);
  require(library_, "nvmlErrorString", f.error_text);
  require(library_, "nvmlSystemGetDriverVersion", f.driver_version);
  require(library_, "nvmlDeviceGetCount_v2", f.count);
  require(library_, "nvmlDeviceGetHandleByIndex_v2", f.handle);
  require(library_, "nvmlDeviceGetName", f.name);
  require(library_, "nvmlDeviceGetUUID", f.uuid);
  require(library_, "nvmlDeviceGetMemoryInfo", f.memory);
  require(library_, "nvmlDeviceGetPciInfo_v3", f.pci_info);
  require(library_, "nvmlDeviceGetCudaComputeCapability", f.capability);
  require(library_, "nvmlDeviceGetMaxPcieLinkGeneration", f.max_generation);
  require(library_, "nvmlDeviceGetMaxPcieLinkWidth", f.max_width);
  require(library_, "nvmlDeviceGetNvLinkState", f.nvlink_state);
  require(library_, "nvmlDeviceGetNvLinkRemotePciInfo_v2", f.nvlink_remote);
  require(library_, "nvmlDeviceGetP2PStatus", f.peer_status);
  find(library_, "nvmlDeviceGetNvLinkRemoteDeviceType", f.nvlink_remote_type);
  find(library_, "nvmlDeviceGetFieldValues", f.field_values);
  find(library_, "nvmlDeviceGetTotalEccErrors", f.ecc_errors);
  find(library_, "nvmlDeviceGetRemappedRows", f.remapped_rows);
  find(library_, "nvmlDeviceGetPcieReplayCounter", f.pcie_replays);
  find(library_, "nvmlDeviceGetCurrPcieLinkGeneration", f.generation);
  find(library_, "nvmlDeviceGetCurrPcieLinkWidth", f.width);
  find(library_, "nvmlDeviceGetNvLinkErrorCounter", f.nvlink_errors);
  find(library_, "nvmlDeviceGetViolationStatus", f.violation);
  find(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", f.throttle_reasons);
  find(library_, "nvmlDeviceGetClockInfo", f.clock);
  find(library_, "nvmlDeviceGetMaxClockInfo", f.max_clock);
  find(library_, "nvmlDeviceGetTemperature", f.temperature);
  if (const Return code = f.init(); code != nvml::kSuccess) {
    throw UnavailableError(fmt::format("no NVIDIA driver: {} does not start: {}", library, f.error_text(code)));
  }
}

Nvml::~Nvml() {
  functions_.shutdown();
  ::dlclose(library_);
}

std::string Nvml::driver_version() const {
  std::array<char, nvml::kVersionSize> version{};
  if (functions_.driver_version(version.data(), nvml::kVersionSize) != nvml::kSuccess) return "unknown";
  version.back() = '\0';
  return version.data();
}

std::vector<Device> Nvml::devices() const {
  const auto check = [&](Return code, const char* call) {
    if (code != nvml::kSuccess) throw EnvironmentError(call, functions_.error_text(code));
  };
  unsigned count = 0;
  check(functions_.count(&count), "nvmlDeviceGetCount");
  std::vector<Device> found(count);
  for (unsigned i = 0; i < count; ++i) check(functions_.handle(i, &found[i]), "nvmlDeviceGetHandleByIndex");
  return found;
}

std::map<std::string, bench::GpuHealth> Nvml::health(const std::string& only) const {
  std::map<std::string, bench::GpuHealth> found;
  for (const Device device : devices()) {
    nvml::PciInfo pci{};
    if (functions_.pci_info(device, &pci) != nvml::kSuccess) continue;
    const std::string bus = bus_id(pci);
    if (only.empty() || bus == only) found[bus] = HealthReader(functions_, device).read();
  }
  return found;
}

void Nvml::read(platforms::NodeDescription& node) const {
  std::vector<std::pair<GpuFacts, Device>> found;
  for (const Device device : devices()) found.emplace_back(GpuReader(functions_, device).read(), device);
  std::ranges::sort(found, {}, [](const auto& gpu) { return gpu.first.bus_id; });
  node.gpus.clear();
  for (const auto& [gpu, device] : found) node.gpus.push_back(gpu);
  name_remotes(node);
  for (const auto& [gpu, from] : found) {
    std::vector<std::string>& row = node.peer_access.emplace_back();
    for (const auto& [other, to] : found) {
      std::string reason;
      for (const int capability : {nvml::kPeerRead, nvml::kPeerWrite}) {
        if (from == to || !reason.empty()) continue;
        int status = 0;
        const Return code = functions_.peer_status(from, to, capability, &status);
        reason = code == nvml::kSuccess ? peer_reason(status) : functions_.error_text(code);
      }
      row.push_back(std::move(reason));
    }
  }
}

bench::GpuHealth health_of_gpu(const std::string& bus_id, const std::string& library) {
  try {
    std::string wanted = bus_id;
    std::ranges::transform(wanted, wanted.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    return wanted.empty() ? bench::GpuHealth{} : Nvml(library).health(wanted)[wanted];
  } catch (const Error&) {
    return {};  // a measurement does not fail because nobody tells how well the GPU is
  }
}

}  // namespace twinlink::real
