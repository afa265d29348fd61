// Texts that others wrote, files and command lines, on their way to a terminal, a table or a page.
#pragma once

#include <string>
#include <string_view>

namespace twinlink {

[[nodiscard]] bool is_utf8(std::string_view text);

/// Valid UTF-8 without control characters but line ends and tabs, for a terminal would obey them and XML forbids them:
/// each of them, and each byte that is no UTF-8, becomes U+FFFD.
[[nodiscard]] std::string plain_text(std::string_view text);

}  // namespace twinlink
