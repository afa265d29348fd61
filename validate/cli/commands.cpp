#include "validate/cli/commands.hpp"

#include <string>
#include <system_error>

namespace twinlink::validate {

void require_another_file(const std::filesystem::path& out, const std::filesystem::path& input, std::string_view what) {
  std::error_code ignored;  // where there is no such file yet, it is another
  if (!std::filesystem::equivalent(input, out, ignored)) return;
  throw UsageError(out.string() + " is " + std::string(what) + " itself; --out names another file");
}

}  // namespace twinlink::validate
