// Receives that take a message of any rank or with any tag.
#pragma once

#include <cstddef>

#include "protocols/workloads/goal/trace.hpp"

namespace twinlink::workloads::goal {

/// Gives each of them the rank and tag of the message that it takes where messages take no time and calcs what they
/// say: as MPI matches, what was sent first goes to the recv that was asked for first. Where that comes to a stop, the
/// order of the file decides. How many there were; a finding for each that gets nothing.
std::size_t settle_any(Trace& trace, Findings& findings);

}  // namespace twinlink::workloads::goal
