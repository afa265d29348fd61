// NCCL_TOPO_DUMP_FILE: <system> of <cpu>s, each a NUMA domain with the tree of its PCI devices.
#include <algorithm>
#include <array>
#include <charconv>
#include <map>
#include <optional>
#include <string_view>

#include <fmt/format.h>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/import/gpu_models.hpp"
#include "platforms/import/node_sketch.hpp"
#include "platforms/import/xml_text.hpp"

namespace twinlink::model {
namespace {

constexpr const char* kNvswitch = "nvswitch";

/// What hangs on a root complex or a switch.
struct FoundDevice {
  pugi::xml_node pci{};
  std::string parent{};
  int domain = 0;
};

/// "16.0 GT/s PCIe" and its lanes, as NCCL tells them.
std::optional<Sourced<Rate>> told_rate(pugi::xml_node pci) {
  const std::string_view speed = pci.attribute("link_speed").value();
  double gigatransfers = 0;
  const auto [end, error] = std::from_chars(speed.data(), speed.data() + speed.size(), gigatransfers);
  if (error != std::errc{}) return std::nullopt;
  return pcie_rate(gigatransfers, XmlText::integer(pci, "link_width").value_or(0), "as NCCL found it");
}

bool is_class(pugi::xml_node pci, std::string_view code) {
  return std::string_view(pci.attribute("class").value()).starts_with(code);
}

class NcclImport {
 public:
  NcclImport(const std::string& text, const std::string& file)
      : xml_(text, file), sketch_("NCCL's topology XML", file) {}

  ImportedPlatform run(const std::string& name) {
    for (const pugi::xml_node cpu : sorted_domains()) {
      const int domain = domain_of(cpu);
      for (const pugi::xml_node child : cpu.children()) {
        const std::string_view kind = child.name();
        if (kind == "pci") {
          walk(child, NodeSketch::root_name(domain), domain);
        } else if (kind == "nic") {
          sketch_.remark(fmt::format("left out: adapter '{}', which is on no PCI bus",
                                     child.child("net").attribute("name").value()));
        } else {
          xml_.fail(child, unknown(kind));
        }
      }
    }
    add_gpus();
    add_adapters();
    add_switch_uplinks();
    for (const FoundDevice& gpu : gpus_) add_fast_links(gpu);
    if (has_nvswitch_) sketch_.remark("nvswitch: all NVSwitches as one hub, since a copy is spread over them");
    decide_rdma();
    return sketch_.finish(name);
  }

 private:
  static std::string unknown(std::string_view kind) { return fmt::format("unknown element <{}>", kind); }

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
    for (const pugi::xml_node cpu : cpus) sketch_.add_domain(domain_of(cpu));
    return cpus;
  }

  void walk(pugi::xml_node pci, const std::string& parent, int domain) {
    if (std::string_view(pci.name()) == "pcilink") return;  // between switches: NCCL's own guess
    if (std::string_view(pci.name()) != "pci") xml_.fail(pci, unknown(pci.name()));
    const bool no_class = !pci.attribute("class");
    if (is_class(pci, "0x0604") || (no_class && pci.child("pci"))) {
      if (!pci.child("pci")) return;  // nothing below it
      const std::string name = fmt::format("switch{}", switches_.size());
      sketch_.add_hub(name, fmt::format("PCIe switch {}", pci.attribute("busid").value()));
      switches_.push_back({pci, parent, domain});
      for (const pugi::xml_node child : pci.children()) walk(child, name, domain);
    } else if (is_class(pci, "0x03") || is_class(pci, "0x12") || pci.child("gpu")) {
      gpus_.push_back({pci, parent, domain});
    } else if (is_class(pci, "0x02") || pci.child("nic")) {
      adapters_.push_back({pci, parent, domain});
    } else if (!is_class(pci, "0x0680")) {  // an NVSwitch: the GPUs tell of their links to it
      xml_.fail(pci, fmt::format("PCI device {} of class '{}' is neither GPU nor adapter nor bridge",
                                 pci.attribute("busid").value(), pci.attribute("class").value()));
    }
  }

  /// sm 90 is compute capability 9.0, sm 103 is 10.3.
  static std::optional<std::pair<int, int>> capability_of(pugi::xml_node gpu) {
    constexpr int kTen = 10;
    const auto sm = XmlText::integer(gpu, "sm");
    if (!sm || *sm < kTen) return std::nullopt;
    return std::pair(*sm / kTen, *sm % kTen);
  }

  static int generation_of(pugi::xml_node pci) {
    constexpr int kHopper = 9;
    constexpr int kAmpere = 8;
    const auto capability = capability_of(pci.child("gpu"));
    const int major = capability ? capability->first : kAmpere;
    return major >= kHopper ? 5 : major == kAmpere ? 4 : 3;
  }

  void add_gpus() {
    // As CUDA numbers them.
    std::ranges::stable_sort(gpus_, {}, [](const FoundDevice& device) {
      return XmlText::integer(device.pci.child("gpu"), "dev").value_or(0);
    });
    for (const auto& [pci, parent, domain] : gpus_) {
      const pugi::xml_node gpu = pci.child("gpu");
      if (gpu.next_sibling("gpu")) xml_.fail(gpu.next_sibling("gpu"), "a second GPU on one PCI device");
      std::string_view id = pci.attribute("device").value();
      if (id.starts_with("0x")) id.remove_prefix(2);
      SketchedGpu facts = gpu_of_device_id(id);
      if (const auto capability = capability_of(gpu)) facts.capability = capability;
      const std::string bus = pci.attribute("busid").value();
      if (bus.empty()) xml_.fail(pci, "the PCI device of a GPU needs a busid");
      if (names_.contains(bus)) xml_.fail(pci, fmt::format("a second GPU at {}", bus));
      names_[bus] = sketch_.add_gpu(facts, bus);
      sketch_.add_pcie(names_[bus], parent, told_rate(pci).value_or(assumed_pcie(generation_of(pci))));
      note_gdr(gpu, gpu_gdr_);
    }
  }

  void add_adapters() {
    constexpr double kMegabit = 1e6 / 8;
    int unnamed = 0;
    for (const auto& [pci, parent, domain] : adapters_) {
      std::string name;
      int speed = 0;
      for (const pugi::xml_node net : pci.child("nic").children("net")) {
        if (name.empty()) name = net.attribute("name").value();
        speed = std::max(speed, XmlText::integer(net, "speed").value_or(0));
        note_gdr(net, net_gdr_);
      }
      const std::string bus = pci.attribute("busid").value();
      std::optional<Sourced<Rate>> rate;
      if (speed > 0) {
        rate = Sourced<Rate>{Rate{speed * kMegabit},
                             {Quality::derived, fmt::format("{} Mbit/s, as NCCL found it, before headers", speed)}};
      }
      const std::string added = sketch_.add_adapter(name.empty() ? fmt::format("nic{}", unnamed++) : name, rate, bus);
      sketch_.add_pcie(added, parent, told_rate(pci).value_or(assumed_pcie(4)));
    }
  }

  /// Bridges of virtual machines say what nobody has: a switch is taken for as wide as the widest link below it.
  void add_switch_uplinks() {
    for (std::size_t i = 0; i < switches_.size(); ++i) {
      const auto& [pci, parent, domain] = switches_[i];
      std::optional<Sourced<Rate>> widest;
      for (const pugi::xml_node child : pci.children("pci")) {
        const auto rate = told_rate(child);
        if (rate && (!widest || rate->value > widest->value)) widest = rate;
      }
      auto rate = told_rate(pci);
      if (widest && (!rate || rate->value < widest->value)) {
        rate = assumed(widest->value, "as wide as the widest link below the switch, which says otherwise of itself");
      }
      sketch_.add_pcie(fmt::format("switch{}", i), parent, rate.value_or(assumed_pcie(4)));
    }
  }

  void add_fast_links(const FoundDevice& device) {
    const pugi::xml_node gpu = device.pci.child("gpu");
    const std::string& name = names_[device.pci.attribute("busid").value()];
    int to_switches = 0;
    for (const pugi::xml_node link : gpu.children()) {
      const std::string_view kind = link.name();
      const int count = XmlText::integer(link, "count").value_or(0);
      if (kind != "nvlink" && kind != "xgmi" && kind != "c2c") xml_.fail(link, unknown(kind));
      constexpr int kMostLinks = 1024;
      if (count < 1 || count > kMostLinks) xml_.fail(link, fmt::format("<{}> needs a count", kind));
      if (kind == "c2c") {
        const int megabytes = XmlText::integer(link, "bw").value_or(0);
        if (megabytes < 1) xml_.fail(link, "<c2c> needs a bw");
        sketch_.add_links(name + "-c2c", name, NodeSketch::memory_name(device.domain),
                          {Rate{megabytes * 1e6}, {Quality::derived, "as NCCL found it"}}, count);
        continue;
      }
      const std::string_view target_class = link.attribute("tclass").value();
      const auto peer = names_.find(link.attribute("target").value());
      const Sourced<Rate> each = link_rate(gpu, kind);
      if (peer != names_.end()) {
        if (peer->second == name) xml_.fail(link, fmt::format("<{}> joins a GPU to itself", kind));
        const std::string id =
            fmt::format("{}-{}-{}", std::min(name, peer->second), std::max(name, peer->second), kind);
        if (!joined_.insert({id, count}).second) continue;  // told by the other end already
        sketch_.add_links(id, name, peer->second, each, count);
      } else if (target_class.starts_with("0x068001")) {
        sketch_.add_links(name + "-host-nvlink", name, NodeSketch::memory_name(device.domain), each, count);
      } else if (target_class.starts_with("0x0680") || target_class.empty()) {
        to_switches += count;
      } else {
        xml_.fail(link, fmt::format("<{}> to '{}', which is neither a GPU of this file nor an NVSwitch", kind,
                                    link.attribute("target").value()));
      }
    }
    if (to_switches == 0) return;
    if (!has_nvswitch_) sketch_.add_hub(kNvswitch, "");
    has_nvswitch_ = true;
    sketch_.add_links(name + "-nvlink", name, kNvswitch, link_rate(gpu, "nvlink"), to_switches);
  }

  static Sourced<Rate> link_rate(pugi::xml_node gpu, std::string_view kind) {
    if (kind == "xgmi") return {50.0_GBps, {Quality::datasheet, "Infinity Fabric: 50 GB/s each way and link"}};
    const std::pair<int, int> capability = capability_of(gpu).value_or(std::pair(8, 0));
    return {nvlink_rate(capability),
            {Quality::derived,
             fmt::format("one NVLink of a GPU of compute capability {}.{}", capability.first, capability.second)}};
  }

  static void note_gdr(pugi::xml_node node, std::optional<bool>& all) {
    if (const auto gdr = XmlText::integer(node, "gdr")) all = all.value_or(false) || *gdr != 0;
  }

  void decide_rdma() {
    if (gpu_gdr_ && net_gdr_) sketch_.set_rdma(*gpu_gdr_ && *net_gdr_);
  }

  XmlText xml_;
  NodeSketch sketch_;
  std::vector<FoundDevice> gpus_{};
  std::vector<FoundDevice> adapters_{};
  std::vector<FoundDevice> switches_{};
  std::map<std::string, std::string, std::less<>> names_{};  ///< of GPUs, by their bus ids
  std::map<std::string, int> joined_{};
  bool has_nvswitch_ = false;
  std::optional<bool> gpu_gdr_{};
  std::optional<bool> net_gdr_{};
};

}  // namespace

ImportedPlatform import_nccl_xml(const std::string& text, const std::string& file, const std::string& name) {
  return NcclImport(text, file).run(name);
}

}  // namespace twinlink::model
