// What programs of thread blocks cost: the calls that launch them, and slots between the blocks of two GPUs.
#pragma once

#include <cstddef>
#include <optional>

#include "platforms/costs/copy_costs.hpp"

namespace twinlink::model {

// Of a program on a GPU, or of a graph of them. What the platform does not say is as of a kernel that copies within the
// GPU; nothing where it does not say that either.

/// The CPU is busy for the call.
std::optional<Seconds> launching(const Topology& topology, std::size_t gpu, bool as_graph);
/// From then until blocks run, and from their end until the host may know of it. The GPU has `blocks`.
std::optional<Seconds> starting_blocks(const Topology& topology, std::size_t gpu, bool as_graph);

/// How often what a block stores crosses the way until the peer's block may see it, beside BlockCosts::hop_of(): a
/// fence waits for the stores' answers, and then the counter takes the way.
constexpr double crossings(gpu::LineFormat format) { return format == gpu::LineFormat::simple ? 3 : 1; }
/// From when there is something in `slots` until a block on the GPU at `own` has it: the request, and what it brings.
/// Zero where they are its own memory.
Seconds loading(const Topology& topology, Location slots, Location own);

}  // namespace twinlink::model
