#include "platforms/tools/graphviz.hpp"

#include "platforms/tools/filter_program.hpp"

namespace twinlink::model {

std::string svg_of(const std::string& dot_text) {
  return filter_through({"dot", "-Tsvg"}, dot_text, "'apt-get install graphviz' installs it, and FILE.dot needs none");
}

}  // namespace twinlink::model
