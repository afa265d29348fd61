// What the importers of the tools share.
#pragma once

#include <span>
#include <string>
#include <string_view>

#include <nlohmann/json_fwd.hpp>

#include "validate/import/import.hpp"

namespace twinlink::validate {

Imported import_osu(const std::string& text, const std::string& file, const ImportWishes& wishes);
bench::ProbeFile import_nvbandwidth(const nlohmann::json& content, const std::string& file, const ImportWishes& wishes);
/// What nvbandwidth prints, as its JSON would have it.
nlohmann::json read_nvbandwidth_text(const std::string& text, const std::string& file);
/// Copies of `size`, as nvbandwidth names their tests: a name, "Passed", and a matrix of GB/s each.
bench::ProbeFindings read_copies(const nlohmann::json& testcases, const std::string& file, Bytes size);
Imported import_superbench(const std::string& text, const std::string& file, const ImportWishes& wishes);
/// Is a text lines of JSON, as SuperBench writes them?
bool is_superbench(std::string_view text);
Imported import_nccl_tests(const nlohmann::json& content, const std::string& file, const ImportWishes& wishes);
Imported import_nccl_text(const std::string& text, const std::string& file, const ImportWishes& wishes);

/// The environment's "origin", to which an importer adds what its file tells.
nlohmann::json make_origin(Tool tool, std::string_view program, const std::string& file);

/// The figure of a tool that tells no spread, in microseconds.
bench::Statistics single_figure(double time_us);

/// Which of the tables of a file is imported, as a place in `tables`, which has what each is in words and is not empty.
/// An InputError, or a UsageError where the wish is for another one, lists them.
std::size_t choose_table(std::span<const std::string> tables, const ImportWishes& wishes, const std::string& file);

/// How often a message's bytes count in a pattern's rate: twice where they go both ways.
double directions(bench::Pattern pattern);

/// A point of a curve that is known by its time, in microseconds, or by its rate, in MB/s.
bench::Point point_of_time(Bytes size, bench::Statistics time_us, bench::Pattern pattern);
bench::Point point_of_rate(Bytes size, double megabytes_per_second, bench::Pattern pattern);

// What a bus carries of a collective's bytes, as nccl-tests count it.
inline double once(int) { return 1; }
inline double all_but_own(int ranks) { return static_cast<double>(ranks - 1) / ranks; }
inline double there_and_back(int ranks) { return 2 * all_but_own(ranks); }

/// A point of a collective, or of a pattern of many ranks: `bus_factor` as nccl-tests count it.
bench::WorkloadPoint workload_point(Bytes size, bench::Statistics time_us, double bus_factor);
/// A UsageError for what only curves have.
void require_workload_wishes(const ImportWishes& wishes, const std::string& file);

/// Adds to a curve what the user knows. A UsageError that names `file` where the curve tells something else.
void add_wishes(bench::Series& series, const ImportWishes& wishes, const std::string& file);

/// A UsageError where messages of the curve's protocol lie in other memory than those that were measured; a note where
/// that may be.
void check_protocol(bench::Result& result, const std::string& file);

}  // namespace twinlink::validate
