// Iterations of a recorded job that are equal: found in its tasks, and all but a few of them left out.
//
// Of each rank the tasks are a beginning, so many equal bodies, and an end. Equal are kinds, bytes, peers, tags, cpus
// and nics, nanoseconds of calcs, and how far back or ahead the tasks are that each one waits for. Where a body begins
// differs from rank to rank: what one sends in a body the other one may receive in its next. A body is one iteration,
// or several where times come again after several: ranks may take turns, and it may take long until they do.
#pragma once

#include <cstdint>

#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// Bodies that stay, half of them the first ones and half the last: two in which what came before fades away, three
/// that are compared with each other, and one between them and what comes behind.
inline constexpr std::uint8_t kKeptBodies = 6;
/// With fewer bodies nothing is left out: what is simulated in vain is a quarter of the job at most, with all attempts.
inline constexpr std::uint64_t kFewestBodies = 24;
inline constexpr std::uint64_t kFewestLargerBodies = 48;

/// Leaves kKeptBodies of each rank's, of so many iterations each, numbers their tasks (Task::body), and says how many
/// are left out (Trace::left_out). False, and nothing is changed, where ranks do not have the same number of bodies,
/// with as many messages and collectives at both ends, or where somebody waits across those that would be left out.
/// Takes time in proportion to the tasks.
bool shorten(Trace& trace, std::uint64_t iterations_of_body = 1);

}  // namespace twinlink::workloads::goal
