#include "platforms/import/node_sketch.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cassert>
#include <map>
#include <set>
#include <utility>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/import/gpu_models.hpp"
#include "platforms/import/model_facts.hpp"
#include "platforms/import/network_sketch.hpp"
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
using Better = Assumption::Better;

constexpr const char* kSwitch = "nvswitch";
constexpr const char* kUnnamed = "unnamed";
constexpr std::pair kSomeCapability{8, 0};
constexpr int kWidest = 16;

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

bool is_xgmi(const GpuLinks& links) { return links.kind == GpuLinks::Kind::xgmi; }

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
    for (GpuFacts& gpu : facts_.gpus) models_.push_back(complete(gpu));
    take_links_of_board(facts_, models_);
    join_processors(facts_, models_);
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
    add_fabric(facts_, nics_, platform_, base);
    choose_adapters(facts_, nics_, platform_);
    refuse_peers(facts_, models_);
    add_peers(facts_, platform_, facts_.remarks);
    assume_costs(platform_, base);
    if (base == nullptr) limit_copies();
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
    for (const auto& [why, links] : assumed_links_) {
      assume(fmt::format("PCIe links of {}: {}", fmt::join(links, " "), why), Better::xml);
    }
    result.assumed = assumed_lines();
    result.heading.emplace_back("Rates of links are nominal. Assumed, until something better tells it:");
    result.heading.insert(result.heading.end(), result.assumed.begin(), result.assumed.end());
    result.platform = std::move(platform_);
    result.notes = std::move(facts_.notes);
    return result;
  }

 private:
  /// What would tell, and below it what is assumed instead.
  [[nodiscard]] std::vector<std::string> assumed_lines() const {
    static constexpr std::array<std::pair<Better, const char*>, 4> kBetter{
        {{Better::name, "the name of the GPU: a line of nvidia-smi -L in the same file, or --gpu"},
         {Better::driver, "the driver: nvidia-smi topo -p2p r in the same file"},
         {Better::xml, "the XML that NCCL or hwloc writes"},
         {Better::probes, "probes of the node: twinlink-real probe, then twinlink-validate calibrate"}}};
    std::vector<std::string> lines;
    for (const auto& [better, words] : kBetter) {
      const std::size_t first = lines.size();
      for (const Assumption& each : facts_.assumptions) {
        if (each.better == better) lines.push_back("* " + each.what);
      }
      if (lines.size() > first) lines.insert(lines.begin() + static_cast<std::ptrdiff_t>(first), words);
    }
    return lines;
  }

  [[nodiscard]] Node& node() { return platform_.node; }
  void remark(std::string line) { facts_.remarks.push_back(std::move(line)); }
  void note(std::string text) { facts_.notes.push_back(std::move(text)); }
  void assume(std::string what, Better better = Better::probes) { platforms::assume(facts_, std::move(what), better); }

  /// A GPU whose processor shares its address space reaches all of it at full rate.
  [[nodiscard]] bool is_coherent() const {
    return std::ranges::any_of(facts_.gpus, [](const GpuFacts& gpu) { return reaches_memory(gpu); });
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
    if (!gpu.capability) assume("the compute capability of a GPU: 8.0", Better::name);
    if (!gpu.capability || !gpu.memory) guessed_.insert(gpu.model);
    type.memory = gpu.memory.value_or(assumed(80_GiB, "nobody tells how much memory the GPU has"));
    if (!gpu.memory) assume("the memory of a GPU: 80 GiB", Better::name);
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
      if (!gpu.by_amd && std::ranges::none_of(gpu.links, is_xgmi) && !is_of_amd(gpu.device_id)) continue;
      const auto type = std::ranges::find(platform_.gpu_types, node().gpus[i].type, &GpuType::name);
      type->blocks.reset();
      if (!models_[i].memory_rate) type->copies.clear();
    }
  }

  /// What copies get of the link to a processor that shares its addresses is less than that link has.
  void limit_copies() {
    for (std::size_t i = 0; i < facts_.gpus.size(); ++i) {
      const auto type = std::ranges::find(platform_.gpu_types, node().gpus[i].type, &GpuType::name);
      const auto limit = [&](CopyKind kind, const std::optional<Rate>& rate) {
        if (!rate || !reaches_memory(facts_.gpus[i])) return;
        type->copies[kind] = platform_.copies.at(kind);
        type->copies[kind].rate = assumed(*rate, "what copies got of NVLink-C2C; " + models_[i].source);
      };
      limit(CopyKind::pinned_to_device, models_[i].from_host);
      limit(CopyKind::device_to_pinned, models_[i].to_host);
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
    for (const std::string& model : guessed_) {
      note(model.empty()
               ? fmt::format("{} does not tell which GPU this is, or how much memory it has; the heading says what is "
                             "assumed",
                             facts_.origin)
               : fmt::format("{}: there are several such GPUs, or none is known here; the heading says what is assumed",
                             model));
    }
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
    Sourced<Rate> rate = links.each.value_or(link_rate(models_[gpu], links.kind));
    if (!links.each && (!facts_.gpus[gpu].capability_told || rate.source.quality == Quality::assumed)) {
      rate.source.quality = Quality::assumed;
      assume(fmt::format("an {} carries {} GB/s each way", is_xgmi(links) ? "Infinity Fabric link" : "NVLink",
                         rate.value.bytes_per_second() / 1e9),
             Better::name);
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
        node().hubs.push_back({.name = kSwitch, .reduces = added_up(a, links.count)});
        remark("nvswitch: all NVSwitches as one hub, since a copy is spread over them");
      }
    }
    note_missing_links();
  }

  /// NVSwitches of Hopper and later add up: they get of a GPU's links what NCCL takes for it.
  [[nodiscard]] std::optional<Sourced<Rate>> added_up(std::size_t gpu, int links) const {
    const GpuFacts& facts = facts_.gpus[gpu];
    const auto release = find_release("");
    if (!facts.capability || release == nullptr || !models_[gpu].sums.value_or(true)) return std::nullopt;
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

  static Sourced<Rate> assumed_pcie(const GpuModel& model) {
    const GpuModel& some = example_of(kSomeCapability);
    const int generation = model.pcie.value_or(*some.pcie);
    const int lanes = model.lanes.value_or(*some.lanes);
    Sourced<Rate> rate = pcie_rate(generation, lanes, "").value();
    rate.source = {Quality::assumed, fmt::format("PCIe Gen{} x{}, that of its GPU's generation", generation, lanes)};
    return rate;
  }

  /// No faster than 16 lanes of generation 2.
  static bool is_slow(const Rate& rate) {
    constexpr int kSlow = 2;
    return rate.bytes_per_second() <= pcie_rate(kSlow, kWidest, "")->value.bytes_per_second() * 1.01;
  }

  /// Bridges of virtual machines say of links what they are not.
  void note_slow(const std::string& name, const Rate& rate, const std::string& where) {
    note(
        fmt::format("{0}: {1} GB/s of PCIe on its way, where {2}: bridges of virtual machines tell less than there is. "
                    "--set nodes.links.{0}-pcie.bandwidth says better",
                    name, rate.bytes_per_second() / 1e9, where));
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
          assume("PCIe links of GPUs are as they run now, and those of idle GPUs run slower", Better::xml);
        }
      }
      constexpr int kNewer = 3;
      const int generation = models_[i].pcie.value_or(0);
      if (rate && generation >= kNewer && is_slow(rate->value)) {
        note_slow(gpu_name(i), rate->value, fmt::format("it has Gen{}", generation));
      }
      add(gpu_name(i), gpus[i], rate.value_or(assumed_pcie(models_[i])));
    }
    // Adapters are as new as the newest GPU.
    const GpuModel newest{.pcie = std::ranges::max(models_, {}, &GpuModel::pcie).pcie};
    for (std::size_t i = 0; i < nics_.size(); ++i) {
      const PcieTree::Uplink way = tree_.up(nics_[i]);
      add(node().nics[i].name, way, way.rate.value_or(assumed_pcie(newest)));
    }
    // Those below stand behind those above.
    for (std::size_t i = tree_.hubs().size(); i-- > 0;) {
      const PcieTree::Hub& hub = tree_.hubs()[i];
      const PcieTree::Uplink way = tree_.up(hub.bridge);
      const Rate below = widest_below.at(hub.name).value;
      if (way.rate && is_slow(way.rate->value) && !is_slow(below)) {
        note_slow(hub.name, way.rate->value,
                  fmt::format("devices below it have {} GB/s", below.bytes_per_second() / 1e9));
      }
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
  std::vector<GpuModel> models_{};   ///< of the GPUs, as far as it is known
  std::set<std::string> guessed_{};  ///< names of GPUs of which something is not known
  std::map<std::string, std::vector<std::string>> assumed_links_{};  ///< parts, by why their links are so wide
  Platform platform_{};
};

}  // namespace

void assume(NodeDescription& facts, std::string what, Assumption::Better better) {
  Assumption assumption{std::move(what), better};
  if (std::ranges::find(facts.assumptions, assumption) != facts.assumptions.end()) return;
  facts.assumptions.push_back(std::move(assumption));
}

SketchedPlatform sketch(NodeDescription node, const std::string& title, const Platform* base) {
  return Builder(std::move(node), base).take(title);
}

}  // namespace twinlink::platforms
