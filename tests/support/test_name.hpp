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

/// Those that explored ranks run: they have no GPUs that run programs of thread blocks.
inline std::vector<const Protocol*> protocols_without_programs() {
  std::vector<const Protocol*> protocols(all_protocols().begin(), all_protocols().end());
  std::erase_if(protocols, [](const Protocol* protocol) { return protocol->does_collectives(); });
  return protocols;
}

/// Of all protocols.
inline std::vector<std::string> names_of_protocols() {
  std::vector<std::string> names;
  for (const Protocol* protocol : all_protocols()) names.emplace_back(protocol->name());
  return names;
}

}  // namespace twinlink
