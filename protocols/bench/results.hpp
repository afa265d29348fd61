// The result file: one schema, written by twinlink-sim and twinlink-real, read by twinlink-validate.
//
// JSON, one object. All times are one-way (half of the round trip for ping-pong) in microseconds, all rates in MB/s of
// 10^6 bytes per second.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <string>
#include <vector>

#include <nlohmann/json.hpp>

#include "protocols/protocol.hpp"

namespace twinlink::bench {

inline constexpr int kResultSchema = 1;

enum class Pattern {
  pingpong,       ///< a message there and one back, in turn; time_us is half of the round trip
  bandwidth,      ///< windows of messages one way, each answered by one small message; time_us is the window's time over the window's size
  bidirectional,  ///< windows of messages both ways at once; time_us as for bandwidth, the rate counts both directions
  copy            ///< no peer: copies between device and host memory of one rank, out and back; time_us is half of that
};
std::string_view to_string(Pattern pattern);

/// What the samples of one size say, in microseconds. Percentiles by linear interpolation between closest ranks.
struct Statistics {
  std::size_t n = 0;
  double median = 0;
  double min = 0;
  double max = 0;
  double p5 = 0;
  double p95 = 0;
};
/// `samples` must not be empty.
Statistics summarize(std::vector<double> samples);

struct Point {
  Bytes size{};
  Statistics time_us{};
  double bandwidth_MBps = 0;          ///< of the median
  std::string path{};                 ///< the way that the messages really took
  bool verified = false;              ///< the payload was compared byte for byte at this size
  std::vector<double> samples_us{};   ///< measured results only
};

/// One curve: what ran, on what, with which settings.
struct Series {
  std::string label{};     ///< for people; the protocol's name unless a figure names the curve
  std::string protocol{};
  Pattern pattern = Pattern::pingpong;
  Settings settings{};
  int window = 1;
  std::string from{};      ///< NODE/GPU
  std::string to{};
  std::string clock{};     ///< "simulated" or "host"
  double cold_us = 0;      ///< the very first message, one-way, of the smallest size: set-up included
  std::vector<Point> points{};
};

struct Result {
  std::string world{};          ///< "simulated" or "measured"
  std::string program{};        ///< "twinlink-sim 0.1.0"
  std::string command{};        ///< the command line
  nlohmann::json environment{}; ///< simulated: platform and its file; measured: versions, devices, peer matrix, hosts
  Series series{};
};

nlohmann::json to_json(const Result& result);
/// An InputError that names `origin` and the member that is missing or wrong.
Result result_from_json(const nlohmann::json& json, const std::string& origin);

/// Writes the file whole or not at all (a temporary beside it, then renamed). An EnvironmentError with the system's text.
void write_json(const Result& result, const std::filesystem::path& file);
Result read_json(const std::filesystem::path& file);
/// Tidy CSV: one row per size, every column in every row.
void write_csv(const Result& result, const std::filesystem::path& file);
/// The OSU benchmarks' form: comment lines, then size and value in columns.
void print_osu(const Result& result, std::ostream& out);

}  // namespace twinlink::bench
