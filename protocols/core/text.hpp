// Texts that users type, and texts that others wrote: parts, typing errors, characters for a terminal.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace twinlink {

/// The parts of `text` between separators, empty ones included; at least one. They look into `text`.
std::vector<std::string_view> split(std::string_view text, char separator);

[[nodiscard]] bool is_utf8(std::string_view text);

/// Valid UTF-8 without control characters but line ends and tabs, for a terminal would obey them and XML forbids them:
/// each of them, and each byte that is no UTF-8, becomes U+FFFD.
[[nodiscard]] std::string plain_text(std::string_view text);

/// Throws a UsageError: "unknown pattern 'x' (there are: pingpong bandwidth)".
[[noreturn]] void refuse_name(std::string_view what, std::string_view name, std::span<const std::string_view> known);

/// The candidate with the fewest single-character edits from `word`, or empty if none is near enough to be a typing
/// error (more than a third of the word's letters, at least two).
std::string closest(std::string_view word, const std::vector<std::string>& candidates);

}  // namespace twinlink
