// The rules for stored measurements (validate/data/README.md), as far as a program can check them.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace twinlink::validate::test {

/// What is wrong in a folder of stored results: a file without a row in the folder's README.md or the other way round,
/// and files that are not measured, not verified, without environment or unreadable. Empty: nothing.
std::vector<std::string> check_stored_results(const std::filesystem::path& folder);

}  // namespace twinlink::validate::test
