// What tests with parameters go over, and what they are called.
#pragma once

#include <algorithm>
#include <cctype>
#include <string>
#include <string_view>
#include <vector>

#include "protocols/core/protocol.hpp"
#include "protocols/registry.hpp"

namespace twinlink {

/// `words` as a part of a test's name, with '_' for what that cannot hold.
inline std::string test_name(std::string_view words) {
  std::string name(words);
  std::ranges::replace_if(
      name, [](unsigned char c) { return std::isalnum(c) == 0; }, '_');
  return name;
}

/// Of all protocols.
inline std::vector<std::string> names_of_protocols() {
  std::vector<std::string> names;
  for (const Protocol* protocol : all_protocols()) names.emplace_back(protocol->name());
  return names;
}

}  // namespace twinlink
