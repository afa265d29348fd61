// An XML text with the lines of its elements, for messages.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include <pugixml.hpp>

namespace twinlink::platforms {

class XmlText {
 public:
  /// An InputError with the place if `text` is no XML, or nested too deeply. `file` is the name for messages.
  XmlText(std::string text, std::string file);

  [[nodiscard]] pugi::xml_node root() const { return document_.document_element(); }
  /// Throws an InputError: "file:line: error: message".
  [[noreturn]] void fail(pugi::xml_node node, const std::string& message) const;
  /// The attribute as a whole number, or nothing where it is absent or no number.
  [[nodiscard]] static std::optional<int> integer(pugi::xml_node node, const char* attribute);

 private:
  [[nodiscard]] std::string place(std::ptrdiff_t offset) const;

  std::string text_;  ///< which places in it are counted in
  std::string file_;
  pugi::xml_document document_{};
};

}  // namespace twinlink::platforms
