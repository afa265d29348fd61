// nvidia-smi -q -x: each GPU with its name, its bus and what it and its slot have in common. It tells neither NVLinks
// nor processors nor adapters.
#include <algorithm>
#include <cctype>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/texts/import_topology.hpp"
#include "platforms/import/texts/text_scan.hpp"
#include "platforms/import/texts/xml_text.hpp"

namespace twinlink::platforms {
namespace {

std::string small_letters(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The number at the beginning of an element's text, "16x" or "81559 MiB"; 0 for "N/A".
int number_in(pugi::xml_node node) {
  int value = 0;
  TextScan(node.text().get()).number(value);
  return value;
}

}  // namespace

NodeDescription describe_nvidia_smi_xml(const std::string& text, const std::string& file) {
  const XmlText xml(text, file);
  NodeDescription node{
      .origin = "nvidia-smi -q -x", .sockets = {SocketFacts{}}, .memories = {{.number = 0, .sockets = {0}}}};
  for (const pugi::xml_node gpu : xml.root().children("gpu")) {
    // "00000000:1B:00.0", of whose domain other tools write four digits.
    std::string bus = small_letters(gpu.attribute("id").value());
    if (bus.starts_with("0000") && bus.find(':') == 8) bus.erase(0, 4);
    if (bus.empty()) xml.fail(gpu, "a <gpu> needs an id, which is its bus");
    if (std::ranges::find(node.gpus, bus, &GpuFacts::bus_id) != node.gpus.end()) {
      xml.fail(gpu, "a second GPU at " + bus + ": are these reports of several machines?");
    }
    GpuFacts facts{.model = gpu.child("product_name").text().get(),
                   .uuid = gpu.child("uuid").text().get(),
                   .bus_id = bus,
                   .links_told = false};
    // "233010DE": the device, and the vendor.
    const std::string device = small_letters(gpu.child("pci").child("pci_device_id").text().get());
    constexpr std::size_t kDigits = 4;
    const std::size_t begin = device.starts_with("0x") ? 2 : 0;
    if (device.size() == begin + 2 * kDigits) {
      facts.device_id = device.substr(begin + kDigits) + ":" + device.substr(begin, kDigits);
    }
    const pugi::xml_node memory = gpu.child("fb_memory_usage").child("total");
    if (const int mebibytes = number_in(memory); mebibytes > 0) {
      facts.memory = {1_MiB * static_cast<std::uint64_t>(mebibytes), {Quality::derived, "as the driver tells it"}};
    }
    const pugi::xml_node link = gpu.child("pci").child("pci_gpu_link_info");
    facts.pcie = pcie_rate(number_in(link.child("pcie_gen").child("max_link_gen")),
                           number_in(link.child("link_widths").child("max_link_width")),
                           "the most that GPU and slot have, as the driver tells it");
    node.pci.push_back({.kind = PciFacts::Kind::gpu, .bus_id = bus, .place_known = false});
    node.gpus.push_back(std::move(facts));
  }
  assume(node, "all GPUs are at one processor, in one NUMA domain", Assumption::Better::xml);
  return node;
}

}  // namespace twinlink::platforms
