// What two platforms say differently.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/machine/platform.hpp"
#include "platforms/machine/platform_numbers.hpp"

namespace twinlink::platforms {

/// A number that differs, or that one of the two does not have.
struct NumberDifference {
  std::string path{};  ///< as an override names it
  std::optional<NumberEntry> a{};
  std::optional<NumberEntry> b{};
};

/// A name, a word or a count that differs; empty in the one that does not have it.
struct WordDifference {
  std::string path{};
  std::string a{};
  std::string b{};
};

struct PlatformDifference {
  std::vector<NumberDifference> numbers{};
  std::vector<WordDifference> words{};
  std::vector<std::string> only_a{};  ///< parts, without what is in them: "nodes.links.qpi"
  std::vector<std::string> only_b{};

  [[nodiscard]] bool none() const { return numbers.empty() && words.empty() && only_a.empty() && only_b.empty(); }
};

/// Where numbers come from, and what the platforms are called, makes no difference.
PlatformDifference difference_of(const Platform& a, const Platform& b);

}  // namespace twinlink::platforms
