#include "platforms/reader/schema_version.hpp"

#include <string>

namespace twinlink::model {
namespace {

bool has_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  const YamlValue* schema = document.find("schema");
  const std::string ours = std::to_string(kPlatformSchema);
  if (schema != nullptr && schema->text == ours) return true;
  std::string message =
      (schema == nullptr ? "missing key 'schema' in the platform" : "unknown schema '" + schema->text + "'") +
      "; this program reads schema " + ours;
  if (schema != nullptr && schema->text == "1") {
    message +=
        ". What became of schema 1: 'costs.copies.X-near' is 'driver.copies.X', and '-far' follows from the way "
        "('latency' of links and hubs); 'costs.runtime' is 'driver.runtime'; 'costs.staged_peers' is "
        "'driver.fallback'; "
        "'costs.network' and 'costs.intra_node' are under 'mpi', 'piece' is 'fragment', 'look' is 'failed_poll'; GPUs "
        "have a 'type' in 'gpu_types', and 'peer_domain' follows from what hubs and memories forward; 'hubs' and "
        "'nics' "
        "are maps; 'fabric.rdma.near' and '.far' are 'peer_read' and 'peer_write' of hubs and memories";
  }
  diagnostics.error(schema == nullptr ? document.position : schema->position, message);
  return false;
}

}  // namespace

void require_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  if (!has_our_schema(document, diagnostics)) diagnostics.throw_all();
}

}  // namespace twinlink::model
