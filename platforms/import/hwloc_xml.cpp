// hwloc's XML, as 'lstopo FILE.xml' writes it: NUMA domains, and the PCI tree of each with what its links carry.
#include <algorithm>
#include <charconv>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <string_view>

#include <fmt/format.h>

#include "platforms/import/assumed_costs.hpp"
#include "platforms/import/gpu_models.hpp"
#include "platforms/import/node_sketch.hpp"
#include "platforms/import/xml_text.hpp"

namespace twinlink::model {
namespace {

constexpr const char* kNvswitch = "nvswitch";

std::string_view type_of(pugi::xml_node object) { return object.attribute("type").value(); }

/// "0302 [10de:2330] ...": class, vendor and device.
struct PciIds {
  std::string_view code{};
  std::string_view vendor{};
  std::string_view device{};
};

PciIds pci_ids(pugi::xml_node object) {
  const std::string_view text = object.attribute("pci_type").value();
  const std::size_t bracket = text.find('[');
  if (text.size() < 4 || bracket == std::string_view::npos || text.size() < bracket + 10) return {};
  return {text.substr(0, 4), text.substr(bracket + 1, 4), text.substr(bracket + 6, 4)};
}

bool is_gpu(pugi::xml_node object) {
  const PciIds ids = pci_ids(object);
  const bool accelerates = ids.code.starts_with("03") || ids.code.starts_with("12");
  return type_of(object) == "PCIDev" && accelerates && (ids.vendor == "10de" || ids.vendor == "1002");
}

/// Of adapters for messages: OpenFabrics devices.
pugi::xml_node fabric_device(pugi::xml_node object) {
  for (const pugi::xml_node child : object.children("object")) {
    const std::string_view kind = child.attribute("osdev_type").value();
    if (type_of(child) == "OSDev" &&
        (kind == "3" || std::string_view(child.attribute("name").value()).starts_with("mlx")))
      return child;
  }
  return {};
}

bool is_adapter(pugi::xml_node object) {
  return type_of(object) == "PCIDev" && (pci_ids(object).code == "0207" || fabric_device(object));
}

/// The lowest number of a set as hwloc writes it: words of 32 bits, the highest first. More than one: nothing.
std::optional<int> only_member(std::string_view set) {
  std::optional<int> member;
  int base = 0;
  while (!set.empty()) {
    const std::size_t comma = set.rfind(',');
    std::string_view word = comma == std::string_view::npos ? set : set.substr(comma + 1);
    set = comma == std::string_view::npos ? std::string_view() : set.substr(0, comma);
    if (word.starts_with("0x")) word.remove_prefix(2);
    std::uint32_t bits = 0;
    constexpr int kHex = 16;
    if (std::from_chars(word.data(), word.data() + word.size(), bits, kHex).ec != std::errc{} && !word.empty())
      return {};
    constexpr int kBits = 32;
    for (int bit = 0; bit < kBits; ++bit) {
      if ((bits >> static_cast<unsigned>(bit) & 1U) == 0) continue;
      if (member) return std::nullopt;
      member = base + bit;
    }
    base += kBits;
  }
  return member;
}

std::optional<Sourced<Rate>> told_rate(pugi::xml_node object) {
  const double gigabytes = object.attribute("pci_link_speed").as_double();
  if (!(gigabytes > 0)) return std::nullopt;
  return Sourced<Rate>{Rate{gigabytes * 1e9},
                       {Quality::derived, "as the link runs now by hwloc, before packet headers"}};
}

/// A GPU or an adapter, or a switch with several of them below it.
struct IoNode {
  pugi::xml_node object{};
  std::vector<IoNode> below{};
};

class HwlocImport {
 public:
  HwlocImport(const std::string& text, const std::string& file) : xml_(text, file), sketch_("hwloc's XML", file) {
    for (const pugi::xml_node child : xml_.root().children()) check(child);
  }

  ImportedPlatform run(const std::string& name) {
    for (const pugi::xml_node object : xml_.root().children("object")) find_domains(object);
    if (domains_.empty()) domains_.insert(0);
    for (const int domain : domains_) sketch_.add_domain(domain);
    for (const pugi::xml_node object : xml_.root().children("object")) walk(object, *domains_.begin());
    find_fastest(roots_);
    for (const auto& [domain, node] : roots_) add(node, NodeSketch::root_name(domain));
    bool matrix = false;
    for (const char* kind : {"distances2", "distances2hetero"}) {
      for (const pugi::xml_node distances : xml_.root().children(kind)) matrix = add_nvlinks(distances) || matrix;
    }
    if (!matrix && sketch_.gpus().size() > 1) sketch_.assume("no NVLinks, for this file has no matrix of them");
    return sketch_.finish(name);
  }

 private:
  void check(pugi::xml_node node) const {
    static const std::set<std::string_view> elements{
        "object",  "info",     "page_type", "distances",     "distances2",
        "latency", "userdata", "support",   "memattr",       "distances2hetero",
        "cpukind", "indexes",  "u64values", "memattr_value", "topology_diff"};
    static const std::set<std::string_view> types{"Machine", "Package", "Socket",   "Die",      "Group",    "NUMANode",
                                                  "Core",    "PU",      "Cache",    "L1Cache",  "L2Cache",  "L3Cache",
                                                  "L4Cache", "L5Cache", "L1iCache", "L2iCache", "L3iCache", "MemCache",
                                                  "Bridge",  "PCIDev",  "OSDev",    "Misc",     "System"};
    if (node.type() != pugi::node_element) return;
    const std::string_view name = node.name();
    if (!elements.contains(name)) xml_.fail(node, fmt::format("unknown element <{}>", name));
    if (name == "object" && !types.contains(type_of(node))) {
      xml_.fail(node, fmt::format("unknown type of object '{}'", type_of(node)));
    }
    for (const pugi::xml_node child : node.children()) check(child);
  }

  /// Domains with CPUs; memory of GPUs may look like one as well.
  void find_domains(pugi::xml_node object) {
    const std::string_view cpus = object.attribute("cpuset").value();
    if (type_of(object) == "NUMANode" && cpus.find_first_not_of("0x,") != std::string_view::npos) {
      domains_.insert(XmlText::integer(object, "os_index").value_or(0));
    }
    for (const pugi::xml_node child : object.children("object")) find_domains(child);
  }

  /// Finds the bridges that hang on CPUs, each in the domain around it.
  void walk(pugi::xml_node object, int domain) {
    if (const auto only = only_member(object.attribute("nodeset").value()); only && domains_.contains(*only)) {
      domain = *only;
    } else if (object.attribute("nodeset")) {
      domain = *domains_.begin();
    }
    for (const pugi::xml_node child : object.children("object")) {
      if (type_of(child) != "Bridge" && type_of(child) != "PCIDev") {
        walk(child, domain);
      } else if (std::optional<IoNode> found = kept(child)) {
        const bool known = only_member(object.attribute("nodeset").value()).has_value() || domains_.size() == 1;
        if (!known) {
          sketch_.assume(fmt::format("what is below bridge {} belongs to NUMA domain {}, for hwloc knows no place",
                                     child.attribute("bridge_pci").value(), domain));
        }
        roots_.emplace_back(domain, *std::move(found));
      }
    }
  }

  /// A bridge with one thing below it is but a piece of wire.
  static std::optional<IoNode> kept(pugi::xml_node object) {
    if (is_gpu(object) || is_adapter(object)) return IoNode{object, {}};
    IoNode node{object, {}};
    for (const pugi::xml_node child : object.children("object")) {
      if (auto below = kept(child)) node.below.push_back(*std::move(below));
    }
    if (node.below.empty()) return std::nullopt;
    const bool host_bridge = std::string_view(object.attribute("bridge_type").value()) == "0-1";
    if (node.below.size() == 1 && !host_bridge) return std::move(node.below.front());
    return node;
  }

  void find_fastest(const std::vector<std::pair<int, IoNode>>& nodes) {
    for (const auto& [domain, node] : nodes) find_fastest(node);
  }
  void find_fastest(const IoNode& node) {
    if (is_gpu(node.object)) {
      if (const auto rate = told_rate(node.object)) fastest_gpu_ = std::max(fastest_gpu_, rate->value);
    }
    for (const IoNode& below : node.below) find_fastest(below);
  }

  void add(const IoNode& node, const std::string& parent) {
    const std::string bus = node.object.attribute("pci_busid").value();
    if (is_gpu(node.object)) {
      add_gpu(node.object, parent, bus);
    } else if (is_adapter(node.object)) {
      const pugi::xml_node device = fabric_device(node.object);
      const std::string name =
          sketch_.add_adapter(device ? device.attribute("name").value() : "nic_" + bus, std::nullopt, bus);
      sketch_.add_pcie(name, parent, told_rate(node.object).value_or(assumed_pcie(4)));
    } else if (std::string_view(node.object.attribute("bridge_type").value()) == "0-1") {
      for (const IoNode& below : node.below) add(below, parent);
    } else {
      const std::string name = fmt::format("switch{}", switches_++);
      sketch_.add_hub(name, "PCIe switch " + bus);
      sketch_.add_pcie(name, parent, told_rate(node.object).value_or(assumed_pcie(4)));
      for (const IoNode& below : node.below) add(below, name);
    }
  }

  void add_gpu(pugi::xml_node object, const std::string& parent, const std::string& bus) {
    SketchedGpu gpu = gpu_of_device_id(pci_ids(object).device);
    for (const pugi::xml_node device : object.children("object")) {
      for (const pugi::xml_node info : device.children("info")) {
        const std::string_view key = info.attribute("name").value();
        constexpr std::uint64_t kKibibyte = 1024;
        const auto value = info.attribute("value");
        if (key == "GPUModel") gpu.model = value.value();
        if (key == "CUDAGlobalMemorySize" && value.as_ullong() > 0) {
          gpu.memory = Sourced<Bytes>{Bytes{value.as_ullong() * kKibibyte},
                                      {Quality::measured, "as hwloc's CUDA backend tells"}};
        }
      }
    }
    const std::string name = sketch_.add_gpu(gpu, bus);
    gpus_[bus] = name;
    std::optional<Sourced<Rate>> rate = told_rate(object);
    if (rate && rate->value < fastest_gpu_) {
      rate = assumed(fastest_gpu_, "as fast as that of the fastest GPU, for an idle one's link runs slower");
    }
    sketch_.add_pcie(name, parent, rate.value_or(assumed_pcie(4)));
  }

  // ---- NVLinks ----------------------------------------------------------------------------------------------------

  /// The PCI device that an object is or belongs to, by its gp_index.
  static pugi::xml_node device_of(pugi::xml_node root, const std::string& gp_index) {
    const pugi::xml_node found =
        root.find_node([&](pugi::xml_node node) { return gp_index == node.attribute("gp_index").value(); });
    return type_of(found) == "OSDev" ? found.parent() : found;
  }

  /// "OSDev:12 OSDev:14", or the numbers alone.
  std::vector<pugi::xml_node> objects_of(pugi::xml_node distances) const {
    std::vector<pugi::xml_node> objects;
    for (const pugi::xml_node indexes : distances.children("indexes")) {
      std::istringstream words(indexes.child_value());
      for (std::string word; words >> word;) {
        objects.push_back(device_of(xml_.root(), word.substr(word.find(':') + 1)));
      }
    }
    return objects;
  }

  /// A matrix of what objects reach of each other, in MB/s. False: it is another one.
  bool add_nvlinks(pugi::xml_node distances) {
    if (std::string_view(distances.attribute("name").value()) != "NVLinkBandwidth") return false;
    const std::vector<pugi::xml_node> objects = objects_of(distances);
    std::vector<double> values;
    for (const pugi::xml_node part : distances.children("u64values")) {
      std::istringstream words(part.child_value());
      for (double value = 0; words >> value;) values.push_back(value);
    }
    if (values.size() != objects.size() * objects.size()) {
      xml_.fail(distances, fmt::format("a matrix of {} objects with {} values", objects.size(), values.size()));
    }
    for (std::size_t a = 0; a < objects.size(); ++a) {
      const auto gpu = gpus_.find(objects[a].attribute("pci_busid").value());
      if (gpu == gpus_.end()) continue;
      double to_switches = 0;
      for (std::size_t b = 0; b < objects.size(); ++b) {
        const double megabytes = values[a * objects.size() + b];
        if (a == b || megabytes <= 0) continue;
        const auto peer = gpus_.find(objects[b].attribute("pci_busid").value());
        if (peer == gpus_.end()) {
          to_switches += megabytes;
        } else if (a < b) {
          add_nvlink(fmt::format("{}-{}-nvlink", gpu->second, peer->second), gpu->second, peer->second, megabytes);
        }
      }
      if (to_switches <= 0) continue;
      sketch_.add_hub(kNvswitch, "");
      add_nvlink(gpu->second + "-nvlink", gpu->second, kNvswitch, to_switches);
    }
    return true;
  }

  void add_nvlink(const std::string& name, const std::string& from, const std::string& to, double megabytes) {
    sketch_.add_links(name, from, to, {Rate{megabytes * 1e6}, {Quality::derived, "hwloc's NVLinkBandwidth"}}, 1);
  }

  XmlText xml_;
  NodeSketch sketch_;
  std::set<int> domains_{};
  std::vector<std::pair<int, IoNode>> roots_{};             ///< with their domains
  std::map<std::string, std::string, std::less<>> gpus_{};  ///< names, by bus id
  Rate fastest_gpu_{};
  int switches_ = 0;
};

}  // namespace

ImportedPlatform import_hwloc_xml(const std::string& text, const std::string& file, const std::string& name) {
  return HwlocImport(text, file).run(name);
}

}  // namespace twinlink::model
