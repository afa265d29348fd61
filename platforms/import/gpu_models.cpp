#include "platforms/import/gpu_models.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <cmath>
#include <functional>
#include <iterator>
#include <set>
#include <vector>

#include "platforms/machine/pcie.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

constexpr std::string_view kNvidia = "10de:";
constexpr std::string_view kAmd = "1002:";

/// AMD's displays that are no accelerators: consoles of servers, and graphics of processors up to 2024.
constexpr std::array<std::string_view, 18> kDisplays{"4752", "5159", "515e", "13c0", "150e", "15bf",
                                                     "15c8", "15d8", "15dd", "15e7", "1636", "1638",
                                                     "164c", "164d", "164e", "1681", "1900", "1901"};

std::string lower(std::string_view text) {
  std::string result(text);
  std::ranges::transform(result, result.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return result;
}

template <class Is>
std::vector<const GpuModel*> those(const Is& is) {
  std::vector<const GpuModel*> found;
  for (const GpuModel& model : gpu_table()) {
    if (is(model)) found.push_back(&model);
  }
  return found;
}

std::vector<const GpuModel*> of_device(std::string_view device_id) {
  return those(
      [&](const GpuModel& model) { return std::ranges::find(model.devices, device_id) != model.devices.end(); });
}

using Words = std::set<std::string, std::less<>>;

/// "NVIDIA A100-SXM4-40GB" as a100, sxm4 and 40gb. What makers put before all their names tells nothing.
Words words_of(std::string_view name) {
  static const Words kOfAll{"nvidia", "tesla", "geforce", "amd", "instinct", "gpu"};
  Words words;
  std::string word;
  for (const char c : lower(name) + ' ') {
    if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
      word += c;
    } else if (std::string whole = std::exchange(word, {}); !whole.empty() && !kOfAll.contains(whole)) {
      words.insert(std::move(whole));
    }
  }
  return words;
}

/// "80gb", "144g", "hbm3".
bool is_of_memory(const std::string& word) {
  return word.starts_with("hbm") ||
         (std::isdigit(static_cast<unsigned char>(word.front())) != 0 && (word.ends_with("gb") || word.ends_with('g')));
}

/// How well a model's name fits: it has the same words; or the name has all of its, the more the better; or it has all
/// of the name's; or at last all that this says beside the memory.
enum class Fit { none, but_memory, around, within, same };
std::pair<Fit, std::size_t> fit_of(const Words& name, const Words& its) {
  if (its == name) return {Fit::same, 0};
  if (std::ranges::includes(name, its)) return {Fit::within, its.size()};
  if (std::ranges::includes(its, name)) return {Fit::around, 0};
  Words rest = name;
  std::erase_if(rest, is_of_memory);
  return {!rest.empty() && std::ranges::includes(its, rest) ? Fit::but_memory : Fit::none, 0};
}

struct Named {
  std::vector<const GpuModel*> models{};
  bool whole = true;  ///< false: the name has words that those of the models lack, and may stand for another memory
};

/// The models that a name fits best.
Named of_name(std::string_view name) {
  const Words words = words_of(name);
  std::pair<Fit, std::size_t> best{};
  Named named;
  for (const GpuModel& model : gpu_table()) {
    auto fit = fit_of(words, words_of(model.name));
    for (const std::string& other : model.also) fit = std::max(fit, fit_of(words, words_of(other)));
    if (words.empty() || fit < best || fit.first == Fit::none) continue;
    if (fit > best) named.models.clear();
    best = fit;
    named.models.push_back(&model);
  }
  named.whole = best.first == Fit::same || best.first == Fit::around;
  return named;
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
  const std::vector<const GpuModel*> found = of_device(device_id);
  return found.size() == 1 ? found.front() : nullptr;
}

const GpuModel& model_named(std::string_view name) {
  std::vector<const GpuModel*> found = of_name(name).models;
  if (found.size() != 1) {
    found = those([&](const GpuModel& model) { return lower(model.name).find(lower(name)) != std::string::npos; });
  }
  if (found.size() == 1) return *found.front();
  std::string all;
  for (const GpuModel& model : gpu_table()) all += (all.empty() ? "" : ", ") + model.name;
  throw InputError(
      fmt::format("{} GPU is called '{}' (there are: {})", found.empty() ? "no" : "more than one", name, all));
}

const GpuModel& example_of(const std::pair<int, int>& capability) {
  const GpuModel* best = &gpu_table().front();
  for (const GpuModel& model : gpu_table()) {
    if (model.gcn.empty() && *model.capability <= capability && *model.capability > *best->capability) best = &model;
  }
  return *best;
}

GpuModel model_of_capability(const std::pair<int, int>& capability) {
  const GpuModel& example = example_of(capability);
  GpuModel common = common_of(
      those([&](const GpuModel& model) { return model.gcn.empty() && model.capability == example.capability; }));
  common.source = fmt::format("as all GPUs of compute capability {}.{} have it", example.capability->first,
                              example.capability->second);
  if (example.capability == capability) return common;
  // Of a newer one only what it surely has, too.
  return {.source = common.source, .pcie = common.pcie, .link = common.link};
}

void set_model(GpuFacts& gpu, const GpuModel& model) {
  gpu.model = model.name;
  gpu.device_id = model.devices.front();
  gpu.capability = model.capability;
  gpu.memory.reset();
  if (model.memory) gpu.memory = {*model.memory, {Quality::datasheet, model.source}};
}

GpuModel model_of(const GpuFacts& gpu) {
  std::vector<const GpuModel*> found = of_device(gpu.device_id);
  Named named = of_name(gpu.model);
  if (found.empty()) {
    found = std::move(named.models);
  } else {
    named.whole = true;
    std::vector<const GpuModel*> both;
    std::ranges::copy_if(found, std::back_inserter(both), [&](const GpuModel* model) {
      return std::ranges::find(named.models, model) != named.models.end();
    });
    if (!both.empty()) found = std::move(both);
  }
  if (found.empty() && !gpu.gcn.empty()) {
    named.whole = true;
    found = those([&](const GpuModel& model) { return model.gcn == gpu.gcn; });
  }
  GpuModel model = common_of(found);
  if (!named.whole) model.memory.reset();
  if (found.empty() && gpu.capability && !gpu.by_amd && !is_of_amd(gpu.device_id)) {
    model = model_of_capability(*gpu.capability);
  }
  return model;
}

GpuModel complete(GpuFacts& gpu) {
  GpuModel model = model_of(gpu);
  if (gpu.model.empty()) gpu.model = model.name;
  if (gpu.model.empty() && !model.gcn.empty()) gpu.model = "AMD " + model.gcn;
  if (!gpu.memory && model.memory) gpu.memory = {*model.memory, {Quality::datasheet, model.source}};
  if (!gpu.capability) gpu.capability = model.capability;
  gpu.by_amd = gpu.by_amd || !model.gcn.empty();
  return model;
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

Sourced<Rate> nvlink_rate_of_speed(unsigned reported, const std::pair<int, int>& capability) {
  const std::string why = fmt::format("the driver reports {} MB/s, coding included", reported);
  // 25781 for 25 GB/s, 26562 for 25, 53125 for 50.
  if (reported < 22'000) return nvlink(20, "1", why);
  // The speeds of the second and the third generation are the same.
  if (reported < 26'000) return nvlink(25, capability.first == 7 ? "2" : "3", why);
  if (reported < 40'000) return nvlink(25, "4", why);
  return nvlink(50, "5", why);
}

Sourced<Rate> link_rate(const GpuModel& model, GpuLinks::Kind kind) {
  const bool c2c = kind == GpuLinks::Kind::c2c;
  const std::optional<Rate>& rate = c2c ? model.c2c : model.link;
  if (rate) {
    return {*rate,
            {Quality::derived, fmt::format("nominal: {} GB/s {}each way; {}", rate->bytes_per_second() / 1e9,
                                           c2c ? "" : "a link ", model.source)}};
  }
  const bool amd = kind == GpuLinks::Kind::xgmi;
  constexpr std::pair<int, int> kAmpere{8, 0};
  const GpuModel& like =
      amd ? *those([](const GpuModel& each) { return !each.gcn.empty(); }).front() : example_of(kAmpere);
  return {*like.link, {Quality::assumed, "as " + like.name + ", for nobody tells the rate of a link of this GPU"}};
}

}  // namespace twinlink::platforms
