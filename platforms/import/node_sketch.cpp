#include "platforms/import/node_sketch.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/machine/pcie.hpp"
#include "platforms/reader/node_checks.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {
namespace {

constexpr int kLanes = 16;
const char* const kUnnamed = "unnamed";

const char* const kCrossing = "a crossing of PCIe takes about 150 ns (pcie-bench, SIGCOMM 2018)";
const char* const kMemoryLink = "memory of a NUMA domain; many copies at once would tell";
const char* const kSocketLink = "links between sockets carry from 12 GB/s (QPI) to some 80 GB/s (three UPI)";
const char* const kSocketHop = "a hop between sockets adds about 120 ns to a read, which crosses it twice";

}  // namespace

std::optional<Sourced<Rate>> pcie_rate(double gigatransfers, int lanes, const std::string& said_by) {
  if (lanes < 1 || lanes > kMostPcieLanes) return std::nullopt;
  for (const PcieGeneration& one : pcie_generations()) {
    if (std::abs(one.transfers - gigatransfers) > 0.01 * one.transfers) continue;
    return Sourced<Rate>{Rate{one.lane_rate() * lanes * 1e9},
                         {Quality::derived, fmt::format("{} GT/s x {} lanes x {}/{}, before packet headers; {}",
                                                        one.transfers, lanes, one.payload, one.coded, said_by)}};
  }
  return std::nullopt;
}

Sourced<Rate> assumed_pcie(int generation) {
  const PcieGeneration& one = pcie_generations()[static_cast<std::size_t>(generation - 1)];
  return assumed(Rate{one.lane_rate() * kLanes * 1e9},
                 fmt::format("PCIe Gen{} x{}, for nobody says how wide this link is", generation, kLanes));
}

Rate nvlink_rate(const std::pair<int, int>& capability) {
  if (capability.first < 7) return 20.0_GBps;
  if (capability == std::pair(8, 6)) return Rate{14.0625e9};
  return capability.first < 10 ? 25.0_GBps : 50.0_GBps;
}

NodeSketch::NodeSketch(std::string origin, std::string file) : origin_(std::move(origin)), file_(std::move(file)) {}

void NodeSketch::assume(const std::string& text) {
  if (std::ranges::find(assumptions_, text) == assumptions_.end()) assumptions_.push_back(text);
}

bool NodeSketch::has_domain(int number) const { return std::ranges::find(domains_, number) != domains_.end(); }

void NodeSketch::add_domain(int number) {
  if (has_domain(number)) return;
  Node& node = platform_.node;
  const std::string memory = memory_name(number);
  node.memories.push_back({.name = memory, .passing = {.forwards = Forwards::adapters}});
  node.hubs.push_back({.name = root_name(number)});
  add_links(root_name(number) + "-" + memory, root_name(number), memory, assumed(200.0_GBps, kMemoryLink), 1);
  for (const int other : domains_) {
    add_links(memory_name(other) + "-" + memory, memory_name(other), memory, assumed(40.0_GBps, kSocketLink), 1);
    node.links.back().latency = assumed(0.06_us, kSocketHop);
    assume("every NUMA domain has a link of 40 GB/s to each other one");
  }
  domains_.push_back(number);
  assume("a root complex forwards peer traffic, and reaches its memory at 200 GB/s");
  assume("host memories forward what adapters read and write in GPUs, and nothing between GPUs");
}

bool NodeSketch::is_taken(const std::string& name) const {
  const Node& node = platform_.node;
  return std::ranges::find(node.memories, name, &HostMemory::name) != node.memories.end() ||
         std::ranges::find(node.hubs, name, &Hub::name) != node.hubs.end() ||
         std::ranges::find(node.nics, name, &Nic::name) != node.nics.end() ||
         std::ranges::find(node.gpus, name, &Gpu::name) != node.gpus.end();
}

void NodeSketch::add_hub(const std::string& name, const std::string& about) {
  if (is_taken(name)) return;
  platform_.node.hubs.push_back({.name = name});
  if (!about.empty()) remark(name + ": " + about);
}

std::string NodeSketch::type_of(const SketchedGpu& gpu) {
  GpuType type{.model = gpu.model.empty() ? "unknown GPU" : gpu.model};
  std::tie(type.capability_major, type.capability_minor) = gpu.capability.value_or(std::pair(8, 0));
  type.memory = gpu.memory.value_or(assumed(80_GiB, "nobody says how much memory the GPU has"));
  if (!gpu.capability) assume("the compute capability of a GPU: 8.0");
  if (!gpu.memory) assume("the memory of a GPU: 80 GiB");
  for (const GpuType& known : platform_.gpu_types) {
    if (known.model == type.model && known.memory == type.memory && known.capability_major == type.capability_major &&
        known.capability_minor == type.capability_minor) {
      return known.name;
    }
  }
  type.name = fmt::format("type{}", platform_.gpu_types.size());
  platform_.gpu_types.push_back(type);
  return type.name;
}

std::string NodeSketch::add_gpu(const SketchedGpu& gpu, const std::string& about) {
  std::string type = type_of(gpu);
  std::string name = fmt::format("gpu{}", platform_.node.gpus.size());
  platform_.node.gpus.push_back({.name = name, .type = std::move(type)});
  if (!about.empty()) remark(name + ": " + about);
  return name;
}

std::string NodeSketch::add_adapter(const std::string& wanted, std::optional<Sourced<Rate>> rate,
                                    const std::string& about) {
  std::string name = safe_name(wanted, kUnnamed);
  while (is_taken(name) || name.starts_with("gpu") || name.starts_with("numa") || name.starts_with("root")) {
    name = "nic_" + name;
  }
  platform_.node.nics.push_back({.name = name});
  if (rate) adapter_rates_.push_back(*std::move(rate));
  if (!about.empty()) remark(name + ": " + about);
  return name;
}

void NodeSketch::add_pcie(const std::string& from, const std::string& to, const Sourced<Rate>& rate) {
  add_links(from + "-pcie", from, to, rate, 1);
  platform_.node.links.back().latency = assumed(0.15_us, kCrossing);
  assume("each crossing of PCIe takes 150 ns");
  if (rate.source.quality == Quality::assumed) assumed_links_[rate.source.text] += ' ' + from;
}

void NodeSketch::add_links(const std::string& name, const std::string& from, const std::string& to,
                           const Sourced<Rate>& each, int count) {
  Sourced<Rate> all = each;
  all.value = Rate{each.value.bytes_per_second() * count};
  std::string own = name;
  for (int i = 2; std::ranges::find(platform_.node.links, own, &Link::name) != platform_.node.links.end(); ++i) {
    own = fmt::format("{}-{}", name, i);
  }
  platform_.node.links.push_back(
      {.name = own, .from = from, .to = to, .forward = all, .backward = all, .count = count});
}

/// With one rate for all adapters, for the schema knows no other.
void NodeSketch::add_fabric() {
  if (platform_.node.nics.empty()) return;
  Fabric& fabric = platform_.fabric.emplace();
  if (adapter_rates_.empty()) {
    fabric.link = assumed(25.0_GBps, "200 Gbit/s, for nobody says how fast the adapters are");
    assume("the adapters have 200 Gbit/s");
  } else {
    const auto rate = [](const Sourced<Rate>& each) { return each.value; };
    fabric.link = std::ranges::max(adapter_rates_, {}, rate);
    if (std::ranges::min(adapter_rates_, {}, rate).value != fabric.link.value) {
      assume("all adapters are as fast as the fastest");
    }
  }
  if (!rdma_) assume("the adapters read and write device memory");
  if (rdma_.value_or(true)) fabric.rdma.emplace();
}

ImportedPlatform NodeSketch::finish(const std::string& name) {
  Node& node = platform_.node;
  if (node.gpus.empty()) throw InputError(file_ + ": error: a platform needs a GPU, and there is none in this file");
  add_fabric();
  platform_.name = safe_name(name, kUnnamed);
  platform_.description =
      fmt::format("{} GPU{}, {} NUMA domain{} and {} adapter{}, imported from {}", node.gpus.size(),
                  node.gpus.size() == 1 ? "" : "s", node.memories.size(), node.memories.size() == 1 ? "" : "s",
                  node.nics.size(), node.nics.size() == 1 ? "" : "s", origin_);
  assume_costs(platform_);
  assume("the costs of copies, of the runtime and of messages; measurements may take their place");

  ImportedPlatform result{.origin = origin_, .heading = {fmt::format("Imported from {}: {}", origin_, file_), ""}};
  result.heading.insert(result.heading.end(), remarks_.begin(), remarks_.end());
  if (!remarks_.empty()) result.heading.emplace_back();
  result.heading.emplace_back("Assumed, for the tool does not tell:");
  for (const auto& [why, links] : assumed_links_) assume("PCIe links of" + links + ": " + why);
  for (const std::string& text : assumptions_) result.heading.push_back("* " + text);
  result.platform = std::move(platform_);
  return result;
}

}  // namespace twinlink::model
