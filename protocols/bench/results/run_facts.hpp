// What a run does beside its protocol: how messages lie, where, what is done between them, and by how many processes.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/core/rank.hpp"
#include "protocols/core/units.hpp"
#include "protocols/layout/packing.hpp"

namespace twinlink::bench {

/// Where the messages of the two ranks of a pair lie.
struct Ends {
  Memory first = Memory::device;
  Memory second = Memory::device;

  friend bool operator==(const Ends&, const Ends&) = default;
};
/// "device,host", as --ends reads it.
std::string to_string(const Ends& ends);
/// FIRST,SECOND, each of them device, host (pageable) or pinned. A UsageError that says so.
Ends parse_ends(std::string_view text);

struct RunFacts {
  Packing packing{};           ///< of messages whose bytes lie apart, in device memory
  std::optional<Ends> ends{};  ///< empty: where the protocol takes its messages
  /// So long the GPU computes that has received a message, or a window, before its rank goes on. It is no part of the
  /// times, but its launch and its end are.
  Seconds compute{};
  /// The first rank drives both GPUs: copies between them and no message; the second only names the other one.
  bool one_process = false;
  /// At each end, of each direction: rounds take them in turn, so that handles and registrations of more memory than a
  /// cache keeps are met again.
  int buffers = 1;
};

/// By the names of their command-line options: "layout", "pack", "ends", "compute", "one-process"; and
/// "buffers-in-turn" for --buffers. Those that are not
/// as they are where nobody asks for anything.
std::map<std::string, std::string> named(const RunFacts& facts);

/// Takes the facts out of `options`, where a result file has them beside the protocol's own. A UsageError for a value
/// that named() would not have written.
RunFacts take_run_facts(std::map<std::string, std::string>& options);

}  // namespace twinlink::bench
