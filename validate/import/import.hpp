// Other tools' result files, turned into this project's: curves become a result file, primitives a probe file, and
// collectives of many ranks a workload file.
//
// Units are converted here and nowhere else: times to microseconds, rates to MB/s of 10^6 bytes per second. What a file
// does not tell stays absent; who knows it may say so in ImportWishes. The environment block's "origin" names the tool.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <variant>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"
#include "protocols/bench/workload/workload_options.hpp"

namespace twinlink::validate {

enum class Tool {
  osu,          ///< the OSU micro-benchmarks' text: latency, bw, bibw, mbw_mr, multi_lat, and collectives
  nvbandwidth,  ///< nvbandwidth's text, or -j
  nccl_tests,   ///< nccl-tests' text, or -J FILE
  superbench    ///< SuperBench's results-summary.jsonl: copies, or collectives of nccl-tests
};
/// "osu", "nvbandwidth", "nccl-tests", "superbench".
std::string_view to_string(Tool tool);
/// A UsageError lists all.
Tool find_tool(std::string_view name);

/// What the user knows and the file does not tell.
struct ImportWishes {
  std::string protocol{};                   ///< curves: the protocol that they are to be compared with
  std::optional<bench::Pattern> pattern{};  ///< curves: what they measure, where the tool's own test has no such name
  std::optional<int> window{};              ///< curves: messages of one exchange
  std::string from{};                       ///< curves: NODE/GPU of the sender
  std::string to{};                         ///< curves: NODE/GPU of the receiver
  std::optional<Bytes> size{};              ///< copies: of each, which their files never tell
  std::optional<int> table{};               ///< of curves and collectives: which of several, counted from 1
  std::optional<int> ranks{};               ///< collectives: how many took part
  std::string test{};                       ///< nccl-tests' text: the program that wrote it
};

/// A curve between two ranks, primitives, or what a collective took.
using Imported = std::variant<bench::Result, bench::ProbeFile, bench::WorkloadFile>;

/// The algorithm of a collective that another tool chose.
inline constexpr std::string_view kUntoldAlgorithm = "not told";

/// JSON, or the text of a file that does not begin as a JSON object does.
using Content = std::variant<nlohmann::json, std::string>;
/// An InputError for a file that cannot be read or that begins as JSON and is none.
Content read_content(const std::filesystem::path& file);
/// The same from where it has been opened: by any thread.
Content read_content(std::istream& stream, const std::filesystem::path& file);

/// Whose file this is, by what is in it; empty for all others, a file of ours among them.
std::optional<Tool> recognise(const Content& content);

/// `file` is the name for messages. An InputError for content that is not what `tool` writes; its findings name the
/// line or the member; it lists the tables where there are several and none is wished. A UsageError for wishes that
/// contradict the file or that it has no use for.
Imported import_content(Tool tool, const Content& content, const std::string& file, const ImportWishes& wishes);

/// Reads a file of `tool`, or of the tool that recognise() finds. As above, and an InputError if it finds none.
Imported import_file(const std::filesystem::path& file, std::optional<Tool> tool, const ImportWishes& wishes);

}  // namespace twinlink::validate
