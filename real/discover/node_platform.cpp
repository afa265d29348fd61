#include "real/discover/node_platform.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "platforms/import/pcie_tree.hpp"
#include "platforms/reader/node_checks.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/core/errors.hpp"
#include "real/discover/assumed_costs.hpp"

namespace twinlink::real {
namespace {

using model::Quality;
using Kind = PciFacts::Kind;

constexpr const char* kSwitch = "nvswitch";
constexpr const char* kUnnamed = "nic";

std::string memory_name(int number) { return fmt::format("numa{}", number); }
std::string socket_name(std::size_t index) { return fmt::format("socket{}", index); }
std::string gpu_name(std::size_t index) { return fmt::format("gpu{}", index); }

/// "2 x Xeon, Opteron".
std::string counted(const std::vector<std::string>& names) {
  std::vector<std::string> parts;
  for (const std::string& name : std::set<std::string>(names.begin(), names.end())) {
    const auto count = std::ranges::count(names, name);
    parts.push_back(count == 1 ? name : fmt::format("{} x {}", count, name));
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

class Builder {
 public:
  Builder(const NodeDescription& node, const model::Platform* base) : node_(node), tree_(node.pci) {
    sort_gpus();
    if (gpus_.empty()) throw UnavailableError("a platform needs a GPU, and none was found on " + node.name);
    if (node.memories.empty()) throw UnavailableError("hwloc finds no NUMA domain with processors on " + node.name);
    add_heading();
    add_vertices();
    add_gpus();
    add_nvlinks();
    add_pcie();
    add_sockets();
    add_peers();
    choose_adapters();
    assume_costs(result_.platform, base);
    describe();
  }

  NodePlatform take() { return std::move(result_); }

 private:
  void sort_gpus() {
    for (std::size_t i = 0; i < node_.inventory.gpus.size(); ++i) gpus_.push_back(i);
    std::ranges::sort(gpus_, {}, [&](std::size_t i) { return node_.inventory.gpus[i].bus_id; });
  }

  [[nodiscard]] const GpuFacts& facts(std::size_t gpu) const { return node_.inventory.gpus[gpus_[gpu]]; }

  /// Null where hwloc does not see the GPU.
  [[nodiscard]] const PciFacts* pci_of(const GpuFacts& gpu) const {
    const auto found = std::ranges::find_if(
        node_.pci, [&](const PciFacts& pci) { return pci.kind == Kind::gpu && pci.bus_id == gpu.bus_id; });
    return found == node_.pci.end() ? nullptr : &*found;
  }

  void heading(std::string line) { result_.heading.push_back(std::move(line)); }
  void note(std::string text) { result_.notes.push_back(std::move(text)); }

  void add_heading() {
    heading(fmt::format("Written by twinlink-real discover: {}, as {} describes it.", node_.name,
                        node_.gpu_source == "hwloc" ? "hwloc" : node_.gpu_source + " (GPUs) and hwloc (the rest)"));
    heading("");
    heading("The rates of links are nominal: generation times width. Costs are assumed, until a measurement takes");
    heading("their place: twinlink-real probe --json PROBES.json, then twinlink-validate calibrate PROBES.json with");
    heading("this file as its --base.");
    heading("");
  }

  void add_vertices() {
    model::Node& node = result_.platform.node;
    for (const NumaFacts& memory : node_.memories) node.memories.push_back({.name = memory_name(memory.number)});
    for (std::size_t s = 0; s < node_.sockets.size(); ++s) node.hubs.push_back({.name = socket_name(s)});
    for (const PcieTree::Hub& hub : tree_.hubs()) {
      node.hubs.push_back({.name = hub.name});
      heading(fmt::format("{}: PCIe bridge {}", hub.name, node_.pci[hub.bridge].bus_id));
    }
    for (std::size_t i = 0; i < node_.pci.size(); ++i) {
      if (node_.pci[i].kind != Kind::adapter) continue;
      std::string name = model::safe_name(node_.pci[i].name, kUnnamed);
      // Whatever it is called, no other part of the node has that name.
      const auto taken = [&] {
        return std::ranges::find(node.nics, name, &model::Nic::name) != node.nics.end() ||
               std::ranges::find(node.hubs, name, &model::Hub::name) != node.hubs.end() || name.starts_with("gpu") ||
               name.starts_with("numa") || name == kSwitch;
      };
      while (taken()) name = "nic_" + name;
      node.nics.push_back({.name = name});
      nics_.emplace_back(name, i);
      heading(fmt::format("{}: {} {}", name, node_.pci[i].infiniband ? "OpenFabrics adapter" : "network adapter",
                          node_.pci[i].bus_id));
    }
  }

  // ---- GPUs and who reaches whom --------------------------------------------------------------------------------

  [[nodiscard]] bool granted(std::size_t a, std::size_t b) const {
    return reason(a, b).empty() && reason(b, a).empty();
  }

  [[nodiscard]] std::string reason(std::size_t a, std::size_t b) const {
    const auto& matrix = node_.inventory.peer_access;
    return matrix.empty() ? "unknown" : matrix[gpus_[a]][gpus_[b]];
  }

  /// Who reaches whom, where the wiring does not say the same.
  void add_peers() {
    if (gpus_.size() < 2) return;
    const model::Topology topology(result_.platform);
    std::vector<std::pair<std::string, std::string>> peers;
    bool follows = true;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
        if (granted(a, b)) peers.emplace_back(gpu_name(a), gpu_name(b));
        follows = follows && granted(a, b) == topology.peer_access(a, b).yes;
      }
    }
    if (!follows) result_.platform.node.peers = std::move(peers);
  }

  /// GPUs that are alike are of one type.
  [[nodiscard]] std::string type_of(const GpuFacts& gpu) {
    model::GpuType type{.model = gpu.model.empty() ? "unknown GPU" : gpu.model};
    type.memory = gpu.memory ? model::Sourced<Bytes>{*gpu.memory, {Quality::measured, memory_source(gpu)}}
                             : model::Sourced<Bytes>{8_GiB, guess("no driver tells the size of the GPU's memory")};
    type.capability_major = gpu.capability_major > 0 ? gpu.capability_major : 7;
    type.capability_minor = gpu.capability_major > 0 ? gpu.capability_minor : 0;
    for (const model::GpuType& known : result_.platform.gpu_types) {
      if (known.model == type.model && known.memory.value == type.memory.value) return known.name;
    }
    type.name = model::safe_name(type.model, kUnnamed);
    if (std::ranges::find(result_.platform.gpu_types, type.name, &model::GpuType::name) !=
        result_.platform.gpu_types.end()) {
      type.name += fmt::format("-{}", result_.platform.gpu_types.size());
    }
    result_.platform.gpu_types.push_back(type);
    return type.name;
  }

  void add_gpus() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const GpuFacts& gpu = facts(i);
      const PciFacts* const pci = pci_of(gpu);
      model::Gpu entry{.name = gpu_name(i), .type = type_of(gpu)};
      entry.memory_near = memory_name(pci == nullptr ? node_.memories.front().number : pci->numa);
      result_.platform.node.gpus.push_back(entry);
      heading(fmt::format("{}: {}, {}, {}", entry.name, result_.platform.type_of(i).model,
                          gpu.uuid.empty() ? "UUID unknown" : gpu.uuid, gpu.bus_id));
      if (const std::string unknown = unknown_of(gpu); !unknown.empty()) {
        note(fmt::format("{}: no driver tells its {}; the file has guesses", entry.name, unknown));
      }
      if (pci == nullptr || (!pci->place_known && node_.memories.size() > 1)) {
        note(fmt::format("{} ({}): the system does not say to which socket it belongs; the file has the first",
                         entry.name, gpu.bus_id));
      }
    }
    if (node_.inventory.peer_access.empty() && gpus_.size() > 1) {
      note("peer access between the GPUs is unknown; the file has none");
    }
    for (std::size_t i = 0; i < gpus_.size() && gpus_.size() > 1; ++i) heading(describe_peers(i));
  }

  [[nodiscard]] static std::string unknown_of(const GpuFacts& gpu) {
    if (gpu.capability_major > 0) return gpu.memory ? "" : "memory";
    return gpu.memory ? "compute capability and NVLinks" : "memory, compute capability and NVLinks";
  }

  [[nodiscard]] std::string memory_source(const GpuFacts& gpu) const {
    return fmt::format("as {} tells of {}", node_.gpu_source, gpu.uuid.empty() ? gpu.bus_id : gpu.uuid);
  }

  /// "gpu0 reaches: gpu1 (18 NVLinks to NVSwitch), gpu2 (PCIe); not gpu3 (no support by the chipset)".
  [[nodiscard]] std::string describe_peers(std::size_t gpu) const {
    std::vector<std::string> reached;
    std::vector<std::string> refused;
    for (std::size_t other = 0; other < gpus_.size(); ++other) {
      if (other == gpu) continue;
      if (granted(gpu, other)) {
        reached.push_back(fmt::format("{} ({})", gpu_name(other), describe_way(gpu, other)));
      } else {
        const std::string there = reason(gpu, other);
        refused.push_back(fmt::format("{} ({})", gpu_name(other), there.empty() ? reason(other, gpu) : there));
      }
    }
    return fmt::format("{} reaches: {}{}{}", gpu_name(gpu),
                       reached.empty() ? "nobody" : fmt::format("{}", fmt::join(reached, ", ")),
                       refused.empty() ? "" : "; not ", fmt::join(refused, ", "));
  }

  [[nodiscard]] std::string describe_way(std::size_t from, std::size_t to) const {
    if (const auto direct = links_to(from, to); !direct.empty()) return fmt::format("{} NVLinks", direct.size());
    const auto up = links_to_switch(from);
    if (up.empty() || links_to_switch(to).empty()) return "PCIe";
    return fmt::format("{} NVLinks to NVSwitch", up.size());
  }

  // ---- links ------------------------------------------------------------------------------------------------------

  [[nodiscard]] std::vector<NvlinkFacts> links_to(std::size_t from, std::size_t to) const {
    std::vector<NvlinkFacts> links;
    for (const NvlinkFacts& link : facts(from).nvlinks) {
      if (link.remote == NvlinkFacts::Remote::gpu && link.remote_bus_id == facts(to).bus_id) links.push_back(link);
    }
    return links;
  }

  /// Links whose other end is not told go to a switch most likely: virtual machines hide it.
  [[nodiscard]] std::vector<NvlinkFacts> links_to_switch(std::size_t gpu) const {
    std::vector<NvlinkFacts> links;
    for (const NvlinkFacts& link : facts(gpu).nvlinks) {
      const bool to_switch =
          link.remote == NvlinkFacts::Remote::nvswitch || link.remote == NvlinkFacts::Remote::unknown;
      if (to_switch) links.push_back(link);
    }
    return links;
  }

  void add_link(const std::string& name, const std::string& from, const std::string& to,
                const model::Sourced<Rate>& rate) {
    result_.platform.node.links.push_back({.name = name, .from = from, .to = to, .forward = rate, .backward = rate});
  }

  static model::Sourced<Rate> sourced(NominalRate nominal) {
    return {nominal.rate, {Quality::derived, std::move(nominal.source)}};
  }

  void add_nvlinks() {
    bool has_switch = false;
    for (std::size_t a = 0; a < gpus_.size(); ++a) {
      for (std::size_t b = a + 1; b < gpus_.size(); ++b) {
        const auto links = links_to(a, b);
        if (links.empty()) continue;
        add_link(fmt::format("{}-{}-nvlink", gpu_name(a), gpu_name(b)), gpu_name(a), gpu_name(b), nvlink(a, links));
      }
      const auto links = links_to_switch(a);
      if (links.empty()) continue;
      add_link(gpu_name(a) + "-nvlink", gpu_name(a), kSwitch, nvlink(a, links));
      if (!std::exchange(has_switch, true)) result_.platform.node.hubs.push_back({.name = kSwitch});
    }
  }

  [[nodiscard]] model::Sourced<Rate> nvlink(std::size_t gpu, const std::vector<NvlinkFacts>& links) const {
    return sourced(nvlink_rate(links.front(), static_cast<int>(links.size()), facts(gpu).capability_major));
  }

  void add_pcie_link(const std::string& name, const PcieTree::Uplink& way) {
    // Where nothing is known, the width of most slots that GPUs and adapters are in.
    const auto rate = way.rate ? sourced(*way.rate)
                               : model::Sourced<Rate>{pcie_rate(3, 16)->rate,
                                                      guess("neither the driver nor the system tells generation and "
                                                            "width of this link; this is PCIe Gen3 x16")};
    if (!way.rate)
      note(fmt::format("{}: generation and width of its PCIe link are unknown; the file has a guess", name));
    add_link(name + "-pcie", name, way.to, rate);
  }

  void add_pcie() {
    for (std::size_t i = 0; i < gpus_.size(); ++i) {
      const GpuFacts& gpu = facts(i);
      const auto own = pcie_rate(gpu.pcie_generation, gpu.pcie_lanes);
      const PciFacts* const pci = pci_of(gpu);
      if (!own && pci != nullptr && pci->link_GBps > 0) {
        note(
            fmt::format("{}: its PCIe link is taken as it runs now, and that of an idle GPU runs slower", gpu_name(i)));
      }
      add_pcie_link(gpu_name(i), pci == nullptr ? PcieTree::Uplink{socket_name(0), own}
                                                : tree_.up(static_cast<std::size_t>(pci - node_.pci.data()), own));
    }
    for (const auto& [name, index] : nics_) add_pcie_link(name, tree_.up(index));
    for (const PcieTree::Hub& hub : tree_.hubs()) add_pcie_link(hub.name, tree_.up(hub.bridge));
  }

  void add_sockets() {
    const model::Sourced<Rate> memory{
        200.0_GBps,
        guess("memory of a socket; many copies at once would tell, and NUMA domains of one socket share it")};
    const model::Sourced<Rate> between{
        20.0_GBps,
        guess("links between sockets carry from 6 GB/s (QPI of Broadwell) to 40 GB/s (UPI of Emerald Rapids)")};
    for (const NumaFacts& domain : node_.memories) {
      for (const int socket : domain.sockets) {
        const std::string name = socket_name(static_cast<std::size_t>(socket));
        add_link(fmt::format("{}-{}", name, memory_name(domain.number)), name, memory_name(domain.number), memory);
      }
    }
    for (std::size_t a = 0; a < node_.sockets.size(); ++a) {
      for (std::size_t b = a + 1; b < node_.sockets.size(); ++b) {
        add_link(fmt::format("{}-{}", socket_name(a), socket_name(b)), socket_name(a), socket_name(b), between);
      }
    }
  }

  /// The nearest one; an InfiniBand adapter before a network card, which in such a node is there for its management.
  void choose_adapters() {
    const model::Topology topology(result_.platform);
    for (model::Gpu& gpu : result_.platform.node.gpus) {
      std::pair<bool, std::size_t> best{};
      for (const auto& [name, index] : nics_) {
        const std::pair rank{!node_.pci[index].infiniband, topology.route(gpu.name, name).size()};
        if (!gpu.nic.empty() && best <= rank) continue;
        best = rank;
        gpu.nic = name;
      }
    }
  }

  void describe() {
    std::vector<std::string> models;
    for (std::size_t i = 0; i < gpus_.size(); ++i) models.push_back(result_.platform.type_of(i).model);
    std::vector<std::string> cpus;
    for (const SocketFacts& socket : node_.sockets) {
      cpus.push_back(socket.cpu_model.empty() ? "unknown CPU" : socket.cpu_model);
    }
    result_.platform.name = model::safe_name(node_.name, kUnnamed);
    result_.platform.description =
        fmt::format("{}; {}; {} NUMA {}", counted(cpus), counted(models), node_.memories.size(),
                    node_.memories.size() == 1 ? "domain" : "domains");
  }

  const NodeDescription& node_;
  PcieTree tree_;
  std::vector<std::size_t> gpus_{};                          ///< by number: index into the inventory
  std::vector<std::pair<std::string, std::size_t>> nics_{};  ///< name and index into the PCI objects
  NodePlatform result_{};
};

}  // namespace

NodePlatform make_platform(const NodeDescription& node, const model::Platform* base) {
  return Builder(node, base).take();
}

}  // namespace twinlink::real
