// "did you mean ...?" for names that users type.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace twinlink {

/// The candidate with the fewest single-character edits from `word`, or empty if none is near enough to be a typing
/// error (more than a third of the word's letters, at least two).
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace twinlink
