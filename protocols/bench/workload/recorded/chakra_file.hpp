// Execution traces of MLCommons Chakra (et_def.proto, schema 0.0.4 and its release 1.0.0): a file for each rank, in
// which messages of Protocol Buffers follow each other, each behind its length: GlobalMetadata, then a Node for all
// that the rank does.
#pragma once

#include <cstdint>
#include <functional>
#include <istream>
#include <optional>
#include <string>
#include <vector>

namespace twinlink::bench {

/// What is used here of a Node. Attributes that it does not have are none.
struct ChakraNode {
  enum class Type : std::uint8_t { invalid, metadata, load, store, compute, send, receive, collective };
  std::uint64_t id = 0;
  std::string name{};
  Type type = Type::invalid;
  std::vector<std::uint64_t> after{};  ///< ids: of data, and of control where that is no list of callers
  std::uint64_t duration = 0;          ///< us
  std::string inputs{};                ///< of metadata
  bool of_host = false;                ///< "is_cpu_op"
  bool leaves_dimensions_out = false;  ///< "involved_dim"
  std::string group{};                 ///< "pg_name"
  std::optional<std::uint64_t> operations{};
  std::optional<std::uint64_t> collective{};  ///< CollectiveCommType
  std::optional<std::uint64_t> bytes{};
  std::optional<std::uint64_t> source{};
  std::optional<std::uint64_t> destination{};
  std::optional<std::uint64_t> tag{};
  std::uint64_t thread = 0;
  std::uint64_t stream = 0;
};

/// Gives each Node to `take`. An InputError that names `file` for other schemas, for what ends too early, and for what
/// is no such file.
void read_chakra_file(std::istream& stream, const std::string& file, const std::function<void(ChakraNode&&)>& take);

}  // namespace twinlink::bench
