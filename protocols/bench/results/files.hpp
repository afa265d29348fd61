// Files that are written whole or not at all, and JSON files that say what is wrong with them.
#pragma once

#include <filesystem>
#include <functional>
#include <istream>
#include <memory>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

namespace twinlink::bench {

/// Writes a temporary beside `file`, or beside what it links to, and renames it; a pipe or a device is written to. An
/// EnvironmentError with the system's text; a UsageError where this process has read the file (output_files.hpp).
void write_file(const std::filesystem::path& file, std::string_view content);
/// The same of a content in parts, which `write` gives: that no memory holds it.
using Part = std::function<void(std::string_view)>;
void write_file(const std::filesystem::path& file, const std::function<void(const Part& part)>& write);
/// Is it there, and no ordinary file: a pipe, a device, a folder?
bool is_special(const std::filesystem::path& file);
/// Where `file` leads, whether or not there is anything.
std::filesystem::path follow_links(std::filesystem::path file);
/// A UsageError if write_file() could not write `file`: to be asked before the work that gives the content.
void require_writable(const std::filesystem::path& file);

/// The content of a text file of at most kMostText bytes. An InputError that names the file.
inline constexpr std::size_t kMostText = std::size_t{16} << 20U;
std::string read_file(const std::filesystem::path& file);
/// An InputError that names the file if it cannot be read or is not JSON.
nlohmann::json read_json_file(const std::filesystem::path& file);
/// The two in parts, for a file whose first characters say what it is: a pipe can be read only once. What gzip has
/// packed is unpacked: unpack.hpp.
std::unique_ptr<std::istream> open_to_read(const std::filesystem::path& file);
std::string read_text(std::istream& stream, const std::filesystem::path& file);
nlohmann::json parse_json(std::istream& stream, const std::filesystem::path& file);
/// JSON text, indented unless `indent` is negative. What is no UTF-8, such as an odd byte of a command line, becomes
/// U+FFFD.
std::string to_text(const nlohmann::json& json, int indent = -1);
/// Indented, with a line end. An EnvironmentError as for write_file().
void write_json_file(const std::filesystem::path& file, const nlohmann::json& json);

}  // namespace twinlink::bench
