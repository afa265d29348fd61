#include "platforms/import/texts/import_topology.hpp"

#include <string_view>

#include "platforms/import/gpu_models.hpp"
#include "platforms/import/hwloc_facts.hpp"
#include "platforms/import/texts/nccl_log.hpp"
#include "platforms/import/texts/text_scan.hpp"
#include "platforms/import/texts/xml_text.hpp"
#include "platforms/reader/release_reader.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {
namespace {

NodeDescription describe(const std::string& text, const std::string& file) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(file + ": error: the file is empty");
  if (text[first] != '<') {
    const NcclLog log = is_nccl_log(text) ? read_nccl_log(text) : NcclLog{};
    return log.tree.empty() ? describe_topo_matrix(text, file) : describe_nccl_log(log, file);
  }
  const XmlText xml(text, file);
  const std::string_view root = xml.root().name();
  if (root == "system") return describe_nccl_xml(text, file);
  if (root == "nvidia_smi_log") return describe_nvidia_smi_xml(text, file);
  if (root == "topology") return describe(HwlocTopology::of_xml(text, file), "");
  xml.fail(xml.root(),
           "the XML of NCCL begins with <system>, that of hwloc with <topology>, of nvidia-smi with <nvidia_smi_log>, "
           "and this with <" +
               std::string(root) + ">");
}

/// Two numbers of "2.28.9" or "nccl-2.28" as one.
int version_of(std::string_view text) {
  TextScan scan(text);
  int major = 0;
  int minor = 0;
  scan.take("nccl-");
  if (!scan.number(major) || !scan.take(".") || !scan.number(minor)) return 0;
  constexpr int kMinors = 1000;
  return major * kMinors + minor;
}

/// How many such nodes there are, and whose tables NCCL has: those of the release itself or the last one before it, or
/// the first of all.
void take_job(const NcclLog& log, SketchedPlatform& sketched) {
  if (log.nodes > 1 && log.nodes <= kMostNodes && sketched.platform.fabric) {
    sketched.platform.node.count = log.nodes;
    sketched.heading.push_back(std::to_string(log.nodes) +
                               " nodes, as NCCL logs it: all are taken to be like this one");
  } else if (log.nodes > 1) {
    sketched.notes.push_back(std::to_string(log.nodes) +
                             " nodes have logged this, of whose adapters the tree tells "
                             "nothing: one of them is here");
  }
  if (log.others) {
    sketched.notes.emplace_back("several communicators have logged this: what the first one does is compared");
  }
  const int version = version_of(log.version);
  if (version == 0) return;
  std::string& named = sketched.platform.release_named;
  for (const std::string& name : release_names()) {
    if (named.empty() || version_of(name) <= version) named = name;
  }
  if (named.empty() || version_of(named) == version) return;
  sketched.notes.push_back("NCCL " + log.version + " has logged this, and the tables nearest to it are those of " +
                           named);
  sketched.heading.push_back(sketched.notes.back());
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
  SketchedPlatform sketched = sketch(std::move(node), title);
  if (is_nccl_log(text)) take_job(read_nccl_log(text), sketched);
  return sketched;
}

}  // namespace twinlink::platforms
