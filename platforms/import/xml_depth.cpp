#include "platforms/import/xml_depth.hpp"

#include <algorithm>

#include "protocols/core/errors.hpp"

namespace twinlink::platforms {

void require_shallow_xml(std::string_view text, const std::string& file) {
  constexpr int kDeepest = 128;
  int depth = 0;
  for (std::size_t at = 0; (at = text.find('<', at)) != std::string_view::npos;) {
    // A '>' in quotes is no end.
    std::size_t end = at + 1;
    for (char quote = 0; end < text.size() && (quote != 0 || text[end] != '>'); ++end) {
      if (quote == 0 ? text[end] == '"' || text[end] == '\'' : text[end] == quote)
        quote = quote == 0 ? text[end] : '\0';
    }
    const std::string_view tag = text.substr(at, end - at);
    if (tag.starts_with("</")) {
      --depth;
    } else if (!tag.starts_with("<?") && !tag.starts_with("<!") && !tag.ends_with('/')) {
      ++depth;
    }
    if (depth > kDeepest) {
      const auto line = 1 + std::count(text.begin(), text.begin() + static_cast<std::ptrdiff_t>(at), '\n');
      throw InputError(file + ":" + std::to_string(line) + ": error: elements are nested deeper than " +
                       std::to_string(kDeepest) + ", which no machine needs");
    }
    at = end;
  }
}

}  // namespace twinlink::platforms
