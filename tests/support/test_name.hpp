// What tests with parameters are called.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>

namespace twinlink {

/// `words` as a part of a test's name, with '_' for what that cannot hold.
inline std::string test_name(std::string_view words) {
  std::string name(words);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

}  // namespace twinlink
