#include "platforms/import/texts/xml_text.hpp"

#include <algorithm>
#include <charconv>
#include <utility>

#include "platforms/import/xml_depth.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::platforms {

XmlText::XmlText(std::string text, std::string file) : text_(std::move(text)), file_(std::move(file)) {
  require_shallow_xml(text_, file_);
  const pugi::xml_parse_result result = document_.load_buffer(text_.data(), text_.size());
  if (!result) throw InputError(place(result.offset) + ": error: this is no XML: " + result.description());
}

std::string XmlText::place(std::ptrdiff_t offset) const {
  const auto end = text_.begin() + std::clamp<std::ptrdiff_t>(offset, 0, std::ssize(text_));
  return file_ + ":" + std::to_string(1 + std::count(text_.begin(), end, '\n'));
}

void XmlText::fail(pugi::xml_node node, const std::string& message) const {
  throw InputError(place(node.offset_debug()) + ": error: " + message);
}

std::optional<int> XmlText::integer(pugi::xml_node node, const char* attribute) {
  const std::string_view text = node.attribute(attribute).value();
  int value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

}  // namespace twinlink::platforms
