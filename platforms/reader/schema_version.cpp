#include "platforms/reader/schema_version.hpp"

#include <string>

namespace twinlink::model {
namespace {

bool has_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  const YamlValue* schema = document.find("schema");
  const std::string ours = std::to_string(kPlatformSchema);
  if (schema != nullptr && schema->text == ours) return true;
  const std::string message =
      (schema == nullptr ? "missing key 'schema' in the platform" : "unknown schema '" + schema->text + "'") +
      "; this program reads schema " + ours;
  diagnostics.error(schema == nullptr ? document.position : schema->position, message);
  return false;
}

}  // namespace

void require_our_schema(const YamlValue& document, Diagnostics& diagnostics) {
  if (!has_our_schema(document, diagnostics)) diagnostics.throw_all();
}

}  // namespace twinlink::model
