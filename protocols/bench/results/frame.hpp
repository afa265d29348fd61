// What all files of ours begin with, of whichever kind: what they are, what wrote them, and where.
#pragma once

#include <string>
#include <string_view>
#include <utility>

#include <nlohmann/json.hpp>

#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/json_statistics.hpp"
#include "protocols/bench/results/json_value.hpp"

namespace twinlink::bench {

/// Result, ProbeFile, PairFile and WorkloadFile.
template <class File>
concept Framed = requires(File file) {
  file.world = std::string();
  file.program = std::string();
  file.command = std::string();
  file.environment = JsonValue();
};

namespace internal {

struct Frame {
  std::string world{};
  std::string program{};
  std::string command{};
  JsonValue environment{};
};
nlohmann::json to_json(const Frame& frame, std::string_view kind, int schema);
Frame read_frame(Members& members, std::string_view kind, int schema);

}  // namespace internal

/// {"kind", "schema", "world", "program", "command", "environment"}: the members that a file's own are added to.
template <Framed File>
nlohmann::json frame_of(const File& file, std::string_view kind, int schema) {
  return to_json(internal::Frame{file.world, file.program, file.command, file.environment}, kind, schema);
}

/// Fills the same members of `file`. An InputError for another kind or schema, and for a member that is missing or
/// wrong.
template <Framed File>
Provenance read_frame(Members& members, std::string_view kind, int schema, File& file) {
  internal::Frame frame = internal::read_frame(members, kind, schema);
  file.world = std::move(frame.world);
  file.program = std::move(frame.program);
  file.command = std::move(frame.command);
  file.environment = std::move(frame.environment);
  return provenance_of(file.environment);
}

/// What of a simulated platform was not as its file has it, as the options of the command line: "--set a=1, --fail
/// hca0". Empty: nothing.
std::string changes_of_platform(const nlohmann::json& environment);

}  // namespace twinlink::bench
