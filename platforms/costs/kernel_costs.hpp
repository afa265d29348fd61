// What kernels cost: the calls that launch programs of thread blocks, the slots between the blocks of two GPUs, and
// Fourier transforms.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>

#include "platforms/costs/transfer_costs.hpp"
#include "protocols/core/transform.hpp"

namespace twinlink::platforms {

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

/// Each length is a pass over the numbers, which reads and writes them once; a longer one than a block of threads holds
/// is several. Passes take what the memory needs, or what the operations need where that is longer.
Seconds transform_time(const TransformCosts& costs, const Transform& transform);
/// Passes of one length: 1 up to 4096, 2 up to 4096 squared, ...
int passes_of(std::uint64_t length);

}  // namespace twinlink::platforms
