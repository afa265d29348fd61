#include "protocols/bench/results/files.hpp"

#include <cerrno>
#include <exception>
#include <fstream>
#include <iterator>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/format.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_fault.hpp"
#include "protocols/bench/results/output_files.hpp"
#include "protocols/bench/results/unpack.hpp"
#include "protocols/core/errors.hpp"

namespace twinlink::bench {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kPartial = ".partial";

/// The user has named the file: no place in our source helps.
[[noreturn]] void fail(std::string_view call, const fs::path& file, const std::string& reason) {
  throw Error(fmt::format("{}: {} failed: {}", file.string(), call, reason));
}

/// The system's text for what went wrong; empty if nothing did.
std::string write_through(const fs::path& file, const std::function<void(const Part& part)>& write) {
  struct Stopped : std::exception {};
  int error = 0;
  errno = 0;
  std::ofstream stream(file, std::ios::binary);
  // After each step: what makes the next part may set errno, and would make it for nobody.
  const auto stop_if_bad = [&] {
    if (stream) return;
    error = errno;
    throw Stopped();
  };
  try {
    stop_if_bad();
    write([&](std::string_view content) {
      stream << content;
      stop_if_bad();
    });
    stream.close();
    stop_if_bad();
  } catch (const Stopped&) {
    return std::generic_category().message(error);
  }
  return "";
}

}  // namespace

fs::path follow_links(fs::path file) {
  constexpr int kMostLinks = 40;  // as Linux
  std::error_code error;
  for (int links = 0; links < kMostLinks && fs::is_symlink(fs::symlink_status(file, error)); ++links) {
    const fs::path next = fs::read_symlink(file, error);
    if (error) break;
    file = file.parent_path() / next;
  }
  return file;
}

// Something that must be written to, for a file in its place would be another thing.
bool is_special(const fs::path& file) {
  std::error_code ignored;
  const fs::file_status status = fs::status(file, ignored);
  return fs::exists(status) && !fs::is_regular_file(status);
}

void write_file(const fs::path& file, std::string_view content) {
  write_file(file, [&](const Part& part) { part(content); });
}

void write_file(const fs::path& file, const std::function<void(const Part& part)>& write) {
  require_no_input(file);
  if (is_special(file)) {
    if (const std::string reason = write_through(file, write); !reason.empty()) fail("write", file, reason);
    return;
  }
  const fs::path target = follow_links(file);
  fs::path temporary = target;
  temporary += kPartial;
  const auto give_up = [&](std::string_view call, const std::string& reason) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail(call, file, reason);
  };
  std::string reason;
  try {
    reason = write_through(temporary, write);
  } catch (...) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    throw;
  }
  if (!reason.empty()) give_up("write", reason);
  std::error_code error;
  fs::rename(temporary, target, error);
  if (error) give_up("rename", error.message());
  note_written(file);
}

void require_writable(const fs::path& file) {
  const auto refuse = [&](const std::string& reason) {
    throw UsageError(fmt::format("{} cannot be written: {}", file.string(), reason));
  };
  std::error_code ignored;
  if (fs::is_directory(file, ignored)) refuse("it is a folder");
  // A file is replaced, so its folder is what must be writable.
  const fs::path written = is_special(file) ? file : fs::absolute(follow_links(file)).parent_path() / "";
  if (::access(written.c_str(), W_OK) != 0) {
    refuse(fmt::format("{}: {}", written.string(), std::generic_category().message(errno)));
  }
  const long longest = is_special(file) ? -1 : ::pathconf(written.c_str(), _PC_NAME_MAX);
  const std::size_t length = follow_links(file).filename().string().size() + kPartial.size();
  if (longest > 0 && length > static_cast<std::size_t>(longest)) refuse("its name is too long");
}

std::unique_ptr<std::istream> open_to_read(const fs::path& file) {
  note_input(file);
  auto stream = std::make_unique<std::ifstream>(file, std::ios::binary);
  if (!*stream || fs::is_directory(file)) {
    throw InputError(fmt::format("{}: error: cannot be read", file.string()));
  }
  if (is_packed(*stream)) return unpacked(std::move(stream), file);
  return stream;
}

std::string read_text(std::istream& stream, const fs::path& file) {
  std::string text(kMostText + 1, '\0');
  stream.read(text.data(), static_cast<std::streamsize>(text.size()));
  text.resize(static_cast<std::size_t>(stream.gcount()));
  if (text.size() > kMostText) throw InputError(fmt::format("{}: error: longer than {} B", file.string(), kMostText));
  return text;
}

namespace {

/// What takes a JSON value apart calls itself for every level. The library's own callback, which could count them as
/// well, takes a time that grows with the square of a list's length.
void limit_depth(std::string_view text, const fs::path& file) {
  constexpr int kDeepest = 64;
  int depth = 0;
  bool in_text = false;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (in_text) {
      if (c == '\\') ++i;
      in_text = c != '"';
    } else if (c == '"') {
      in_text = true;
    } else if (c == '[' || c == '{') {
      if (++depth <= kDeepest) continue;
      throw InputError(fmt::format("{}: error: nested deeper than {} levels", file.string(), kDeepest));
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
}

}  // namespace

nlohmann::json parse_json(std::istream& stream, const fs::path& file) {
  // Not by operator<<, which keeps to itself what is wrong with a packed file.
  const std::string text{std::istreambuf_iterator<char>(stream), {}};
  limit_depth(text, file);
  try {
    return nlohmann::json::parse(text);
  } catch (const nlohmann::json::exception& error) {
    throw InputError(fmt::format("{}: error: not JSON: {}", file.string(), json_fault(error)));
  }
}

std::string read_file(const fs::path& file) { return read_text(*open_to_read(file), file); }

nlohmann::json read_json_file(const fs::path& file) { return parse_json(*open_to_read(file), file); }

std::string to_text(const nlohmann::json& json, int indent) {
  return json.dump(indent, ' ', false, nlohmann::json::error_handler_t::replace);
}

void write_json_file(const std::filesystem::path& file, const nlohmann::json& json) {
  write_file(file, to_text(json, 2) + "\n");
}

}  // namespace twinlink::bench
