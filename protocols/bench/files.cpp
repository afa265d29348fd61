#include "protocols/bench/files.hpp"

#include <cerrno>
#include <fstream>
#include <string>
#include <system_error>

#include <fmt/format.h>

#include "protocols/errors.hpp"

namespace twinlink::bench {

void write_file(const std::filesystem::path& file, std::string_view content) {
  std::filesystem::path temporary = file;
  temporary += ".partial";
  const auto fail = [&](std::string_view call, const std::string& reason) {
    std::error_code ignored;
    std::filesystem::remove(temporary, ignored);
    throw EnvironmentError(call, fmt::format("{}: {}", file.string(), reason));
  };
  errno = 0;
  std::ofstream stream(temporary, std::ios::binary);
  stream << content;
  stream.close();
  if (!stream) fail("write", std::generic_category().message(errno));
  std::error_code error;
  std::filesystem::rename(temporary, file, error);
  if (error) fail("rename", error.message());
}

nlohmann::json read_json_file(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  if (!stream || std::filesystem::is_directory(file)) {
    throw InputError(fmt::format("{}: error: cannot be read", file.string()));
  }
  // What takes a JSON value apart calls itself for every level.
  constexpr int kDeepest = 64;
  const auto limit_depth = [&](int depth, nlohmann::json::parse_event_t, const nlohmann::json&) {
    if (depth > kDeepest) {
      throw InputError(fmt::format("{}: error: nested deeper than {} levels", file.string(), kDeepest));
    }
    return true;
  };
  try {
    return nlohmann::json::parse(stream, limit_depth);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: error: not JSON: {}", file.string(), error.what()));
  }
}

void write_json_file(const std::filesystem::path& file, const nlohmann::json& json) {
  write_file(file, json.dump(2) + "\n");
}

}  // namespace twinlink::bench
