// Results and probes as tidy CSV: every column in every row.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

/// RFC 4180: quoted where the text would break the row.
std::string csv_cell(std::string_view text);

/// One row per size.
std::string to_csv(const Result& result);
void write_csv(const Result& result, const std::filesystem::path& file);
/// The rows of all results under one header.
std::string to_csv(const PairFile& file);
std::string to_csv(std::span<const Result> results);
/// One row per line.
std::string to_csv(const ProbeFile& probes);
void write_csv(const ProbeFile& probes, const std::filesystem::path& file);

}  // namespace twinlink::bench
