#include "protocols/core/errors.hpp"

#include "protocols/core/enum_table.hpp"

namespace twinlink {
namespace {

/// The file's name from the repository root, whatever path the compiler was given.
std::string_view from_root(std::string_view file) {
  constexpr std::string_view kThisFile = "protocols/core/errors.cpp";
  std::string_view root = __FILE__;
  root.remove_suffix(kThisFile.size());
  if (file.starts_with(root)) file.remove_prefix(root.size());
  return file;
}

}  // namespace

EnvironmentError::EnvironmentError(std::string_view call, std::string_view reason, std::source_location where)
    : Error(std::string(from_root(where.file_name())) + ":" + std::to_string(where.line()) + ": " + std::string(call) +
            ": " + std::string(reason)) {}

std::string_view to_string(Status status) {
  constexpr Words<Status> kNames{"delivered", "unsupported", "timed out", "peer failed", "wrong size"};
  return kNames[status];
}

}  // namespace twinlink
