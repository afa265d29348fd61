// The tree that NCCL logs of a machine (src/graph/topo.cc, ncclTopoPrint), as facts:
//
//   CPU/0-1 (1/2/-1)                                     a NUMA domain: architecture, vendor, model
//   + SYS[16.0] - CPU/0-0
//   + PCI[24.0] - PCI/0-65000 (104c823200000000)         by what it takes the link for, in GB/s
//                 + PCI[24.0] - GPU/0-67000 (3)          and its rank
//                               + NVL[240.0] - NVS/0-0
//                 + PCI[24.0] - NIC/0-68000
//                               + NET[25.0] - NET/0-2 (0/a1b2/1/25.000000)
#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/texts/nccl_log.hpp"
#include "platforms/import/texts/text_scan.hpp"
#include "platforms/machine/pcie.hpp"
#include "platforms/reader/release_reader.hpp"
#include "protocols/core/errors.hpp"
#include "protocols/gpu/ground.hpp"

namespace twinlink::platforms {
namespace {

using Kind = PciFacts::Kind;

/// What a line names: "GPU/0-67000 (3)". Older releases name no system, and a plug-in's adapter without a bus is 0.
struct Vertex {
  std::string kind{};
  std::uint64_t system = 0;
  std::uint64_t id = 0;
  std::string about{};  ///< in brackets
};

/// 0x67000 is 0000:67:00.0.
std::string bus_id(std::uint64_t id) {
  return fmt::format("{:04x}:{:02x}:{:02x}.{:x}", id >> 20U, id >> 12U & 0xffU, id >> 4U & 0xffU, id & 0xfU);
}

/// Generation and lanes that NCCL takes for so much: 12 GB/s for generation 3 with 16. The most lanes of those that
/// fit.
std::optional<std::pair<int, int>> slot_of(double gigabytes) {
  constexpr double kOfGeneration1 = 3;  // with 16 lanes
  constexpr double kPrinted = 0.051;
  for (const int lanes : {16, 8, 4, 2, 1}) {
    for (std::size_t g = 0; g < pcie_generations().size(); ++g) {
      const double rate = std::exp2(g) * kOfGeneration1 * lanes / 16;
      if (std::abs(rate - gigabytes) < kPrinted) return std::pair(static_cast<int>(g) + 1, lanes);
    }
  }
  return std::nullopt;
}

/// Numbers of texts may be "nan", too.
bool is_rate(double gigabytes) { return gigabytes >= 0 && std::isfinite(gigabytes); }

class TreeImport {
 public:
  TreeImport(const NcclLog& log, const std::string& file) : log_(log), file_(file), release_(find_release("")) {
    node_.origin = "NCCL's log";
    for (const NcclLog::Line& line : log.tree) read(line);
    if (ranks_.empty()) return;
    if (log.rdma) node_.rdma = log.rdma;
    settle_gpus();
    if (!log.version.empty()) node_.remarks.push_back("NCCL " + log.version + " has logged this");
    if (!log.network.empty()) node_.remarks.push_back("the network of NCCL is " + log.network);
    if (others_) {
      node_.notes.emplace_back("the tree has GPUs of several systems, which NVLinks join: those of the first are here");
    }
  }

  NodeDescription take() { return std::move(node_); }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InputError(fmt::format("{}:{}: error: {}", file_, line_->number, message));
  }

  struct Open {
    std::size_t column = 0;
    Kind kind = Kind::bridge;
    std::optional<int> pci{};  ///< index into the PCI objects
    bool left_out = false;
  };

  void read(const NcclLog::Line& line) {
    line_ = &line;
    TextScan scan(line.text);
    const std::size_t column = scan.blanks();
    if (!scan.take("+ ")) return read_cpu(scan, column);
    const std::string link(scan.until("["));
    double gigabytes = 0;
    if (!scan.take("[") || !scan.number(gigabytes) || !is_rate(gigabytes) || !scan.take("] - ")) {
      fail("no link of NCCL's tree");
    }
    while (!open_.empty() && open_.back().column >= column) open_.pop_back();
    if (node_.memories.empty()) fail("a link before the first CPU");
    if (left_out_ || (!open_.empty() && open_.back().left_out)) return;
    const Vertex vertex = read_vertex(scan);
    if (link == "PCI") {
      add_pci(vertex, gigabytes, column);
    } else if (link == "NET" && vertex.kind == "NET") {
      add_port(vertex, gigabytes);
    } else if (link == "NVL" || link == "C2C") {
      add_links(link, vertex, gigabytes);
    } else if (link == "XGMI") {
      fail("this is a log of RCCL. Bring what it finds, the file that NCCL_TOPO_DUMP_FILE=topo.xml lets it write");
    } else if (link != "SYS" && link != "LOC" && link != "NET") {
      fail(fmt::format("a link '{}' is not known", link));
    }
  }

  Vertex read_vertex(TextScan& scan) const {
    Vertex vertex{.kind = std::string(scan.until("/"))};
    bool good = scan.take("/");
    while (good) {
      const std::string_view digits = scan.until("- (");
      const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), vertex.id, 16);
      good = error == std::errc{} && end == digits.data() + digits.size();
      if (!scan.take("-")) break;
      vertex.system = vertex.id;
    }
    if (!good) fail("a part of NCCL's tree is called as GPU/0-67000 or GPU/67000");
    if (scan.take(" (")) vertex.about = std::string(scan.until(")"));
    return vertex;
  }

  void read_cpu(TextScan scan, std::size_t column) {
    const Vertex cpu = read_vertex(scan);
    if (column != 0 || cpu.kind != "CPU") fail("a CPU of NCCL's tree begins its line");
    open_.clear();
    if (node_.memories.empty()) system_ = cpu.system;
    left_out_ = cpu.system != system_;
    if (left_out_) return;
    int architecture = 0;
    int vendor = 0;
    int model = 0;
    TextScan about(cpu.about);
    const bool told = about.number(architecture) && about.take("/") && about.number(vendor);
    if (told && about.take("/")) about.number(model);
    constexpr std::uint64_t kMostDomains = 4096;
    // -1 where the system has no NUMA.
    const int number = cpu.id < kMostDomains ? static_cast<int>(cpu.id) : 0;
    if (std::ranges::count(node_.memories, number, &NumaFacts::number) > 0) fail("a second CPU of this number");
    node_.memories.push_back({.number = number, .sockets = {static_cast<int>(node_.sockets.size())}});
    node_.sockets.push_back({.cpu = told ? cpu_of_numbers(architecture, vendor, model) : Cpu::unknown});
  }

  /// NCCL_TOPO_CPU_... of src/include/graph.h; models of Intel.
  static Cpu cpu_of_numbers(int architecture, int vendor, int model) {
    if (architecture == 2) return Cpu::power;
    if (architecture == 3) return Cpu::arm;
    if (architecture != 1) return Cpu::unknown;
    if (vendor == 2) return Cpu::amd;
    if (vendor != 1) return Cpu::unknown;
    constexpr std::array kIntel{Cpu::broadwell, Cpu::skylake, Cpu::sapphire_rapids, Cpu::emerald_rapids};
    return model < 1 ? Cpu::broadwell : kIntel.at(std::min<std::size_t>(static_cast<std::size_t>(model), 4) - 1);
  }

  void add_pci(const Vertex& vertex, double gigabytes, std::size_t column) {
    const Kind kind = vertex.kind == "GPU" || vertex.kind == "DEV" ? Kind::gpu
                      : vertex.kind == "NIC"                       ? Kind::adapter
                                                                   : Kind::bridge;
    if (kind == Kind::bridge && vertex.kind != "PCI") fail(fmt::format("PCI leads to no '{}'", vertex.kind));
    if (!open_.empty() && open_.back().kind != Kind::bridge) fail("PCI goes on behind a device: are blanks lost?");
    const auto slot = slot_of(gigabytes);
    if (kind == Kind::adapter && !slot) {
      // Of no PCI bus: NCCL joins it as if it were in the CPU.
      open_.push_back({.column = column, .kind = kind, .left_out = true});
      node_.remarks.push_back("left out: an adapter that is on no PCI bus");
      return;
    }
    PciFacts facts{.kind = kind,
                   .bus_id = bus_id(vertex.id),
                   .parent = open_.empty() ? std::nullopt : open_.back().pci,
                   .socket = node_.memories.back().sockets.front(),
                   .numa = node_.memories.back().number,
                   .infiniband = kind == Kind::adapter && log_.network != "Socket"};
    if (slot) facts.link = pcie_rate(slot->first, slot->second, "as NCCL takes its link for");
    if (kind == Kind::adapter) facts.name = fmt::format("nic{}", unnamed_++);
    if (kind == Kind::gpu) {
      const auto same = [&](const Gpu& other) { return other.facts.bus_id == facts.bus_id; };
      if (std::ranges::any_of(ranks_, same)) fail(fmt::format("a second GPU at {}", facts.bus_id));
      Gpu gpu{.slot = slot ? slot->first : 0};
      gpu.facts.bus_id = facts.bus_id;
      if (!TextScan(vertex.about).number(gpu.rank)) gpu.rank = static_cast<int>(ranks_.size());
      ranks_.push_back(std::move(gpu));
    }
    open_.push_back({.column = column, .kind = kind, .pci = static_cast<int>(node_.pci.size())});
    node_.pci.push_back(std::move(facts));
  }

  /// Several ports of an adapter share its PCIe link, and each has its own network link.
  void add_port(const Vertex& net, double gigabytes) {
    if (open_.empty() || open_.back().kind != Kind::adapter) fail("a network behind no adapter");
    PciFacts& facts = node_.pci[static_cast<std::size_t>(*open_.back().pci)];
    const auto name = log_.adapters.find(static_cast<int>(net.id));
    if (!facts.ports && name != log_.adapters.end()) facts.name = name->second;
    // The brackets say it with more digits, behind what else they say.
    const std::size_t last = net.about.rfind('/');
    if (last != std::string::npos) TextScan(std::string_view(net.about).substr(last + 1)).number(gigabytes);
    if (!is_rate(gigabytes)) fail("no rate of a network");
    if (gigabytes == 0) return;
    const double before = facts.ports ? facts.ports->value.bytes_per_second() : 0;
    facts.ports = {Rate{before + gigabytes * 1e9}, {Quality::derived, "as NCCL found it, before headers"}};
  }

  void add_links(const std::string& link, const Vertex& to, double gigabytes) {
    if (open_.empty()) return;  // of a CPU, whose GPUs tell it, too
    if (open_.back().kind != Kind::gpu) fail("links of GPUs behind no GPU: are blanks lost?");
    Gpu& gpu = ranks_.back();
    GpuLinks links;
    if (gigabytes == 0) return;
    if (link == "C2C") {
      links.kind = GpuLinks::Kind::c2c;
      links.each = {Rate{gigabytes * 1e9}, {Quality::derived, "as NCCL found it"}};
    }
    if (to.kind == "CPU") {
      links.remote = GpuLinks::Remote::memory;
      links.remote_numa = node_.memories.back().number;
    } else if (to.kind == "NVS") {
      links.remote = GpuLinks::Remote::nvswitch;
    } else if (to.kind == "GPU" || to.kind == "DEV") {
      links.remote = GpuLinks::Remote::gpu;
      links.remote_bus_id = bus_id(to.id);
      if (to.system != system_) return static_cast<void>(others_ = true);
    } else {
      fail(fmt::format("links of a GPU lead to no '{}'", to.kind));
    }
    gpu.gigabytes.push_back(links.kind == GpuLinks::Kind::c2c ? 0 : gigabytes);
    gpu.facts.links.push_back(std::move(links));
  }

  /// GPUs in the order of their ranks. What NCCL takes all of a GPU's links for is a whole number of links of one kind.
  void settle_gpus() {
    std::ranges::stable_sort(ranks_, {}, &Gpu::rank);
    for (Gpu& gpu : ranks_) {
      if (const auto name = log_.models.find(gpu.rank); name != log_.models.end()) gpu.facts.model = name->second;
      complete(gpu.facts);
      count_links(gpu);
      node_.gpus.push_back(std::move(gpu.facts));
    }
  }

  struct Gpu {
    GpuFacts facts{};
    int rank = 0;
    int slot = 0;                     ///< generation of its PCIe; 0: unknown
    std::vector<double> gigabytes{};  ///< of its links, each; 0 where that is no NVLinks'
  };

  /// What a link is taken for, by capability: of the newest release, and else of older ones.
  [[nodiscard]] std::vector<std::pair<std::pair<int, int>, double>> candidates(const Gpu& gpu) const {
    // src/graph/topo.h of 2.4 to 2.16.
    constexpr std::array kOlder{20.0, 21.0, 22.0, 40.0};
    constexpr std::array<std::pair<int, int>, 6> kCapabilities{{{6, 0}, {7, 0}, {8, 0}, {8, 6}, {9, 0}, {10, 0}}};
    std::vector<std::pair<std::pair<int, int>, double>> now;
    std::vector<std::pair<std::pair<int, int>, double>> before;
    for (const auto& capability : kCapabilities) {
      if (gpu.facts.capability ? *gpu.facts.capability != capability
                               : gpu.slot > 0 && model_of_capability(capability).pcie.value_or(gpu.slot) != gpu.slot) {
        continue;
      }
      const int number = 10 * capability.first + capability.second;
      if (release_) now.emplace_back(capability, gpu::of_capability(release_->link, number).bytes_per_second() / 1e9);
      for (const double rate : kOlder) before.emplace_back(capability, rate);
    }
    now.insert(now.end(), before.begin(), before.end());
    return now;
  }

  void count_links(Gpu& gpu) {
    constexpr double kPrinted = 0.051;
    constexpr double kMost = 18;
    const auto fits = [&](double rate) {
      double sum = 0;
      for (const double all : gpu.gigabytes) {
        sum += std::round(all / rate);
        if (all > 0 && (all < rate / 2 || std::abs(std::round(all / rate) * rate - all) > kPrinted)) return false;
      }
      return sum <= kMost;
    };
    if (std::ranges::none_of(gpu.gigabytes, [](double all) { return all > 0; })) return;
    for (const auto& [capability, rate] : candidates(gpu)) {
      if (!fits(rate)) continue;
      gpu.facts.capability = capability;
      for (std::size_t i = 0; i < gpu.gigabytes.size(); ++i) {
        if (gpu.gigabytes[i] > 0) gpu.facts.links[i].count = static_cast<int>(std::round(gpu.gigabytes[i] / rate));
      }
      return;
    }
    throw InputError(
        fmt::format("{}: error: rank {} has NVLinks of {} GB/s together, which no number of links of any GPU that is "
                    "known has. Bring the file that NCCL_TOPO_DUMP_FILE=topo.xml lets NCCL write",
                    file_, gpu.rank, gpu.gigabytes.front()));
  }

  const NcclLog& log_;
  const std::string& file_;
  std::shared_ptr<const gpu::Release> release_;
  NodeDescription node_{};
  std::vector<Gpu> ranks_{};
  std::vector<Open> open_{};  ///< from the CPU down to the present line
  const NcclLog::Line* line_ = nullptr;
  std::uint64_t system_ = 0;
  bool left_out_ = false;  ///< the present CPU is of another system
  bool others_ = false;
  int unnamed_ = 0;
};

}  // namespace

NodeDescription describe_nccl_log(const NcclLog& log, const std::string& file) { return TreeImport(log, file).take(); }

}  // namespace twinlink::platforms
