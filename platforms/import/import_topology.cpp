#include "platforms/import/import_topology.hpp"

#include <string_view>

#include "platforms/import/xml_text.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::model {

ImportedPlatform import_topology(const std::string& text, const std::string& file, const std::string& name) {
  const std::size_t first = text.find_first_not_of(" \t\r\n");
  if (first == std::string::npos) throw InputError(file + ": error: the file is empty");
  if (text[first] != '<') return import_topo_matrix(text, file, name);
  const XmlText xml(text, file);
  const std::string_view root = xml.root().name();
  if (root == "system") return import_nccl_xml(text, file, name);
  if (root == "topology") return import_hwloc_xml(text, file, name);
  xml.fail(xml.root(), "the XML of NCCL begins with <system>, that of hwloc with <topology>, and this with <" +
                           std::string(root) + ">");
}

}  // namespace twinlink::model
