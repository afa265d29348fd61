// The text form of the OSU micro-benchmarks, as their release kOsuRelease prints it, so that scripts which read their
// output read ours.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>

#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

inline constexpr std::string_view kOsuRelease = "7.5";

/// Where the messages of the protocol of that name lie; nothing of one that this program does not know.
std::optional<Memory> message_memory_of(std::string_view protocol);

/// The pattern's name in the title of its benchmark: "Latency", "Bandwidth", "Bi-Directional Bandwidth". A copy has
/// none of its own and counts as latency.
std::string_view osu_test(Pattern pattern);

/// A line before the form says whose figures these are, for the form itself would have them pass for the OSU
/// benchmarks'; then the form, byte for byte: an empty line, the title, the datatype, the columns' names, and a row for
/// each size with the median in microseconds or in MB/s of 10^6 bytes per second. Where so many rows are `printed`
/// already, only the others.
void print_osu(const Result& result, std::ostream& out, std::size_t printed = 0);

/// What that first line says.
struct OsuSignature {
  std::string program{};  ///< "twinlink-sim 0.1.0"
  std::string world{};    ///< as heading_world() names it
  std::string protocol{};
  std::string from{};
  std::string to{};
  int window = 1;
};

/// Empty for any other line.
std::optional<OsuSignature> read_osu_signature(const std::string& line);

}  // namespace twinlink::bench
