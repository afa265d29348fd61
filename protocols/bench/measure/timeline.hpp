// A timeline of a job in the Chrome trace format, which Perfetto and chrome://tracing open.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "protocols/bench/measure/collectives.hpp"
#include "protocols/core/measured_rank.hpp"
#include "protocols/trace/op_report.hpp"
#include "protocols/trace/recorded_rank.hpp"

namespace twinlink::bench {

/// So many operations are kept, the first ones; a viewer gets slow with more.
inline constexpr std::size_t kMostInTimeline = 200'000;

/// A link while bytes of an operation cross it.
struct LinkSlice {
  std::string link{};
  std::size_t operation = 0;  ///< place in the list of reports
  Seconds began{};
  Seconds ended{};
};

/// JSON; times in microseconds. Each rank is a process, with where it is behind its number; its tracks are what it
/// sends, receives and tells, its streams, and what moves the bytes of copies, where that is known: copy engines,
/// kernels, the CPU. One process more has the links. What overlaps on one of these has another track of the same name.
/// Arrows lead from each send, control message and signal to who took it.
std::string timeline_text(const std::vector<OpReport>& reports, const std::vector<std::string>& ranks,
                          const std::vector<LinkSlice>& links);

/// What all ranks of a job have recorded, and how much they had to leave out, together.
struct GatheredReports {
  std::vector<OpReport> reports{};
  std::size_t left_out = 0;
};
/// On rank 0 and on its clock; the others get nothing. Clocks are compared by control messages, and differ by half of
/// one's round trip at most. All ranks call it.
GatheredReports gather_reports(MeasuredRank& rank, const RecordedRank& mine, Patience patience);

}  // namespace twinlink::bench
