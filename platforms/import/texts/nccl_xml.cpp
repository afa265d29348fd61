// NCCL_TOPO_DUMP_FILE: <system> of <cpu>s, each a NUMA domain with the tree of its PCI devices. RCCL writes the same.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include <fmt/format.h>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/texts/import_topology.hpp"
#include "platforms/import/texts/xml_text.hpp"

namespace twinlink::platforms {
namespace {

using Kind = PciFacts::Kind;

/// "16.0 GT/s PCIe" and its lanes, as NCCL tells them.
std::optional<Sourced<Rate>> told_rate(pugi::xml_node pci) {
  const std::string_view speed = pci.attribute("link_speed").value();
  double gigatransfers{};
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  if (error != std::errc{}) return std::nullopt;
  return pcie_rate_of_transfers(gigatransfers, XmlText::integer(pci, "link_width").value_or(0), "as NCCL found it");
}

bool is_class(pugi::xml_node pci, std::string_view code) {
  return std::string_view(pci.attribute("class").value()).starts_with(code);
}

/// "0x10de" without its "0x".
std::string id_of(pugi::xml_node pci, const char* attribute) {
  std::string_view id = pci.attribute(attribute).value();
  if (id.starts_with("0x")) id.remove_prefix(2);
  return std::string(id);
}

class NcclImport {
 public:
  NcclImport(const std::string& text, const std::string& file) : xml_(text, file) {
    node_.origin = "NCCL's topology XML";
    for (const pugi::xml_node cpu : sorted_domains()) {
      if (node_.memories.empty() || node_.memories.back().number != domain_of(cpu)) {
        node_.memories.push_back({.number = domain_of(cpu), .sockets = {static_cast<int>(node_.sockets.size())}});
        node_.sockets.push_back({.cpu = cpu_told_by(cpu)});
      }
      for (const pugi::xml_node child : cpu.children()) {
        const std::string_view kind = child.name();
        if (kind == "pci") {
          walk(child, std::nullopt);
        } else if (kind == "nic") {
          node_.remarks.push_back(fmt::format("left out: adapter '{}', which is on no PCI bus",
                                              child.child("net").attribute("name").value()));
        } else {
          xml_.fail(child, unknown(kind));
        }
      }
    }
    for (const pugi::xml_node pci : in_order_of_cuda()) add_gpu(pci);
    if (!gpus_.empty() && std::ranges::none_of(node_.gpus, &GpuFacts::links_told)) {
      node_.notes.emplace_back(
          "this file has no <gpu>: it is an input of NCCL (NCCL_TOPO_FILE), which finds GPUs and NVLinks when it runs; "
          "NCCL_TOPO_DUMP_FILE writes what it has found");
    }
    if (gpu_gdr_ && net_gdr_) node_.rdma = *gpu_gdr_ && *net_gdr_;
  }

  NodeDescription take() { return std::move(node_); }

 private:
  static std::string unknown(std::string_view kind) { return fmt::format("unknown element <{}>", kind); }

  /// Of x86 by CPUID; of others the architecture says it.
  static Cpu cpu_told_by(pugi::xml_node cpu) {
    const std::string_view arch = cpu.attribute("arch").value();
    if (arch == "ppc64") return Cpu::power;
    if (arch == "arm64") return Cpu::arm;
    return cpu_of(cpu.attribute("vendor").value(), XmlText::integer(cpu, "familyid").value_or(0),
                  XmlText::integer(cpu, "modelid").value_or(0));
  }

  static int domain_of(pugi::xml_node cpu) { return std::max(0, XmlText::integer(cpu, "numaid").value_or(0)); }

  std::vector<pugi::xml_node> sorted_domains() {
    std::vector<pugi::xml_node> cpus;
    std::string host;
    for (const pugi::xml_node cpu : xml_.root().children()) {
      if (std::string_view(cpu.name()) != "cpu") xml_.fail(cpu, unknown(cpu.name()));
      if (!XmlText::integer(cpu, "numaid")) xml_.fail(cpu, "a <cpu> needs a numaid");
      const std::string its_host = cpu.attribute("host_hash").value();
      if (!cpus.empty() && its_host != host) xml_.fail(cpu, "a <cpu> of another host: a file of one node is expected");
      host = its_host;
      cpus.push_back(cpu);
    }
    std::ranges::sort(cpus, {}, domain_of);
    return cpus;
  }

  void walk(pugi::xml_node pci, std::optional<int> parent) {
    if (std::string_view(pci.name()) == "pcilink") return;  // between switches: NCCL's own guess
    if (std::string_view(pci.name()) != "pci") xml_.fail(pci, unknown(pci.name()));
    const NumaFacts& domain = node_.memories.back();
    PciFacts facts{.bus_id = pci.attribute("busid").value(),
                   .parent = parent,
                   .socket = domain.sockets.front(),
                   .numa = domain.number,
                   .link = told_rate(pci)};
    const bool no_class = !pci.attribute("class");
    if (is_class(pci, "0x0604") || (no_class && pci.child("pci"))) {
      node_.pci.push_back(std::move(facts));
      const int index = static_cast<int>(node_.pci.size()) - 1;
      for (const pugi::xml_node child : pci.children()) walk(child, index);
    } else if (is_class(pci, "0x03") || is_class(pci, "0x12") || pci.child("gpu")) {
      facts.kind = Kind::gpu;
      if (facts.bus_id.empty()) xml_.fail(pci, "the PCI device of a GPU needs a busid");
      if (!gpus_.try_emplace(facts.bus_id, pci).second) xml_.fail(pci, fmt::format("a second GPU at {}", facts.bus_id));
      node_.pci.push_back(std::move(facts));
    } else if (is_class(pci, "0x02") || pci.child("nic")) {
      facts.kind = Kind::adapter;
      facts.infiniband = true;
      facts.device_id = id_of(pci, "vendor") + ":" + id_of(pci, "device");
      read_ports(pci, facts);
      node_.pci.push_back(std::move(facts));
    } else if (!is_class(pci, "0x0680")) {  // an NVSwitch: the GPUs tell of their links to it
      xml_.fail(pci, fmt::format("PCI device {} of class '{}' is neither GPU nor adapter nor bridge", facts.bus_id,
                                 pci.attribute("class").value()));
    }
  }

  // ---- GPUs -------------------------------------------------------------------------------------------------------

  std::vector<pugi::xml_node> in_order_of_cuda() const {
    std::vector<pugi::xml_node> gpus;
    for (const PciFacts& pci : node_.pci) {
      if (pci.kind == Kind::gpu) gpus.push_back(gpus_.at(pci.bus_id));
    }
    std::ranges::stable_sort(gpus, {},
                             [](pugi::xml_node pci) { return XmlText::integer(pci.child("gpu"), "dev").value_or(0); });
    return gpus;
  }

  static bool is_by_amd(pugi::xml_node pci) {
    return pci.child("gpu").attribute("gcn") || id_of(pci, "vendor") == "1002";
  }

  /// sm 90 is compute capability 9.0, sm 103 is 10.3. In RCCL's files it is the number of compute units.
  static std::optional<std::pair<int, int>> capability_of(pugi::xml_node pci) {
    constexpr int kTen = 10;
    const pugi::xml_node gpu = pci.child("gpu");
    const auto sm = XmlText::integer(gpu, "sm");
    if (is_by_amd(pci) || !sm || *sm < kTen) return std::nullopt;
    return std::pair(*sm / kTen, *sm % kTen);
  }

  /// "gfx90a:sramecc+:xnack-" without what its memory is set to.
  static std::string gfx_of(pugi::xml_node gpu) {
    const std::string gcn = gpu.attribute("gcn").value();
    return gcn.substr(0, gcn.find(':'));
  }

  void add_gpu(pugi::xml_node pci) {
    const pugi::xml_node gpu = pci.child("gpu");
    if (gpu.next_sibling("gpu")) xml_.fail(gpu.next_sibling("gpu"), "a second GPU on one PCI device");
    GpuFacts facts{.bus_id = pci.attribute("busid").value(),
                   .by_amd = is_by_amd(pci),
                   .gcn = gfx_of(gpu),
                   .capability = capability_of(pci),
                   .links_told = static_cast<bool>(gpu)};
    const std::string vendor = id_of(pci, "vendor");
    if (pci.attribute("device")) facts.device_id = (vendor.empty() ? "10de" : vendor) + ":" + id_of(pci, "device");
    for (const pugi::xml_node link : gpu.children()) add_links(facts, link);
    note_gdr(gpu, gpu_gdr_);
    node_.gpus.push_back(std::move(facts));
  }

  void add_links(GpuFacts& gpu, pugi::xml_node link) const {
    const std::string_view kind = link.name();
    if (kind != "nvlink" && kind != "xgmi" && kind != "c2c") xml_.fail(link, unknown(kind));
    constexpr int kMostLinks = 1024;
    GpuLinks links{.count = XmlText::integer(link, "count").value_or(0)};
    if (links.count < 1 || links.count > kMostLinks) xml_.fail(link, fmt::format("<{}> needs a count", kind));
    const std::string target = link.attribute("target").value();
    const std::string_view target_class = link.attribute("tclass").value();
    const int domain = std::ranges::find_if(node_.pci, [&](const PciFacts& pci) {
                         return pci.bus_id == gpu.bus_id && pci.kind == Kind::gpu;
                       })->numa;
    if (kind == "c2c") {
      const int megabytes = XmlText::integer(link, "bw").value_or(0);
      if (megabytes < 1) xml_.fail(link, "<c2c> needs a bw");
      links.kind = GpuLinks::Kind::c2c;
      links.each = {Rate{megabytes * 1e6}, {Quality::derived, "as NCCL found it"}};
      links.remote = GpuLinks::Remote::memory;
      links.remote_numa = domain;
    } else if (gpus_.contains(target)) {
      links.remote = GpuLinks::Remote::gpu;
      links.remote_bus_id = target;
    } else if (target_class.starts_with("0x068001")) {  // a processor of IBM
      links.remote = GpuLinks::Remote::memory;
      links.remote_numa = domain;
    } else if (target_class.starts_with("0x0680") || target_class.empty()) {
      links.remote = GpuLinks::Remote::nvswitch;
    } else {
      xml_.fail(link, fmt::format("<{}> to '{}', which is neither a GPU of this file nor an NVSwitch", kind, target));
    }
    if (kind == "xgmi") links.kind = GpuLinks::Kind::xgmi;
    gpu.links.push_back(std::move(links));
  }

  // ---- adapters ---------------------------------------------------------------------------------------------------

  /// Several ports of an adapter share its PCIe link, and each has its own network link.
  void read_ports(pugi::xml_node pci, PciFacts& facts) {
    constexpr double kMegabit = 1e6 / 8;
    std::map<std::string, int> speeds;  // by port
    for (const pugi::xml_node net : pci.child("nic").children("net")) {
      if (facts.name.empty()) facts.name = net.attribute("name").value();
      int& speed = speeds[net.attribute("port").value()];
      speed = std::max(speed, XmlText::integer(net, "speed").value_or(0));
      note_gdr(net, net_gdr_);
    }
    if (facts.name.empty()) facts.name = fmt::format("nic{}", unnamed_++);
    double megabits = 0;
    std::string sum;
    for (const auto& [port, speed] : speeds) {
      if (speed <= 0) continue;
      megabits += speed;
      sum += fmt::format("{}{}", sum.empty() ? "" : " + ", speed);
    }
    if (megabits <= 0) return;
    facts.ports = {Rate{megabits * kMegabit},
                   {Quality::derived, fmt::format("{} Mbit/s, as NCCL found it, before headers", sum)}};
  }

  static void note_gdr(pugi::xml_node node, std::optional<bool>& all) {
    if (const auto gdr = XmlText::integer(node, "gdr")) all = all.value_or(false) || *gdr != 0;
  }

  XmlText xml_;
  NodeDescription node_{};
  std::map<std::string, pugi::xml_node, std::less<>> gpus_{};  ///< by their bus ids
  int unnamed_ = 0;
  std::optional<bool> gpu_gdr_{};
  std::optional<bool> net_gdr_{};
};

}  // namespace

NodeDescription describe_nccl_xml(const std::string& text, const std::string& file) {
  return NcclImport(text, file).take();
}

}  // namespace twinlink::platforms
