// What result and probe files write alike.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <nlohmann/json_fwd.hpp>

#include "protocols/bench/results/json_members.hpp"
#include "protocols/bench/results/statistics.hpp"

namespace twinlink::bench {

/// The largest size that a file may name: sums and multiples of it are whole numbers still, as 64 bits and as double.
inline constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 48U;

/// Who made the numbers of a file. What another tool does not tell is absent from an imported file; in one of our own
/// every member must be there.
enum class Provenance { own, imported };

/// The member of an environment block that names the tool behind imported numbers.
inline constexpr std::string_view kOriginMember = "origin";
Provenance provenance_of(const nlohmann::json& environment);

/// Adds a text, but not an empty one to an imported file.
void write_text(nlohmann::json& object, const char* name, const std::string& text, Provenance provenance);
/// Empty where an imported file does not tell it.
std::string read_text(Members& members, const char* name, Provenance provenance);

/// Adds "time_us" (the median), "n", "min_us", "max_us", "p5_us", "p95_us" and "unstable" to an object; of a single
/// figure without a spread only "time_us".
void write_statistics(nlohmann::json& object, const Statistics& time_us);
/// An imported figure may lack its spread, but not a part of it.
Statistics read_statistics(Members& members, Provenance provenance = Provenance::own);

/// Adds the samples, if there are any, as "samples_us".
void write_samples(nlohmann::json& object, const std::vector<double>& samples_us);
/// Empty if there are none.
std::vector<double> read_samples(Members& members);

/// The member "world": "simulated" or "measured".
std::string read_world(Members& members);

}  // namespace twinlink::bench
