#include "platforms/import/node_sketch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cassert>
#include <map>
#include <set>
#include <utility>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/import/gpu_models.hpp"
#include "platforms/import/pcie_tree.hpp"
#include "platforms/import/peer_access.hpp"
#include "platforms/reader/node_checks.hpp"
#include "platforms/reader/release_reader.hpp"
#include "platforms/topology/topology.hpp"
#include "protocols/gpu/ground.hpp"

namespace twinlink::platforms {
namespace {

using Kind = PciFacts::Kind;
using Remote = GpuLinks::Remote;

constexpr const char* kSwitch = "nvswitch";
constexpr const char* kUnnamed = "unnamed";
constexpr std::pair kSomeCapability{8, 0};
constexpr int kLanes = 16;
constexpr std::size_t kOfABoard = 8;

const char* const kCrossing = "a crossing of PCIe takes about 150 ns (pcie-bench, SIGCOMM 2018)";
const char* const kMemoryLink = "memory of a socket; many copies at once would tell";
const char* const kSocketLink =
    "two links between sockets: 19 GB/s each with QPI, 21 with UPI at 10.4 GT/s, later ones more";
const char* const kSocketHop = "a hop between sockets adds about 120 ns to a read, which crosses it twice";
const char* const kRootPeers =
    "users measure 23 GB/s between a GPU and an adapter below one switch, and 11 through a root complex";
const char* const kSocketPeers =
    "users measure 18 GB/s between a GPU and an adapter below one switch, and 2 across sockets";

std::string memory_name(int number) { return fmt::format("numa{}", number); }
std::string root_name(int socket) { return fmt::format("root{}", socket); }
std::string gpu_name(std::size_t index) { return fmt::format("gpu{}", index); }

std::string_view to_string(GpuLinks::Kind kind) {
  return kind == GpuLinks::Kind::nvlink ? "nvlink" : kind == GpuLinks::Kind::xgmi ? "xgmi" : "c2c";
}

std::string counted(std::size_t count, const std::string& thing) {
  return fmt::format("{} {}{}", count, thing, count == 1 ? "" : "s");
}

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
  Builder(NodeDescription node, const Platform* base) : facts_(std::move(node)), tree_(facts_.pci) {
    assert(!facts_.gpus.empty() && !facts_.memories.empty());
    for (GpuFacts& gpu : facts_.gpus) complete(gpu);
    take_links_of_board();
    add_memories();
    add_hubs();
    add_adapters();
    add_gpus();
    for (const SocketFacts& socket : facts_.sockets) {
      if (platform_.node.cpu == Cpu::unknown) platform_.node.cpu = socket.cpu;
    }
    note_guesses();
    add_gpu_links();
    add_pcie();
    add_sockets();
    add_fabric();
    choose_adapters();
    add_peers(facts_, platform_, facts_.remarks);
    if (facts_.gpus.size() > 1 && facts_.peer_access.empty()) {
      assume("GPUs reach each other where the wiring lets them, for no driver was asked");
    }
    assume_costs(platform_, base);
    forget_costs_of_amd();
    if (base == nullptr) limit_kernels();
    assume("the costs of copies, of the runtime and of messages" + (base == nullptr ? "" : ": as on " + base->name));
    describe();
  }

  SketchedPlatform take(const std::string& title) {
    SketchedPlatform result{.heading = {title, ""}};
    const auto add = [&](const std::vector<std::string>& lines, const std::string& prefix) {
      for (const std::string& line : lines) result.heading.push_back(prefix + line);
      if (!lines.empty()) result.heading.emplace_back();
    };
    add(facts_.remarks, "");
    add(facts_.notes, "note: ");
    result.heading.emplace_back(
        "Rates of links are nominal. Assumed, until a measurement takes its place (twinlink-real");
    result.heading.emplace_back(
        "probe --json PROBES.json, then twinlink-validate calibrate PROBES.json --base this file):");
    for (const auto& [why, links] : assumed_links_) {
      assume(fmt::format("PCIe links of {}: {}", fmt::join(links, " "), why));
    }
    for (const std::string& text : facts_.assumptions) result.heading.push_back("* " + text);
    result.platform = std::move(platform_);
    result.notes = std::move(facts_.notes);
    return result;
  }

 private:
  [[nodiscard]] Node& node() { return platform_.node; }
  void remark(std::string line) { facts_.remarks.push_back(std::move(line)); }
  void note(std::string text) { facts_.notes.push_back(std::move(text)); }
  void assume(const std::string& text) {
    if (std::ranges::find(facts_.assumptions, text) == facts_.assumptions.end()) facts_.assumptions.push_back(text);
  }

  /// A GPU whose processor shares its address space reaches all of it at full rate.
  [[nodiscard]] bool is_coherent() const {
    return std::ranges::any_of(facts_.gpus, [](const GpuFacts& gpu) {
      return std::ranges::find(gpu.links, Remote::memory, &GpuLinks::remote) != gpu.links.end();
    });
  }

  [[nodiscard]] Passing passing(Forwards forwards, Rate peers, const char* why) const {
    Passing result{.forwards = forwards};
    if (!is_coherent()) result.peer_read = result.peer_write = assumed(peers, why);
    return result;
  }

  void add_memories() {
    for (const NumaFacts& memory : facts_.memories) {
      node().memories.push_back(
          {.name = memory_name(memory.number), .passing = passing(Forwards::adapters, 2.0_GBps, kSocketPeers)});
    }
    assume("host memories forward what adapters read and write in GPUs, and nothing between GPUs");
    if (!is_coherent()) assume("what passes a root complex from GPU or adapter to GPU gets 11 GB/s, between sockets 2");
  }

  void add_hubs() {
    for (std::size_t s = 0; s < facts_.sockets.size(); ++s) {
      node().hubs.push_back(
          {.name = root_name(static_cast<int>(s)), .passing = passing(Forwards::all, 11.0_GBps, kRootPeers)});
    }
    assume("a root complex forwards peer traffic");
    for (const PcieTree::Hub& hub : tree_.hubs()) {
      node().hubs.push_back({.name = hub.name});
      if (const std::string& bus = facts_.pci[hub.bridge].bus_id; !bus.empty()) {
        remark(fmt::format("{}: PCIe bridge {}", hub.name, bus));
      }
    }
  }

  void add_adapters() {
    for (std::size_t i = 0; i < facts_.pci.size(); ++i) {
      const PciFacts& pci = facts_.pci[i];
      if (pci.kind != Kind::adapter) continue;
      std::string name = safe_name(pci.name, kUnnamed);
      // Whatever it is called, no other part of the node has that name.
      const auto taken = [&] {
        return std::ranges::find(node().nics, name, &Nic::name) != node().nics.end() ||
               std::ranges::find(node().hubs, name, &Hub::name) != node().hubs.end() || name.starts_with("gpu") ||
               name.starts_with("numa") || name.starts_with("root") || name == kSwitch;
      };
      while (taken()) name = "nic_" + name;
      node().nics.push_back({.name = name});
      nics_.push_back(i);
      remark(fmt::format("{}: {} {}", name, pci.infiniband ? "adapter" : "network card", pci.bus_id));
    }
  }

  // ---- GPUs and their links ---------------------------------------------------------------------------------------

  /// 90 for 9.0.
  [[nodiscard]] static int number_of(const std::pair<int, int>& capability) {
    constexpr int kTen = 10;
    return kTen * capability.first + capability.second;
  }
  [[nodiscard]] static std::pair<int, int> capability_of(const GpuFacts& gpu) {
    return gpu.capability.value_or(kSomeCapability);
  }

  /// Index into the PCI objects.
  [[nodiscard]] std::size_t pci_of(const GpuFacts& gpu) const {
    const auto found = std::ranges::find_if(
        facts_.pci, [&](const PciFacts& pci) { return pci.kind == Kind::gpu && pci.bus_id == gpu.bus_id; });
    assert(found != facts_.pci.end());
    return static_cast<std::size_t>(found - facts_.pci.begin());
  }

  /// GPUs that are alike are of one type.
  [[nodiscard]] std::string type_of(const GpuFacts& gpu) {
    GpuType type{.model = gpu.model.empty() ? "unknown GPU" : gpu.model};
    std::tie(type.capability_major, type.capability_minor) = capability_of(gpu);
    if (!gpu.capability) assume("the compute capability of a GPU: 8.0");
    if (!gpu.capability || !gpu.memory) guessed_ = true;
    type.memory = gpu.memory.value_or(assumed(80_GiB, "nobody tells how much memory the GPU has"));
    if (!gpu.memory) assume("the memory of a GPU: 80 GiB");
    for (const GpuType& known : platform_.gpu_types) {
      if (known.model == type.model && known.memory.value == type.memory.value &&
          known.capability_major == type.capability_major && known.capability_minor == type.capability_minor) {
        return known.name;
      }
    }
    type.name = safe_name(type.model, kUnnamed);
    if (std::ranges::find(platform_.gpu_types, type.name, &GpuType::name) != platform_.gpu_types.end()) {
      type.name += fmt::format("-{}", platform_.gpu_types.size());
    }
    platform_.gpu_types.push_back(type);
    return type.name;
  }

  void add_gpus() {
    for (const GpuFacts& gpu : facts_.gpus) {
      const PciFacts& pci = facts_.pci[pci_of(gpu)];
      const std::string name = gpu_name(node().gpus.size());
      node().gpus.push_back({.name = name, .type = type_of(gpu), .memory_near = memory_name(pci.numa)});
      remark(fmt::format("{}: {}{}{}, {}", name, gpu.model.empty() ? "unknown GPU" : gpu.model,
                         gpu.uuid.empty() ? "" : ", ", gpu.uuid, gpu.bus_id));
      if (!pci.place_known && facts_.memories.size() > 1) {
        note(fmt::format("{} ({}): nobody tells to which socket it belongs; the file has the first", name, gpu.bus_id));
      }
    }
  }

  /// What is assumed of thread blocks and of a GPU's memory is NVIDIA's.
  void forget_costs_of_amd() {
    for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
      const GpuFacts& gpu = facts_.gpus[i];
      const bool xgmi = std::ranges::find(gpu.links, GpuLinks::Kind::xgmi, &GpuLinks::kind) != gpu.links.end();
      if (!gpu.by_amd && !xgmi && !is_of_amd(gpu.device_id)) continue;
      const auto type = std::ranges::find(platform_.gpu_types, node().gpus[i].type, &GpuType::name);
      type->blocks.reset();
      type->copies.clear();
    }
  }

  /// Kernels get less over NVLinks than these carry: what NCCL takes for them.
  void limit_kernels() {
    const auto release = find_release("");
    for (std::size_t i = 0; i < facts_.gpus.size() && release != nullptr; ++i) {
      const GpuFacts& gpu = facts_.gpus[i];
      const int links = links_of(gpu);
      const auto type = std::ranges::find(platform_.gpu_types, node().gpus[i].type, &GpuType::name);
      if (links == 0 || !type->blocks) continue;
      const Rate each = gpu::of_capability(release->link, number_of(capability_of(gpu)));
      for (const CopyKind kind : {CopyKind::kernel_push, CopyKind::kernel_pull}) {
        type->copies[kind] = platform_.copies.at(kind);
        type->copies[kind].rate = assumed(Rate{links * each.bytes_per_second()},
                                          fmt::format("{} links as {} takes them", links, release->name));
      }
    }
  }

  void note_guesses() {
    if (!guessed_) return;
    note(fmt::format("{} does not tell which GPU this is, or how much memory it has; the heading says what is assumed",
                     facts_.origin));
  }

  /// NVLinks of a board with NVSwitches, where the source says nothing of NVLinks.
  void take_links_of_board() {
    if (facts_.gpus.size() < 2) return;
    for (const GpuFacts& gpu : facts_.gpus) {
      if (gpu.links_told) return;
    }
    const GpuModel* const board = model_of_device(facts_.gpus.front().device_id);
    const bool alike = std::ranges::all_of(
        facts_.gpus, [&](const GpuFacts& gpu) { return gpu.device_id == facts_.gpus.front().device_id; });
    if (board == nullptr || board->board_links == 0 || !alike || facts_.gpus.size() % kOfABoard != 0) {
      note(fmt::format("{} does not tell of NVLinks, and this platform has none; nvidia-smi topo -m tells of them",
                       facts_.origin));
      return;
    }
    for (GpuFacts& gpu : facts_.gpus) {
      gpu.links.push_back({.remote = Remote::nvswitch, .count = board->board_links});
    }
    note(
        fmt::format("{} does not tell of NVLinks; {} of this model are on a board where each has {} to NVSwitches, and "
                    "so they are here",
                    facts_.origin, facts_.gpus.size(), board->board_links));
  }

  /// How many there are to `remote`, and the links of each kind as one.
  [[nodiscard]] std::vector<GpuLinks> links_to(std::size_t from, Remote remote, const std::string& bus_id = {}) const {
    std::vector<GpuLinks> result;
    for (const GpuLinks& links : facts_.gpus[from].links) {
      // Virtual machines hide the switch at the other end.
      const bool there = links.remote == remote || (remote == Remote::nvswitch && links.remote == Remote::hidden);
      if (!there || links.remote_bus_id != bus_id) continue;
      const auto same = std::ranges::find_if(result, [&](const GpuLinks& other) {
        return other.kind == links.kind && other.remote_numa == links.remote_numa;
      });
      same == result.end() ? result.push_back(links) : static_cast<void>(same->count += links.count);
    }
    return result;
  }

  void add_links(const std::string& name, std::size_t gpu, const std::string& to, const GpuLinks& links) {
    Sourced<Rate> rate = links.each.value_or(link_rate(links.kind, capability_of(facts_.gpus[gpu])));
    if (!links.each && !facts_.gpus[gpu].capability_told) {
      rate.source.quality = Quality::assumed;
      assume(fmt::format("an NVLink carries {} GB/s each way", rate.value.bytes_per_second() / 1e9));
    }
    rate.value = Rate{rate.value.bytes_per_second() * links.count};
    node().links.push_back(
        {.name = name, .from = gpu_name(gpu), .to = to, .forward = rate, .backward = rate, .count = links.count});
  }

  /// They come first in the file.
  void add_gpu_links() {
    bool has_switch = false;
    for (std::size_t a = 0; a < facts_.gpus.size(); ++a) {
      const std::string& own = facts_.gpus[a].bus_id;
      if (!links_to(a, Remote::gpu, own).empty()) {
        note(fmt::format("{}: passed over: NVLinks of it to itself", gpu_name(a)));
      }
      for (std::size_t b = a + 1; b < facts_.gpus.size(); ++b) {
        std::vector<GpuLinks> direct = links_to(a, Remote::gpu, facts_.gpus[b].bus_id);
        if (direct.empty()) direct = links_to(b, Remote::gpu, own);  // told by one end alone
        for (const GpuLinks& links : direct) {
          add_links(fmt::format("{}-{}-{}", gpu_name(a), gpu_name(b), to_string(links.kind)), a, gpu_name(b), links);
        }
      }
      for (const GpuLinks& links : links_to(a, Remote::memory)) {
        add_links(fmt::format("{}-{}-{}", gpu_name(a), memory_name(links.remote_numa), to_string(links.kind)), a,
                  memory_name(links.remote_numa), links);
      }
      for (const GpuLinks& links : links_to(a, Remote::nvswitch)) {
        add_links(fmt::format("{}-{}", gpu_name(a), to_string(links.kind)), a, kSwitch, links);
        if (std::exchange(has_switch, true)) continue;
        node().hubs.push_back({.name = kSwitch, .reduces = added_up(facts_.gpus[a], links.count)});
        remark("nvswitch: all NVSwitches as one hub, since a copy is spread over them");
      }
    }
    note_missing_links();
  }

  /// NVSwitches of Hopper and later add up: they get of a GPU's links what NCCL takes for it.
  [[nodiscard]] static std::optional<Sourced<Rate>> added_up(const GpuFacts& facts, int links) {
    const auto release = find_release("");
    if (!facts.capability || release == nullptr) return std::nullopt;
    const gpu::Ground ground{.release = release.get(), .capability = number_of(capability_of(facts))};
    const double share = release->switch_share[ground.generation()];
    if (share == 0) return std::nullopt;
    const Rate each = gpu::of_capability(release->link, ground.capability);
    return Sourced<Rate>{
        Rate{links * each.bytes_per_second() * share},
        {Quality::derived, fmt::format("{} links as {} takes them, of which a sum of a switch gets {:g} %", links,
                                       release->name, 100 * share)}};
  }

  [[nodiscard]] static int links_of(const GpuFacts& gpu) {
    int count = 0;
    for (const GpuLinks& links : gpu.links) count += links.remote == Remote::memory ? 0 : links.count;
    return count;
  }

  void note_missing_links() {
    const int most = links_of(std::ranges::max(facts_.gpus, {}, &links_of));
    for (std::size_t i = 0; i < facts_.gpus.size() && most > 0; ++i) {
      if (links_of(facts_.gpus[i]) > 0) continue;
      note(fmt::format("{} has no NVLinks, and others have {}: are its links down?", gpu_name(i), most));
    }
  }

  // ---- PCIe -------------------------------------------------------------------------------------------------------

  void add_pcie_link(const std::string& name, const std::string& to, const Sourced<Rate>& rate) {
    node().links.push_back({.name = name + "-pcie",
                            .from = name,
                            .to = to,
                            .forward = rate,
                            .backward = rate,
                            .latency = assumed(0.15_us, kCrossing)});
    assume("each crossing of PCIe takes 150 ns");
    if (rate.source.quality == Quality::assumed) assumed_links_[rate.source.text].push_back(name);
  }

  static Sourced<Rate> assumed_pcie(int generation) {
    Sourced<Rate> rate = pcie_rate(generation, kLanes, "").value();
    rate.source = {Quality::assumed, fmt::format("PCIe Gen{} x{}, that of its GPU's generation", generation, kLanes)};
    return rate;
  }

  void add_pcie() {
    std::vector<PcieTree::Uplink> gpus;
    Rate fastest{};
    for (const GpuFacts& gpu : facts_.gpus) {
      gpus.push_back(tree_.up(pci_of(gpu), gpu.pcie));
      if (gpus.back().rate) fastest = std::max(fastest, gpus.back().rate->value);
    }
    std::map<std::string, Sourced<Rate>> widest_below;
    const auto add = [&](const std::string& name, const PcieTree::Uplink& way, const Sourced<Rate>& rate) {
      add_pcie_link(name, way.to, rate);
      const auto [found, is_new] = widest_below.try_emplace(way.to, rate);
      if (!is_new && found->second.value < rate.value) found->second = rate;
    };
    for (std::size_t i = 0; i < gpus.size(); ++i) {
      const GpuFacts& gpu = facts_.gpus[i];
      std::optional<Sourced<Rate>> rate = gpus[i].rate;
      if (rate && facts_.pci[pci_of(gpu)].link_may_idle && !gpu.pcie) {
        if (rate->value < fastest) {
          rate = assumed(fastest, "as fast as that of the fastest GPU, for an idle one's link runs slower");
        } else {
          assume("PCIe links of GPUs are as they run now, and those of idle GPUs run slower");
        }
      }
      add(gpu_name(i), gpus[i], rate.value_or(assumed_pcie(pcie_generation(capability_of(gpu)))));
    }
    // Adapters are as new as the newest GPU.
    const int generation = pcie_generation(capability_of(std::ranges::max(facts_.gpus, {}, &capability_of)));
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      const PcieTree::Uplink way = tree_.up(nics_[i]);
      add(node().nics[i].name, way, way.rate.value_or(assumed_pcie(generation)));
    }
    // Those below stand behind those above.
    for (std::size_t i = tree_.hubs().size(); i-- > 0;) {
      const PcieTree::Hub& hub = tree_.hubs()[i];
      const PcieTree::Uplink way = tree_.up(hub.bridge);
      add(hub.name, way,
          way.rate.value_or(assumed(widest_below.at(hub.name).value, "as wide as the widest link below the switch")));
    }
  }

  // ---- sockets ----------------------------------------------------------------------------------------------------

  void add_host_link(const std::string& from, const std::string& to, const Sourced<Rate>& rate,
                     std::optional<Sourced<Seconds>> latency = std::nullopt) {
    node().links.push_back({.name = from + "-" + to,
                            .from = from,
                            .to = to,
                            .forward = rate,
                            .backward = rate,
                            .latency = std::move(latency)});
  }

  void add_sockets() {
    const Sourced<Rate> between = assumed(40.0_GBps, kSocketLink);
    const Sourced<Seconds> hop = assumed(0.06_us, kSocketHop);
    std::vector<std::string> nearest(facts_.sockets.size());
    for (const NumaFacts& domain : facts_.memories) {
      for (const int socket : domain.sockets) {
        add_host_link(root_name(socket), memory_name(domain.number), assumed(200.0_GBps, kMemoryLink));
        std::string& first = nearest[static_cast<std::size_t>(socket)];
        if (first.empty()) first = memory_name(domain.number);
      }
    }
    assume("a root complex reaches the memory of its socket at 200 GB/s");
    for (std::size_t s = 0; s < nearest.size(); ++s) {
      if (!nearest[s].empty()) continue;  // a socket without memory of its own
      nearest[s] = memory_name(facts_.memories.front().number);
      add_host_link(root_name(static_cast<int>(s)), nearest[s], between, hop);
    }
    std::set<std::pair<std::string, std::string>> joined;  // sockets without memory share that of another one
    for (std::size_t a = 0; a < nearest.size(); ++a) {
      for (std::size_t b = a + 1; b < nearest.size(); ++b) {
        if (nearest[a] == nearest[b] || !joined.insert(std::minmax(nearest[a], nearest[b])).second) continue;
        add_host_link(nearest[a], nearest[b], between, hop);
        assume("every socket has links of 40 GB/s to each other one");
      }
    }
  }

  // ---- the network ------------------------------------------------------------------------------------------------

  void add_fabric() {
    if (nics_.empty()) return;
    Fabric& fabric = platform_.fabric.emplace();
    const auto rate_of = [&](std::size_t nic) {
      const PciFacts& pci = facts_.pci[nic];
      if (!pci.ports) assume(pci.infiniband ? "adapters have 200 Gbit/s" : "network cards have 25 Gbit/s");
      return pci.ports.value_or(
          pci.infiniband ? assumed(25.0_GBps, "200 Gbit/s, for nobody tells how fast the adapter is")
                         : assumed(Rate{3.125e9}, "25 Gbit/s, for nobody tells how fast the network card is"));
    };
    for (const std::size_t nic : nics_) {
      if (const Sourced<Rate> rate = rate_of(nic); fabric.link.value < rate.value) fabric.link = rate;
    }
    bool infiniband = false;
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      infiniband = infiniband || facts_.pci[nics_[i]].infiniband;
      if (const Sourced<Rate> rate = rate_of(nics_[i]); rate.value != fabric.link.value) node().nics[i].link = rate;
    }
    if (!facts_.rdma) {
      assume(infiniband ? "the adapters read and write device memory" : "network cards reach no device memory");
    }
    if (facts_.rdma.value_or(infiniband)) fabric.rdma.emplace();
  }

  /// The nearest one; an InfiniBand adapter before a network card, which in such a node is there for its management.
  void choose_adapters() {
    const Topology topology(platform_);
    for (Gpu& gpu : node().gpus) {
      std::pair<bool, std::size_t> best{};
      for (std::size_t i = 0; i < nics_.size(); ++i) {
        const std::string& name = node().nics[i].name;
        const std::pair rank{!facts_.pci[nics_[i]].infiniband, topology.route(gpu.name, name).size()};
        if (!gpu.nic.empty() && best <= rank) continue;
        best = rank;
        gpu.nic = name;
      }
    }
  }

  void describe() {
    std::vector<std::string> models;
    for (std::size_t i = 0; i < facts_.gpus.size(); ++i) models.push_back(platform_.type_of(i).model);
    std::vector<std::string> cpus;
    for (const SocketFacts& socket : facts_.sockets) {
      if (!socket.cpu_model.empty()) cpus.push_back(socket.cpu_model);
    }
    platform_.name = safe_name(facts_.name, kUnnamed);
    platform_.description =
        fmt::format("{}{}{}; {}; {}; as {} tells", counted(cpus), cpus.empty() ? "" : "; ", counted(models),
                    counted(facts_.memories.size(), "NUMA domain"), counted(nics_.size(), "adapter"), facts_.origin);
  }

  NodeDescription facts_;
  PcieTree tree_;
  std::vector<std::size_t> nics_{};  ///< index into the PCI objects, of each adapter of the platform
  bool guessed_ = false;             ///< the type of a GPU
  std::map<std::string, std::vector<std::string>> assumed_links_{};  ///< parts, by why their links are so wide
  Platform platform_{};
};

}  // namespace

SketchedPlatform sketch(NodeDescription node, const std::string& title, const Platform* base) {
  return Builder(std::move(node), base).take(title);
}

}  // namespace twinlink::platforms
