// The result file: one schema, written by twinlink-sim and twinlink-real, read by twinlink-validate.
//
// JSON, one object. All times are one-way (half of the round trip for ping-pong) in microseconds, all rates in MB/s of
// 10^6 bytes per second. RESULTS.md lists the members.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/results/json_value.hpp"
#include "protocols/bench/results/run_facts.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/protocol.hpp"

namespace twinlink::bench {

inline constexpr int kResultSchema = 1;
inline constexpr std::string_view kResultKind = "twinlink-result";

enum class Pattern {
  pingpong,       ///< a message there and one back, in turn; time_us is half of the round trip
  bandwidth,      ///< windows of messages one way, each window answered by one small message; time_us is the window's
                  ///< time, answer included, over the number of its messages
  bidirectional,  ///< windows both ways at once; time_us as for bandwidth, the rate counts both directions
  copy            ///< no peer: device to host memory of one rank and back; time_us is half of that
};
/// "pingpong", "bandwidth", "bidirectional", "copy".
std::string_view to_string(Pattern pattern);
/// The pattern of that name. A UsageError lists all.
Pattern find_pattern(std::string_view name);

struct Point {
  Bytes size{};
  Statistics time_us{};
  double bandwidth_MBps = 0;  ///< of the median
  /// How long CPUs are busy with one message: both ends', but the sender's alone for Pattern::bandwidth. On a real
  /// machine that is the CPU time of the rank's thread, waiting included: it polls. Absent where nobody tells.
  std::optional<double> cpu_us{};
  std::string path{};                ///< the way that the messages really took; empty: an imported file tells none
  bool verified = false;             ///< the payload was compared byte for byte at this size
  std::vector<double> samples_us{};  ///< in the order in which they were taken; empty unless they were kept
  JsonValue links{};                 ///< of one round, what crossed each: an array; null where nobody knows or asked
  JsonValue critical_path{};         ///< likewise
};

/// What the source of a curve told. All of it, unless the curve was imported from another tool's file: then the member
/// of Series has its default value, which says nothing, and is absent from the result file.
struct Told {
  bool settings = true;
  bool window = true;
  bool cold_us = true;
};

/// A pair of ranks that ran at the same time as those of a curve.
struct OtherPair {
  std::string protocol{};
  Settings settings{};
  RunFacts facts{};
  std::string from{};  ///< NODE/GPU
  std::string to{};    ///< NODE/GPU

  /// "staging:chunk=256K:depth=2:NAME=VALUE", as --pairs reads it; how messages lie is left out, for that is common to
  /// all pairs.
  [[nodiscard]] std::string what() const;
  /// The same after its places: "0/2-0/3:staging:chunk=256K:depth=2".
  [[nodiscard]] std::string where_and_what() const;
};

/// One curve: what ran, on what, with which settings. A text that an imported file does not tell is empty.
struct Series {
  std::string label{};  ///< for people; the protocol's name unless a figure names the curve
  std::string protocol{};
  std::string preset{};  ///< the settings began as this preset of the protocol; empty: as its defaults
  Pattern pattern = Pattern::pingpong;
  Settings settings{};
  RunFacts facts{};
  int window = 1;
  std::string from{};   ///< NODE/GPU
  std::string to{};     ///< NODE/GPU; the kind of host memory for Pattern::copy
  std::string clock{};  ///< "simulated", "host" or "device"; the program says, the driver cannot know
  double cold_us = 0;   ///< the very first message, at the smallest size: connect() and one round with a window of one,
                        ///< one-way as every other time. Apart from the points, which are warm
  /// Counters of plan.first's end of the channel, then of plan.second's, which begin with "peer: "; all messages of the
  /// sweep together.
  std::vector<Counter> counters{};
  std::vector<Point> points{};
  Told told{};
  std::vector<OtherPair> beside{};  ///< what ran at the same time; empty: the pair was alone
};

struct Result {
  std::string world{};      ///< "simulated" or "measured"
  std::string program{};    ///< "twinlink-sim 0.1.0"
  std::string command{};    ///< the command line; empty: an imported file does not tell it
  JsonValue environment{};  ///< simulated: platform and its file; measured: versions, devices, peer matrix, hosts;
                            ///< imported: "origin" names the tool, its version, the file and what is known
  std::vector<std::string> notes{};  ///< what a reader of imported figures must know
  Series series{};
};

/// What headings call the times: "simulated", "measured" on GPUs, "emulated" on devices in host memory, "paced" where
/// these keep a platform's pace. Nobody must take a host's copies for a GPU's.
std::string heading_world(const std::string& world, const JsonValue& environment);

nlohmann::json to_json(const Result& result);
/// An InputError that names `origin` and the member that is missing, wrong or unknown.
Result result_from_json(const nlohmann::json& json, const std::string& origin);

/// Writes the file whole or not at all. An EnvironmentError with the system's text.
void write_json(const Result& result, const std::filesystem::path& file);
/// An InputError for a file that cannot be read, is not JSON or is no result.
Result read_json(const std::filesystem::path& file);

}  // namespace twinlink::bench
