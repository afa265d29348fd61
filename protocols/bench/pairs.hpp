// All ordered pairs of a job's ranks, one after the other: where one of them is slower than those like it.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "protocols/bench/driver.hpp"
#include "protocols/bench/results.hpp"

namespace twinlink::bench {

inline constexpr int kPairsSchema = 1;
inline constexpr std::string_view kPairsKind = "twinlink-pairs";

struct PairSeries {
  std::vector<Series> series{};      ///< by sender, then receiver; those that the protocol can serve
  std::vector<std::string> notes{};  ///< the others: "0/0 to 1/0: the GPUs are on different nodes"
};

/// Runs `plan`, whose two ranks do not matter, between every two ranks each way, while the others idle. Every rank of
/// the job calls it with the same arguments; rank 0 gets all series, the others nothing. `patience`: how long a rank
/// waits for its turn.
PairSeries measure_all_pairs(Rank& rank, const Protocol& protocol, const Plan& plan, Seconds patience = Seconds{3600});

/// Of values that should be alike, which are not: further than 5 % and further than five scaled median absolute
/// deviations from the median. The spread of the values themselves decides, so that a noisy machine marks no more.
std::vector<bool> outliers(const std::vector<double>& values);

/// What `all` of one program run have in common, and its series.
struct PairFile {
  std::string world{};
  std::string program{};
  std::string command{};
  nlohmann::json environment{};
  PairSeries pairs{};
};

/// {"kind", "schema", "notes", "results"}: each result as in a file of its own.
nlohmann::json to_json(const PairFile& file);
nlohmann::json to_json(std::span<const Result> results, const std::vector<std::string>& notes = {});
/// The rows of all results under one header.
std::string to_csv(const PairFile& file);
std::string to_csv(std::span<const Result> results);
/// Matrices for people, senders down and receivers across: microseconds at the smallest size, MB/s at the largest. A
/// star marks an outlier among the pairs whose messages take the same path.
void print_table(const PairFile& file, std::ostream& out);

}  // namespace twinlink::bench
