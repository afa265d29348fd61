#include "protocols/core/plain_text.hpp"

#include <cstddef>

namespace twinlink {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// How many bytes the character has with which `text` begins; zero: they are no UTF-8 (RFC 3629, table 3-7 of Unicode).
std::size_t length_of_first(std::string_view text) {
  const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0U; };
  const auto continues = [&](std::size_t from, std::size_t to) {
    for (std::size_t i = from; i < to; ++i) {
      if ((byte(i) & 0xC0U) != 0x80U) return false;
    }
    return true;
  };
  const unsigned first = byte(0);
  const unsigned second = byte(1);
  if (first < 0x80) return 1;
  if (first >= 0xC2 && first <= 0xDF) return continues(1, 2) ? 2 : 0;
  if (first >= 0xE0 && first <= 0xEF) {
    const bool allowed = (first != 0xE0 || second >= 0xA0) && (first != 0xED || second <= 0x9F);
    return allowed && continues(1, 3) ? 3 : 0;
  }
  if (first >= 0xF0 && first <= 0xF4) {
    const bool allowed = (first != 0xF0 || second >= 0x90) && (first != 0xF4 || second <= 0x8F);
    return allowed && continues(1, 4) ? 4 : 0;
  }
  return 0;
}

/// Or one of the two that are no characters and that XML forbids too, U+FFFE and U+FFFF.
bool is_control(std::string_view character) {
  const auto first = static_cast<unsigned char>(character[0]);
  if (character == "\xEF\xBF\xBE" || character == "\xEF\xBF\xBF") return true;
  if (character.size() == 1) return (first < 0x20 && first != '\n' && first != '\t') || first == 0x7F;
  return first == 0xC2 && static_cast<unsigned char>(character[1]) < 0xA0;  // U+0080 to U+009F
}

}  // namespace

bool is_utf8(std::string_view text) {
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

std::string plain_text(std::string_view text) {
  std::string plain;
  plain.reserve(text.size());
  while (!text.empty()) {
    const std::size_t length = length_of_first(text);
    const std::string_view character = text.substr(0, length);
    plain += length == 0 || is_control(character) ? kReplacement : character;
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return plain;
}

}  // namespace twinlink
