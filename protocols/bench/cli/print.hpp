// Results and probes as tables for people.
#pragma once

#include <cstddef>
#include <iosfwd>
#include <span>

#include "protocols/bench/cli/pair_file.hpp"
#include "protocols/bench/probe/probe.hpp"
#include "protocols/bench/results/results.hpp"

namespace twinlink::bench {

/// All columns; and how far the measurement is from the expectation that its environment holds.
void print_table(const Result& result, std::ostream& out);
/// The two parts of it: the rows after those that are `printed`, with the head if none is; and what follows the last.
void print_rows(const Result& result, std::ostream& out, std::size_t printed = 0);
void print_end(const Result& result, std::ostream& out);
/// Table of pairs that ran at once: what each runs; at every size its median in microseconds and its MB/s, and the sum
/// of all MB/s. `results` hold the same sizes; there is at least one.
void print_table(std::span<const Result> results, std::ostream& out);
/// Matrices, senders down and receivers across: microseconds at the smallest size, MB/s at the largest. A star marks an
/// outlier among the pairs whose messages take the same path.
void print_table(const PairFile& file, std::ostream& out);
/// Every line; of more than fit a screen only each primitive's smallest, middle and largest size, all devices together.
void print_table(const ProbeFile& probes, std::ostream& out);

}  // namespace twinlink::bench
