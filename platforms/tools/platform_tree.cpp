#include "platforms/tools/platform_tree.hpp"

#include <memory>
#include <optional>
#include <string>

#include "platforms/reader/platform_writer.hpp"
#include "platforms/yaml/yaml_events.hpp"

namespace twinlink::model {

YamlValue platform_tree(const Platform& platform) {
  Diagnostics diagnostics;
  YamlBudget budget;
  // No file has an empty name, so nobody looks for comments there.
  std::optional<YamlValue> tree =
      parse_yaml(platform_text(platform), std::make_shared<const std::string>(), budget, diagnostics);
  diagnostics.throw_if_any();
  return *std::move(tree);
}

}  // namespace twinlink::model
