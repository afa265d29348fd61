// What other tools say of a node: nvidia-smi topo -m, NCCL's topology XML, hwloc's XML.
#include "platforms/import/texts/import_topology.hpp"
#include "platforms/reader/platform_writer.hpp"
#include "tests/fuzz/targets.hpp"

namespace twinlink::fuzz {

void read_topology(const std::string& text) {
  const platforms::SketchedPlatform imported = platforms::import_topology(text, "input", "fuzzed");
  promise_read_back(platforms::platform_text(imported.platform, imported.heading));
}

}  // namespace twinlink::fuzz
