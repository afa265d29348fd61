// Columns that tables of results and of probes have in common.
#pragma once

#include <algorithm>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>

#include "protocols/bench/results/rounds.hpp"
#include "protocols/bench/results/statistics.hpp"
#include "protocols/core/units.hpp"

namespace twinlink::bench {

inline constexpr std::string_view kHeadOfColumns =
    "# size       median us      min us      max us       p5 us      p95 us        MB/s";

/// After a median.
inline char mark(const Statistics& time_us) { return time_us.unstable ? '~' : ' '; }

inline std::string columns(Bytes size, const Statistics& time_us, double rate) {
  if (time_us.n == 0) {
    return fmt::format("{:<10} {:>11.3f} {:>11} {:>11} {:>11} {:>11} {:>11.2f}", format_size(size), time_us.median, "-",
                       "-", "-", "-", rate);
  }
  return fmt::format("{:<10} {:>11.3f}{}{:>11.3f} {:>11.3f} {:>11.3f} {:>11.3f} {:>11.2f}", format_size(size),
                     time_us.median, mark(time_us), time_us.min, time_us.max, time_us.p5, time_us.p95, rate);
}

/// Notes on points or lines that are not stable. `who` begins the line.
template <class Timed>
void print_unstable(const std::vector<Timed>& all, std::string_view what, std::ostream& out,
                    std::string_view who = {}) {
  const auto unstable = std::ranges::count_if(all, [](const Timed& timed) { return timed.time_us.unstable; });
  if (unstable == 0) return;
  out << fmt::format("# {}{} of {} {} unstable (~): {}\n", who, unstable, all.size(), what, kUnstableMeans);
}

}  // namespace twinlink::bench
