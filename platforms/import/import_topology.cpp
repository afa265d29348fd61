#include "platforms/import/import_topology.hpp"

#include <string_view>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/hwloc_facts.hpp"
#include "platforms/import/xml_text.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

NodeDescription describe(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(file + ": error: the file is empty");
  if (text[first] != '<') return describe_topo_matrix(text, file);
  const XmlText xml(text, file);
  const std::string_view root = xml.root().name();
  if (root == "system") return describe_nccl_xml(text, file);
  if (root == "topology") return describe(HwlocTopology::of_xml(text, file), "");
  xml.fail(xml.root(), "the XML of NCCL begins with <system>, that of hwloc with <topology>, and this with <" +
                           std::string(root) + ">");
}

}  // namespace

SketchedPlatform import_topology(const std::string& text, const std::string& file, const std::string& name,
                                 const std::string& gpu) {
  NodeDescription node = describe(text, file);
  if (node.gpus.empty()) throw InputError(file + ": error: a platform needs a GPU, and there is none in this file");
  node.name = name;
  if (!gpu.empty()) {
    for (GpuFacts& facts : node.gpus) set_model(facts, model_named(gpu));
  }
  const std::string title = "Imported from " + node.origin + ": " + file;
  return sketch(std::move(node), title);
}

}  // namespace twinlink::platforms
