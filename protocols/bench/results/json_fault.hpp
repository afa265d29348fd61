// What is wrong with a text that should be JSON, without the name that the library gives its own exception.
#pragma once

#include <exception>
#include <string>
#include <string_view>

namespace twinlink::bench {

/// "parse error at line 1, column 2: ..." of "[json.exception.parse_error.101] parse error at line 1, ...".
inline std::string json_fault(const std::exception& error) {
  std::string_view text = error.what();
  constexpr std::string_view kName = "[json.exception.";
  constexpr std::string_view kEnd = "] ";
  const std::size_t end = text.find(kEnd);
  if (text.starts_with(kName) && end != std::string_view::npos) text.remove_prefix(end + kEnd.size());
  return std::string(text);
}

}  // namespace twinlink::bench
