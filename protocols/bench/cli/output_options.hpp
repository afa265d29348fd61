// How a result is shown and stored: the options --format, --json and --csv, and what becomes of them.
#pragma once

#include <filesystem>
#include <iosfwd>
#include <map>
#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace CLI {
class App;
}  // namespace CLI

namespace twinlink::bench {

enum class Format { table, osu, csv, json };

struct OutputOptions {
  Format format = Format::table;
  std::filesystem::path json{};  ///< empty: not written
  std::filesystem::path csv{};   ///< empty: not written
};

/// `options` must live until the command line has been parsed. `row`: what a row of --csv is of.
void add_output_options(CLI::App& app, OutputOptions& options, const std::map<std::string, Format>& formats,
                        const std::string& row = "size");

/// A UsageError for a file that cannot be written, is an input, or is to hold two things: found at once, not after an
/// hour of measuring. For the rank that writes; the others may be on hosts without that folder.
void require_writable(const OutputOptions& options);

// --json of commands that print for people.

/// `file` must live until the command line has been parsed, and stays empty unless it is named.
void add_json_option(CLI::App& app, std::filesystem::path& file);
/// To be asked before any work. A UsageError if the file that was named cannot be written or is an input.
void require_json_option(const std::filesystem::path& file);
/// Writes to the file that was named, if one was.
void write_json_option(const std::filesystem::path& file, const nlohmann::json& json);

/// --timeline. `tracks`: what it has of each rank.
void add_timeline_option(CLI::App& app, std::filesystem::path& file, std::string_view tracks);
/// Shows the result on `out` in the format asked for and writes the files asked for.
void deliver(const Result& result, const OutputOptions& options, std::ostream& out);
/// Writes the files alone.
void store(const Result& result, const OutputOptions& options);
/// A table where the OSU form is asked for, which make_plan() has refused.
void deliver(const PairFile& pairs, const OutputOptions& options, std::ostream& out);
/// Delivers pairs that ran at once: a file for each. One alone is shown and stored like any result.
void deliver(std::span<const Result> pairs, const OutputOptions& options, std::ostream& out);
/// Probes have no OSU form: a UsageError.
void deliver(const ProbeFile& probes, const OutputOptions& options, std::ostream& out);

}  // namespace twinlink::bench
